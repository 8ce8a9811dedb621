//! The treatment of subnormal numbers by a thread, so that a handler's tasks behave like the handler.
//!
//! The mode consists of bits of a register. Each thread has its own value of the register.

use crate::float_control as register;

/// A thread's treatment of subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FloatMode(u64);

impl FloatMode {
    /// Flushes subnormal operands and results to zero.
    #[cfg(test)]
    pub(super) const FLUSH: FloatMode = FloatMode(register::FLUSH);

    /// Returns the mode of this thread.
    #[inline]
    pub(super) fn current() -> FloatMode {
        FloatMode(register::read() & register::FLUSH)
    }

    /// Sets the mode of this thread until the guard is dropped.
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

/// A mode that is in effect until the guard is dropped, which restores the previous mode.
#[must_use]
pub(super) struct Entered {
    before: FloatMode,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.before.set();
    }
}
