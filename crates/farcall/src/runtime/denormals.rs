//! What the processor does with subnormal numbers while a plan runs.

use farcall_ir::eval::Denormals;

/// Sets the mode of this thread; dropping it sets the one from before.
pub(super) struct Mode {
    before: u64,
    during: u64,
}

impl Mode {
    /// Enters a mode.
    pub(super) fn enter(denormals: Denormals) -> Mode {
        let before = control::read();
        let during = match denormals {
            Denormals::Flush => before | control::FLUSH,
            Denormals::Ieee => before & !control::FLUSH,
        };
        if during != before {
            control::write(during);
        }
        Mode { before, during }
    }

    /// Enters it again, after foreign code that may have left it.
    pub(super) fn restore(&self) {
        // The low bits of the register are sticky flags, which say nothing about the mode.
        if (control::read() ^ self.during) & control::MODE != 0 {
            control::write(self.during);
        }
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        if (control::read() ^ self.before) & control::MODE != 0 {
            control::write(self.before);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// Flush results to zero, and take operands as zero.
    pub(super) const FLUSH: u64 = 1 << 15 | 1 << 6;
    /// All but the exception flags.
    pub(super) const MODE: u64 = 0xffff & !0x3f;

    /// The register MXCSR.
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
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly))
        };
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    use std::arch::asm;

    /// Flush to zero, operands and results.
    pub(super) const FLUSH: u64 = 1 << 24;
    /// The whole register: its flags live in another one.
    pub(super) const MODE: u64 = u64::MAX;

    /// The register FPCR.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_mode_ends_with_its_scope() {
        let tiny = black_box(f32::MIN_POSITIVE);
        let half = || black_box(tiny) * black_box(0.5);
        assert_ne!(half(), 0.0);
        {
            let mode = Mode::enter(Denormals::Flush);
            assert_eq!(half(), 0.0);
            control::write(control::read() & !control::FLUSH);
            mode.restore();
            assert_eq!(half(), 0.0);
            let _inner = Mode::enter(Denormals::Ieee);
            assert_ne!(half(), 0.0);
        }
        assert_ne!(half(), 0.0);
    }
}
