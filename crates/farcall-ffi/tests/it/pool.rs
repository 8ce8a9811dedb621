//! Tests work on the host's pool: with a pool whose only thread also runs the handler, and with panics on
//! other threads.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use crate::outcome::check;
use expect_test::expect;
use farcall_ffi::abi::{self, Api};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

// ---- A pool of one thread -----------------------------------------------------------------------

thread_local! {
    /// Tasks of the pool, whose only thread is this one. They are run after the handler has returned.
    static QUEUE: RefCell<Vec<(abi::Task, *mut c_void)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn schedule(args: *mut abi::ThreadPoolScheduleArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments.
    let (task, data) = unsafe { ((*args).task, (*args).data) };
    QUEUE.with_borrow_mut(|queue| queue.extend(task.map(|task| (task, data))));
    std::ptr::null_mut()
}

/// Runs a call in a host whose pool's only thread is this one.
fn run_on_only_thread(call: Call<'_>, futures: bool) -> Result<()> {
    let mut table: Option<Box<Api>> = None;
    let outcome = changed(call, |frame| {
        // SAFETY: the host's table is complete, and valid for reads.
        let mut api = Box::new(unsafe { frame.api.read() });
        api.thread_pool_schedule = Some(schedule);
        if !futures {
            api.future_create = None;
        }
        frame.api = &raw const **table.insert(api);
    });
    for (task, data) in QUEUE.take() {
        // SAFETY: each scheduled task is run once, with its data.
        unsafe { task(data) };
    }
    outcome
}

/// Returns the result of `work`; fails if it takes too long.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = channel();
    std::thread::spawn(move || send.send(work()).expect("the test waits"));
    receive.recv_timeout(Duration::from_secs(20)).expect("the work is done in time")
}

static TASKS_RUN: AtomicUsize = AtomicUsize::new(0);

/// Spawns a task that keeps buffers, and one that does not.
#[handler(name = "in_tasks")]
fn in_tasks(mut y: KeptMut<Buffer<i32>>, x: Kept<Buffer<i32>>, fault: &str, host: &Context) -> Result<()> {
    let fault = fault.to_owned();
    let at_once = fault == "at once";
    host.spawn(|| {
        TASKS_RUN.fetch_add(1, Ordering::Relaxed);
    })?;
    host.spawn(move || {
        TASKS_RUN.fetch_add(1, Ordering::Relaxed);
        assert!(fault != "task", "x is {x:?}");
        y.copy_from_slice(&x);
    })?;
    assert!(!at_once, "beside tasks");
    Ok(())
}

#[test]
fn a_handler_on_the_only_thread_does_not_wait_for_it() {
    let call = |fault: &'static str| {
        in_time(move || {
            let mut y = [0, 0];
            let call = Call::to::<in_tasks>().operand(&[3, 4], &[2]).result(&mut y, &[2]);
            let outcome = run_on_only_thread(call.attr("fault", fault), fault == "at once");
            (outcome, y, TASKS_RUN.swap(0, Ordering::Relaxed))
        })
    };
    assert_eq!(call(""), (Ok(()), [3, 4], 2), "each task is done once");
    let (outcome, _, tasks) = call("task");
    check(
        outcome,
        expect!["INTERNAL: in_tasks: panicked at crates/farcall-ffi/tests/it/pool.rs:69:9: x is s32[2]"],
    );
    assert_eq!(tasks, 2);
    // Because of the panic, the handler waits despite futures, and drops the tasks that have not started.
    let (outcome, y, tasks) = call("at once");
    check(
        outcome,
        expect!["INTERNAL: in_tasks: panicked at crates/farcall-ffi/tests/it/pool.rs:72:5: beside tasks"],
    );
    assert_eq!((y, tasks), ([0, 0], 0));
}

/// Runs a loop on the only thread.
#[handler(name = "sums")]
fn sums(y: &mut Buffer<u64, 0>, host: &Context) -> Result<()> {
    let sum = AtomicUsize::new(0);
    host.parallel_for(100, |i| {
        sum.fetch_add(i, Ordering::Relaxed);
    });
    ensure!(sum.into_inner() == 4950, "not every index was taken once");
    y[0] = 1;
    Ok(())
}

#[test]
fn a_loop_on_the_only_thread_is_done_there() {
    let outcome = in_time(|| run_on_only_thread(Call::to::<sums>().result(&mut [0u64], &[]), true));
    check(outcome, expect!["ok"]);
}

// ---- Panics on other threads --------------------------------------------------------------------

/// Runs two parts on two threads. The part that does not run on the handler's thread panics.
#[handler(name = "parts")]
fn parts(host: &Context) -> Result<()> {
    let (both, handlers) = (Barrier::new(2), std::thread::current().id());
    host.parallel_for(2, |_| {
        both.wait();
        assert!(std::thread::current().id() == handlers, "the thread is not the handler's");
    });
    Ok(())
}

#[test]
fn a_panic_on_another_thread_says_where() {
    check(
        Call::to::<parts>().run(),
        expect![
            "INTERNAL: parts: panicked at crates/farcall-ffi/tests/it/pool.rs:128:9: the thread is not the handler's"
        ],
    );
}

/// Panics in a task, after the handler has returned.
#[handler(name = "in_task")]
fn in_task(y: KeptMut<Buffer<f32>>, text: bool, host: &Context) -> Result<()> {
    let returned = Arc::new(Barrier::new(2));
    let here = Arc::clone(&returned);
    host.spawn(move || {
        let _y = y;
        here.wait();
        if text { panic!("no {}", 1) } else { std::panic::panic_any(7) }
    })?;
    returned.wait();
    Ok(())
}

#[test]
fn a_panic_in_a_task_says_where() {
    let call = |text: bool| Call::to::<in_task>().attr("text", text).result(&mut [0f32], &[1]).run();
    check(
        call(true),
        expect!["INTERNAL: in_task: panicked at crates/farcall-ffi/tests/it/pool.rs:151:19: no 1"],
    );
    check(
        call(false),
        expect!["INTERNAL: in_task: panicked at crates/farcall-ffi/tests/it/pool.rs:151:47: no message"],
    );
}

/// Makes a call with a changed frame.
fn changed(call: Call<'_>, change: impl FnOnce(&mut abi::CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry only reads memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}
