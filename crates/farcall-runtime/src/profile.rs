//! Time profiles of runs: totals for each thunk and, on request, the single events of a run.
//!
//! ```
//! use farcall::ir::{DType, Literal, Source, text};
//! use farcall::{CompileOptions, Executable, Profile, Registry};
//!
//! let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
//!   %0 = stablehlo.add %x, %x : tensor<2xf32>
//!   return %0 : tensor<2xf32>
//! }";
//! let module = text::parse(&Source::new("double.mlir", program))?;
//! let double = Executable::compile(&module, &Registry::new(), &CompileOptions::new())?;
//! let mut profile = Profile::new();
//! for _ in 0..3 {
//!     double.run_with(&[Literal::zeros(DType::F32, [2])], &mut profile)?;
//! }
//! let total = profile.thunks()[0];
//! assert_eq!((profile.runs().len(), total.calls), (3, 3));
//! let thunk = &double.plan().thunks()[0];
//! assert_eq!((thunk.op.kind(), double.plan().origin(thunk).value.as_deref()), ("elementwise", Some("%0")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::Watch;
use farcall_kernels::Tasks;

/// Times of the runs of one program. Thunks are numbered in the order in which
/// [`Plan::walk`](farcall_plan::Plan::walk) visits them.
///
/// Measuring a thunk takes some tens of nanoseconds, most of which are not counted as the thunk's time. If a
/// thunk takes less time than its measurement, compare the times of whole programs with and without the thunk
/// instead.
#[derive(Debug)]
pub struct Profile {
    origin: Instant,
    runs: Vec<Interval>,
    thunks: Vec<ThunkTime>,
    /// Thunks that have begun but not ended, the innermost last.
    open: Vec<RunningThunk>,
    recording: Mutex<Recording>,
    /// Maximum number of recorded events.
    limit: usize,
}

/// Total time of all calls of one thunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThunkTime {
    /// Number of calls.
    pub calls: u64,
    /// Time, nested thunks included.
    pub total: Duration,
    /// Time, nested thunks excluded.
    pub own: Duration,
}

/// An interval of time, relative to the creation of the profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Beginning of the interval.
    pub begin: Duration,
    /// End of the interval.
    pub end: Duration,
}

impl Interval {
    /// Length of the interval.
    pub fn length(&self) -> Duration {
        self.end.saturating_sub(self.begin)
    }
}

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Kind of the event.
    pub kind: EventKind,
    /// Number of the thunk.
    pub thunk: usize,
    /// Index of the thread in [`Profile::threads`].
    pub thread: usize,
    /// Time of the event.
    pub span: Interval,
}

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// A call of a thunk.
    Thunk,
    /// One task, with its index, of a kernel that shares its work among threads.
    Task(usize),
    /// The time from the return of a call's handler to the end of the executor's wait for the call.
    Pending,
}

#[derive(Clone, Copy, Debug)]
struct RunningThunk {
    begin: Instant,
    /// Time of the nested thunks that have ended.
    nested: Duration,
}

#[derive(Debug, Default)]
struct Recording {
    events: Vec<Event>,
    dropped: u64,
    threads: Vec<(ThreadId, String)>,
    /// Calls that are not complete: the thunk, and the time when its handler returned.
    pending: Vec<(u32, Instant)>,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::new()
    }
}

impl Profile {
    /// Creates a profile that records no events.
    pub fn new() -> Profile {
        Profile {
            origin: Instant::now(),
            runs: Vec::new(),
            thunks: Vec::new(),
            open: Vec::new(),
            recording: Mutex::default(),
            limit: 0,
        }
    }

    /// Records the first `limit` events as well. Each event takes about 60 bytes.
    pub fn with_events(self, limit: usize) -> Profile {
        Profile { limit, ..self }
    }

    /// The runs, in order, failed runs included. A run's interval includes the work before its thunks (taking
    /// inputs) and after them (making results).
    pub fn runs(&self) -> &[Interval] {
        &self.runs
    }

    /// Times by thunk number. The last entry is that of the highest-numbered thunk that has run.
    pub fn thunks(&self) -> &[ThunkTime] {
        &self.thunks
    }

    /// Time of one thunk; zero if it has not run.
    pub fn thunk(&self, number: usize) -> ThunkTime {
        self.thunks.get(number).copied().unwrap_or_default()
    }

    /// Calls `visit` for the recorded events, in the order in which they ended.
    pub fn events(&self, visit: &mut dyn FnMut(&Event)) {
        self.recording().events.iter().for_each(visit);
    }

    /// Number of events that were not recorded because of the limit.
    pub fn dropped(&self) -> u64 {
        self.recording().dropped
    }

