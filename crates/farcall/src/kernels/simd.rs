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
