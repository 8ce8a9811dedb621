//! Writes values that need no arithmetic: a repeated element, broadcasts, iotas.

use farcall_ir::TensorType;
use smallvec::SmallVec;

use super::MAX_RANK;
use crate::movement::{Axis, fill, normal, row_major};
use crate::number::Number;
use crate::simd::vectorized;
use crate::types::{by_size, dispatch};

/// Writes one element `n` times.
///
/// # Safety
/// `from` is valid for reads of an element of this size, and `to` for writes of `n` elements.
pub(crate) unsafe fn splat(from: *const u8, to: *mut u8, size: usize, n: usize) {
    let done = by_size!(size, T => {
        // SAFETY: the caller guarantees an element of this size (`# Safety` above). The read is unaligned.
        let value = unsafe { from.cast::<T>().read_unaligned() };
        vectorized(
            // `move`, so that the value is captured by copy: the written elements could alias a reference to
            // it.
            #[inline(always)]
            move || {
                for i in 0..n {
                    // SAFETY: `i < n`, and the caller guarantees that `to` is valid for writes of `n`
                    // elements (`# Safety` above).
                    unsafe { to.cast::<T>().add(i).write(value) };
                }
            },
        );
    });
    debug_assert!(done.is_some(), "elements of {size} bytes");
}

/// A traversal of an operand in the order of the output's elements.
pub(crate) struct Walk {
    /// Size, and stride in the operand, of each dimension from outer to inner.
    axes: SmallVec<[(usize, usize); MAX_RANK]>,
    /// Writes elements: the first element number, and the count.
    pub(crate) run: unsafe fn(&Walk, *const u8, *mut u8, usize, usize),
}

impl Walk {
    /// Number of elements after which the walk repeats.
    pub(crate) fn period(&self) -> usize {
        let repeated = self.axes.iter().take_while(|(_, stride)| *stride == 0).count();
        self.axes[repeated..].iter().map(|(size, _)| size).product()
    }

    /// Creates the walk of a broadcast whose dimensions stay in order.
    pub(crate) fn broadcast(from: &TensorType, to: &TensorType, dims: &[usize]) -> Option<Walk> {
        let strides = row_major(from.sizes());
        let fits = |(i, d): (usize, &usize)| {
            to.sizes().get(*d).is_some_and(|n| from.sizes()[i] == *n || from.sizes()[i] == 1)
        };
        if !dims.iter().enumerate().all(fits) || dims.windows(2).any(|d| d[0] == d[1]) {
            return None;
        }
        let axes: Vec<Axis> = normal(fill(to, |d| match dims.iter().position(|x| *x == d) {
            Some(i) if from.sizes()[i] == to.sizes()[d] => strides[i],
            _ => 0,
        }));
        (axes.len() <= MAX_RANK).then_some(())?;
        let axes =
            axes.iter().map(|a| Some((a.size, usize::try_from(a.src).ok()?))).collect::<Option<_>>()?;
        let run =
            by_size!(to.dtype.size(), T => walk::<T> as unsafe fn(&Walk, *const u8, *mut u8, usize, usize))?;
        Some(Walk { axes, run })
    }
}

/// Writes `len` elements, starting at element `start`.
///
/// # Safety
/// `from` is a tensor that the walk was created for, with elements of the size of `T`; `to` is valid for
/// writes of `len` elements.
unsafe fn walk<T: Copy>(walk: &Walk, from: *const u8, to: *mut u8, start: usize, len: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    let Some(((inner, step), outer)) = walk.axes.split_last() else { return };
    // The index of element `start`, from inner to outer.
    let mut rest = start / inner;
    let mut index: SmallVec<[usize; MAX_RANK]> = SmallVec::from_elem(0, outer.len());
    let mut base = 0;
    for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
        *i = rest % size;
        rest /= size;
        base += *i * stride;
    }
    let (mut column, mut written) = (start % inner, 0);
    while written < len {
        // The rest of a line, or all remaining whole lines along the next axis.
        let run = (inner - column).min(len - written);
        let next = outer.last().zip(index.last()).filter(|_| run == *inner);
        let (lines, stride) =
            next.map_or((1, 0), |((size, stride), i)| ((size - i).min((len - written) / inner), *stride));
        // SAFETY: the lines lie in the operand, and `written + lines * run` is at most `len`.
        unsafe {
            let (from, to) = (from.add(base + column * step), to.add(written));
            if stride == 0 {
                line(from, *step, to, run);
                repeat(to, run, (lines - 1) * run);
            } else {
                for i in 0..lines {
                    line(from.add(i * stride), *step, to.add(i * run), run);
                }
            }
        }
        written += lines * run;
        column = 0;
        let mut steps = lines;
        for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
            *i += steps;
            base += steps * stride;
            if *i < *size {
                break;
            }
            base -= size * stride;
            (*i, steps) = (0, 1);
        }
    }
}

