//! The runtime: runs plans.
//!
//! ```text
//!  Plan ──load──▶ LoadedPlan (constants, prepared kernels) ──▶ Context (arena, call frames), pooled
//!        ──▶ steps, one by one, or several as one line ──▶ results
//! ```
//!
//! A [`LoadedPlan`] is shared by all runs of an executable. A context belongs to one run at a time. A run
//! takes a context from the pool, or creates one. The run returns the context to the pool even if the run
//! fails, unless a handler keeps views of the context's memory. An interrupted run leaves its context to the
//! custom calls that are not complete.
//!
//! A kernel for few elements can be a *straight-line program*
//! ([`StraightLine`](farcall_kernels::StraightLine)). Its *registers* are memory for intermediate values.
//! Where possible, neighboring thunks are linked to one [`Line`](farcall_kernels::Line), which runs without
//! the executor's work between thunks.
//!
//! **Invariants.** Places and types come from the validated plan, and are not checked again. The runtime does
//! not depend on the compiler.

mod atomic_slot;
mod collective;
mod context;
mod denormals;
mod executor;
mod load;
mod memory;
mod observer;
mod pool_tasks;
pub mod profile;
mod reference;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use farcall_ir::eval::{Cause, EvalError};
use farcall_ir::iterations::TooMany;
use farcall_ir::memory::OutOfMemory;
use farcall_ir::op::collective::Grid;
use farcall_ir::stack;
use farcall_ir::{Diagnostic, Literal, TensorType};

use atomic_slot::Spare;
use context::Context;
pub use executor::Inputs;
use farcall_host::custom_call::{CallError, RunContext};
use farcall_host::device::{BufferError, Device};
use farcall_host::processes::ProcessError;
use farcall_host::registry::Registry;
use farcall_host::runs::Keeping;
use farcall_host::runs::KeptMemory;
use farcall_host::runs::Run;
use farcall_host::{CodedError, ErrorCode};
use farcall_plan::ValidPlan;
pub use load::InstantiateError;
use load::Loaded;
use observer::Unwatched;
pub use observer::Watch;
pub use reference::values;

