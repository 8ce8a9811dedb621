//! The register that holds a thread's floating-point mode: MXCSR on x86-64, FPCR on aarch64.

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

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("farcall runs on x86-64 and aarch64: it does not know this processor's floating point mode");

pub use processor::{FLUSH, ensure, read, write};
