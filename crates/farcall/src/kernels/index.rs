//! Index vectors, as `gather` and `scatter` read them: where slices of the operand begin.

use std::ops::Range;

use farcall_ir::DType;

use super::number::Integer;
use super::types::dispatch;

/// Reads an index; the largest number stands for those that are negative or larger.
pub(super) type ReadIndex = unsafe fn(*const u8) -> usize;

/// How indices of a type are read; `None` for other types than integers.
///
/// What it returns is to be called with the address of an aligned element.
pub(super) fn reader(dtype: DType) -> Option<ReadIndex> {
    /// # Safety
    /// `x` is valid for the read of an aligned element.
    unsafe fn read<T: Integer>(x: *const u8) -> usize {
        // SAFETY: the caller's promise.
        let index = unsafe { x.cast::<T>().read() };
        if index.is_below_zero() { usize::MAX } else { index.clamp_index(usize::MAX) }
    }
    dispatch!(dtype, [ints], T => read::<T> as ReadIndex)
}

/// The index vectors of a tensor.
pub(super) struct Starts {
    /// The dimensions of the indices, but for that along which the entries of one lie.
    pub(super) batch: Vec<Batch>,
    /// Per entry of an index: the largest value with which the slice lies inside, and the stride in the operand.
    pub(super) entries: Vec<(usize, usize)>,
    /// Distance of the entries.
    pub(super) distance: usize,
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

/// An index vector.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// Its first element among the indices.
    pub(super) index: usize,
    /// The part of the operand that it refers to.
    pub(super) operand: usize,
    /// The slice of the result, or of the updates.
    pub(super) slices: usize,
}

impl Starts {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.size))
    }

    /// Calls `f` with those that have these numbers, in row-major order.
    #[inline(always)]
    pub(super) fn each(&self, range: Range<usize>, mut f: impl FnMut(Start)) {
        let Some((last, outer)) = self.batch.split_last() else {
            range.for_each(|_| f(Start { index: 0, operand: 0, slices: 0 }));
            return;
        };
        let mut next = range.start;
        while next < range.end {
            let (line, begin) = (next / last.size, next % last.size);
            let end = last.size.min(begin + range.end - next);
            let (mut rest, mut first) = (line, Start { index: 0, operand: 0, slices: 0 });
            for b in outer.iter().rev() {
                let i = rest % b.size;
                first.index += i * b.indices;
                first.operand += i * b.operand;
                first.slices += i * b.slices;
                rest /= b.size;
            }
            // In registers, whatever `f` writes to.
            let Batch { indices, operand, slices, .. } = *last;
            let Start { index: index_0, operand: operand_0, slices: slices_0 } = first;
            for i in begin..end {
                f(Start {
                    index: index_0 + i * indices,
                    operand: operand_0 + i * operand,
                    slices: slices_0 + i * slices,
                });
            }
            next += end - begin;
        }
    }

    /// Where the slice begins; `None` if it does not lie inside as a whole.
    ///
    /// # Safety
    /// `indices` has elements of `size` bytes, which `read` reads, and the index vector among them.
    #[inline(always)]
    pub(super) unsafe fn inside(
        &self,
        (read, size): (ReadIndex, usize),
        indices: *const u8,
        start: Start,
    ) -> Option<usize> {
        let mut at = start.operand;
        for (i, (limit, stride)) in self.entries.iter().enumerate() {
            // SAFETY: the caller's promise.
            let index = unsafe { read(indices.add((start.index + i * self.distance) * size)) };
            if index > *limit {
                return None;
            }
            at += index * stride;
        }
        Some(at)
    }
}
