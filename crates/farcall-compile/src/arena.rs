//! Allocators for memory that several values use, one after the other: the arena, and the memory of results.
//! [`Arena`] allocates first fit; [`packed`] places the largest blocks first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use farcall_plan::MIN_ALIGNMENT_BYTES;

/// An arena with its holes.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Sizes of the holes, by offset. Holes are never adjacent.
    free: BTreeMap<usize, usize>,
    /// For some sizes and alignments, an offset below which no hole is large enough. Without these offsets,
    /// each allocation might search a million holes that are too small.
    full_below: FxHashMap<(usize, usize), usize>,
    /// Maximum size of the arena so far, in bytes.
    pub(super) size: usize,
}

/// Maximum number of entries in `full_below`.
const MAX_FULL_BELOW_ENTRIES: usize = 32;

impl Arena {
    /// Allocates memory and returns its offset, a multiple of the alignment.
    pub(super) fn allocate(&mut self, bytes: usize, alignment: usize) -> usize {
        match self.reuse(bytes, alignment) {
            Some(offset) => offset,
            None => self.grow(bytes, alignment),
        }
    }

    /// Allocates memory that ends at or before this offset, if there is room.
    pub(super) fn allocate_below(&mut self, end: usize, bytes: usize, alignment: usize) -> Option<usize> {
        let fits = |offset: usize| offset.checked_add(bytes).is_some_and(|e| e <= end);
        if let Some(offset) = self.reuse(bytes, alignment) {
            if fits(offset) {
                return Some(offset);
            }
            self.release(offset, bytes);
            return None;
        }
        fits(aligned(self.end(), alignment)).then(|| self.grow(bytes, alignment))
    }

    /// Allocates memory in a hole.
    fn reuse(&mut self, bytes: usize, alignment: usize) -> Option<usize> {
        let bytes = rounded(bytes);
        if bytes == 0 {
            return Some(0);
        }
        let wanted = (bytes, alignment);
        let full = self.full_below.get(&wanted).copied().unwrap_or(0);
        let found = self.free.range(full..).find_map(|(offset, size)| {
            let at = aligned(*offset, alignment);
            let end = at.checked_add(bytes)?;
            (end <= offset.saturating_add(*size)).then_some((*offset, at, end))
        });
        if self.full_below.len() < MAX_FULL_BELOW_ENTRIES || self.full_below.contains_key(&wanted) {
            // The last hole may grow with the arena.
            let last = self.free.last_key_value().map_or(0, |(offset, _)| *offset);
            self.full_below.insert(wanted, found.map_or(last, |(offset, ..)| offset));
        }
        let (offset, at, end) = found?;
        let size = self.free.remove(&offset)?;
        let left = [(offset, at - offset), (end, offset.saturating_add(size) - end)];
        self.free.extend(left.into_iter().filter(|(_, size)| *size > 0));
        Some(at)
    }

    /// Returns the offset, not yet aligned, of memory that fits in no hole.
    fn end(&self) -> usize {
        match self.free.last_key_value() {
            Some((offset, size)) if offset.saturating_add(*size) == self.size => *offset,
            _ => self.size,
        }
    }

    /// Allocates memory at the end of the arena.
    fn grow(&mut self, bytes: usize, alignment: usize) -> usize {
        // A hole at the end grows with the arena.
        let end = self.end();
        let offset = aligned(end, alignment);
        if end < self.size {
            self.free.pop_last();
        }
        if end < offset {
            self.free.insert(end, offset - end);
        }
        self.size = offset.saturating_add(rounded(bytes));
        offset
    }

    /// Frees memory.
    pub(super) fn release(&mut self, offset: usize, bytes: usize) {
        let (mut begin, mut size) = (offset, rounded(bytes));
        if size == 0 {
            return;
        }
        if let Some((next, more)) = self.free.range(offset..).next().map(|(o, s)| (*o, *s))
            && offset.saturating_add(size) == next
        {
            self.free.remove(&next);
            size = size.saturating_add(more);
        }
        if let Some((before, more)) = self.free.range(..offset).next_back().map(|(o, s)| (*o, *s))
            && before.saturating_add(more) == offset
        {
            (begin, size) = (before, size.saturating_add(more));
        }
        self.free.insert(begin, size);
        self.full_below.values_mut().for_each(|full| *full = begin.min(*full));
    }
}

fn rounded(bytes: usize) -> usize {
    aligned(bytes, MIN_ALIGNMENT_BYTES)
}

/// Returns the next multiple of an alignment. On overflow, returns the maximum offset, which no memory
/// reaches.
fn aligned(offset: usize, alignment: usize) -> usize {
    offset.checked_next_multiple_of(alignment).unwrap_or(usize::MAX)
}

/// A block of memory, with the range of positions in the program during which values occupy it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) bytes: usize,
    pub(super) alignment: usize,
    /// The first and last position.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Maximum number of blocks that are packed; packing takes quadratic time.
const MAX_PACKED_BLOCKS: usize = 1 << 11;

