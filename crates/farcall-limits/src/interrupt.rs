//! Ends long work early: runs, evaluation, compilation, parsing.
//!
//! ```text
//! Interrupt ──during──▶ a scope of this thread ──is_due──▶ loops stop (any values) ──▶ Err(Interrupted)
//!                          └──Scope::current, Scope::enter──▶ threads that help
//! ```
//!
//! Code that may run for a long time calls [`is_due`] about every ten milliseconds or more often, and stops
//! early once the function returns true. The code need not report that it stopped. It may return any value of
//! the right type, since [`during`] discards the result. Code that stores a value which outlives the work (in
//! a cache or a file) checks [`has_ended`] first.
//!
//! Outside of a scope, [`is_due`] only loads from thread-local memory.

use std::cell::RefCell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A request to end work early. Any thread may make the request ([`raise`](Interrupt::raise)), and so may a
/// callback ([`asking`](Interrupt::asking)).
///
/// A run is given an interrupt by [`RunContext::with_interrupt`]; if interrupted, it ends with an error.
/// Other work is passed to [`during`]. An executable whose run was interrupted can be run again.
///
/// [`RunContext::with_interrupt`]: https://docs.rs/farcall/latest/farcall/custom_call/struct.RunContext.html
pub struct Interrupt {
    raised: AtomicBool,
    ask: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// The time at which the interrupt was created. `read` and `asked` are measured from it.
    begin: Instant,
    /// Number of checks left until the clock is read again.
    left: AtomicU32,
    /// Number of checks from the last reading of the clock to the next.
    pace: AtomicU32,
    /// Times of the last reading of the clock and of the last call of the callback, in microseconds.
    read: AtomicU64,
    asked: AtomicU64,
}

/// Maximum number of checks between two readings of the clock; a reading costs as much as a few dozen checks.
const MAX_CHECKS_PER_READING: u32 = 64;

/// Intended time between two readings of the clock.
const BETWEEN_READINGS: Duration = Duration::from_micros(200);

impl Interrupt {
    /// Minimum time between two calls of the callback.
    pub const PERIOD: Duration = Duration::from_millis(50);

    /// An interrupt that is due once it is [raised](Interrupt::raise).
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

