//! The host's thread pool: single tasks, and loops that several threads share.
//!
//! **Invariants.** A handler that waits for its own work does not depend on a free thread of the pool, since
//! the handler may be running on the pool's only thread. The waiting thread runs all work that no other
//! thread has started. Panics do not leave a task.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::abi;
use crate::error::Result;
use crate::host::{Host, function};
use crate::panics::Panic;
use crate::unwind::{catch, discard};

/// The host's thread pool, valid during a call.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    host: Host,
    call: PhantomData<&'a ()>,
}

// SAFETY: only the host's functions for its pool are used, which any thread may call during the call.
unsafe impl Send for Pool<'_> {}
// SAFETY: any thread may call the host's functions for its pool during the call.
unsafe impl Sync for Pool<'_> {}

impl Pool<'_> {
    pub(crate) fn of<'a>(host: Host) -> Pool<'a> {
        Pool { host, call: PhantomData }
    }

    /// Number of threads of the host's pool; 1 if it has none.
    pub fn num_threads(&self) -> usize {
        let Ok(function) = function!(self.host, thread_pool_num_threads) else { return 1 };
        let mut threads = 0;
        let mut args = abi::ThreadPoolNumThreadsArgs {
            struct_size: abi::ThreadPoolNumThreadsArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            num_threads: &mut threads,
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        if self.host.check(error).is_err() { 1 } else { usize::try_from(threads).unwrap_or(1).max(1) }
    }

    /// Calls `work(0)`, …, `work(count - 1)`, each once, on this thread and threads of the host's pool, and
    /// returns when all calls have returned. If the host has no pool, this thread makes all calls.
    ///
    /// The loop cannot deadlock, whatever the size of the pool: this thread does all the work that no other
    /// thread has started. A panic in `work` is propagated to the caller.
    pub fn parallel_for(&self, count: usize, work: impl Fn(usize) + Sync) {
        self.parallel_for_dyn(count, &work);
    }

    /// [`parallel_for`](Pool::parallel_for), compiled once for all functions.
    fn parallel_for_dyn(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        if count <= 1 {
            return (0..count).for_each(work);
        }
        let helpers = self.num_threads().min(count).saturating_sub(1);
        let Ok(schedule) = function!(self.host, thread_pool_schedule) else {
            return (0..count).for_each(work);
        };
        // SAFETY: only the lifetime changes. `Job::run` only calls `work` for an index below `count`. This
        // function only returns or unwinds in `wait`, after all these calls have returned: `run` and the
        // host's functions do not unwind.
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        let job = Arc::new(Job {
            work,
            count,
            next: AtomicUsize::new(0),
            done: Mutex::new((0, None)),
            finished: Condvar::new(),
        });
        for _ in 0..helpers {
            let mut args = abi::ThreadPoolScheduleArgs {
                struct_size: abi::ThreadPoolScheduleArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                ctx: self.host.ctx,
                task: Some(run_job),
                data: Arc::into_raw(Arc::clone(&job)).cast_mut().cast(),
            };
            // SAFETY: a function of the host, with the arguments it expects.
            let error = unsafe { schedule(&mut args) };
            if self.host.check(error).is_err() {
                // SAFETY: the host refused the task, so it does not hold this reference.
                drop(unsafe { Arc::from_raw(args.data.cast::<Job>()) });
                break;
            }
        }
        job.run();
        job.wait();
    }
}

/// Tasks that a handler scheduled during a call; only used on the handler's thread.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Rc<RefCell<Vec<Arc<Task>>>>);

impl Tasks {
    /// Runs the tasks that no thread has started.
    pub(crate) fn run(&self) {
        for task in self.0.take() {
            task.run();
        }
    }

    /// Drops the tasks that no thread has started.
    pub(crate) fn cancel(&self) {
        for task in self.0.take() {
            discard(task.claim());
        }
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tasks({})", self.0.borrow().len())
    }
}

/// Schedules a task on the host's pool and records the task in `tasks`. Without a pool, the task runs at
/// once.
pub(crate) fn spawn(host: &Host, tasks: Option<&Tasks>, task: impl FnOnce() + Send + 'static) -> Result<()> {
    let task = Arc::new(Task(Mutex::new(Some(Box::new(task)))));
    let Ok(schedule) = function!(host, thread_pool_schedule) else {
        task.run();
        return Ok(());
    };
    let mut args = abi::ThreadPoolScheduleArgs {
        struct_size: abi::ThreadPoolScheduleArgs::STRUCT_SIZE,
        extension_start: null_mut(),
        ctx: host.ctx,
        task: Some(run_task),
        data: Arc::into_raw(Arc::clone(&task)).cast_mut().cast(),
    };
    // SAFETY: a function of the host, with the arguments it expects.
    let error = unsafe { schedule(&mut args) };
    host.check(error).inspect_err(|_| {
        // SAFETY: the host refused the task, so it does not hold this reference.
        drop(unsafe { Arc::from_raw(args.data.cast_const().cast::<Task>()) });
    })?;
    if let Some(tasks) = tasks {
        tasks.0.borrow_mut().push(task);
    }
    Ok(())
}

/// A task, run by the first thread that claims it.
struct Task(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Task {
    fn claim(&self) -> Option<Box<dyn FnOnce() + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn run(&self) {
        if let Some(work) = self.claim() {
            // A panic is reported by the kept buffers that the task drops.
            drop(catch(work));
        }
    }
}

/// Entry point of a [`Task`] for the pool; `data` is an `Arc` of it. Does not unwind, since `run` catches
/// panics.
unsafe extern "C" fn run_task(data: *mut c_void) {
    // SAFETY: `spawn` made the pointer with `into_raw`, for this call.
    unsafe { Arc::from_raw(data.cast_const().cast::<Task>()) }.run();
}

/// A loop that several threads share.
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    count: usize,
    next: AtomicUsize,
    /// Number of calls that have returned, and the first panic.
    done: Mutex<(usize, Option<Panic>)>,
    finished: Condvar,
}

impl Job {
    /// Works until no index is left. Does not unwind, because `parallel_for_dyn` must reach `wait`; the
    /// destructor of a panic's payload does not unwind either.
    fn run(&self) {
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.count {
                return;
            }
            let mut panic = catch(|| (self.work)(i)).err().map(Panic::caught);
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.0 += 1;
            if done.1.is_none() {
                done.1 = panic.take();
            }
            if done.0 == self.count {
                self.finished.notify_all();
            }
        }
    }

    /// Waits for calls on other threads, and resumes a panic.
    fn wait(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        while done.0 < self.count {
            done = self.finished.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        let panic = done.1.take();
        drop(done);
        if let Some(panic) = panic {
            panic.resume();
        }
    }
}

/// Entry point of a [`Job`] for the pool; `data` is an `Arc` of it. Does not unwind, since `run` catches
/// panics.
unsafe extern "C" fn run_job(data: *mut c_void) {
    // SAFETY: `parallel_for_dyn` made the pointer with `into_raw`, for this call.
    unsafe { Arc::from_raw(data.cast_const().cast::<Job>()) }.run();
}
