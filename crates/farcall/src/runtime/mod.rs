//! Runs plans.
//!
//! ```text
//! Program (plan, constants) ──▶ Context (arena, call frames), pooled ──▶ thunks, one by one ──▶ results
//! ```
//!
//! A [`Program`] is shared by all runs of an executable. A context belongs to one run at a time; a
//! run takes one from the pool, or makes one, and gives it back, also if it failed.
//!
//! **Invariants.** Places and types are those of the validated plan and are not checked again. Nothing
//! here knows the compiler.

mod context;
mod denormals;
mod executor;
mod kernels;
mod memory;
mod reference;

use std::sync::{Arc, Mutex, PoisonError};

use farcall_ir::eval::EvalError;
use farcall_ir::iterations::TooMany;
use farcall_ir::memory::OutOfMemory;
use farcall_ir::{Diagnostic, Literal};

use crate::custom_call::{CallError, RunContext};
use crate::plan::Plan;
use context::Context;
pub(crate) use executor::Inputs;
use memory::AlignedBytes;
pub(crate) use reference::values;

/// Why a run failed. The executable can be run again.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// Too few or too many inputs.
    #[error("the program takes {expected} inputs, {found} were given (it takes {signature})")]
    InputCount {
        /// Inputs that the program takes.
        expected: usize,
        /// Inputs that were given.
        found: usize,
        /// Their types.
        signature: String,
    },
    /// An input of another element type or shape.
    #[error("input {index} is {found}, but the program takes {expected}{}", name.as_ref().map(|n| format!(" (argument {n})")).unwrap_or_default())]
    Input {
        /// Which, from 0.
        index: usize,
        /// Name of the argument, if the program has one for it.
        name: Option<String>,
        /// Type that the program takes.
        expected: String,
        /// Type that was given.
        found: String,
    },
    /// An input has other elements than those that the program was compiled for.
    #[error("input {index}{} has other elements than the program was compiled for", name.as_ref().map(|n| format!(" (argument {n})")).unwrap_or_default())]
    KnownInput {
        /// Which, from 0.
        index: usize,
        /// Name of the argument, if the program has one for it.
        name: Option<String>,
    },
    /// The arena, a copy of an input or a result does not fit into memory.
    #[error("{what}: {error}")]
    Memory {
        /// What the memory is for.
        what: &'static str,
        /// How much it is, and what stands against it.
        error: OutOfMemory,
    },
    /// A custom call failed.
    #[error(transparent)]
    CustomCall(#[from] CallError),
    /// An operation without a kernel failed.
    #[error(transparent)]
    Reference(#[from] EvalError),
    /// The run's [`Interrupt`](crate::Interrupt) ended it.
    #[error("the run was interrupted")]
    Interrupted,
    /// The loops of the program went round too often.
    #[error(transparent)]
    Iterations(#[from] TooMany),
    /// The plan asks for a kernel that there is not: a mistake of the engine.
    #[error("no kernel for {kind} at {place}; this is a bug in farcall")]
    NoKernel {
        /// Kind of the thunk.
        kind: &'static str,
        /// Where in the program.
        place: String,
    },
}

impl RunError {
    /// The same as a mistake at a place of the program, if it has one.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            RunError::CustomCall(error) => error.diagnostic(),
            RunError::Reference(error) => error.diagnostic(),
            RunError::InputCount { .. }
            | RunError::Input { .. }
            | RunError::KnownInput { .. }
            | RunError::Memory { .. }
            | RunError::Interrupted
            | RunError::Iterations(_)
            | RunError::NoKernel { .. } => None,
        }
    }
}

/// A plan that is ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    plan: Plan,
    constants: Constants,
    pool: Mutex<Vec<Context>>,
}

/// The constants, aligned as custom calls may expect.
#[derive(Debug)]
struct Constants {
    block: AlignedBytes,
    offsets: Vec<usize>,
    /// Those of nested calls: per reference site, per call.
    nested: Vec<Vec<Constants>>,
}

/// Contexts that are kept for later runs.
const POOL: usize = 64;

impl Program {
    /// Lays out the constants of a validated plan.
    ///
    /// # Errors
    /// If the constants do not fit into memory.
    pub(crate) fn new(plan: Plan) -> Result<Program, OutOfMemory> {
        let constants = Constants::new(&plan)?;
        Ok(Program { plan, constants, pool: Mutex::default() })
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs with inputs that have been checked, as part of `run`, or of a run of its own.
    pub(crate) fn run(
        self: &Arc<Program>,
        inputs: Inputs<'_>,
        run: Option<&RunContext>,
    ) -> Result<Vec<Literal>, RunError> {
        let taken = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut context = match taken {
            Some(context) => context,
            None => Context::new(&self.plan)?,
        };
        let results = match run {
            Some(run) => executor::run(&self.plan, &self.constants, &mut context, inputs, run),
            None => {
                let mut own = context.run.take().unwrap_or_default();
                own.next_run();
                let results = executor::run(&self.plan, &self.constants, &mut context, inputs, &own);
                context.run = Some(own);
                results
            }
        };
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < POOL {
            pool.push(context);
        }
        results
    }
}

impl Constants {
    fn new(plan: &Plan) -> Result<Constants, OutOfMemory> {
        let mut size = 0usize;
        let offsets = plan.constants.iter().map(|c| {
            let at = size;
            size = size.saturating_add(c.byte_len().next_multiple_of(crate::plan::ALIGNMENT));
            at
        });
        let offsets: Vec<usize> = offsets.collect();
        let mut block = AlignedBytes::new(size)?;
        for (c, at) in plan.constants.iter().zip(&offsets) {
            c.write_to(&mut block.as_mut_slice()[*at..at + c.byte_len()]);
        }
        let sites = plan.references.iter().map(|site| {
            let calls = site.calls.iter().map(|call| Constants::new(&call.plan));
            calls.collect::<Result<Vec<Constants>, OutOfMemory>>()
        });
        Ok(Constants { block, offsets, nested: sites.collect::<Result<_, _>>()? })
    }
}
