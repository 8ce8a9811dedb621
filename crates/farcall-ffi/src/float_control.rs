//! The register that holds a thread's floating-point mode: MXCSR on x86-64, FPCR on aarch64.
//!
//! XLA calls handlers in a mode in which subnormal numbers count as zero. [`with_subnormals`] runs code that
//! needs them.

#[cfg(target_arch = "x86_64")]
mod processor {
    use std::arch::asm;

    /// Mask of the mode bits that flush results to zero and treat subnormal operands as zero.
    pub const FLUSH: u64 = 1 << 15 | 1 << 6;
    /// Reads the register MXCSR. Reading takes 10 ns on some processors, writing less than 2.
    pub fn read() -> u64 {
        let mut value = 0u32;
        // SAFETY: the instruction stores four bytes to `value`, which has that size.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        u64::from(value)
    }

    /// Writes the register.
    pub fn write(value: u64) {
        let value = value as u32;
        // SAFETY: the instruction loads a value that was read from the register, with only bits changed that
        // every processor of this architecture has.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly))
        };
    }

    /// Makes `value` the mode of this thread, whatever the mode was before. The exception flags are
    /// unspecified afterwards.
    #[inline]
    pub fn ensure(value: u64) {
        write(value);
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    use std::arch::asm;

    /// Mask of the mode bit that flushes operands and results to zero.
    pub const FLUSH: u64 = 1 << 24;
    /// Reads the register FPCR.
    pub fn read() -> u64 {
        let value: u64;
        // SAFETY: the instruction reads a register that user code may read.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub fn write(value: u64) {
        // SAFETY: the instruction writes a value that was read from the register, with only the flush bit
        // changed.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
    }

    /// Makes `value` the mode of this thread, whatever the mode was before. Writing the register waits for
    /// instructions in flight; reading does not.
    #[inline]
    pub fn ensure(value: u64) {
        if read() != value {
            write(value);
        }
    }
}

/// Processors whose mode farcall does not know. The engine does not support them, but the SDK does.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod processor {
    /// No bits of the mode are known.
    pub const FLUSH: u64 = 0;

    /// Returns no bits.
    pub fn read() -> u64 {
        0
    }

    /// Changes nothing.
    pub fn write(_: u64) {}

    /// Changes nothing.
    pub fn ensure(_: u64) {}
}

pub use processor::{FLUSH, ensure, read, write};

/// Runs a function in the mode in which subnormal numbers are computed as IEEE 754 says, and restores the
/// thread's mode.
///
/// Some code is wrong in the mode in which subnormal numbers count as zero: for example, code that passes
/// masks as numbers through vector instructions.
///
/// ```
/// # use farcall_ffi::float_control::with_subnormals;
/// let half = with_subnormals(|| std::hint::black_box(f64::MIN_POSITIVE) / 2.0);
/// assert!(half > 0.0);
/// ```
pub fn with_subnormals<R>(work: impl FnOnce() -> R) -> R {
    /// Restores the mode, also after a panic.
    struct Restore(u64);

    impl Drop for Restore {
        fn drop(&mut self) {
            write(self.0);
        }
    }

    let mode = read();
    if mode & FLUSH == 0 {
        return work();
    }
    let _restore = Restore(mode);
    write(mode & !FLUSH);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_restored() {
        let mode = read();
        write(mode | FLUSH);
        let inside = with_subnormals(|| std::hint::black_box(f64::MIN_POSITIVE) / 2.0);
        let panic = crate::unwind::catch(|| with_subnormals(|| panic!("an expected panic")));
        let after = read();
        write(mode);
        assert!(inside > 0.0 && panic.is_err());
        assert_eq!(after & FLUSH, FLUSH);
    }
}
