//! The threads that run handlers' tasks and share the work of kernels.
//!
//! Handlers run on the engine's threads, never on threads of the pool, so a handler may wait for its tasks
//! even if the pool has a single thread. A task may schedule tasks and wait for them. If all threads are busy
//! when a task schedules another task, a spare thread is started for as long as it is needed. Beyond
//! [`MAX_SPARE_THREADS`], the scheduling thread runs the new task itself, before it continues. The XLA FFI
//! allows both: a task may run during the call that schedules it, or later.
//!
//! A task treats subnormal numbers like the thread that scheduled it. A task that ends with an exception
//! fails its call, if the call is still running. The exception is also printed immediately, since the handler
//! may be waiting for work that the task did not do.
//!
//! A child process after `fork()` has none of its parent's threads, so a pool starts new threads there. Tasks
//! that were waiting run only in the parent.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;

use farcall_ffi::abi;
use farcall_ffi::unwind::catch;
use farcall_ir::interrupt::{self, Interrupt};
use smallvec::SmallVec;

use super::error::{Failure, report_lost, take_error};
use super::exit::{self, CallName, Doing};
use super::float_mode::FloatMode;
use super::guard;
use super::parking::Seat;
use crate::poll::poll;

/// Maximum number of spare threads of a pool.
const MAX_SPARE_THREADS: usize = 64;

/// A pool of threads. Threads are started when there is work, and end when the pool is dropped and its work
/// is done.
pub struct ThreadPool {
    shared: Arc<Shared>,
}

struct Shared {
    size: usize,
    /// Number of forks between the first process and the process that these threads belong to.
    generation: u32,
    /// Replacement in a child process, where the lock may be held by a thread that the child does not have.
    in_child: OnceLock<Arc<Shared>>,
    state: Mutex<State>,
    /// Number of jobs in the queue, for threads that poll without taking the lock.
    queued: AtomicUsize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Number of threads that poll for work, or are about to.
    awake: usize,
    /// Sleeping threads. The last one is woken first.
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
    /// Help with work of the engine: runs parts of the work that no thread has begun.
    Help(Arc<SharedWork>),
}

// SAFETY: the caller of `spawn_foreign` hands the task's data over to the thread that runs the task. The
// other variants are `Send` themselves.
unsafe impl Send for Task {}

/// The first failure in a call's tasks.
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
    /// Pool that this thread belongs to.
    static POOL: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

impl ThreadPool {
    /// Creates a pool of `size` threads (at least one).
    pub fn new(size: usize) -> ThreadPool {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the function only increments a counter, which the child of a process with threads may
            // do.
            let _out_of_memory = unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
        ThreadPool { shared: Arc::new(Shared::new(size.max(1))) }
    }

    /// Returns the pool of the process, with one thread per core.
    pub fn global() -> Arc<ThreadPool> {
        static GLOBAL: LazyLock<Arc<ThreadPool>> = LazyLock::new(|| {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            Arc::new(ThreadPool::new(cores))
        });
        Arc::clone(&GLOBAL)
    }

    /// Returns the number of threads, not counting spare threads.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Runs a function on a thread of the pool. A panic in the function is printed and caught.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.schedule(Task::Own(Box::new(task)));
    }

    /// Runs a handler's task. A failure of the task is stored in `failure`.
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
        let room = !spare || (from_inside && state.spare < MAX_SPARE_THREADS);
        if room && start(shared, spare) {
            *(if spare { &mut state.spare } else { &mut state.threads }) += 1;
        } else if from_inside || state.threads == 0 {
            // All other threads may be waiting for this job, so this thread runs it.
            let job = state.queue.pop_back();
            shared.queued.store(state.queue.len(), Ordering::Release);
            drop(state);
            if let Some(job) = job {
                job.run(None);
            }
        }
    }

    /// Removes helper jobs that no thread has started yet. Otherwise they would stay in the queue until a
    /// thread is free.
    fn dismiss(&self, parts: &Arc<SharedWork>) {
        let shared = self.shared.here();
        let mut state = shared.lock();
        state.queue.retain(|job| !matches!(&job.task, Task::Help(of) if Arc::ptr_eq(of, parts)));
        shared.queued.store(state.queue.len(), Ordering::Release);
    }
}