    /// An interrupt that is also due when `ask` returns true, for example after a deadline or a signal.
    ///
    /// Only the thread that began the work calls `ask`, at most once in [`PERIOD`](Interrupt::PERIOD).
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt { ask: Some(Box::new(ask)), ..Interrupt::new() }
    }

    /// Interrupts all work under this interrupt, now and later. A signal handler may call this function.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Withdraws the request, so that later work runs.
    pub fn lower(&self) {
        self.raised.store(false, Ordering::Relaxed);
    }

    /// Returns true if the work has to end. A call is usually a single load, but may call the callback.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || (self.may_ask() && self.read_clock())
    }

    /// Makes the next check read the clock, after work that may have taken long.
    pub fn look_soon(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// Returns true if there is a callback and the clock has to be read.
    #[inline]
    fn may_ask(&self) -> bool {
        if self.ask.is_none() {
            return false;
        }
        // Threads that share the interrupt may overwrite each other's count. A lost count costs one extra
        // reading of the clock.
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        left == 0
    }

    /// Reads the clock, and calls the callback if its last call is at least [`PERIOD`](Interrupt::PERIOD)
    /// ago.
    #[cold]
    fn read_clock(&self) -> bool {
        let Some(ask) = &self.ask else { return false };
        let now = u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        let since = Duration::from_micros(now.saturating_sub(self.read.swap(now, Ordering::Relaxed)));
        let pace = self.pace.load(Ordering::Relaxed);
        let pace = if since > BETWEEN_READINGS { 1 } else { (2 * pace).min(MAX_CHECKS_PER_READING) };
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

/// The error of work that an [`Interrupt`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the work was interrupted")]
pub struct Interrupted;

/// Work that an interrupt may end. All threads that do the work share this value.
#[derive(Clone, Debug)]
pub struct Scope(Arc<ScopeState>);

#[derive(Debug)]
struct ScopeState {
    interrupt: Arc<Interrupt>,
    /// Set once a check has returned true: results may then be incomplete.
    ended: AtomicBool,
    /// Scope of the enclosing work.
    outer: Option<Scope>,
}

/// The scope of a thread.
struct Current {
    scope: Scope,
    /// True on the thread that began the work: only this thread calls the callbacks.
    asks: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Restores the previous scope when it is dropped.
struct Restore(Option<Current>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Does work that ends early if `interrupt`, or an interrupt of the enclosing work, is due.
///
/// ```
/// use std::sync::Arc;
///
/// use farcall_limits::interrupt::{self, Interrupt, Interrupted};
///
/// let stop = Arc::new(Interrupt::new());
/// assert_eq!(interrupt::during(&stop, || 1 + 1), Ok(2));
/// stop.raise();
/// let forever = || while !interrupt::is_due() {};
/// assert_eq!(interrupt::during(&stop, forever), Err(Interrupted));
/// ```
///
/// # Errors
/// If the work ended early; its result is dropped.
#[expect(clippy::disallowed_methods, reason = "the only payload that is dropped here is `Interrupted`")]
pub fn during<R>(interrupt: &Arc<Interrupt>, work: impl FnOnce() -> R) -> Result<R, Interrupted> {
    let outer = Scope::current();
    let own = ScopeState { interrupt: Arc::clone(interrupt), ended: AtomicBool::new(false), outer };
    let scope = Scope(Arc::new(own));
    let asks = CURRENT.with_borrow(|current| current.as_ref().is_none_or(|current| current.asks));
    let done = panic::catch_unwind(AssertUnwindSafe(|| scope.clone().entered(asks, work)));
    match done {
        Ok(done) if !scope.has_ended() => Ok(done),
        Err(panic) if !panic.is::<Interrupted>() => panic::resume_unwind(panic),
        _ => Err(Interrupted),
    }
}

/// Returns true if the work of this thread has to end. Once this function has returned true, [`during`]
/// returns an error.
#[inline]
pub fn is_due() -> bool {
    let mut to_ask = None;
    let due = CURRENT.with_borrow(|current| {
        current.as_ref().is_some_and(|Current { scope, asks }| scope.is_due(*asks, &mut to_ask))
    });
    due || to_ask.is_some_and(ask)
}

/// Returns true if a check of the current work has returned true, so that the results of the work may be
/// incomplete.
#[inline]
pub fn has_ended() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(|current| current.scope.has_ended()))
}

/// Returns an error if a check of the current work has returned true, so that the results of the work may be
/// incomplete.
///
/// # Errors
/// If [`has_ended`] returns true.
pub fn complete() -> Result<(), Interrupted> {
    if has_ended() { Err(Interrupted) } else { Ok(()) }
}

/// Leaves the work if it has to end, by unwinding to [`during`]. Meant for code that has no value to return
/// and no unsafe code around it, such as passes over a program. Does nothing in builds in which panics abort.
pub fn leave_if_due() {
    if cfg!(panic = "unwind") && is_due() {
        panic::resume_unwind(Box::new(Interrupted));
    }
}

/// Returns an error if [`is_due`] returns true.
///
/// # Errors
/// If the work has to end.
pub fn check() -> Result<(), Interrupted> {
    if is_due() { Err(Interrupted) } else { Ok(()) }
}

/// Makes the next check read the clock. Meant for a thread that has waited.
pub fn look_soon() {
    CURRENT.with_borrow(|current| {
        let mut scope = current.as_ref().map(|current| &current.scope);
        while let Some(Scope(work)) = scope {
            work.interrupt.look_soon();
            scope = work.outer.as_ref();
        }
    });
}

/// Calls the callbacks of a scope and of the enclosing scopes. A callback may run other programs, so the
/// thread's scope is not borrowed during the calls.
#[cold]
fn ask(scope: Scope) -> bool {
    let mut next = Some(&scope);
    while let Some(Scope(work)) = next {
        if work.interrupt.read_clock() {
            work.ended.store(true, Ordering::Relaxed);
        }
        next = work.outer.as_ref();
    }
    scope.has_ended()
}

impl Scope {
    /// The scope of this thread, for threads that help it.
    #[inline]
    pub fn current() -> Option<Scope> {
        CURRENT.with_borrow(|current| current.as_ref().map(|current| current.scope.clone()))
    }

    /// Does a part of the work on a helper thread, which calls no callbacks.
    pub fn enter<R>(self, part: impl FnOnce() -> R) -> R {
        self.entered(false, part)
    }

    fn entered<R>(self, asks: bool, work: impl FnOnce() -> R) -> R {
        let _restore = Restore(CURRENT.replace(Some(Current { scope: self, asks })));
        work()
    }

    fn has_ended(&self) -> bool {
        let Scope(work) = self;
        if work.ended.load(Ordering::Relaxed) {
            return true;
        }
        let by_outer = work.outer.as_ref().is_some_and(Scope::has_ended);
        if by_outer {
            work.ended.store(true, Ordering::Relaxed);
        }
        by_outer
    }

    /// Returns true if the work has to end, as far as this is known without calling a callback. Sets `to_ask`
    /// to a scope for which the clock has to be read and the callback may have to be called.
    fn is_due(&self, asks: bool, to_ask: &mut Option<Scope>) -> bool {
        if self.has_ended() {
            return true;
        }
        let mut next = Some(self);
        while let Some(scope @ Scope(work)) = next {
            if work.interrupt.raised.load(Ordering::Relaxed) {
                work.ended.store(true, Ordering::Relaxed);
                return self.has_ended();
            }
            if asks && work.interrupt.may_ask() && to_ask.is_none() {
                *to_ask = Some(scope.clone());
            }
            next = work.outer.as_ref();
        }
        false
    }
}

/// Counts the steps of a loop, each shorter than a microsecond, and calls [`is_due`] at every
/// [`Pace::STEPS`]th step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace(usize);

impl Pace {
    /// Number of steps between two checks.
    pub const STEPS: usize = 1 << 12;

    /// Counts a step. Returns true if the work has to end.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.is_due_after(1)
    }

    /// Counts several steps. Returns true if the work has to end.
    #[inline]
    pub fn is_due_after(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_add(steps);
        if self.0 < Pace::STEPS {
            return false;
        }
        self.0 = 0;
        is_due()
    }

    /// Counts a step, and [leaves](leave_if_due) the work if it has to end.
    #[inline]
    pub fn leave_if_due(&mut self) {
        self.0 += 1;
        if self.0 >= Pace::STEPS {
            self.0 = 0;
            leave_if_due();
        }
    }

    /// Counts a step. Returns an error if the work has to end.
    ///
    /// # Errors
    /// If [`Pace::is_due`] returns true.
    #[inline]
    pub fn check(&mut self) -> Result<(), Interrupted> {
        if self.is_due() { Err(Interrupted) } else { Ok(()) }
    }

    /// Iterates over the items until the work has to end.
    pub fn until_due<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
        let mut pace = Pace::default();
        items.into_iter().take_while(move |_| !pace.is_due())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    fn forever() {
        while !is_due() {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn nothing_is_due_outside_of_a_scope() {
        assert!(!is_due() && !has_ended());
        assert_eq!(check(), Ok(()));
        assert!(Scope::current().is_none());
    }

    #[test]
    fn a_raised_interrupt_ends_work_on_all_threads() {
        let interrupt = Arc::new(Interrupt::new());
        let ended = during(&interrupt, || {
            let scope = Scope::current().unwrap();
            thread::scope(|threads| {
                threads.spawn(|| scope.clone().enter(forever));
                threads.spawn(|| {
                    thread::sleep(Duration::from_millis(5));
                    interrupt.raise();
                });
                forever();
            });
        });
        assert_eq!(ended, Err(Interrupted));
        interrupt.lower();
        assert_eq!(during(&interrupt, is_due), Ok(false));
    }

    #[test]
    fn only_the_first_thread_calls_the_callback() {
        let first = thread::current().id();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let interrupt = Arc::new(Interrupt::asking(move || {
            assert_eq!(thread::current().id(), first);
            // A callback may itself do work under an interrupt.
            assert_eq!(during(&Arc::new(Interrupt::new()), || 3), Ok(3));
            count.fetch_add(1, Ordering::Relaxed) == 1
        }));
        let begin = Instant::now();
        let ended = during(&interrupt, || {
            let scope = Scope::current().unwrap();
            thread::scope(|threads| {
                threads.spawn(|| scope.enter(forever));
                forever();
            });
        });
        assert_eq!(ended, Err(Interrupted));
        assert!(begin.elapsed() >= Interrupt::PERIOD);
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the payload is a number")]
    fn work_is_left_at_any_depth() {
        let interrupt = Arc::new(Interrupt::new());
        let mut pace = Pace::default();
        for _ in 0..2 * Pace::STEPS {
            pace.leave_if_due();
        }
        interrupt.raise();
        let ended = during(&interrupt, || (0..u64::MAX).for_each(|_| pace.leave_if_due()));
        assert_eq!(ended, Err(Interrupted));
        assert!(!is_due());
        let other = panic::catch_unwind(AssertUnwindSafe(|| {
            during(&interrupt, || panic::resume_unwind(Box::new(3)))
        }));
        assert_eq!(other.unwrap_err().downcast_ref(), Some(&3));
    }

    #[test]
    fn the_interrupt_of_outer_work_ends_inner_work() {
        let (outer, inner) = (Arc::new(Interrupt::new()), Arc::new(Interrupt::new()));
        let ended = during(&outer, || {
            outer.raise();
            during(&inner, forever)
        });
        assert_eq!(ended, Err(Interrupted));
        outer.lower();
        let ended = during(&outer, || {
            inner.raise();
            let ended = during(&inner, forever);
            (ended, is_due())
        });
        assert_eq!(ended, Ok((Err(Interrupted), false)));
    }
}
