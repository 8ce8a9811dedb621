//! Whether a thread flushes subnormal numbers to zero, so that a handler's tasks behave like the handler.
//!
//! The mode is in bits of a register, which each thread has.

use crate::float_control as register;

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
