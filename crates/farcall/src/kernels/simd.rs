//! Compiles loops for the vector instructions of the processor that runs them.

use farcall_ffi::simd::{Vectors, widest};
#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{avx2, avx512};

/// Calls `f`, compiled for the widest vectors that the processor has: what is inlined into it, which should be all of
/// its loops, is vectorized so. (A closure that `for_each` or the like calls is a function of its own, for any processor,
/// unless it is `#[inline(always)]`.) The results do not depend on it.
#[inline(always)]
pub(super) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    match widest() {
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => unsafe { avx512(f) },
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => unsafe { avx2(f) },
        Vectors::Plain => f(),
    }
}

/// The same, where a processor of this architecture without such vectors is so rare that another function does for it, which
/// takes less code.
#[inline(always)]
#[cfg_attr(
    not(any(target_arch = "x86_64", test)),
    expect(unused_variables, reason = "all of its processors have vectors")
)]
pub(super) fn vectorized_or<R>(plain: impl FnOnce() -> R, f: impl FnOnce() -> R) -> R {
    #[cfg(test)]
    if PLAIN.get() {
        return plain();
    }
    match widest() {
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => unsafe { avx512(f) },
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => unsafe { avx2(f) },
        #[cfg(target_arch = "x86_64")]
        Vectors::Plain => plain(),
        #[cfg(not(target_arch = "x86_64"))]
        Vectors::Plain => f(),
    }
}

#[cfg(test)]
thread_local! {
    /// On this thread, [`vectorized_or`] does what it does where there are no vectors.
    pub(super) static PLAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}
