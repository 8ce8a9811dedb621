//! Runs of a program on several devices: one process for each replica and partition, each on a thread of its
//! own.
//!
//! ```text
//! Processes::run ──▶ a thread per process: Participant ──meet──▶ Gathering (the offers of a group, a barrier)
//!                                               └─post, receive──▶ channels
//! ```
//!
//! At a collective, a [`Participant`] goes to a meeting of its group with an [`Offer`]: values, or memory
//! that the others may read until the meeting ends. Participants meet if their group, their channel and the
//! text of their operation agree.
//!
//! **Invariants.** A wait ends: with the offers of the whole group, because another process has failed, or
//! with an error that names the waiting processes that cannot continue (module `stuck`). Members
//! that have met end their meeting together, whatever happens to the others.

mod stuck;

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use farcall_ir::eval::{Link, Meeting};
use farcall_ir::interrupt::Interrupt;
use farcall_ir::op::collective::{Grid, Process};
use farcall_ir::{Literal, TensorType};

/// Size of the stack of a process's thread.
const STACK_BYTES: usize = 8 << 20;

/// Maximum number of processes of a run. Each is a thread, and systems limit the number of threads.
pub const MAX_PROCESSES: usize = 4096;

/// Maximum time for which processes that wait in vain let the others run.
const MAX_GRACE: Duration = Duration::from_millis(500);

/// Interval at which the thread that started the processes polls for interrupts, and looks for processes that
/// wait in vain while others run.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum number of processes that an error lists. One more is listed, too: a remark about it would be as
/// long.
const MAX_LISTED_PROCESSES: usize = 8;

/// The processes of one run of a program.
#[derive(Debug)]
pub struct Processes {
    grid: Grid,
    state: Mutex<State>,
    /// One signal per process: its wait may have ended.
    wakes: Vec<Condvar>,
    /// Signals the thread that started the processes that one has ended.
    ended: Condvar,
    /// Ends the runs of all processes.
    stop: Arc<Interrupt>,
    /// True if values for the host go to the processes that receive from the host.
    is_isolated: bool,
}

/// Values that a process has sent, with its number.
type Sent = (usize, Vec<Literal>);

#[derive(Debug)]
struct State {
    /// The activity of each process.
    activities: Vec<Activity>,
    /// Values that have been sent and not received, by channel and receiver (`None`: any process), each with
    /// the number of the sender.
    channels: HashMap<(i64, Option<usize>), VecDeque<Sent>>,
    /// The process whose error is the error of the run.
    failed: Option<usize>,
    /// True if the run has to end: a process has failed, or an interrupt is due.
    is_ending: bool,
    /// The time since which some processes wait in vain while others run.
    stuck_since: Option<Instant>,
    /// Number of threads that have not ended.
    threads: usize,
}

/// The activity of a process.
#[derive(Debug)]
enum Activity {
    Running,
    /// Waits for the other members of a meeting.
    Meets(Arc<Point>, Option<Offer>),
    /// Has met; the thread has not noticed yet.
    Met(Gathering),
    /// Waits for values from another process.
    Receives(Reception),
    /// Cannot continue; the error names the waiting processes.
    Stuck(Arc<str>),
    Finished,
}

impl Activity {
    /// Returns true if the process runs, or can run because its group has met.
    fn runs(&self) -> bool {
        matches!(self, Activity::Running | Activity::Met(_))
    }

    /// Returns true if the process waits for others.
    fn waits(&self) -> bool {
        matches!(self, Activity::Meets(..) | Activity::Receives(_))
    }
}

/// A collective operation as one process sees it. Processes meet if their points are equal, without regard to
/// the place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// Name of the operation.
    pub op: &'static str,
    /// Location of the operation in the program.
    pub place: Arc<str>,
    /// Number of the channel; 0 without a channel.
    pub channel: i64,
    /// The processes that meet, in the order of the group.
    pub group: Arc<[usize]>,
    /// The operation with its attributes, types and regions, as text.
    pub signature: Arc<str>,
}

impl Point {
    /// Returns true if processes at the two points meet.
    fn meets(&self, other: &Point) -> bool {
        std::ptr::eq(self, other)
            || self.channel == other.channel && self.group == other.group && self.signature == other.signature
    }
}

