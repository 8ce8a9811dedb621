//! Whether a thread flushes subnormal numbers to zero, so that a handler's tasks do as their
//! handler does.
//!
//! x86-64 and aarch64 have bits for it in a register of each thread; elsewhere there is nothing to
//! take over.

/// What a thread does with subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FloatMode(u64);

impl FloatMode {
    /// Flush to zero, operands and results.
    #[cfg(test)]
    pub(super) const FLUSH: FloatMode = FloatMode(register::FLUSH);

    /// What this thread does.
    #[inline]
    pub(super) fn current() -> FloatMode {
        FloatMode(register::read() & register::FLUSH)
    }

    /// Makes this thread do it until the guard is dropped.
    pub(super) fn enter(self) -> Entered {
        let before = FloatMode::current();
        self.set();
        Entered { before }
    }

    fn set(self) {
        if FloatMode::current() != self {
            register::write(register::read() & !register::FLUSH | self.0);
        }
    }
}

/// A mode for a while; dropping it sets the one from before.
#[must_use]
pub(super) struct Entered {
    before: FloatMode,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.before.set();
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    /// The bits FTZ and DAZ.
    pub(super) const FLUSH: u64 = 1 << 15 | 1 << 6;

    /// MXCSR
    #[inline]
    pub(super) fn read() -> u64 {
        let mut value = 0u32;
        // SAFETY: stores four bytes to `value`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        u64::from(value)
    }

    pub(super) fn write(value: u64) {
        let value = value as u32;
        // SAFETY: loads a value that was read from the register, with bits changed that every
        // processor of this architecture has.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;

    /// The bit FZ.
    pub(super) const FLUSH: u64 = 1 << 24;

    /// FPCR
    #[inline]
    pub(super) fn read() -> u64 {
        let value: u64;
        // SAFETY: reads a register that user code may read.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub(super) fn write(value: u64) {
        // SAFETY: writes a value that was read from the register, with the flush bit changed.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(super) const FLUSH: u64 = 0;

    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn write(_value: u64) {}
}
