//! Limits the number of loop iterations in a run, to keep untrusted programs from running forever.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Sets how many iterations all `while` loops of a run may take together, in this process. Without a limit, a run
/// ends when its loops do.
pub fn set_limit(iterations: u64) {
    LIMIT.store(iterations, Relaxed);
}

/// The limit; `u64::MAX` if there is none.
pub fn limit() -> u64 {
    LIMIT.load(Relaxed)
}

/// A run whose loops did not end within the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the loops of the run take more than {limit} iterations, which is the limit")]
pub struct TooMany {
    /// The limit.
    pub limit: u64,
}

/// The iterations that are left to a run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// As many as the limit says now.
    pub fn new() -> Budget {
        Budget { left: limit() }
    }

    /// One more iteration.
    ///
    /// # Errors
    /// If none is left.
    #[inline]
    pub fn spend(&mut self) -> Result<(), TooMany> {
        self.spend_some(1).map(drop)
    }

    /// As many more as are left, one at least and `most` at most; returns how many.
    ///
    /// # Errors
    /// If none is left.
    #[inline]
    pub fn spend_some(&mut self, most: u64) -> Result<u64, TooMany> {
        let some = self.left.min(most.max(1));
        if some == 0 {
            return Err(TooMany { limit: limit() });
        }
        self.left -= some;
        Ok(some)
    }

    /// Iterations that were spent, but did not happen.
    pub fn give_back(&mut self, iterations: u64) {
        self.left += iterations;
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new()
    }
}
