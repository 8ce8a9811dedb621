//! Limits the number of loop iterations in a run, so that untrusted programs do not run forever.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Limits the total number of iterations of all `while` loops in a run. The limit applies to every run in
/// this process. Without a limit, a run ends when its loops end.
pub fn set_limit(iterations: u64) {
    LIMIT.store(iterations, Relaxed);
}

/// The limit; `u64::MAX` without a limit.
pub fn limit() -> u64 {
    LIMIT.load(Relaxed)
}

/// The error of a run whose loops exceeded the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the loops of the run take more than {limit} iterations, which is the limit; see: farcall guide security"
)]
pub struct TooMany {
    /// The limit.
    pub limit: u64,
}

/// The remaining iterations of a run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Creates a budget with the current limit.
    pub fn new() -> Budget {
        Budget { left: limit() }
    }

    /// Spends one iteration.
    ///
    /// # Errors
    /// If no iterations remain.
    #[inline]
    pub fn spend(&mut self) -> Result<(), TooMany> {
        self.spend_some(1).map(drop)
    }

    /// Spends as many iterations as remain, up to `most` (at least one). Returns the number of iterations
    /// spent.
    ///
    /// # Errors
    /// If no iterations remain.
    #[inline]
    pub fn spend_some(&mut self, most: u64) -> Result<u64, TooMany> {
        let some = self.left.min(most.max(1));
        if some == 0 {
            return Err(TooMany { limit: limit() });
        }
        self.left -= some;
        Ok(some)
    }

    /// Adds back iterations that were spent but did not take place.
    pub fn give_back(&mut self, iterations: u64) {
        self.left += iterations;
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new()
    }
}