/// A failed run. The executable can be run again.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Too few or too many inputs.
    #[error("the program takes {} inputs ({}), but {found} were given", expected.len(), list(expected))]
    InputCount {
        /// Types of the inputs that the program takes.
        expected: Box<[TensorType]>,
        /// Number of inputs that were given.
        found: usize,
    },
    /// An input with an element type or a shape that the program does not take.
    #[error("input {index} is {found}, but the program takes {expected}{}", name.as_ref().map(|n| format!(" (argument {n})")).unwrap_or_default())]
    Input {
        /// Index of the input, from 0.
        index: usize,
        /// Name of the argument, if the program gives one.
        name: Option<String>,
        /// Type that the program takes.
        expected: Box<TensorType>,
        /// Type that was given.
        found: Box<TensorType>,
    },
    /// An input does not have the elements that the program was compiled for.
    #[error("input {index}{} does not have the elements that the program was compiled for", name.as_ref().map(|n| format!(" (argument {n})")).unwrap_or_default())]
    KnownInput {
        /// Index of the input, from 0.
        index: usize,
        /// Name of the argument, if the program gives one.
        name: Option<String>,
    },
    /// An input on a device other than the program's.
    #[error("input {index} is on {found}, but the program runs on {expected}{}", name.as_ref().map(|n| format!(" (argument {n})")).unwrap_or_default())]
    InputDevice {
        /// Index of the input, from 0.
        index: usize,
        /// Name of the argument, if the program gives one.
        name: Option<String>,
        /// The device of the program.
        expected: Device,
        /// The device of the input.
        found: Device,
    },
    /// An input cannot be brought to the memory in which the program expects it.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A stream of a device other than the program's.
    #[error("the stream belongs to {found}, but the program runs on {expected}")]
    Device {
        /// The device of the program.
        expected: Device,
        /// The device of the stream.
        found: Device,
    },
    /// The arena, a copy of an input, or a result does not fit into memory.
    #[error("{what}: {error}")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// The number of bytes, and why they are not available.
        error: OutOfMemory,
    },
    /// A custom call failed.
    #[error(transparent)]
    CustomCall(#[from] CallError),
    /// An operation without a kernel failed.
    #[error(transparent)]
    Reference(EvalError),
    /// The run's [`Interrupt`](farcall_ir::interrupt::Interrupt) ended the run.
    #[error("the run was interrupted")]
    Interrupted,
    /// The loops of the program exceeded the limit on iterations.
    #[error(transparent)]
    Iterations(#[from] TooMany),
    /// Devices that run the program together wait for each other in vain.
    #[error(transparent)]
    Devices(ProcessError),
    /// A program for several devices was run on one, or on another number of devices.
    #[error("the program is compiled for {grid}, but the run has {found}")]
    Grid {
        /// The grid of the program.
        grid: Grid,
        /// Number of devices of the run.
        found: usize,
    },
    /// A device of a run on several devices failed.
    #[error("on device {number}: {error}")]
    OnDevice {
        /// Number of the device in the run.
        number: usize,
        /// The error.
        error: Box<RunError>,
    },
    /// A thread for a device could not be started.
    #[error("a thread for a device cannot be started: {0}")]
    Thread(Arc<std::io::Error>),
}

impl From<ProcessError> for RunError {
    fn from(error: ProcessError) -> RunError {
        match error {
            ProcessError::Ended => RunError::Interrupted,
            other => RunError::Devices(other),
        }
    }
}

fn list(types: &[TensorType]) -> String {
    let types: Vec<String> = types.iter().map(TensorType::to_string).collect();
    if types.is_empty() { "none".to_owned() } else { types.join(", ") }
}

impl RunError {
    /// Converts an error of the reference evaluator. If the evaluator ran the plan of a nested custom call
    /// and that run failed, the error of that run is returned unchanged.
    fn evaluating(error: EvalError) -> RunError {
        match &error.cause {
            Cause::Interrupted => RunError::Interrupted,
            Cause::Host(own) => own.downcast_ref().cloned().unwrap_or(RunError::Reference(error)),
            _ => RunError::Reference(error),
        }
    }

    /// Returns the error as a diagnostic at its location in the program; `None` if the error has no location.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            RunError::CustomCall(error) => error.diagnostic(),
            RunError::Reference(error) => error.diagnostic(),
            RunError::OnDevice { number, error } => error.diagnostic().map(|mut diagnostic| {
                diagnostic.message = format!("on device {number}: {}", diagnostic.message);
                diagnostic
            }),
            RunError::InputCount { .. }
            | RunError::Input { .. }
            | RunError::KnownInput { .. }
            | RunError::InputDevice { .. }
            | RunError::Buffer(_)
            | RunError::Device { .. }
            | RunError::Memory { .. }
            | RunError::Interrupted
            | RunError::Iterations(_)
            | RunError::Devices(_)
            | RunError::Grid { .. }
            | RunError::Thread(_) => None,
        }
    }
}

impl CodedError for RunError {
    fn code(&self) -> ErrorCode {
        match self {
            RunError::InputCount { .. } => ErrorCode::ArgumentCount,
            RunError::Input { expected, found, .. } if expected.dtype != found.dtype => {
                ErrorCode::ElementType
            }
            RunError::Input { .. } => ErrorCode::Shape,
            RunError::KnownInput { .. } => ErrorCode::Elements,
            RunError::InputDevice { .. } | RunError::Device { .. } => ErrorCode::Device,
            RunError::Buffer(error) => error.code(),
            RunError::Memory { .. } => ErrorCode::OutOfMemory,
            RunError::CustomCall(error) => error.code(),
            RunError::Reference(error) => match &error.cause {
                Cause::Memory(_) => ErrorCode::OutOfMemory,
                Cause::Iterations(_) => ErrorCode::TooManyIterations,
                _ => ErrorCode::Operation,
            },
            RunError::Interrupted => ErrorCode::Interrupted,
            RunError::Iterations(_) => ErrorCode::TooManyIterations,
            RunError::Devices(_) => ErrorCode::Operation,
            RunError::Grid { .. } => ErrorCode::Device,
            RunError::OnDevice { error, .. } => error.code(),
            RunError::Thread(_) => ErrorCode::OutOfMemory,
        }
    }
}

/// A plan that is ready to run.
#[derive(Debug)]
pub struct LoadedPlan {
    loaded: Loaded,
    /// The context that the last run returned.
    last: Spare<Pooled>,
    #[expect(clippy::vec_box, reason = "a box moves a context into and out of the pool as a pointer")]
    pool: Mutex<Vec<Box<Pooled>>>,
}