/// A `recv` as one process sees it.
#[derive(Clone, Debug)]
pub struct Reception {
    /// Name of the operation.
    pub op: &'static str,
    /// Location of the operation in the program.
    pub place: Arc<str>,
    /// Number of the channel.
    pub channel: i64,
    /// The sender, if the program names it.
    pub from: Option<usize>,
}

/// Contribution of a process to a meeting.
#[derive(Clone, Debug)]
pub enum Offer {
    /// Values that the other processes receive.
    Values(Vec<Literal>),
    /// Memory that the other processes may read until the meeting ends.
    Memory(Vec<SharedMemory>),
}

/// A range of memory of one process that others read.
#[derive(Clone, Copy, Debug)]
pub struct SharedMemory {
    /// First byte.
    pub data: *const u8,
    /// Number of bytes.
    pub size: usize,
}

impl SharedMemory {
    /// Returns the address of a byte, for the process that owns the memory. The address may be invalid if the
    /// memory has no such byte.
    pub fn at(self, offset: usize) -> *mut u8 {
        self.data.cast_mut().wrapping_add(offset)
    }
}

// SAFETY: a `SharedMemory` is an address and a size. Code that reads the memory states why it is valid.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

/// A meeting of all processes of a group.
#[derive(Clone, Debug)]
pub struct Gathering {
    offers: Arc<[Offer]>,
    barrier: Arc<Barrier>,
}

impl Gathering {
    /// The contributions of all processes, in the order of the group.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Waits until all processes of the group have called this function equally often. Processes that have
    /// met must all call it the same number of times.
    pub fn wait(&self) {
        self.barrier.wait();
    }
}

/// Reason why a process does not continue.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProcessError {
    /// No process that this one waits for can continue.
    #[error("{0}")]
    Stuck(Arc<str>),
    /// Another process has failed, or the run was interrupted.
    #[error("the run was interrupted")]
    Ended,
    /// The received values do not have the types that the program takes.
    #[error(
        "the program receives ({}) on channel {channel}, but process {from} sent ({})",
        list(expected),
        list(found)
    )]
    Types {
        /// Number of the channel.
        channel: i64,
        /// The sender.
        from: usize,
        /// Types that the program takes.
        expected: Box<[TensorType]>,
        /// Types of the values that were sent.
        found: Box<[TensorType]>,
    },
    /// The shapes of a collective do not fit the size of the group.
    #[error("{place}: {op}: the types do not fit a group of {count}")]
    Shapes {
        /// Name of the operation.
        op: &'static str,
        /// Location of the operation.
        place: Arc<str>,
        /// Number of processes of the group.
        count: usize,
    },
    /// The members of the meeting offer different things, which is a bug in farcall.
    #[error("the processes offer different things; this is a bug in farcall")]
    Offers,
}

fn list(types: &[TensorType]) -> String {
    types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ")
}

/// Reason why a run on several processes has no results.
#[derive(Debug)]
pub enum ProcessFailure<E> {
    /// A process failed.
    Process {
        /// Number of the process.
        number: usize,
        /// The error of the process.
        error: E,
    },
    /// An interrupt ended the run.
    Interrupted,
    /// A thread could not be started.
    Thread(io::Error),
}

impl Processes {
    /// Creates the processes of a grid.
    pub fn new(grid: Grid) -> Arc<Processes> {
        Processes::of(grid, false)
    }

    /// Creates the processes of a grid that has no host: values that a process sends to the host on a channel
    /// go to the process that receives from the host on this channel, as in StableHLO's interpreter.
    pub fn isolated(grid: Grid) -> Arc<Processes> {
        Processes::of(grid, true)
    }

    fn of(grid: Grid, is_isolated: bool) -> Arc<Processes> {
        let count = grid.processes();
        let state = State {
            activities: (0..count).map(|_| Activity::Running).collect(),
            channels: HashMap::new(),
            failed: None,
            is_ending: false,
            stuck_since: None,
            threads: count,
        };
        Arc::new(Processes {
            grid,
            state: Mutex::new(state),
            wakes: (0..count).map(|_| Condvar::new()).collect(),
            ended: Condvar::new(),
            stop: Arc::new(Interrupt::new()),
            is_isolated,
        })
    }