/// Places the blocks largest first. Returns their offsets, and the number of bytes that the blocks need
/// together; `None` if they need `size` bytes or more, or if there are too many blocks.
pub(super) fn packed(blocks: &[Block], size: usize) -> Option<(Vec<usize>, usize)> {
    if blocks.len() > MAX_PACKED_BLOCKS || peak_bytes(blocks) >= size {
        return None;
    }
    let mut order: Vec<usize> = (0..blocks.len()).filter(|i| blocks[*i].bytes > 0).collect();
    order.sort_by_key(|i| (Reverse(blocks[*i].bytes), blocks[*i].first));
    let mut offsets = vec![0; blocks.len()];
    // The blocks placed so far, by offset.
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut end = 0;
    for i in order {
        let block = blocks[i];
        let bytes = rounded(block.bytes);
        let mut at = 0usize;
        for other in &placed {
            let Block { bytes: others, first, last, .. } = blocks[*other];
            if first > block.last || last < block.first {
                continue;
            }
            if at.saturating_add(bytes) <= offsets[*other] {
                break;
            }
            at = aligned(at.max(offsets[*other].saturating_add(rounded(others))), block.alignment);
        }
        offsets[i] = at;
        end = end.max(offsets[i].saturating_add(bytes));
        if end >= size {
            return None;
        }
        let place = placed.partition_point(|other| offsets[*other] <= offsets[i]);
        placed.insert(place, i);
    }
    Some((offsets, end))
}

/// Returns the maximum number of bytes in use at one position.
fn peak_bytes(blocks: &[Block]) -> usize {
    let begins = blocks.iter().map(|b| (b.first, 1, rounded(b.bytes)));
    let mut changes: Vec<(u32, u8, usize)> =
        begins.chain(blocks.iter().map(|b| (b.last.saturating_add(1), 0, rounded(b.bytes)))).collect();
    changes.sort_unstable();
    let (mut peak_bytes, mut now) = (0usize, 0usize);
    for (_, begins, bytes) in changes {
        now = if begins == 1 { now.saturating_add(bytes) } else { now.saturating_sub(bytes) };
        peak_bytes = peak_bytes.max(now);
    }
    peak_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if all blocks are aligned, and blocks that live at the same time are disjoint.
    fn apart(blocks: &[Block], offsets: &[usize]) -> bool {
        let ranges = |i: usize| (offsets[i], offsets[i] + rounded(blocks[i].bytes));
        let aligned = |i: usize| offsets[i].is_multiple_of(blocks[i].alignment);
        (0..blocks.len()).all(aligned)
            && (0..blocks.len()).all(|i| {
                (0..i).all(|j| {
                    let (x, y) = (blocks[i], blocks[j]);
                    let both = x.first <= y.last && y.first <= x.last;
                    !both || ranges(i).1 <= ranges(j).0 || ranges(j).1 <= ranges(i).0
                })
            })
    }

    #[test]
    fn blocks_that_live_at_once_are_disjoint() {
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let mut smaller = 0;
        for _ in 0..200 {
            let mut arena = Arena::default();
            let mut first_fit: Vec<usize> = Vec::new();
            let (mut blocks, mut there): (Vec<Block>, Vec<usize>) = (Vec::new(), Vec::new());
            for at in 0..40u32 {
                there.retain(|i| {
                    let over = blocks[*i].last < at;
                    if over {
                        arena.release(first_fit[*i], blocks[*i].bytes);
                    }
                    !over
                });
                let (bytes, alignment) = (below(3000) as usize, [16, 64][below(2) as usize]);
                first_fit.push(arena.allocate(bytes, alignment));
                there.push(blocks.len());
                blocks.push(Block { bytes, alignment, first: at, last: at + below(12) as u32 });
            }
            assert!(apart(&blocks, &first_fit));
            if let Some((offsets, size)) = packed(&blocks, arena.size) {
                assert!(apart(&blocks, &offsets));
                assert!(peak_bytes(&blocks) <= size && size < arena.size);
                smaller += 1;
            }
        }
        assert!(smaller > 100, "{smaller} of 200 are smaller");
    }

    /// Compares allocations with the definition of first fit: the lowest offset at which a block overlaps no
    /// other block.
    #[test]
    fn the_first_hole_with_room_is_taken() {
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % n) as usize
        };
        let mut arena = Arena::default();
        let mut there: Vec<(usize, usize)> = Vec::new();
        for _ in 0..4000 {
            if there.len() > 30 || (!there.is_empty() && below(3) == 0) {
                let (offset, bytes) = there.swap_remove(below(there.len() as u64));
                arena.release(offset, bytes);
                continue;
            }
            let (bytes, alignment) = ([1, 16, 40, 200, 1000][below(5)], [16, 64, 256][below(3)]);
            let mut starts: Vec<usize> =
                there.iter().map(|(o, b)| aligned(o + rounded(*b), alignment)).collect();
            starts.push(0);
            let free =
                |at: &usize| there.iter().all(|(o, b)| at + rounded(bytes) <= *o || o + rounded(*b) <= *at);
            let expected = starts.into_iter().filter(free).min();
            let offset = arena.allocate(bytes, alignment);
            assert_eq!(Some(offset), expected, "{bytes} bytes by {alignment} beside {there:?}");
            there.push((offset, bytes));
        }
    }

    /// Checks that many holes do not make an allocation slow. Here, all holes that are searched are too
    /// small, like those between results of one element each.
    #[test]
    fn many_holes_take_little_time() {
        let mut arena = Arena::default();
        let offsets: Vec<usize> = (0..200_000).map(|_| arena.allocate(16, 64)).collect();
        assert!(offsets.iter().enumerate().all(|(i, offset)| *offset == 64 * i));
        for offset in offsets.iter().step_by(2).chain(offsets.iter().skip(1).step_by(2)) {
            arena.release(*offset, 16);
        }
        assert_eq!((arena.allocate(arena.size, 64), arena.free.len()), (0, 0));
    }
}
