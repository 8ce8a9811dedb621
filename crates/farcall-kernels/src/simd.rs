//! Compiles loops for the vector instructions of the processor that runs them.

use std::sync::atomic::{Ordering, compiler_fence};

use farcall_ffi::simd::{Vectors, widest};
#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{avx2, avx512};

/// Calls `f`, compiled for the widest vectors of the processor. Only code that is inlined into `f` is
/// compiled in this way, so all loops should be inlined. (A closure that is passed to `for_each`, for
/// example, is a separate function, compiled for any processor, unless it is `#[inline(always)]`.) The
/// results do not depend on the width of the vectors.
#[inline(always)]
pub(super) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    match widest() {
        // SAFETY: `widest` has detected these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => unsafe { avx512(f) },
        // SAFETY: `widest` has detected these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => unsafe { avx2(f) },
        Vectors::Plain => f(),
    }
}

/// Returns true if the processor has the vectors that [`with_vectors`] needs. x86-64 processors without AVX2
/// are rare. For them, a kernel chooses loops that run on any processor: these loops are slower, but need
/// less code.
pub(super) fn has_vectors() -> bool {
    !cfg!(target_arch = "x86_64") || !matches!(widest(), Vectors::Plain)
}

/// Calls `f` like [`vectorized`]. Panics unless [`has_vectors`] is true.
#[inline(always)]
pub(super) fn with_vectors<R>(f: impl FnOnce() -> R) -> R {
    choose(|| unreachable!("the kernel was prepared for a processor with vectors"), f)
}

/// Ends a block of elements in a loop over blocks. The compiler then vectorizes the code within a block. It
/// could otherwise vectorize across blocks, and gather the same element of many blocks into a vector.
#[inline(always)]
pub(super) fn end_block() {
    compiler_fence(Ordering::SeqCst);
}

/// Calls `f` like [`vectorized`], except that x86-64 processors without AVX2 run `plain`. These processors
/// are rare, so `f` is not compiled for them, which saves code.
#[inline(always)]
pub(super) fn vectorized_or<R>(plain: impl FnOnce() -> R, f: impl FnOnce() -> R) -> R {
    #[cfg(test)]
    if PLAIN.get() {
        return plain();
    }
    choose(plain, f)
}

/// Calls `f` compiled for the widest vectors of the processor, or `plain` on x86-64 processors without AVX2.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "all of its processors have vectors")
)]
fn choose<R>(plain: impl FnOnce() -> R, f: impl FnOnce() -> R) -> R {
    match widest() {
        // SAFETY: `widest` has detected these instructions.
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => unsafe { avx512(f) },
        // SAFETY: `widest` has detected these instructions.
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
    /// Makes [`vectorized_or`] behave on this thread as on a processor without vectors.
    pub(super) static PLAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}
