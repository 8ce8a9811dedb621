//! The threads that handlers schedule tasks on, and that kernels share their work with.
//!
//! Handlers run on the engine's threads, never on these, so a handler may wait for its tasks even if the pool has a
//! single thread. A task may schedule tasks and wait for them: if all threads are busy, and one of them schedules, a
//! spare thread is started for as long as it is needed, or, beyond [`MAX_SPARE`], the task runs immediately in place
//! (the interface allows both).
//!
//! A task treats subnormal numbers like the thread that scheduled it. A task that ends with an exception fails its
//! call, if that is still running. The exception is also printed immediately, since the handler may be waiting for
//! what the task did not do.
//!
//! A child process after `fork()` has none of its parent's threads, so a pool starts new threads there. Tasks that
//! were waiting run only in the parent.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use farcall_ffi::abi;
use farcall_ffi::unwind::catch;
use farcall_ir::interrupt::{self, Interrupt};
use smallvec::SmallVec;

use super::error::{Failure, report_lost, take_error};
use super::exit::{self, CallName, Doing};
use super::float_mode::FloatMode;
use super::guard;
use super::seat::Seat;
use crate::kernels::Tasks;

/// Spare threads of a pool at most.
const MAX_SPARE: usize = 64;

/// How long a thread that has nothing to do looks for work before it sleeps: the kernels of a program follow one another
/// faster than a thread wakes.
const AWAKE: Duration = Duration::from_micros(50);

/// A pool of threads; they are started when there is work, and end when the pool is dropped and its
/// work is done.
pub struct ThreadPool {
    shared: Arc<Shared>,
}

struct Shared {
    size: usize,
    /// How many forks lie between the first process and the one whose threads these are.
    generation: u32,
    /// What takes its place in a child, where its lock may be held by a thread that the child does not have.
    in_child: OnceLock<Arc<Shared>>,
    state: Mutex<State>,
    /// Jobs in the queue, for threads that look for them without the lock.
    queued: AtomicUsize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Threads that look for work, or are about to.
    awake: usize,
    /// Threads that sleep until they are woken, the last one first.
    asleep: Vec<Arc<Seat>>,
    threads: usize,
    spare: usize,
    closed: bool,
}

struct Job {
    task: Task,
    mode: FloatMode,
}

enum Task {
    Foreign(abi::Task, *mut c_void, Arc<TaskFailure>, Option<(CallName, abi::Stage)>),
    Own(Box<dyn FnOnce() + Send>),
    /// Parts of the engine's work, as long as there are some that nobody has begun.
    Help(Arc<Parts>),
}

// SAFETY: whoever schedules a foreign task gives its data to the thread that runs it.
unsafe impl Send for Task {}

/// The first thing that went wrong in a call's tasks.
#[derive(Debug, Default)]
pub(super) struct TaskFailure(Mutex<Option<Failure>>);