/// A context in the pool.
#[derive(Debug)]
struct Pooled {
    context: Context,
    /// The run context for runs that are started without one.
    run: Option<RunContext>,
}

/// Maximum number of contexts in the pool.
const MAX_POOLED_CONTEXTS: usize = 64;

impl LoadedPlan {
    /// Time that all runs have spent in the reference evaluator.
    pub fn evaluator_time(&self) -> Duration {
        Duration::from_nanos(self.loaded.evaluator_nanoseconds.load(Ordering::Relaxed))
    }

    /// Lays out the constants of a plan, and instantiates the targets of its custom calls.
    ///
    /// # Errors
    /// If the constants do not fit into memory, or a target is missing or refuses its call.
    pub fn new(plan: ValidPlan, registry: &Registry) -> Result<LoadedPlan, InstantiateError> {
        let loaded = Loaded::new(Arc::new(plan), registry)?;
        Ok(LoadedPlan { loaded, last: Spare::new(), pool: Mutex::default() })
    }

    /// The plan.
    pub fn plan(&self) -> &ValidPlan {
        &self.loaded.plan
    }

    /// Runs the program as part of `run`, on inputs that have been checked already. If `run` is `None`, this
    /// run gets a new run id.
    pub fn run(
        self: &Arc<LoadedPlan>,
        inputs: Inputs<'_>,
        run: Option<&RunContext>,
    ) -> Result<Vec<Literal>, RunError> {
        self.run_watched(inputs, run, Unwatched)
    }

    /// Runs the program like [`run`](LoadedPlan::run), observed by `watch`.
    pub fn run_watched<W: Watch>(
        self: &Arc<LoadedPlan>,
        inputs: Inputs<'_>,
        run: Option<&RunContext>,
        watch: W,
    ) -> Result<Vec<Literal>, RunError> {
        let pool = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pooled = match self.last.take().or_else(|| pool().pop()) {
            Some(pooled) => pooled,
            None => Box::new(Pooled { context: Context::new(&self.loaded)?, run: None }),
        };
        let Pooled { context, run: own } = &mut *pooled;
        let run = run.unwrap_or_else(|| {
            let own = own.get_or_insert_default();
            // Only handlers see the run's id.
            if self.loaded.enters_handlers {
                own.next_run();
            }
            own
        });
        let keeping = self.loaded.enters_handlers.then(Keeping::begin);
        let execute = || executor::run(&self.loaded, context, inputs, run, watch);
        let results = if self.loaded.is_deep { stack::with_room(execute) } else { execute() };
        let has_views = keeping.is_some() && Keeping::is_asked();
        if matches!(results, Err(RunError::Interrupted)) && context.is_pending() {
            let run = Arc::clone(run.run());
            let left = InterruptedRun { pooled, program: Arc::clone(self), run }.keep();
            if has_views {
                Keeping::keep(left);
            }
            return results;
        }
        if has_views {
            Keeping::keep((pooled, Arc::clone(self)));
            return results;
        }
        drop(keeping);
        if let Some(other) = self.last.replace(pooled) {
            let mut pool = pool();
            if pool.len() < MAX_POOLED_CONTEXTS {
                pool.push(other);
            }
        }
        results
    }
}

/// Memory that incomplete calls of an interrupted run may still use. It is kept until these calls are
/// complete.
struct InterruptedRun {
    pooled: Box<Pooled>,
    #[expect(dead_code, reason = "owns the constants, which handlers may still read")]
    program: Arc<LoadedPlan>,
    #[expect(dead_code, reason = "owns the run, which handlers may still use")]
    run: Arc<Run>,
}

impl InterruptedRun {
    /// Hands the memory to the pending calls, which own it together.
    fn keep(self) -> KeptMemory {
        let pending = self.pooled.context.pending();
        let left: KeptMemory = Arc::new(Mutex::new(self));
        for call in pending {
            call.keep(Arc::clone(&left));
        }
        left
    }
}

impl Drop for InterruptedRun {
    fn drop(&mut self) {
        // The memory is dropped only after the calls are complete, so their states can be destroyed.
        executor::end_stages(&mut self.pooled.context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_out_of_memory_has_that_code() {
        let code = |error: EvalError| RunError::evaluating(error).code();
        assert_eq!(code(OutOfMemory::refused(8).into()), ErrorCode::OutOfMemory);
    }
}
