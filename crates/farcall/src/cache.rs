//! The processor's cache.

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// Brings the line of the cache with this address near, which will be read, or written, soon. Any address will do.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8, written: bool) {
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

/// Brings the line into the cache of the second level. For many lines at once: those on their way to the first level are
/// few, and everything else that misses it waits for one of them.
#[inline(always)]
pub(crate) fn prefetch_to_second_level(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, without effect on what is computed, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
