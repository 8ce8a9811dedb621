//! The processor's cache: the size of its lines, and prefetching.

/// Size of a cache line, in bytes.
pub const CACHE_LINE_BYTES: usize = 64;

/// Prefetches the cache line with this address, which will be read or written soon. Any address is allowed.
#[inline(always)]
pub fn prefetch(at: *const u8, written: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that is allowed for any address, and has no effect on results.
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
