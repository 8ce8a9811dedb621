//! Compiles loops for the vector instructions of the processor that runs them.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering};

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
        match widest() {
            // SAFETY: it has them.
            AVX512 => return unsafe { avx512(f) },
            // SAFETY: it has them.
            AVX2 => return unsafe { avx2(f) },
            _ => {}
        }
    }
    f()
}

#[cfg(target_arch = "x86_64")]
const PLAIN: u8 = 1;
#[cfg(target_arch = "x86_64")]
const AVX2: u8 = 2;
#[cfg(target_arch = "x86_64")]
const AVX512: u8 = 3;

/// Which of these the processor has: for loops over few elements, one load instead of a question for each feature.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn widest() -> u8 {
    static WIDEST: AtomicU8 = AtomicU8::new(0);
    match WIDEST.load(Ordering::Relaxed) {
        0 => {
            let found = detect();
            WIDEST.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    }
}

#[cfg(target_arch = "x86_64")]
#[cold]
fn detect() -> u8 {
    // Those of AVX-512 that are not named are part of these.
    if is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        AVX512
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        AVX2
    } else {
        PLAIN
    }
}
