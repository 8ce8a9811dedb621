//! Index vectors, as `gather` and `scatter` read them: where slices of the operand begin. They become positions in the
//! operand a block at a time, by a loop for their type.

use std::ops::Range;

use farcall_ir::DType;
use farcall_ir::interrupt::Pace;

use super::number::Integer;
use super::simd::vectorized;
use super::types::dispatch;

/// How index vectors become positions: how entries are read, and their size.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    read: Read,
    size: usize,
}

/// Moves positions by entries of as many index vectors, each `step` after the one before.
type Read = unsafe fn(entries: *const u8, step: usize, entry: Entry, positions: &mut [usize]);

/// What an entry of an index means.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The largest value with which the slice lies inside.
    pub(super) limit: usize,
    /// Distance in the operand.
    pub(super) stride: usize,
    /// What is added if it is negative.
    pub(super) wrap: usize,
}

/// The position of a slice that does not lie inside as a whole.
pub(super) const OUTSIDE: usize = usize::MAX;
/// What descriptions say of kernels that add something to negative entries.
pub(super) const WRAPS: &str = "wraps negative indices";
/// Index vectors that become positions at once.
pub(super) const BLOCK: usize = 256;

impl Reader {
    /// Of slices that are moved inside if they do not lie there; `None` for other types than integers.
    pub(super) fn clamping(dtype: DType) -> Option<Reader> {
        dispatch!(dtype, [ints], T => Reader { read: read::<T, false>, size: dtype.size() })
    }

    /// Of slices that are left out if they do not lie inside, whose position is [`OUTSIDE`].
    pub(super) fn dropping(dtype: DType) -> Option<Reader> {
        dispatch!(dtype, [ints], T => Reader { read: read::<T, true>, size: dtype.size() })
    }
}

/// # Safety
/// There are as many aligned elements as positions, at these distances.
unsafe fn read<T: Integer, const DROPPING: bool>(
    entries: *const u8,
    step: usize,
    Entry { limit, stride, wrap }: Entry,
    at: &mut [usize],
) {
    let wrap = T::from_index(wrap);
    let moved = |at: usize, index: T| {
        let index = if index.is_below_zero() { index.add(wrap) } else { index };
        let moved = at.wrapping_add(index.clamp_index(limit) * stride);
        let inside = !index.is_below_zero() & (index.clamp_index(OUTSIDE) <= limit) & (at != OUTSIDE);
        if inside || !DROPPING { moved } else { OUTSIDE }
    };
    vectorized(
        #[inline(always)]
        // SAFETY: the caller's promise.
        || unsafe { each::<T>(entries, step, at, moved) },
    );
}

/// Moves each position by its index.
///
/// # Safety
/// There are as many aligned elements as positions, at these distances.
#[inline(always)]
unsafe fn each<T: Integer>(
    entries: *const u8,
    step: usize,
    positions: &mut [usize],
    moved: impl Fn(usize, T) -> usize,
) {
    let entries = entries.cast::<T>();
    if step == 1 {
        for (i, at) in positions.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *at = moved(*at, unsafe { entries.add(i).read() });
        }
    } else {
        for (i, at) in positions.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *at = moved(*at, unsafe { entries.add(i * step).read() });
        }
    }
}

/// The index vectors of a tensor.
pub(super) struct Starts {
    /// The dimensions of the indices, but for that along which the entries of one lie; those that can be walked as one
    /// joined.
    batch: Vec<Batch>,
    /// What each entry of an index means.
    entries: Vec<Entry>,
    /// Distance of the entries.
    distance: usize,
}

/// A dimension of the indices; strides in elements.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    pub(super) size: usize,
    pub(super) indices: usize,
    /// Not 0 if the slices lie in a part of the operand for each.
    pub(super) operand: usize,
    /// In the result, or the updates.
    pub(super) slices: usize,
}

impl Batch {
    /// True if this dimension and the one inside it can be walked as one.
    fn joins(&self, inner: &Batch) -> bool {
        [(self.indices, inner.indices), (self.operand, inner.operand), (self.slices, inner.slices)]
            .iter()
            .all(|(outer, stride)| stride.checked_mul(inner.size) == Some(*outer))
    }
}

/// Slices of the result, or the updates: the first element of each.
#[derive(Clone, Copy)]
pub(super) struct Slices {
    first: usize,
    step: usize,
}

impl Slices {
    /// That of slice `i`.
    #[inline(always)]
    pub(super) fn at(self, i: usize) -> usize {
        self.first + i * self.step
    }
}

impl Starts {
    /// For these dimensions, from outer to inner.
    pub(super) fn new(batch: Vec<Batch>, entries: Vec<Entry>, distance: usize) -> Starts {
        let mut joined: Vec<Batch> = Vec::with_capacity(batch.len());
        for inner in batch.into_iter().filter(|b| b.size != 1) {
            match joined.last_mut() {
                Some(outer) if outer.joins(&inner) => {
                    *outer = Batch { size: outer.size.saturating_mul(inner.size), ..inner };
                }
                _ => joined.push(inner),
            }
        }
        if joined.is_empty() {
            joined.push(Batch { size: 1, indices: 0, operand: 0, slices: 0 });
        }
        Starts { batch: joined, entries, distance }
    }

    /// The distance of neighbouring slices in the result, or the updates; 0 if there is one.
    pub(super) fn step(&self) -> usize {
        self.batch.last().map_or(0, |b| b.slices)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.size))
    }

    /// Calls `f` with the positions of slices in the operand, and with these slices of the other tensor: of all index
    /// vectors that have these numbers, in row-major order, a few hundred at a time.
    ///
    /// If an interrupt is due, the other indices are skipped.
    ///
    /// # Safety
    /// `indices` has elements of the type of the reader, the index vectors among them.
    #[inline(always)]
    pub(super) unsafe fn each(
        &self,
        range: Range<usize>,
        reader: Reader,
        indices: *const u8,
        mut f: impl FnMut(&[usize], Slices),
    ) {
        let Some((last, outer)) = self.batch.split_last() else { return };
        let mut positions = [0; BLOCK];
        let mut next = range.start;
        let mut pace = Pace::default();
        while next < range.end && !pace.is_due_after(BLOCK) {
            let (mut rest, begin) = (next / last.size, next % last.size);
            let count = BLOCK.min(last.size - begin).min(range.end - next);
            let mut index = begin * last.indices;
            let (mut operand, mut first) = (begin * last.operand, begin * last.slices);
            for b in outer.iter().rev() {
                let i = rest % b.size;
                index += i * b.indices;
                operand += i * b.operand;
                first += i * b.slices;
                rest /= b.size;
            }
            let positions = &mut positions[..count];
            for (i, at) in positions.iter_mut().enumerate() {
                *at = operand + i * last.operand;
            }
            for (e, entry) in self.entries.iter().enumerate() {
                // SAFETY: the caller's promise: an entry of as many index vectors.
                unsafe {
                    let entries = indices.add((index + e * self.distance) * reader.size);
                    (reader.read)(entries, last.indices, *entry, positions);
                }
            }
            f(positions, Slices { first, step: last.slices });
            next += count;
        }
    }
}