    /// Returns the number of threads for each of `processes` that share `threads`.
    pub fn share(threads: usize, processes: usize) -> usize {
        NonZero::new(processes).map_or(threads, |n| threads / n).max(1)
    }

    /// Does `work` once as each process, on a thread of its own, and returns the results of all processes.
    /// This thread waits, and polls `interrupted` if it is given. Processes start once, so this function must
    /// be called once.
    ///
    /// # Errors
    /// The error of the first process that failed; the other processes are interrupted then.
    pub fn run<R: Send, E: Send>(
        self: &Arc<Processes>,
        interrupted: Option<&dyn Fn() -> bool>,
        work: impl Fn(&Participant) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, ProcessFailure<E>> {
        if self.wakes.len() > MAX_PROCESSES {
            let message = format!("{} are more than {MAX_PROCESSES} devices", self.grid);
            return Err(ProcessFailure::Thread(io::Error::other(message)));
        }
        let work = &work;
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.wakes.len());
            let mut refused = None;
            for number in 0..self.wakes.len() {
                let participant = Participant { all: Arc::clone(self), number };
                let body = move || {
                    // Ends the process even if `work` panics.
                    let mut end = End { participant: &participant, has_failed: true };
                    let done = work(&participant);
                    end.has_failed = done.is_err();
                    done
                };
                let named = thread::Builder::new().name(format!("farcall-process-{number}"));
                match named.stack_size(STACK_BYTES).spawn_scoped(scope, body) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        refused = Some(error);
                        self.lock().threads -= self.wakes.len() - number;
                        self.end_all(None);
                        break;
                    }
                }
            }
            let was_interrupted = self.watch(interrupted);
            let mut done: Vec<Result<R, E>> = Vec::with_capacity(threads.len());
            for thread in threads {
                match thread.join() {
                    Ok(result) => done.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            if let Some(error) = refused {
                return Err(ProcessFailure::Thread(error));
            }
            let failed = self.lock().failed;
            let mut results = Vec::with_capacity(done.len());
            let mut errors: Vec<(usize, E)> = Vec::new();
            for (number, result) in done.into_iter().enumerate() {
                match result {
                    Ok(result) => results.push(result),
                    Err(error) => errors.push((number, error)),
                }
            }
            if errors.is_empty() {
                return Ok(results);
            }
            if was_interrupted {
                return Err(ProcessFailure::Interrupted);
            }
            let first = errors.iter().position(|(number, _)| Some(*number) == failed).unwrap_or(0);
            let (number, error) = errors.swap_remove(first);
            Err(ProcessFailure::Process { number, error })
        })
    }

    /// Waits until all threads have ended. Returns true if an interrupt was due before any process failed.
    fn watch(&self, interrupted: Option<&dyn Fn() -> bool>) -> bool {
        let mut state = self.lock();
        let mut was_interrupted = false;
        while state.threads > 0 {
            if state.is_ending {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let woken = self.ended.wait_timeout(state, POLL_INTERVAL);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_ending {
                self.check_stuck(&mut state);
            }
            if let Some(is_due) = interrupted
                && state.threads > 0
                && !state.is_ending
            {
                // The callback of an interrupt may do anything, so it runs without the lock.
                drop(state);
                let is_due = is_due();
                state = self.lock();
                if is_due && !state.is_ending {
                    was_interrupted = true;
                    self.end(&mut state, None);
                }
            }
        }
        was_interrupted
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_all(&self, failed: Option<usize>) {
        self.end(&mut self.lock(), failed);
    }

    /// Ends the run: interrupts the processes that run, and wakes those that wait.
    fn end(&self, state: &mut State, failed: Option<usize>) {
        if !state.is_ending {
            state.failed = failed;
        }
        state.is_ending = true;
        self.stop.raise();
        self.wakes.iter().for_each(Condvar::notify_all);
    }

    /// Ends the run with an error if no process runs and some cannot continue. While a process runs,
    /// [`watch`](Self::watch) polls for stuck processes instead.
    fn check_stuck_if_none_runs(&self, state: &mut State) {
        if !state.activities.iter().any(Activity::runs) {
            self.check_stuck(state);
        }
    }

    /// Ends the run with an error if some of the waiting processes cannot continue. If other processes still
    /// run, they get some time first, since they may have to be a part of the error.
    fn check_stuck(&self, state: &mut State) {
        if !state.activities.iter().any(Activity::waits) {
            return;
        }
        let stuck = stuck::find(state);
        let Some(first) = stuck.first().copied() else { return };
        if state.activities.iter().any(Activity::runs) {
            let since = *state.stuck_since.get_or_insert_with(Instant::now);
            if since.elapsed() < MAX_GRACE {
                return;
            }
        }
        let message: Arc<str> = self.describe(state, &stuck).into();
        for number in stuck {
            state.activities[number] = Activity::Stuck(Arc::clone(&message));
        }
        self.end(state, Some(first));
    }

    /// Describes the processes that cannot continue: each with its operation and the processes that it waits
    /// for.
    fn describe(&self, state: &State, stuck: &[usize]) -> String {
        let mut text = String::from("the devices wait for each other");
        let mut missing: Vec<usize> = Vec::new();
        let listed = if stuck.len() > MAX_LISTED_PROCESSES + 1 { MAX_LISTED_PROCESSES } else { stuck.len() };
        for (i, number) in stuck.iter().enumerate() {
            let wait = match &state.activities[*number] {
                Activity::Meets(point, _) => {
                    let others = point.group.iter().copied().filter(|p| p != number).filter(|other| {
                        let activity = state.activities.get(*other);
                        !matches!(activity, Some(Activity::Meets(at, _)) if at.meets(point))
                    });
                    let others: Vec<usize> = others.collect();
                    let (names, op) = (self.names(&others), located(point.op, &point.place));
                    missing.extend(others);
                    format!(
                        "for {names} in {op} (channel {}, group {})",
                        point.channel,
                        numbers(&point.group)
                    )
                }
                Activity::Receives(at) => {
                    missing.extend(at.from);
                    let from = at.from.map_or_else(|| "any device".to_owned(), |from| self.name(from));
                    format!("for {from} in {} (channel {})", located(at.op, &at.place), at.channel)
                }
                _ => continue,
            };
            if i < listed {
                let separator = if i == 0 { ": " } else { "; " };
                let _ = write!(text, "{separator}{} waits {wait}", self.name(*number));
            }
        }
        if listed < stuck.len() {
            let _ = write!(text, "; {} more devices wait", stuck.len() - listed);
        }
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|p| matches!(state.activities.get(*p), Some(Activity::Finished)));
        match missing.as_slice() {
            [] => {}
            [one] => {
                let _ = write!(text, "; {} has finished", self.name(*one));
            }
            several => {
                let _ = write!(text, "; {} have finished", self.names(several));
            }
        }
        text
    }

    /// Returns the name of a process for messages.
    fn name(&self, number: usize) -> String {
        if number >= self.grid.processes() {
            return format!("device {number} (which does not exist)");
        }
        if self.grid.partitions > 1 && self.grid.replicas > 1 {
            let (replica, partition) = (self.grid.replica(number), self.grid.partition(number));
            return format!("device {number} (replica {replica}, partition {partition})");
        }
        format!("device {number}")
    }

    fn names(&self, all: &[usize]) -> String {
        match all {
            [one] => self.name(*one),
            several => format!("devices {}", numbers(several)),
        }
    }
}