impl TaskFailure {
    fn set(&self, failure: Failure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    pub(super) fn take(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

thread_local! {
    /// The pool whose thread this is.
    static POOL: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

impl ThreadPool {
    /// A pool of `size` threads (at least one).
    pub fn new(size: usize) -> ThreadPool {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the function only adds to a number, which the child of a process with threads may do.
            let _out_of_memory = unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
        ThreadPool { shared: Arc::new(Shared::new(size.max(1))) }
    }

    /// The pool of the process, with a thread per core.
    pub fn global() -> Arc<ThreadPool> {
        static GLOBAL: LazyLock<Arc<ThreadPool>> = LazyLock::new(|| {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            Arc::new(ThreadPool::new(cores))
        });
        Arc::clone(&GLOBAL)
    }

    /// Number of threads, spare ones not counted.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Runs a function on a thread of the pool. A panic in it is printed and ends there.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.schedule(Task::Own(Box::new(task)));
    }

    /// Runs a handler's task; what goes wrong in it is left in `failure`.
    ///
    /// # Safety
    /// `task` may be called with `data` once, on any thread, until the process ends.
    pub(super) unsafe fn spawn_foreign(&self, task: abi::Task, data: *mut c_void, failure: Arc<TaskFailure>) {
        self.schedule(Task::Foreign(task, data, failure, exit::call()));
    }

    fn schedule(&self, task: Task) {
        let job = Job { task, mode: FloatMode::current() };
        let shared = self.shared.here();
        let from_inside = POOL.get() == Arc::as_ptr(shared);
        let mut state = shared.lock();
        state.queue.push_back(job);
        let queued = state.queue.len();
        shared.queued.store(queued, Ordering::Release);
        if state.awake >= queued {
            return;
        }
        if let Some(seat) = state.asleep.pop() {
            state.awake += 1;
            drop(state);
            return seat.wake();
        }
        let spare = state.threads >= shared.size;
        let room = !spare || (from_inside && state.spare < MAX_SPARE);
        if room && start(shared, spare) {
            *(if spare { &mut state.spare } else { &mut state.threads }) += 1;
        } else if from_inside || state.threads == 0 {
            // Nobody else may be free to do it, ever.
            let job = state.queue.pop_back();
            shared.queued.store(state.queue.len(), Ordering::Release);
            drop(state);
            if let Some(job) = job {
                job.run(None);
            }
        }
    }

    /// Takes helpers that have not come out of the queue, where they would be until a thread is free.
    fn dismiss(&self, parts: &Arc<Parts>) {
        let shared = self.shared.here();
        let mut state = shared.lock();
        state.queue.retain(|job| !matches!(&job.task, Task::Help(of) if Arc::ptr_eq(of, parts)));
        shared.queued.store(state.queue.len(), Ordering::Release);
    }
}

/// The engine's own work in parts: the thread that brings it does what no thread of the pool has begun.
impl Tasks for ThreadPool {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let helpers = self.size().min(count).saturating_sub(1);
        if helpers == 0 || count > Share::MOST {
            return (0..count).for_each(task);
        }
        // SAFETY: the two types differ in the lifetime alone. `Parts` calls the function for numbers below `count`
        // only, each once, and `finish` returns, or unwinds, when all of these calls have ended: nobody uses it
        // after this function, whose argument it is.
        let task = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(task)
        };
        let parts = Arc::new(Parts {
            task,
            count,
            shares: (0..=helpers).map(|_| Share::default()).collect(),
            arrived: AtomicUsize::new(1),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            asleep: Mutex::default(),
            all: Condvar::new(),
            scope: interrupt::Scope::current(),
        });
        parts.shares[0].set(0..count);
        for _ in 0..helpers {
            self.schedule(Task::Help(Arc::clone(&parts)));
        }
        parts.work(0);
        if parts.arrived.load(Ordering::Relaxed) <= helpers {
            self.dismiss(&parts);
        }
        parts.finish();
    }
}

/// Work in parts, of which each thread has a share: the one that brings the work has all of it at first, and whoever has none
/// takes half of what another one has left. So each thread's parts are neighbours, and the thread that brings one work after
/// the other has about the same parts of each.
struct Parts {
    /// There until all parts have ended.
    task: *const (dyn Fn(usize) + Sync),
    count: usize,
    /// One for each thread; that of the one that brought the work is the first.
    shares: SmallVec<[Share; 4]>,
    /// Threads that have come, and that one.
    arrived: AtomicUsize,
    /// Parts that have begun, and that have ended.
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// One of them has panicked.
    panicked: AtomicBool,
    /// All parts have ended, for the thread that sleeps until then.
    asleep: Mutex<()>,
    all: Condvar,
    /// The interrupts of the thread that submits the work.
    scope: Option<interrupt::Scope>,
}

// SAFETY: the function that `task` points to may be called by several threads at once.
unsafe impl Send for Parts {}
// SAFETY: as above.
unsafe impl Sync for Parts {}

/// Parts that a thread has taken and not begun: the first, and the one after the last, in a word. Each has a line of the cache.
#[derive(Default)]
#[repr(align(64))]
struct Share(AtomicU64);

impl Share {
    /// Parts of one piece of work at most.
    const MOST: usize = u32::MAX as usize;

