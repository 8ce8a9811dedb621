//! Runs that Python's signals can end: Ctrl-C, and any exception that a signal handler raises. If a Python
//! handler has raised an exception, that exception becomes the cause of the run's error.
//!
//! Python runs signal handlers only on its main thread, so only runs on that thread check for signals. The
//! engine checks often, but a check asks Python for signals only once in a while ([`Interrupt::PERIOD`]), and
//! takes the interpreter's lock only then. Compilation and conversion can be interrupted in the same way.

use farcall::CodedError;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use farcall::custom_call::RunContext;
use farcall::device::{BufferError, DeviceBuffer};
use farcall::{ErrorCode, Executable, Interrupt, Profile, RunError, RunOptions, interrupt};
use farcall_ir::Literal;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::{error, handler};

thread_local! {
    /// True on the main thread of the process.
    static IS_MAIN: bool = is_main();
    /// Context for the runs of this thread, unless a run is using it.
    static CONTEXT: Cell<Option<RunContext>> = const { Cell::new(None) };
    /// Exception raised by a signal handler.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs a program without the interpreter's lock; a partitioned program on all of its devices.
///
/// # Errors
/// The run's error as an exception. If a Python handler raised an exception, that exception is the cause. An
/// exception that is not an `Exception`, such as `KeyboardInterrupt`, is returned unchanged if a Python
/// handler or a signal handler raised it.
pub(crate) fn run(py: Python<'_>, executable: &Executable, inputs: Vec<Literal>) -> PyResult<Vec<Literal>> {
    if executable.plan().sharding().is_some() {
        let parts = interruptible(py, |_| executable.divided(&inputs))?;
        return Ok(executable.joined(run_on_devices(py, executable, parts)?));
    }
    interruptible(py, |run| literals(executable.execute_with(inputs, RunOptions::new().context(run))))
}

/// Runs a program on all devices of its grid, without the interpreter's lock.
///
/// # Errors
/// The errors of [`run`].
pub(crate) fn run_on_devices(
    py: Python<'_>,
    executable: &Executable,
    inputs: Vec<Vec<Literal>>,
) -> PyResult<Vec<Vec<Literal>>> {
    let buffers = |of: Vec<Literal>| of.into_iter().map(DeviceBuffer::from).collect();
    let inputs: Vec<Vec<DeviceBuffer>> = inputs.into_iter().map(buffers).collect();
    interruptible(py, |run| {
        let results = executable.execute_on_devices(inputs, run.map_or(&[], std::slice::from_ref))?;
        results.into_iter().map(|of| literals(Ok(of))).collect()
    })
}

/// Runs a program once, and then `runs` times with a profile.
///
/// # Errors
/// The errors of [`run`].
pub(crate) fn profiled(
    py: Python<'_>,
    executable: &Executable,
    inputs: &[Literal],
    runs: usize,
) -> PyResult<Profile> {
    let mut profile = Profile::new();
    interruptible(py, |run| {
        executable.run_with(inputs, RunOptions::new().context(run).profile(&mut Profile::new())).map(drop)
    })?;
    for _ in 0..runs {
        interruptible(py, |run| {
            executable.run_with(inputs, RunOptions::new().context(run).profile(&mut profile)).map(drop)
        })?;
    }
    Ok(profile)
}

/// Does a run without the interpreter's lock. On the main thread, the run checks for signals.
fn interruptible<R: Send>(
    py: Python<'_>,
    run: impl FnOnce(Option<&RunContext>) -> Result<R, RunError> + Send,
) -> PyResult<R> {
    let untold = handler::UntypedErrorScope::new();
    if !IS_MAIN.with(|is| *is) {
        let outcome = py.detach(|| run(None));
        return finished(py, None, untold, outcome);
    }
    // A handler may itself run a program.
    let mut context = CONTEXT
        .take()
        .unwrap_or_else(|| RunContext::new().with_interrupt(Arc::new(Interrupt::asking(has_raised))));
    context.next_run();
    let outcome = py.detach(|| run(Some(&context)));
    CONTEXT.set(Some(context));
    finished(py, RAISED.take(), untold, outcome)
}

/// Does work without the interpreter's lock; signals can end the work.
///
/// # Errors
/// The exception that a signal handler raised.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    if !IS_MAIN.with(|is| *is) {
        return Ok(py.detach(work));
    }
    let interrupt = Arc::new(Interrupt::asking(has_raised));
    let done = py.detach(|| interrupt::during(&interrupt, work));
    // A nested run may have taken the exception.
    done.map_err(|_| RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
}

/// Converts the outcome of a run for Python. Of several exceptions, the first one that is not an `Exception`
/// is returned. If all are `Exception`s, a signal handler's exception takes precedence over functions'
/// exceptions.
fn finished<R>(
    py: Python<'_>,
    signal: Option<PyErr>,
    untold: handler::UntypedErrorScope,
    outcome: Result<R, RunError>,
) -> PyResult<R> {
    let untold = untold.finish().map(|(name, raised)| {
        if !raised.is_instance_of::<PyException>(py) {
            return raised;
        }
        let exception =
            PyRuntimeError::new_err(format!("custom call `{name}`: {}", handler::words(py, &raised)));
        exception.set_cause(py, Some(raised));
        exception
    });
    let outcome = outcome.map_err(|e| failure(py, &e));
    if signal.is_none() && untold.is_none() {
        return outcome;
    }
    let mut raised: Vec<PyErr> = signal.into_iter().chain(untold).chain(outcome.err()).collect();
    let counts = raised.iter().position(|error| !error.is_instance_of::<PyException>(py)).unwrap_or(0);
    Err(raised.swap_remove(counts))
}

/// Returns the exception for a run's error.
#[cold]
fn failure(py: Python<'_>, error: &RunError) -> PyErr {
    let exception = error::exception(error.code(), error.to_string());
    match error.code() {
        ErrorCode::CustomCall(_) => match handler::raised() {
            Some(raised) if !raised.is_instance_of::<PyException>(py) => raised,
            cause => {
                exception.set_cause(py, cause);
                exception
            }
        },
        _ => exception,
    }
}

/// Converts results to literals that are not shared, because Python may write to them.
fn literals(results: Result<Vec<DeviceBuffer>, RunError>) -> Result<Vec<Literal>, RunError> {
    let literals: Result<Vec<Literal>, BufferError> =
        results?.into_iter().map(DeviceBuffer::into_literal).collect();
    let mut literals = literals?;
    let unshared = literals.iter_mut().try_for_each(Literal::unshare);
    unshared.map_err(|error| RunError::Memory { what: "a result", error })?;
    Ok(literals)
}

/// Runs the handlers of pending signals. Returns true if a handler has raised an exception.
fn has_raised() -> bool {
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    }
}

fn is_main() -> bool {
    // SAFETY: these calls have no preconditions.
    unsafe { i64::from(libc::getpid()) == libc::syscall(libc::SYS_gettid) }
}
