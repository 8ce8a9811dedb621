//! The register with a thread's floating-point mode: MXCSR on x86-64, FPCR on aarch64.

#[cfg(target_arch = "x86_64")]
mod processor {
    use std::arch::asm;

    /// Flush results to zero, and take operands as zero.
    pub(crate) const FLUSH: u64 = 1 << 15 | 1 << 6;
    /// The register MXCSR. Reading takes 10 ns on some processors, writing it less than 2.
    pub(crate) fn read() -> u64 {
        let mut value = 0u32;
        // SAFETY: stores four bytes to `value`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        u64::from(value)
    }

    pub(crate) fn write(value: u64) {
        let value = value as u32;
        // SAFETY: loads a value that was read from the register, with bits changed that every
        // processor of this architecture has.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly))
        };
    }

    /// Makes sure that the mode is that of a value, whatever it is now; exception flags are unspecified then.
    #[inline]
    pub(crate) fn ensure(value: u64) {
        write(value);
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    use std::arch::asm;

    /// Flush to zero, operands and results.
    pub(crate) const FLUSH: u64 = 1 << 24;
    /// The register FPCR.
    pub(crate) fn read() -> u64 {
        let value: u64;
        // SAFETY: reads a register that user code may read.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub(crate) fn write(value: u64) {
        // SAFETY: writes a value that was read from the register, with the flush bit changed.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
    }

    /// Makes sure that the mode is that of a value, whatever it is now. Writing waits for what is under way, reading
    /// does not.
    #[inline]
    pub(crate) fn ensure(value: u64) {
        if read() != value {
            write(value);
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("farcall runs on x86-64 and aarch64: it does not know this processor's floating point mode");

pub(crate) use processor::{FLUSH, ensure, read, write};