    fn of(word: u64) -> Range<usize> {
        (word >> 32) as usize..(word & u64::from(u32::MAX)) as usize
    }

    fn word(parts: Range<usize>) -> u64 {
        (parts.start as u64) << 32 | parts.end as u64
    }

    fn set(&self, parts: Range<usize>) {
        self.0.store(Share::word(parts), Ordering::Relaxed);
    }

    fn left(&self) -> usize {
        Share::of(self.0.load(Ordering::Relaxed)).len()
    }

    /// The first part.
    fn first(&self) -> Option<usize> {
        let next = |word| {
            let parts = Share::of(word);
            (!parts.is_empty()).then(|| Share::word(parts.start + 1..parts.end))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(Share::of(before).start)
    }

    /// The later half.
    fn half(&self) -> Option<Range<usize>> {
        let middle = |parts: &Range<usize>| parts.start + parts.len() / 2;
        let rest = |word| {
            let parts = Share::of(word);
            (!parts.is_empty()).then(|| Share::word(parts.start..middle(&parts)))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?;
        let parts = Share::of(before);
        Some(middle(&parts)..parts.end)
    }
}

impl Parts {
    /// Does parts, as the thread of this number, until all have begun. A thread that comes late finds none, and does not touch
    /// the task.
    fn work(&self, thread: usize) {
        let own = &self.shares[thread];
        let have_begun = || self.begun.load(Ordering::Relaxed) == self.count;
        let are_left = || self.shares.iter().any(|share| share.left() > 0);
        loop {
            while let Some(part) = own.first() {
                self.run(part);
            }
            if let Some(parts) = self.shares.iter().max_by_key(|share| share.left()).and_then(Share::half) {
                own.set(parts.start + 1..parts.end);
                self.run(parts.start);
            } else if !look(|| have_begun() || are_left()) || have_begun() {
                // What another thread has taken, and not put into its share for so long, is left to that.
                return;
            }
        }
    }

    fn run(&self, part: usize) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this part has not ended, so `finish` has not returned.
        let task = unsafe { &*self.task };
        if catch(|| task(part)).is_err() {
            self.panicked.store(true, Ordering::Relaxed);
        }
        if self.ended.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            let _asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.all.notify_all();
        }
    }

