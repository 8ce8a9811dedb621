//! Free memory of the arena: first fit.

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
        let bytes = rounded(bytes);
        if bytes == 0 {
            return 0;
        }
        if let Some(i) = self.free.iter().position(|(_, size)| *size >= bytes) {
            let (offset, size) = self.free[i];
            if size == bytes {
                self.free.remove(i);
            } else {
                self.free[i] = (offset + bytes, size - bytes);
            }
            return offset;
        }
        // A hole at the end grows with the arena.
        let offset = match self.free.last() {
            Some((offset, size)) if offset.saturating_add(*size) == self.size => {
                let offset = *offset;
                self.free.pop();
                offset
            }
            _ => self.size,
        };
        self.size = offset.saturating_add(bytes);
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
