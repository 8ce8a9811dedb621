//! Index vectors, as `gather` and `scatter` read them: where slices of the operand begin.

use std::ops::Range;

use super::number::Integer;

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
            for i in begin..end {
                f(Start {
                    index: first.index + i * last.indices,
                    operand: first.operand + i * last.operand,
                    slices: first.slices + i * last.slices,
                });
            }
            next += end - begin;
        }
    }

    /// Where the slice begins, clamped so that it lies inside.
    ///
    /// # Safety
    /// `indices` has elements of this type, and the index vector among them.
    #[inline(always)]
    pub(super) unsafe fn clamped<I: Integer>(&self, indices: *const I, start: Start) -> usize {
        let mut at = start.operand;
        for (i, (limit, stride)) in self.entries.iter().enumerate() {
            // SAFETY: the caller's promise.
            let entry = unsafe { indices.add(start.index + i * self.distance).read() };
            at += entry.clamp_index(*limit) * stride;
        }
        at
    }

    /// Where the slice begins; `None` if it does not lie inside as a whole.
    ///
    /// # Safety
    /// As for [`Starts::clamped`].
    #[inline(always)]
    pub(super) unsafe fn inside<I: Integer>(&self, indices: *const I, start: Start) -> Option<usize> {
        let (mut at, mut inside) = (start.operand, true);
        for (i, (limit, stride)) in self.entries.iter().enumerate() {
            // SAFETY: the caller's promise.
            let entry = unsafe { indices.add(start.index + i * self.distance).read() };
            let index = entry.clamp_index(usize::MAX);
            inside &= !entry.is_below_zero() & (index <= *limit);
            at = at.wrapping_add(index.wrapping_mul(*stride));
        }
        inside.then_some(at)
    }
}