    /// Waits until all parts have ended.
    fn finish(&self) {
        let have_ended = || self.ended.load(Ordering::Acquire) == self.count;
        if !look(have_ended) {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            while !have_ended() {
                if self.scope.is_none() {
                    asleep = self.all.wait(asleep).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                // The other threads stop once this thread has noticed that the work has to end. A callback
                // may be slow, and ending a part needs the lock.
                let woken = self.all.wait_timeout(asleep, Interrupt::PERIOD);
                drop(woken.unwrap_or_else(PoisonError::into_inner));
                interrupt::look_soon();
                interrupt::is_due();
                asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
        assert!(!self.panicked.load(Ordering::Relaxed), "a part of a computation panicked");
    }
}

/// Asks again and again for a while, and gives the last answer.
fn look(is_there: impl Fn() -> bool) -> bool {
    const ASKED: usize = 64;
    let mut start = None;
    loop {
        for _ in 0..ASKED {
            if is_there() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.get_or_insert_with(Instant::now).elapsed() > AWAKE {
            return is_there();
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        let mut state = self.shared.here().lock();
        state.closed = true;
        state.awake += state.asleep.len();
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        asleep.iter().for_each(|seat| seat.wake());
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("size", &self.size()).finish()
    }
}

/// How many forks lie between the first process and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

impl Shared {
    fn new(size: usize) -> Shared {
        Shared {
            size,
            generation: GENERATION.load(Ordering::Relaxed),
            in_child: OnceLock::new(),
            state: Mutex::default(),
            queued: AtomicUsize::new(0),
        }
    }

    /// What the pool is in this process.
    fn here(self: &Arc<Shared>) -> &Arc<Shared> {
        let mut shared = self;
        while shared.generation != GENERATION.load(Ordering::Relaxed) {
            shared = shared.in_child.get_or_init(|| Arc::new(Shared::new(shared.size)));
        }
        shared
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, spare: bool) {
        let seat = Arc::new(Seat::new());
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                self.queued.store(state.queue.len(), Ordering::Release);
                drop(state);
                job.run(Some(&seat));
                state = self.lock();
            } else if spare || state.closed {
                *(if spare { &mut state.spare } else { &mut state.threads }) -= 1;
                return;
            } else {
                state.awake += 1;
                drop(state);
                look(|| self.queued.load(Ordering::Acquire) > 0);
                state = self.lock();
                if state.queue.is_empty() && !state.closed {
                    state.awake -= 1;
                    state.asleep.push(Arc::clone(&seat));
                    drop(state);
                    // Who wakes it has counted it as awake.
                    seat.sleep();
                    state = self.lock();
                }
                state.awake -= 1;
            }
        }
    }
}

/// Starts a thread; false if the system has none left.
fn start(shared: &Arc<Shared>, spare: bool) -> bool {
    let shared = Arc::clone(shared);
    let body = move || {
        super::crash::cover_thread();
        POOL.set(Arc::as_ptr(&shared));
        shared.work(spare);
    };
    thread::Builder::new().name("farcall-pool".into()).spawn(body).is_ok()
}

impl Job {
    /// Runs it, on the thread of the seat if that is one of the pool's.
    fn run(self, seat: Option<&Seat>) {
        let _mode = self.mode.enter();
        if let (Task::Foreign(..) | Task::Own(_), Some(seat)) = (&self.task, seat) {
            // It may ask how many cores there are, or start threads, which can use the cores that this one can.
            seat.roam();
        }
        match self.task {
            Task::Foreign(task, data, to, call) => {
                // SAFETY: the promise of `spawn_foreign`.
                let run = || unsafe { guard::task(task, data) };
                let error = match &call {
                    Some((name, stage)) => exit::within(&Doing::Call(name, *stage), run),
                    None => run(),
                };
                if let Some(Failure { code, message }) = take_error(error) {
                    let failure = Failure::new(code, format!("in a task of the handler: {message}"));
                    report_lost("a task of a handler", &failure);
                    to.set(failure);
                }
            }
            Task::Help(parts) => {
                let work = || parts.work(parts.arrived.fetch_add(1, Ordering::Relaxed));
                match parts.scope.clone() {
                    Some(scope) => scope.enter(work),
                    None => work(),
                }
            }
            Task::Own(task) => drop(catch(task)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_pool_of_one_runs_everything_and_survives_a_panic() {
        let pool = ThreadPool::new(1);
        let (send, receive) = channel();
        pool.spawn(|| std::panic::resume_unwind(Box::new("quietly")));
        for i in 0..100 {
            let send = send.clone();
            pool.spawn(move || send.send(i).unwrap());
        }
        let got: Vec<i32> = (0..100).map(|_| receive.recv_timeout(LONG).unwrap()).collect();
        assert_eq!(got, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn parts_are_done_once_each_also_where_no_thread_is_free() {
        let pool = ThreadPool::new(3);
        for round in 0..200 {
            let done: Vec<AtomicU32> = (0..round).map(|_| AtomicU32::new(0)).collect();
            pool.each(round, &|i| _ = done[i].fetch_add(1, Ordering::Relaxed));
            assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
        }
        let threads = Mutex::new(HashSet::new());
        pool.each(40, &|i| {
            threads.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_millis(if i < 4 { 5 } else { 1 }));
        });
        assert!(threads.into_inner().unwrap().len() > 1, "a thread did all parts");
        let (hold, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..3 {
            let held = Arc::clone(&held);
            pool.spawn(move || _ = held.lock().unwrap().recv());
        }
        let done = AtomicU32::new(0);
        pool.each(10, &|_| _ = done.fetch_add(1, Ordering::Relaxed));
        assert_eq!(done.into_inner(), 10);
        let waits = pool.shared.lock().queue.iter().any(|job| matches!(job.task, Task::Help(_)));
        assert!(!waits, "helpers wait for work that is done");
        drop(hold);
    }

    #[test]
    fn shares_are_taken_from_both_ends() {
        for (parts, first, half, left) in [
            (3..3, None, None, 3..3),
            (3..4, Some(3), None, 4..4),
            (3..5, Some(3), Some(4..5), 4..4),
            (3..6, Some(3), Some(5..6), 4..5),
            (3..8, Some(3), Some(6..8), 4..6),
        ] {
            let share = Share::default();
            share.set(parts);
            assert_eq!((share.first(), share.half()), (first, half));
            assert_eq!(Share::of(share.0.into_inner()), left);
        }
    }

    #[test]
    fn a_part_that_panics_does_not_keep_others_from_ending() {
        let pool = ThreadPool::new(3);
        let ended = AtomicU32::new(0);
        let each = || {
            pool.each(50, &|i| {
                assert!(i != 30, "a part of a test");
                thread::sleep(Duration::from_micros(100));
                ended.fetch_add(1, Ordering::Relaxed);
            });
        };
        assert!(catch(each).is_err());
        assert_eq!(ended.into_inner(), 49);
    }

    #[test]
    fn a_task_flushes_subnormals_as_its_scheduler_does() {
        let pool = ThreadPool::new(1);
        let flushes = || {
            let half = std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5);
            std::hint::black_box(half) == 0.0
        };
        let ask = || {
            let (send, receive) = channel();
            pool.spawn(move || send.send(flushes()).unwrap());
            receive.recv_timeout(LONG).unwrap()
        };
        assert!(!ask());
        {
            let _flush = FloatMode::FLUSH.enter();
            assert!(flushes());
            assert!(ask());
        }
        assert!(!flushes());
        assert!(!ask());
    }

    #[test]
    fn a_child_has_threads_of_its_own() {
        let pool = ThreadPool::new(2);
        let works = |pool: &ThreadPool| {
            let (send, receive) = channel();
            pool.spawn(move || send.send(()).unwrap());
            receive.recv_timeout(Duration::from_secs(5)).is_ok()
        };
        assert!(works(&pool));
        // A thread that holds the lock is not there in the child.
        let held = pool.shared.lock();
        // SAFETY: what the child does before it ends takes no lock that this test's threads may hold, but for the
        // allocator's, which the C library looks after.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let grandchild = || {
                // SAFETY: as above.
                match unsafe { libc::fork() } {
                    0 => exit(works(&pool)),
                    child => status_of(child) == 0,
                }
            };
            exit(works(&pool) && grandchild());
        }
        assert_eq!(status_of(child), 0);
        drop(held);
        assert!(works(&pool));
    }

    /// Ends the process at once.
    fn exit(well: bool) -> ! {
        // SAFETY: nothing is run on the way out.
        unsafe { libc::_exit(i32::from(!well)) }
    }

    fn status_of(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: writes to `status`.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }

    #[test]
    fn tasks_may_wait_for_tasks_of_theirs_however_deep() {
        fn nest(pool: Arc<ThreadPool>, depth: usize, done: Sender<()>) {
            if depth > 0 {
                let (send, receive) = channel();
                let inner = Arc::clone(&pool);
                pool.spawn(move || nest(inner, depth - 1, send));
                receive.recv_timeout(LONG).unwrap();
            }
            done.send(()).unwrap();
        }
        let pool = Arc::new(ThreadPool::new(1));
        let (send, receive) = channel();
        let inner = Arc::clone(&pool);
        pool.spawn(move || nest(inner, 2 * MAX_SPARE, send));
        receive.recv_timeout(LONG).unwrap();
    }
}
