//! Free memory of the arena, or of another piece of memory that several values have in turn: first fit.

use crate::plan::ALIGNMENT;

/// The arena and its holes.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Offset and size, ordered, never adjacent.
    free: Vec<(usize, usize)>,
    /// Bytes that have been needed so far.
    pub(super) size: usize,
}

impl Arena {
    /// The first byte of so much memory.
    pub(super) fn allocate(&mut self, bytes: usize) -> usize {
        match self.reuse(bytes) {
            Some(offset) => offset,
            None => self.grow(bytes),
        }
    }

    /// The same, if it ends before this byte.
    pub(super) fn allocate_below(&mut self, end: usize, bytes: usize) -> Option<usize> {
        // What is free begins at a multiple of the alignment, and is as large as the values that were there.
        let fits = |offset: usize| offset.checked_add(bytes).is_some_and(|e| e <= end);
        if let Some(offset) = self.reuse(bytes) {
            if fits(offset) {
                return Some(offset);
            }
            self.release(offset, bytes);
            return None;
        }
        fits(self.end()).then(|| self.grow(bytes))
    }

    /// A hole.
    fn reuse(&mut self, bytes: usize) -> Option<usize> {
        let bytes = rounded(bytes);
        if bytes == 0 {
            return Some(0);
        }
        let i = self.free.iter().position(|(_, size)| *size >= bytes)?;
        let (offset, size) = self.free[i];
        if size == bytes {
            self.free.remove(i);
        } else {
            self.free[i] = (offset + bytes, size - bytes);
        }
        Some(offset)
    }

    /// Where what no hole has room for begins.
    fn end(&self) -> usize {
        match self.free.last() {
            Some((offset, size)) if offset.saturating_add(*size) == self.size => *offset,
            _ => self.size,
        }
    }

    /// More memory.
    fn grow(&mut self, bytes: usize) -> usize {
        // A hole at the end grows with the arena.
        let offset = self.end();
        if offset < self.size {
            self.free.pop();
        }
        self.size = offset.saturating_add(rounded(bytes));
        offset
    }

    /// Gives memory back.
    pub(super) fn release(&mut self, offset: usize, bytes: usize) {
        let size = rounded(bytes);
        if size == 0 {
            return;
        }
        let i = self.free.partition_point(|(o, _)| *o < offset);
        self.free.insert(i, (offset, size));
        if i + 1 < self.free.len() && offset.saturating_add(size) == self.free[i + 1].0 {
            self.free[i].1 = size.saturating_add(self.free.remove(i + 1).1);
        }
        if i > 0 && self.free[i - 1].0.saturating_add(self.free[i - 1].1) == self.free[i].0 {
            self.free[i - 1].1 = self.free[i - 1].1.saturating_add(self.free.remove(i).1);
        }
    }
}

fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}