    /// Names of the threads that had events. The thread of the runs comes first.
    pub fn threads(&self) -> Vec<String> {
        self.recording().threads.iter().map(|(_, name)| name.clone()).collect()
    }

    /// Measures one run.
    pub fn measure<R>(&mut self, run: impl FnOnce(&mut Profile) -> R) -> R {
        let begin = Instant::now();
        self.open.clear();
        let result = run(self);
        let span = self.span(begin, Instant::now());
        self.runs.push(span);
        result
    }

    fn recording(&self) -> std::sync::MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn span(&self, begin: Instant, end: Instant) -> Interval {
        Interval { begin: begin - self.origin, end: end - self.origin }
    }

    /// Records an event of this thread.
    fn keep(&self, kind: EventKind, thunk: u32, begin: Instant, end: Instant) {
        let span = self.span(begin, end);
        let mut recording = self.recording();
        if recording.events.len() >= self.limit {
            recording.dropped += 1;
            return;
        }
        let thread = recording.thread();
        recording.events.push(Event { kind, thunk: thunk as usize, thread, span });
    }
}

impl Recording {
    /// Returns the index of this thread in `threads`.
    fn thread(&mut self) -> usize {
        let this = thread::current();
        let known = self.threads.iter().position(|(id, _)| *id == this.id());
        known.unwrap_or_else(|| {
            self.threads.push((this.id(), this.name().unwrap_or("a thread").to_owned()));
            self.threads.len() - 1
        })
    }
}

impl Watch for &mut Profile {
    fn enter(&mut self, _: u32) {
        if self.limit > 0 && self.runs.is_empty() && self.open.is_empty() {
            // Give the thread of the runs number 0.
            self.recording().thread();
        }
        self.open.push(RunningThunk { begin: Instant::now(), nested: Duration::ZERO });
    }

    fn leave(&mut self, thunk: u32) {
        let end = Instant::now();
        let Some(RunningThunk { begin, nested }) = self.open.pop() else { return };
        let took = end - begin;
        let number = thunk as usize;
        if self.thunks.len() <= number {
            self.thunks.resize(number + 1, ThunkTime::default());
        }
        let time = &mut self.thunks[number];
        time.calls += 1;
        time.total += took;
        time.own += took.saturating_sub(nested);
        if let Some(around) = self.open.last_mut() {
            around.nested += took;
        }
        if self.limit > 0 {
            self.keep(EventKind::Thunk, thunk, begin, end);
        }
    }

    fn tasks<R>(&self, thunk: u32, pool: &dyn Tasks, kernel: impl FnOnce(&dyn Tasks) -> R) -> R {
        if self.limit == 0 {
            return kernel(pool);
        }
        kernel(&Timed { pool, thunk, profile: self })
    }

    fn started(&mut self, thunk: u32) {
        if self.limit > 0 {
            self.recording().pending.push((thunk, Instant::now()));
        }
    }

    fn completed(&mut self, thunk: u32) {
        if self.limit == 0 {
            return;
        }
        let end = Instant::now();
        let mut recording = self.recording();
        let found = recording.pending.iter().position(|(pending, _)| *pending == thunk);
        let begin = found.map(|i| recording.pending.swap_remove(i).1);
        drop(recording);
        if let Some(begin) = begin {
            self.keep(EventKind::Pending, thunk, begin, end);
        }
    }
}

/// A pool whose tasks record one event each.
struct Timed<'a> {
    pool: &'a dyn Tasks,
    thunk: u32,
    profile: &'a Profile,
}

impl Tasks for Timed<'_> {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let (thunk, profile) = (self.thunk, self.profile);
        self.pool.each(count, &|i| {
            let begin = Instant::now();
            task(i);
            profile.keep(EventKind::Task(i), thunk, begin, Instant::now());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_times_count_once_in_the_enclosing_thunk() {
        let mut profile = Profile::new().with_events(3);
        profile.measure(|mut watch| {
            for _ in 0..2 {
                watch.enter(0);
                watch.enter(2);
                thread::sleep(Duration::from_millis(2));
                watch.leave(2);
                watch.leave(0);
            }
        });
        let [outer, unused, inner] = profile.thunks() else { panic!("{profile:?}") };
        assert_eq!((outer.calls, unused.calls, inner.calls), (2, 0, 2));
        assert_eq!((inner.own, outer.own), (inner.total, outer.total - inner.total));
        assert!(inner.total >= Duration::from_millis(4) && outer.total <= profile.runs()[0].length());
        let mut events = Vec::new();
        profile.events(&mut |event| events.push((event.thunk, event.thread)));
        assert_eq!((events, profile.dropped()), (vec![(2, 0), (0, 0), (2, 0)], 1));
        assert_eq!(profile.threads().len(), 1);
    }
}
