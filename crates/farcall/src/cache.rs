//! The processor's cache.

#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{self, Vectors, widest};

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// Bytes of a tensor from which on it is not in the cache, unless it is brought there.
pub(crate) const LARGE: usize = 1 << 20;

/// Bytes between what is read of a large tensor, in the order in which it lies, and what is brought near meanwhile. Processors
/// do so themselves, but not across pages.
pub(crate) const AHEAD: usize = 8 << 10;

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

/// Brings what is [`AHEAD`] of these bytes into the cache of the second level.
#[inline(always)]
pub(crate) fn prefetch_ahead(at: *const u8, bytes: usize) {
    for line in (0..bytes).step_by(LINE) {
        prefetch_to_second_level(at.wrapping_add(AHEAD + line));
    }
}

/// Copies bytes past the cache (by non-temporal stores): what they overwrite is not read before. Others have them after
/// [`past_is_written`].
///
/// # Safety
/// There are so many bytes, apart.
pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128, _mm512_loadu_si512, _mm512_stream_si512};

        let head = to.align_offset(LINE).min(bytes);
        let end = head + (bytes - head) / LINE * LINE;
        let lines = (head..end).step_by(LINE);
        // SAFETY: the caller's promise; lines are aligned, and the processor has the instructions.
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
                    for part in (i..i + LINE).step_by(16) {
                        let four = _mm_loadu_si128(from.add(part).cast());
                        _mm_stream_si128(to.add(part).cast(), four);
                    }
                }
            }
            to.add(end).copy_from_nonoverlapping(from.add(end), bytes - end);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        to.copy_from_nonoverlapping(from, bytes);
    }
}

/// Comes after what is written past the cache, before others are told.
#[inline(always)]
pub(crate) fn past_is_written() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of the kind has the instruction.
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
            // SAFETY: both have so many bytes.
            unsafe { copy_past(from[begin..].as_ptr(), to[begin..].as_mut_ptr(), end - begin) };
            past_is_written();
            assert_eq!(to[begin..end], from[begin..end]);
            assert!(to[..begin].iter().chain(&to[end..]).all(|b| *b == 9));
        }
    }
}
