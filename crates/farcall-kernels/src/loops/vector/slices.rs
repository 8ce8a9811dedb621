//! Slices of operands, and concatenations of slices, as in a rotation.

use farcall_ir::op::Slice;
use farcall_ir::{DType, TensorType};
use smallvec::SmallVec;

use super::MAX_RANK;
use crate::movement::{Axis, fill, normal, row_major};
use crate::types::by_size;

/// A slice of an operand.
#[derive(Clone)]
pub(crate) struct Part {
    /// Number of the operand.
    input: usize,
    dtype: DType,
    /// The slice's first element in the operand.
    first: usize,
    sizes: SmallVec<[usize; 4]>,
    /// From outer to inner: size, and stride in the operand.
    axes: SmallVec<[(usize, usize); MAX_RANK]>,
}

impl Part {
    /// Creates a slice of type `to` of an operand of type `from`; without `slice`, the whole operand.
    pub(crate) fn new(
        input: usize,
        from: &TensorType,
        slice: Option<&Slice>,
        to: &TensorType,
    ) -> Option<Part> {
        let (rank, strides) = (from.rank(), row_major(from.sizes()));
        if to.rank() != rank || from.dtype != to.dtype || to.elements()? == 0 {
            return None;
        }
        let (mut first, mut steps) = (0, vec![1; rank]);
        if let Some(slice) = slice {
            (slice.start.len() == rank && slice.strides.len() == rank).then_some(())?;
            steps.clone_from(&slice.strides);
            for d in 0..rank {
                let last = (to.sizes()[d] - 1).checked_mul(steps[d])?.checked_add(slice.start[d])?;
                (last < from.sizes()[d]).then_some(())?;
                first += slice.start[d] * strides[d].unsigned_abs();
            }
        } else if from.sizes() != to.sizes() {
            return None;
        }
        let step = |d: usize| strides[d].saturating_mul(isize::try_from(steps[d]).unwrap_or(isize::MAX));
        let axes: Vec<Axis> = normal(fill(to, step));
        (axes.len() <= MAX_RANK).then_some(())?;
        let axes = axes.iter().map(|a| (a.size, a.src.unsigned_abs())).collect();
        Some(Part { input, dtype: from.dtype, first, sizes: to.sizes().iter().copied().collect(), axes })
    }
}

/// Parts of operands, concatenated along a dimension.
pub(crate) struct Parts {
    /// Number of elements after which the sequence of parts repeats.
    period: usize,
    /// For each part: its first element within a period, its number of elements per period, and the part.
    parts: SmallVec<[(usize, usize, Part); 2]>,
    /// Size of an element in bytes.
    size: usize,
    run: Run,
}

/// Copies elements of a part. The numbers are that of the first element and the number of elements.
type Run = unsafe fn(&Part, *const u8, *mut u8, usize, usize);

impl Parts {
    /// Concatenates parts along a dimension of a tensor of this type; `None` if they do not cover it exactly.
    pub(crate) fn new(parts: &[Part], dim: usize, ty: &TensorType) -> Option<Parts> {
        // The number of elements of the tensor bounds all products below.
        ty.elements().filter(|n| *n > 0)?;
        let inner: usize = ty.sizes().get(dim.checked_add(1)?..)?.iter().product();
        let mut all = SmallVec::new();
        let mut at = 0;
        for part in parts {
            let mut sizes = part.sizes.clone();
            let along = *sizes.get(dim)?;
            *sizes.get_mut(dim)? = ty.sizes()[dim];
            (part.dtype == ty.dtype && sizes[..] == *ty.sizes()).then_some(())?;
            all.push((at * inner, along * inner, part.clone()));
            at = usize::checked_add(at, along)?;
        }
        let size = ty.dtype.size();
        let run = by_size!(size, T => copy::<T> as Run)?;
        (at == ty.sizes()[dim]).then_some(Parts { period: at * inner, parts: all, size, run })
    }

    /// Copies `len` elements, starting at element `start`.
    ///
    /// # Safety
    /// `operand` returns tensors of the types that the parts were created for, and `to` is valid for writes
    /// of `len` elements.
    pub(crate) unsafe fn run(
        &self,
        operand: impl Fn(usize) -> *const u8,
        to: *mut u8,
        start: usize,
        len: usize,
    ) {
        let mut done = 0;
        while done < len {
            let (turn, within) = ((start + done) / self.period, (start + done) % self.period);
            let (begin, own, part) =
                &self.parts[self.parts.partition_point(|(begin, ..)| *begin <= within) - 1];
            let count = (begin + own - within).min(len - done);
            // SAFETY: the part has these elements.
            unsafe {
                let to = to.add(done * self.size);
                (self.run)(part, operand(part.input), to, turn * own + within - begin, count);
            }
            done += count;
        }
    }
}

impl Parts {
    /// Returns the operands of the first `n` elements, with pairs of source and destination elements for each
    /// operand.
    pub(crate) fn pairs(&self, n: usize) -> Vec<(usize, Vec<[usize; 2]>)> {
        let mut all: Vec<(usize, Vec<[usize; 2]>)> = Vec::new();
        let mut at = 0;
        while at < n {
            for (_, own, part) in &self.parts {
                let i = all.iter().position(|(input, _)| *input == part.input).unwrap_or_else(|| {
                    all.push((part.input, Vec::new()));
                    all.len() - 1
                });
                let first = at / self.period * own;
                lines(part, first, *own, |src, step, count, written| {
                    let pairs = (0..count).map(|i| [part.first + src + i * step, at + written + i]);
                    all[i].1.extend(pairs);
                });
                at += own;
            }
        }
        all
    }
}

/// # Safety
/// `from` is a tensor of the type that the part was created for, with elements of the size of `T`; `to` is
/// valid for writes of `len` elements.
unsafe fn copy<T: Copy>(part: &Part, from: *const u8, to: *mut u8, start: usize, len: usize) {
    // SAFETY: the part's first element is in the operand.
    let (from, to) = (unsafe { from.cast::<T>().add(part.first) }, to.cast::<T>());
    lines(part, start, len, |src, step, count, written| {
        // SAFETY: the elements are of one line of the part, and the output does not overlap the operands.
        unsafe {
            let (from, to) = (from.add(src), to.add(written));
            if step == 1 {
                std::ptr::copy_nonoverlapping(from, to, count);
            } else {
                (0..count).for_each(|i| to.add(i).write(from.add(i * step).read()));
            }
        }
    });
}

/// Visits `len` elements of a part from element `start` on, line by line. For each line, passes the position
/// of its first element relative to the part's first element, the distance between elements, the number of
/// elements, and the number of previous elements.
#[inline(always)]
fn lines(part: &Part, start: usize, len: usize, mut line: impl FnMut(usize, usize, usize, usize)) {
    let Some(((inner, step), outer)) = part.axes.split_last() else { return line(0, 1, 1, 0) };
    // The index of the line that contains element `start`.
    let (mut rest, mut column, mut written) = (start / inner, start % inner, 0);
    let (mut index, mut base) = ([0; MAX_RANK], 0);
    for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
        *i = rest % size;
        rest /= size;
        base += *i * stride;
    }
    while written < len {
        let count = (inner - column).min(len - written);
        line(base + column * step, *step, count, written);
        (column, written) = (0, written + count);
        for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            base += stride;
            if *i < *size {
                break;
            }
            base -= size * stride;
            *i = 0;
        }
    }
}