/// Repeats the first `n` elements in the `more` elements after them.
///
/// # Safety
/// The `n` elements are initialized, and the `more` elements after them are valid for writes.
unsafe fn repeat<T: Copy>(first: *mut T, n: usize, more: usize) {
    let (mut written, end) = (n, n + more);
    while written < end {
        // Copies everything written so far: a multiple of `n` elements, except in the last iteration.
        let run = written.min(end - written);
        // SAFETY: the caller guarantees the elements; the destination is after the source.
        unsafe { std::ptr::copy_nonoverlapping(first, first.add(written), run) };
        written += run;
    }
}

/// # Safety
/// `from` is valid for reads of `n` elements at distances of `step` elements, and `to` for writes of `n`
/// elements. They do not overlap, and `n` is not 0.
#[inline]
unsafe fn line<T: Copy>(from: *const T, step: usize, to: *mut T, n: usize) {
    match step {
        // SAFETY: the caller guarantees `n` elements on both sides without overlap (`# Safety` above).
        1 => unsafe { std::ptr::copy_nonoverlapping(from, to, n) },
        0 => {
            // SAFETY: the caller guarantees an element (`# Safety` above); `n` is not 0.
            let value = unsafe { from.read() };
            for i in 0..n {
                // SAFETY: `i < n`, and the caller guarantees that `to` is valid for writes of `n` elements
                // (`# Safety` above).
                unsafe { to.add(i).write(value) };
            }
        }
        _ => {
            for i in 0..n {
                // SAFETY: `i < n`, and the caller guarantees `n` elements on both sides (`# Safety` above).
                unsafe { to.add(i).write(from.add(i * step).read()) };
            }
        }
    }
}

/// The index `(element / stride) % size` of each element.
pub(crate) struct Iota {
    stride: usize,
    size: usize,
    /// Writes elements: the first element number, and the count.
    pub(crate) run: unsafe fn(&Iota, *mut u8, usize, usize),
}

impl Iota {
    pub(crate) fn new(ty: &TensorType, dim: usize) -> Option<Iota> {
        let size = *ty.sizes().get(dim)?;
        let stride = ty.sizes()[dim + 1..].iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        let run =
            dispatch!(ty.dtype, [ints, floats], T => iota::<T> as unsafe fn(&Iota, *mut u8, usize, usize))?;
        Some(Iota { stride: stride.max(1), size: size.max(1), run })
    }
}

/// # Safety
/// `to` is valid for writes of `len` elements of type `T`.
unsafe fn iota<T: Number>(iota: &Iota, to: *mut u8, start: usize, len: usize) {
    let to = to.cast::<T>();
    let mut value = (start / iota.stride) % iota.size;
    let (mut left, mut written) = (iota.stride - start % iota.stride, 0);
    while written < len {
        if iota.stride == 1 {
            let run = (iota.size - value).min(len - written);
            vectorized(
                #[inline(always)]
                move || {
                    for i in 0..run {
                        // SAFETY: `written + run <= len`.
                        unsafe { to.add(written + i).write(T::from_index(value + i)) };
                    }
                },
            );
            (written, value) = (written + run, 0);
            continue;
        }
        let run = left.min(len - written);
        let element = T::from_index(value);
        for i in written..written + run {
            // SAFETY: `i < len`.
            unsafe { to.add(i).write(element) };
        }
        written += run;
        left = iota.stride;
        value = if value + 1 == iota.size { 0 } else { value + 1 };
    }
}