/// Formats an operation with its location, if it is known.
fn located(op: &str, place: &str) -> String {
    if place.is_empty() { op.to_owned() } else { format!("{op} at {place}") }
}

/// Formats `0, 1, 2`, and many numbers as `0, 1, 2, 3, 4, 5, 6, 7, … (64 in all)`.
fn numbers(all: &[usize]) -> String {
    let list = |some: &[usize]| some.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    match all.get(..MAX_LISTED_PROCESSES) {
        Some(first) if all.len() > MAX_LISTED_PROCESSES + 1 => {
            format!("{}, … ({} in all)", list(first), all.len())
        }
        _ => list(all),
    }
}

/// Marks a process as ended when it is dropped.
struct End<'a> {
    participant: &'a Participant,
    has_failed: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let Participant { all, number } = self.participant;
        let mut state = all.lock();
        state.activities[*number] = Activity::Finished;
        state.threads -= 1;
        if self.has_failed {
            all.end(&mut state, Some(*number));
        } else if !state.is_ending {
            all.check_stuck_if_none_runs(&mut state);
        }
        all.ended.notify_all();
    }
}

/// A process that takes part in a run.
#[derive(Clone, Debug)]
pub struct Participant {
    all: Arc<Processes>,
    number: usize,
}

impl Participant {
    /// The process in its grid.
    pub fn process(&self) -> Process {
        Process { grid: self.all.grid, number: self.number }
    }

