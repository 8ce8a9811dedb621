//! Ends a run early.
//!
//! A run checks its interrupt between thunks, and before each iteration of a loop: a single load, unless a callback
//! is due. Handlers are not interrupted.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Ends the runs that it is given to ([`RunContext::with_interrupt`](crate::custom_call::RunContext::with_interrupt))
/// with [`RunError::Interrupted`](crate::RunError::Interrupted).
///
/// An executable whose run was interrupted can be run again.
pub struct Interrupt {
    raised: AtomicBool,
    ask: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What the times below count from.
    begin: Instant,
    /// Looks until the clock is read again.
    left: AtomicU32,
    /// How many looks there were between the last two readings.
    pace: AtomicU32,
    /// When the clock was read, and when the question was asked, in microseconds.
    read: AtomicU64,
    asked: AtomicU64,
}

/// Most looks between two readings of the clock, which costs as much as a few dozen of them.
const MAX_PACE: u32 = 64;

/// Time between two readings of the clock that is aimed at.
const BETWEEN_READINGS: Duration = Duration::from_micros(200);

impl Interrupt {
    /// The time between two questions at least.
    pub const PERIOD: Duration = Duration::from_millis(50);

    /// One that interrupts when it is [raised](Interrupt::raise).
    pub fn new() -> Interrupt {
        Interrupt {
            raised: AtomicBool::new(false),
            ask: None,
            begin: Instant::now(),
            left: AtomicU32::new(0),
            pace: AtomicU32::new(1),
            read: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        }
    }

    /// One that also interrupts when `ask` says so: that a time is over, that a signal came.
    ///
    /// `ask` is called by the thread that runs the program, once in [`PERIOD`](Interrupt::PERIOD) at most.
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt { ask: Some(Box::new(ask)), ..Interrupt::new() }
    }

    /// Interrupts all runs that this is given to, now and later. A signal handler may call it.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Lets runs run again.
    pub fn lower(&self) {
        self.raised.store(false, Ordering::Relaxed);
    }

    /// True if the run that looks has to end.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        if self.raised.load(Ordering::Relaxed) {
            return true;
        }
        let Some(ask) = &self.ask else { return false };
        // Threads that share it may lose each other's count, which costs a reading of the clock.
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return false;
        }
        self.read_clock(ask)
    }

    /// Something may have taken long: the next look reads the clock.
    pub(crate) fn look_soon(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn read_clock(&self, ask: &(dyn Fn() -> bool + Send + Sync)) -> bool {
        let now = u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        let since = Duration::from_micros(now.saturating_sub(self.read.swap(now, Ordering::Relaxed)));
        let pace = self.pace.load(Ordering::Relaxed);
        let pace = if since > BETWEEN_READINGS { 1 } else { (2 * pace).min(MAX_PACE) };
        self.pace.store(pace, Ordering::Relaxed);
        self.left.store(pace - 1, Ordering::Relaxed);
        if Duration::from_micros(now.saturating_sub(self.asked.load(Ordering::Relaxed))) < Self::PERIOD {
            return false;
        }
        self.asked.store(now, Ordering::Relaxed);
        ask()
    }
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt::new()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("raised", &self.raised).finish_non_exhaustive()
    }
}
