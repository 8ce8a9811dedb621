//! Writes values that need no arithmetic: a repeated element, iotas.

use farcall_ir::TensorType;

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

/// The index `(element / stride) % size` of each element.
pub(crate) struct Iota {
    stride: usize,
    size: usize,
    /// Writes elements, given the number of the first element and the count.
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
