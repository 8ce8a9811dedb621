//! Compiles loops for the vector instructions of the processor that runs them.

/// Calls `f`, compiled for the widest vectors that the processor has: what is inlined into it, which should be all of
/// its loops, is vectorized so. The results do not depend on it.
#[inline(always)]
pub(super) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        /// # Safety
        /// The processor has these instructions.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
        unsafe fn avx512<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        /// # Safety
        /// The processor has these instructions.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        if is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: it has them; those that are not named are part of these.
            return unsafe { avx512(f) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: it has them.
            return unsafe { avx2(f) };
        }
    }
    f()
}

/// Bytes of a line of the cache.
pub(super) const LINE: usize = 64;

/// Brings the line of the cache with this address near, which will be read, or written, soon. Any address will do.
#[inline(always)]
pub(super) fn prefetch(at: *const u8, written: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, without effect on what is computed, for any address.
        unsafe {
            if written {
                _mm_prefetch::<_MM_HINT_ET0>(at.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T0>(at.cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, written);
}
