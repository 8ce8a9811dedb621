//! Kernels: loops over memory, one file a family.
//!
//! **Invariants.** A kernel trusts its caller, who trusts the validated plan, for sizes, types and
//! places. It covers what `plan::support` says, and answers `false` for anything else without
//! touching memory. Nothing here depends on the number of threads.

pub(super) mod dot;
pub(super) mod elementwise;
mod map;
pub(super) mod movement;
mod number;
pub(super) mod reduce;

use elementwise::dispatch;
use farcall_ir::DType;
use number::{Integer, Number};

/// Counts along an axis of `size`, with `outer` times `inner` elements around it; `false` if there is
/// no kernel.
///
/// # Safety
/// `out` is valid for writes of `outer * size * inner` aligned elements of `dtype`.
pub(super) unsafe fn iota(dtype: DType, out: *mut u8, [outer, size, inner]: [usize; 3]) -> bool {
    dispatch!(dtype, [ints, floats], T => {
        let mut at = out.cast::<T>();
        for _ in 0..outer {
            for i in 0..size {
                for _ in 0..inner {
                    // SAFETY: the caller's promise.
                    unsafe {
                        at.write(T::from_index(i));
                        at = at.add(1);
                    }
                }
            }
        }
    })
}

/// An index of a dynamic slice, clamped to `0..=limit`.
///
/// # Safety
/// `x` is valid for the read of an aligned element of `dtype`.
pub(super) unsafe fn index(dtype: DType, x: *const u8, limit: usize) -> usize {
    let mut at = 0;
    let known = dispatch!(dtype, [ints], T => {
        // SAFETY: the caller's promise.
        at = unsafe { x.cast::<T>().read() }.clamp_index(limit);
    });
    debug_assert!(known, "a plan is validated: {dtype} is no type of an index");
    at
}

/// Which branch of a choice among `count` is taken.
///
/// # Safety
/// As [`index`]; also `pred`.
pub(super) unsafe fn branch(dtype: DType, x: *const u8, count: usize) -> usize {
    if dtype == DType::Pred {
        // SAFETY: the caller's promise.
        return usize::from(unsafe { x.read() } == 0);
    }
    let last = count - 1;
    let mut at = last;
    dispatch!(dtype, [ints], T => {
        // SAFETY: the caller's promise.
        let value = unsafe { x.cast::<T>().read() };
        let negative = value.is_below_zero();
        at = if negative { last } else { value.clamp_index(last) };
    });
    at
}