    /// Returns true if the grid has no host ([`Processes::isolated`]).
    pub fn is_isolated(&self) -> bool {
        self.all.is_isolated
    }

    /// The interrupt that ends the run of the process.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.all.stop
    }

    /// Waits until all processes of the group are at this point, and exchanges their offers. The group must
    /// contain this process.
    ///
    /// # Errors
    /// If the group cannot meet, or the run ends.
    pub fn meet(&self, point: &Arc<Point>, offer: Offer) -> Result<Gathering, ProcessError> {
        let mut state = self.all.lock();
        if state.is_ending {
            return Err(ProcessError::Ended);
        }
        // If the members of a group share one point, comparing their points is comparing pointers.
        let point = &state.shared(point);
        state.activities[self.number] = Activity::Meets(Arc::clone(point), Some(offer));
        if self.gather(&mut state, point) {
            for other in point.group.iter().filter(|p| **p != self.number) {
                self.all.wakes[*other].notify_all();
            }
        } else {
            self.all.check_stuck_if_none_runs(&mut state);
        }
        self.wait(state, |_, activity| match activity {
            Activity::Met(gathering) => ControlFlow::Break(gathering.clone()),
            _ => ControlFlow::Continue(()),
        })
    }

    /// Exchanges values at a collective that the reference evaluator computes. Returns the values of each
    /// process, in the order of the group.
    ///
    /// # Errors
    /// Same errors as [`meet`](Participant::meet).
    pub fn exchange(
        &self,
        meeting: &Meeting<'_>,
        values: Vec<Literal>,
    ) -> Result<Vec<Vec<Literal>>, ProcessError> {
        let point = Point {
            op: meeting.op,
            place: meeting.place.into(),
            channel: meeting.channel,
            group: meeting.group.into(),
            signature: meeting.signature.into(),
        };
        let gathering = self.meet(&Arc::new(point), Offer::Values(values))?;
        let values = gathering.offers().iter().map(|offer| match offer {
            Offer::Values(values) => Ok(values.clone()),
            Offer::Memory(_) => Err(ProcessError::Offers),
        });
        values.collect()
    }

    /// Marks the group as met if all of its processes are at this point.
    fn gather(&self, state: &mut State, point: &Point) -> bool {
        let is_there = |number: &usize| match state.activities.get(*number) {
            Some(Activity::Meets(at, _)) => at.meets(point),
            _ => false,
        };
        if !point.group.iter().all(is_there) {
            return false;
        }
        let offer = |number: &usize| match &mut state.activities[*number] {
            Activity::Meets(_, offer) => offer.take(),
            _ => None,
        };
        let offers: Arc<[Offer]> = point.group.iter().filter_map(offer).collect();
        let gathering = Gathering { offers, barrier: Arc::new(Barrier::new(point.group.len())) };
        for number in &*point.group {
            state.activities[*number] = Activity::Met(gathering.clone());
        }
        true
    }

    /// Waits until `is_done` returns a value for the activity of this process.
    fn wait<R>(
        &self,
        mut state: MutexGuard<'_, State>,
        is_done: impl Fn(&mut State, &Activity) -> ControlFlow<R>,
    ) -> Result<R, ProcessError> {
        loop {
            let activity = std::mem::replace(&mut state.activities[self.number], Activity::Running);
            // A group that has met continues together, even if the run ends.
            if let ControlFlow::Break(done) = is_done(&mut state, &activity) {
                return Ok(done);
            }
            if let Activity::Stuck(message) = activity {
                return Err(ProcessError::Stuck(message));
            }
            if state.is_ending {
                return Err(ProcessError::Ended);
            }
            state.activities[self.number] = activity;
            let woken = self.all.wakes[self.number].wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends values on a channel, to a process or, if the program names none, to any process that receives on
    /// the channel. Does not wait.
    pub fn post(&self, channel: i64, to: Option<usize>, values: Vec<Literal>) {
        let mut state = self.all.lock();
        state.channels.entry((channel, to)).or_default().push_back((self.number, values));
        match to {
            Some(to) => {
                if let Some(wake) = self.all.wakes.get(to) {
                    wake.notify_all();
                }
            }
            None => self.all.wakes.iter().for_each(Condvar::notify_all),
        }
    }

    /// Receives the oldest values that any process has sent on a channel to no process in particular.
    ///
    /// # Errors
    /// Same errors as [`receive`](Participant::receive).
    pub fn receive_from_any(&self, channel: i64, types: &[TensorType]) -> Result<Vec<Literal>, ProcessError> {
        let (op, place) = ("stablehlo.recv", Arc::default());
        self.receive(Reception { op, place, channel, from: None }, types)
    }

    /// Receives values at a `recv` that the reference evaluator computes.
    ///
    /// # Errors
    /// Same errors as [`receive`](Participant::receive).
    pub fn receive_over(&self, link: &Link<'_>, types: &[TensorType]) -> Result<Vec<Literal>, ProcessError> {
        let Link { op, place, channel, peer: from } = *link;
        self.receive(Reception { op, place: place.into(), channel, from }, types)
    }

    /// Receives the oldest values that the sender has sent on a channel, waiting for them.
    ///
    /// # Errors
    /// If no process can send them any more, if they have other types, or if the run ends.
    pub fn receive(&self, at: Reception, types: &[TensorType]) -> Result<Vec<Literal>, ProcessError> {
        let (channel, from) = (at.channel, at.from);
        let mut state = self.all.lock();
        if state.is_ending {
            return Err(ProcessError::Ended);
        }
        state.activities[self.number] = Activity::Receives(at);
        self.all.check_stuck_if_none_runs(&mut state);
        let (from, values) = self.wait(state, |state, _| match state.take(channel, self.number, from) {
            Some(sent) => ControlFlow::Break(sent),
            None => ControlFlow::Continue(()),
        })?;
        let found: Vec<TensorType> = values.iter().map(Literal::ty).collect();
        if found == types {
            return Ok(values);
        }
        Err(ProcessError::Types { channel, from, expected: types.into(), found: found.into() })
    }
}

impl State {
    /// Returns the point of a member that already waits to meet at `point`, or `point` itself if none does. The
    /// two may differ in their place.
    fn shared(&self, point: &Arc<Point>) -> Arc<Point> {
        let there = point.group.iter().find_map(|number| match self.activities.get(*number) {
            Some(Activity::Meets(at, _)) if at.meets(point) => Some(at),
            _ => None,
        });
        Arc::clone(there.unwrap_or(point))
    }

    /// Takes the oldest values that were sent to a process on a channel.
    fn take(&mut self, channel: i64, to: usize, from: Option<usize>) -> Option<Sent> {
        [Some(to), None].into_iter().find_map(|to| {
            let queue = self.channels.get_mut(&(channel, to))?;
            let at = queue.iter().position(|(sender, _)| from.is_none_or(|from| from == *sender))?;
            queue.remove(at)
        })
    }

    /// Returns true if values for a process wait in a channel.
    fn has_sent(&self, channel: i64, to: usize, from: Option<usize>) -> bool {
        [Some(to), None].into_iter().any(|to| {
            let mut sent = self.channels.get(&(channel, to)).into_iter().flatten();
            sent.any(|(sender, _)| from.is_none_or(|from| from == *sender))
        })
    }
}

#[cfg(test)]
mod tests;