/// The engine's work, divided into parts. The submitting thread does all parts that no thread of the pool has
/// begun.
impl ThreadPool {
    /// Calls `task` once with every number below `count`, in any order, on this thread and idle threads of
    /// the pool. Returns when all calls have returned.
    ///
    /// # Panics
    /// If a call panics.
    pub fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let helpers = self.size().min(count).saturating_sub(1);
        if helpers == 0 || count > Share::MAX_PARTS {
            return (0..count).for_each(task);
        }
        // SAFETY: the two types differ in their lifetime only. `SharedWork` calls the function for numbers
        // below `count` only, once each, and `finish` returns or unwinds only after all of these calls have
        // ended. So `task` is not used after `each` has returned.
        let task = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(task)
        };
        let parts = Arc::new(SharedWork {
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

/// Work divided among threads. Each thread has a share of the parts, which is empty at first except for the
/// submitting thread, whose share contains all parts. A thread whose share is empty takes half of another
/// thread's share. So each thread works on adjacent parts, and a thread that submits work repeatedly gets
/// about the same parts each time.
struct SharedWork {
    /// Valid until all parts have ended.
    task: *const (dyn Fn(usize) + Sync),
    count: usize,
    /// One share for each thread. The submitting thread has the first.
    shares: SmallVec<[Share; 4]>,
    /// Number of threads that have arrived, including the submitting thread.
    arrived: AtomicUsize,
    /// Numbers of parts that have begun, and that have ended.
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// True if a part has panicked.
    panicked: AtomicBool,
    /// Signals the submitting thread, if it sleeps, that all parts have ended.
    asleep: Mutex<()>,
    all: Condvar,
    /// Interrupts of the submitting thread.
    scope: Option<interrupt::Scope>,
}

// SAFETY: the function behind `task` is `Sync`, so several threads may call it at once. The function is only
// called before `finish` returns (`run`), while the caller of `each` still borrows the function.
unsafe impl Send for SharedWork {}
// SAFETY: `&SharedWork` gives access to `task` only through `run`, and the function behind `task` is `Sync`.
unsafe impl Sync for SharedWork {}

/// A thread's parts that have not begun: index of the first part, and index after the last, in one word. Each
/// share occupies its own cache line.
#[derive(Default)]
#[repr(align(64))]
struct Share(AtomicU64);

impl Share {
    /// Maximum number of parts.
    const MAX_PARTS: usize = u32::MAX as usize;

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

    /// Takes the first part.
    fn first(&self) -> Option<usize> {
        let next = |word| {
            let parts = Share::of(word);
            (!parts.is_empty()).then(|| Share::word(parts.start + 1..parts.end))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(Share::of(before).start)
    }

    /// Takes the later half, rounded up.
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

impl SharedWork {
    /// Runs parts, as the thread with this number, until all parts have begun. A thread that arrives late
    /// finds no parts, and does not access the task.
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
            } else if !poll(|| have_begun() || are_left()) || have_begun() {
                // Another thread may have taken parts that are not in its share yet. That thread runs them.
                return;
            }
        }
    }

    fn run(&self, part: usize) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this part has not ended, so `finish` has not returned, and the caller of `each` still
        // borrows the function.
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
        if !poll(have_ended) {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            while !have_ended() {
                if self.scope.is_none() {
                    asleep = self.all.wait(asleep).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                // The other threads stop once this thread has noticed an interrupt. This thread checks
                // without the lock: the interrupt's callback may be slow, and a part needs the lock to end.
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

/// Number of forks between the first process and this process.
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

    /// Returns the state of the pool in this process.
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
                poll(|| self.queued.load(Ordering::Acquire) > 0);
                state = self.lock();
                if state.queue.is_empty() && !state.closed {
                    state.awake -= 1;
                    state.asleep.push(Arc::clone(&seat));
                    drop(state);
                    // The waking thread has already counted this thread as awake.
                    seat.sleep();
                    state = self.lock();
                }
                state.awake -= 1;
            }
        }
    }
}

/// Starts a thread. Returns false if the system refuses.
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
    /// Runs the job on this thread. `seat` is the thread's seat, if the thread belongs to the pool.
    fn run(self, seat: Option<&Seat>) {
        let _mode = self.mode.enter();
        if let (Task::Foreign(..) | Task::Own(_), Some(seat)) = (&self.task, seat) {
            // The task may query the number of cores, or start threads that inherit this thread's cores.
            seat.roam();
        }
        match self.task {
            Task::Foreign(task, data, to, call) => {
                // SAFETY: the caller of `spawn_foreign` guarantees that the task may be called once with
                // `data` on any thread.
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

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn a_pool_of_one_runs_everything_and_survives_a_panic() {
        let pool = ThreadPool::new(1);
        let (send, receive) = channel();
        pool.spawn(|| std::panic::resume_unwind(Box::new("quietly")));
        for i in 0..100 {
            let send = send.clone();
            pool.spawn(move || send.send(i).unwrap());
        }
        let got: Vec<i32> = (0..100).map(|_| receive.recv_timeout(TIMEOUT).unwrap()).collect();
        assert_eq!(got, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn each_part_runs_once_even_if_no_thread_is_free() {
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
        assert!(threads.into_inner().unwrap().len() > 1, "one thread ran all parts");
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
        assert!(!waits, "the queue still has helpers for work that is done");
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
            receive.recv_timeout(TIMEOUT).unwrap()
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
    fn a_child_process_starts_its_own_threads() {
        let pool = ThreadPool::new(2);
        let works = |pool: &ThreadPool| {
            let (send, receive) = channel();
            pool.spawn(move || send.send(()).unwrap());
            receive.recv_timeout(Duration::from_secs(5)).is_ok()
        };
        assert!(works(&pool));
        // The thread that holds the lock does not exist in the child.
        let held = pool.shared.lock();
        // SAFETY: before it ends, the child takes no lock that this test's threads may hold, except for the
        // allocator's, which the C library handles.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let grandchild = || {
                // SAFETY: the grandchild takes no lock that a thread of this test may hold, either.
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

    /// Ends the process immediately.
    fn exit(well: bool) -> ! {
        // SAFETY: `_exit` has no preconditions, and runs no code of this process.
        unsafe { libc::_exit(i32::from(!well)) }
    }

    fn status_of(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: `status` is valid for writes.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }

    #[test]
    fn tasks_may_wait_for_deeply_nested_tasks() {
        fn nest(pool: Arc<ThreadPool>, depth: usize, done: Sender<()>) {
            if depth > 0 {
                let (send, receive) = channel();
                let inner = Arc::clone(&pool);
                pool.spawn(move || nest(inner, depth - 1, send));
                receive.recv_timeout(TIMEOUT).unwrap();
            }
            done.send(()).unwrap();
        }
        let pool = Arc::new(ThreadPool::new(1));
        let (send, receive) = channel();
        let inner = Arc::clone(&pool);
        pool.spawn(move || nest(inner, 2 * MAX_SPARE_THREADS, send));
        receive.recv_timeout(TIMEOUT).unwrap();
    }
}
