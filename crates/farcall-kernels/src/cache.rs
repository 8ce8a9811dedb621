//! The processor's cache: prefetching, and stores that bypass it.

pub(crate) use farcall_ffi::cache::{CACHE_LINE_BYTES, prefetch};
#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{self, Vectors, widest};

/// Minimum size, in bytes, of tensors that are assumed not to be in the cache, unless they are prefetched.
pub(crate) const MIN_UNCACHED_BYTES: usize = 1 << 20;

/// Distance, in bytes, between the part of a large tensor that is being read sequentially and the part that
/// is prefetched at the same time. Processors prefetch sequential reads themselves, but not across pages.
pub(crate) const PREFETCH_DISTANCE_BYTES: usize = 8 << 10;

/// Prefetches the cache line into the second-level cache. Use this function for many lines at once: only a
/// few lines can be in flight to the first-level cache, and all other misses of that cache then wait.
#[inline(always)]
pub(crate) fn prefetch_to_second_level(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch is a hint that is allowed for any address, and has no effect on results.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Prefetches into the second-level cache the bytes that are [`PREFETCH_DISTANCE_BYTES`] after the given
/// bytes.
#[inline(always)]
pub(crate) fn prefetch_ahead(at: *const u8, bytes: usize) {
    for line in (0..bytes).step_by(CACHE_LINE_BYTES) {
        prefetch_to_second_level(at.wrapping_add(PREFETCH_DISTANCE_BYTES + line));
    }
}

/// Copies bytes with non-temporal stores. These stores bypass the cache, so the old contents of the memory
/// are not read first. Other threads may only read the bytes after [`past_is_written`].
///
/// # Safety
/// `from` must be valid for `bytes` reads, `to` must be valid for `bytes` writes, and the two must not
/// overlap.
pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128, _mm512_loadu_si512, _mm512_stream_si512};

        let head = to.align_offset(CACHE_LINE_BYTES).min(bytes);
        let end = head + (bytes - head) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
        let lines = (head..end).step_by(CACHE_LINE_BYTES);
        // SAFETY: the caller guarantees that both ranges are valid and disjoint (`# Safety` above). Stores
        // start at multiples of the line size, so they are aligned. Every x86-64 processor has SSE2, and
        // `widest` has detected AVX-512.
        unsafe {
            to.copy_from_nonoverlapping(from, head);
            if matches!(widest(), Vectors::Avx512) {
                simd::avx512(
                    #[inline(always)]
                    || {
                        for i in lines {
                            _mm512_stream_si512(to.add(i).cast(), _mm512_loadu_si512(from.add(i).cast()));
                        }
                    },
                );
            } else {
                for i in lines {
                    for part in (i..i + CACHE_LINE_BYTES).step_by(16) {
                        let four = _mm_loadu_si128(from.add(part).cast());
                        _mm_stream_si128(to.add(part).cast(), four);
                    }
                }
            }
            to.add(end).copy_from_nonoverlapping(from.add(end), bytes - end);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller guarantees that both ranges are valid and disjoint (`# Safety` above).
    unsafe {
        to.copy_from_nonoverlapping(from, bytes);
    }
}

/// Orders non-temporal stores before later stores, so that a later store can tell other threads that the
/// bytes are written.
#[inline(always)]
pub(crate) fn past_is_written() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has `sfence`, a part of SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_past_the_cache_begin_and_end_anywhere() {
        let from: Vec<u8> = (0..300).map(|i| i as u8).collect();
        for (begin, end) in [(0, 0), (3, 5), (0, 64), (1, 64), (63, 300), (64, 256), (128, 299)] {
            let mut to = vec![9; 300];
            // SAFETY: both ranges have `end - begin` bytes, and belong to different vectors.
            unsafe { copy_past(from[begin..].as_ptr(), to[begin..].as_mut_ptr(), end - begin) };
            past_is_written();
            assert_eq!(to[begin..end], from[begin..end]);
            assert!(to[..begin].iter().chain(&to[end..]).all(|b| *b == 9));
        }
    }
}
