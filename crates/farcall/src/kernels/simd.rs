//! Loops for the vector instructions that the processor has.
//!
//! A loop is written once, in plain Rust that the compiler can vectorize, and compiled for each [`Level`]. What it
//! computes is the same at each: the compiler neither reorders nor contracts floating-point operations.

/// A loop over memory.
///
/// `run` has to be `#[inline(always)]`, and so has what it calls, or it is not compiled for the level.
pub(super) trait Loop {
    /// Runs it.
    fn run(self);
}

/// Vector instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// Those that every processor of the architecture has.
    Plain,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this processor has.
    #[inline]
    fn best() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            // The macro keeps what it found out.
            if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
                return Level::Avx512;
            }
            if has!("avx2") {
                return Level::Avx2;
            }
        }
        Level::Plain
    }
}

/// Runs a loop with the best instructions that there are.
#[inline]
pub(super) fn run(work: impl Loop) {
    match Level::best() {
        Level::Plain => work.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has them.
        Level::Avx2 => unsafe { avx2(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has them.
        Level::Avx512 => unsafe { avx512(work) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(work: impl Loop) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512(work: impl Loop) {
    work.run();
}
