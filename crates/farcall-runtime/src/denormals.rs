//! The processor's handling of subnormal numbers while a plan runs.

use farcall_ir::eval::Denormals;

use farcall_host::float_control as control;

/// Guard that sets the floating-point mode of this thread. Dropping it restores the previous mode.
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

    /// Restores the mode after foreign code, which may have changed it.
    #[inline]
    pub(super) fn restore(&self) {
        control::ensure(self.during);
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        control::ensure(self.before);
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
