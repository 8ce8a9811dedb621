//! Index vectors of `gather` and `scatter`: each contains the indices of the first element of a slice of the
//! operand. A loop for the index type converts a block of index vectors at a time to positions in the
//! operand.

use std::ops::Range;

use farcall_ir::dims::indexed::{BatchAxis, IndexEntry};
use farcall_ir::interrupt::Pace;
use farcall_ir::{DType, dims};

use super::number::Integer;
use super::simd::vectorized;
use super::types::dispatch;

/// A conversion of index vectors to positions: the loop for an index type, and the type's size.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    read: Read,
    size: usize,
}

/// For each of several index vectors, adds the effect of one of its entries to the vector's position. These
/// entries are `step` elements apart in memory.
type Read = unsafe fn(entries: *const u8, step: usize, entry: IndexEntry, positions: &mut [usize]);

/// The position of a slice that is not entirely inside the operand.
pub(super) const OUTSIDE: usize = usize::MAX;
/// Description, in dumps, of kernels that add a number to negative entries of index vectors.
pub(super) const WRAPS: &str = "wraps negative indices";
/// Number of index vectors that are converted at once.
pub(super) const BLOCK: usize = 256;

impl Reader {
    /// Creates a reader that clamps slices into the operand; `None` for types that are not integers.
    pub(super) fn clamping(dtype: DType) -> Option<Reader> {
        dispatch!(dtype, [ints], T => Reader { read: read::<T, false>, size: dtype.size() })
    }

    /// Creates a reader for kernels that skip slices outside of the operand: the position of such a slice is
    /// [`OUTSIDE`].
    pub(super) fn dropping(dtype: DType) -> Option<Reader> {
        dispatch!(dtype, [ints], T => Reader { read: read::<T, true>, size: dtype.size() })
    }
}

/// # Safety
/// `entries` is valid for reads of one aligned element per position, `step` elements apart.
unsafe fn read<T: Integer, const DROPPING: bool>(
    entries: *const u8,
    step: usize,
    IndexEntry { limit, stride, wrap }: IndexEntry,
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
        // SAFETY: the caller guarantees the elements (`# Safety` above).
        || unsafe { each::<T>(entries, step, at, moved) },
    );
}

/// Applies `moved` to each position and the corresponding entry, and stores the result as the new position.
///
/// # Safety
/// `entries` is valid for reads of one aligned element per position, `step` elements apart.
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
            // SAFETY: the caller guarantees one element per position.
            *at = moved(*at, unsafe { entries.add(i).read() });
        }
    } else {
        for (i, at) in positions.iter_mut().enumerate() {
            // SAFETY: the caller guarantees one element per position, `step` elements apart.
            *at = moved(*at, unsafe { entries.add(i * step).read() });
        }
    }
}

/// The index vectors of a tensor.
pub(super) struct Starts {
    /// Dimensions of the indices, except for the dimension of the index vectors. Adjacent dimensions are
    /// merged where possible.
    batch: Vec<BatchAxis>,
    /// Meaning of each entry of an index vector.
    entries: Vec<IndexEntry>,
    /// Distance between the entries of an index vector, in elements.
    distance: usize,
}

/// The first elements of several slices of the result or the updates.
#[derive(Clone, Copy)]
pub(super) struct Slices {
    first: usize,
    step: usize,
}

impl Slices {
    /// Returns the first element of slice `i`.
    #[inline(always)]
    pub(super) fn at(self, i: usize) -> usize {
        self.first + i * self.step
    }
}

impl Starts {
    /// Creates the index vectors of these dimensions, from outer to inner.
    pub(super) fn new(batch: Vec<BatchAxis>, entries: Vec<IndexEntry>, distance: usize) -> Starts {
        let mut joined = dims::join(batch.into_iter().filter(|b| b.size != 1), |outer, inner| {
            let strides = |b: &BatchAxis| [b.indices, b.operand, b.windows];
            let mut pairs = strides(outer).into_iter().zip(strides(inner));
            let joins = pairs.all(|(outer, stride)| dims::continues(outer, inner.size, stride));
            joins.then(|| BatchAxis { size: outer.size.saturating_mul(inner.size), ..*inner })
        });
        if joined.is_empty() {
            joined.push(BatchAxis { size: 1, indices: 0, operand: 0, windows: 0 });
        }
        Starts { batch: joined, entries, distance }
    }

    /// Returns the distance between adjacent slices in the result or the updates; 0 for a single slice.
    pub(super) fn step(&self) -> usize {
        self.batch.last().map_or(0, |b| b.windows)
    }

    /// Number of index vectors.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.size))
    }

    /// Calls `f` with the positions of slices in the operand, and with the corresponding slices of the result
    /// or the updates. The index vectors with the numbers in `range` are visited in row-major order, a few
    /// hundred at a time.
    ///
    /// If an interrupt is due, the remaining index vectors are skipped.
    ///
    /// # Safety
    /// `indices` is valid for reads of these index vectors, whose entries have the reader's type.
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
            let (mut operand, mut first) = (begin * last.operand, begin * last.windows);
            for b in outer.iter().rev() {
                let i = rest % b.size;
                index += i * b.indices;
                operand += i * b.operand;
                first += i * b.windows;
                rest /= b.size;
            }
            let positions = &mut positions[..count];
            for (i, at) in positions.iter_mut().enumerate() {
                *at = operand + i * last.operand;
            }
            for (e, entry) in self.entries.iter().enumerate() {
                // SAFETY: the caller guarantees that these index vectors have the entry.
                unsafe {
                    let entries = indices.add((index + e * self.distance) * reader.size);
                    (reader.read)(entries, last.indices, *entry, positions);
                }
            }
            f(positions, Slices { first, step: last.windows });
            next += count;
        }
    }
}
