//! Programs that are ready to run: on the engine, on the reference evaluator, or on a PJRT plugin.

use std::sync::Arc;

use anyhow::{Context, Result};
use farcall::custom_call::RunContext;
use farcall::device::Device;
use farcall::eval_host::RegistryHost;
use farcall::interpreter::{self, InterpreterHost, Programs};
use farcall::ir::diag::Diagnostics;
use farcall::ir::eval::{self, EvalError, Numerics};
use farcall::ir::literal::Literal;
use farcall::ir::module::{Func, Module};
use farcall::ir::verify::StaticModule;
use farcall::ir::{Op, ProgramError, Source, bounded, elided};
use farcall::pjrt::LoadedProgram;
use farcall::registry::advise;
use farcall::{CompileError, CompileOptions, Executable, Plan, Registry, RunError, RunOptions};

use crate::load::advice;

/// A function of a verified program, ready to run any number of times.
pub(crate) enum Ready<'m> {
    /// Compiled by the engine.
    Engine(Executable),
    /// Evaluated operation by operation.
    Evaluator { module: &'m StaticModule<'m>, func: &'m Func, registry: &'m Registry, numerics: Numerics },
    /// A self-checking program that runs functions as the processes of a grid. The evaluator runs the program,
    /// and the engine or the evaluator the functions.
    Interpreter {
        module: &'m StaticModule<'m>,
        func: &'m Func,
        registry: &'m Registry,
        numerics: Numerics,
        evaluator: bool,
    },
    /// Compiled by a PJRT plugin.
    Plugin { module: &'m StaticModule<'m>, program: LoadedProgram },
}

/// Unwraps the [`ProgramError`] if the program is at fault, so that callers can downcast to it.
pub(crate) fn refused(error: CompileError) -> anyhow::Error {
    error.into_program().map_or_else(anyhow::Error::from, |error| advise(error, advice).into())
}

impl<'m> Ready<'m> {
    /// Prepares `func`, a function of `module`.
    pub(crate) fn new(
        module: &'m StaticModule<'m>,
        func: &'m Func,
        registry: &'m Registry,
        numerics: Numerics,
        evaluator: bool,
    ) -> Result<Ready<'m>> {
        if interpreter::runs_in_parallel(module) {
            require_targets(module, registry)?;
            return Ok(Ready::Interpreter { module, func, registry, numerics, evaluator });
        }
        if evaluator {
            require_targets(module, registry)?;
            return Ok(Ready::Evaluator { module, func, registry, numerics });
        }
        let options = CompileOptions::new().entry(&func.name).numerics(numerics);
        Executable::compile_verified(module, registry, &options).map(Ready::Engine).map_err(refused)
    }

    /// Returns the plan if the function was compiled.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Ready::Engine(executable) => Some(executable.plan()),
            Ready::Evaluator { .. } | Ready::Interpreter { .. } | Ready::Plugin { .. } => None,
        }
    }

    /// Rejects a program that needs elided elements of constants.
    pub(crate) fn require_elements(&self) -> Result<()> {
        let refused = match self {
            Ready::Engine(executable) => executable.plan().elided(),
            Ready::Evaluator { module, .. }
            | Ready::Interpreter { module, .. }
            | Ready::Plugin { module, .. } => elided::refused([module as &Module]),
        };
        refused.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Adds the program's source line to an error of [`Ready::run`], if the error has a source position.
    pub(crate) fn explain(error: anyhow::Error, source: &Arc<Source>) -> anyhow::Error {
        let found = error.chain().find_map(|e| match (e.downcast_ref(), e.downcast_ref()) {
            (Some(error), _) => RunError::diagnostic(error),
            (_, Some(error)) => EvalError::diagnostic(error),
            (None, None) => None,
        });
        found.map_or(error, |diagnostic| ProgramError::new(source, diagnostic).into())
    }

    /// Runs the function with one tensor per argument. Returns one tensor per result.
    pub(crate) fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>> {
        self.run_in(inputs, None)
    }

    /// Like [`run`](Self::run). On the engine, the run uses the given context.
    pub(crate) fn run_in(&self, inputs: &[Literal], run: Option<&RunContext>) -> Result<Vec<Literal>> {
        match self {
            Ready::Engine(executable) if executable.plan().sharding().is_some() => {
                Ok(executable.run_partitioned(inputs)?)
            }
            Ready::Engine(executable) => Ok(executable.run_with(inputs, RunOptions::new().context(run))?),
            Ready::Evaluator { module, func, registry, numerics } => {
                let host = RegistryHost::new(registry, *numerics);
                let params = func.params().iter().map(|p| func.ty(*p));
                let inputs = eval::values(params, inputs.to_vec()).with_context(|| {
                    format!("@{} takes a different number of inputs than {}", func.name, inputs.len())
                })?;
                let results = eval::eval(module, func, &inputs, &host, *numerics)?;
                Ok(bounded::cut(&bounded::cuts(func), eval::tensors(&results))?)
            }
            Ready::Interpreter { module, func, registry, numerics, evaluator } => {
                let programs = if *evaluator { Programs::Evaluated } else { Programs::Compiled(run) };
                let host = InterpreterHost::new(registry, *numerics, programs);
                let params = func.params().iter().map(|p| func.ty(*p));
                let inputs = eval::values(params, inputs.to_vec()).context("a wrong number of inputs")?;
                Ok(eval::tensors(&eval::eval(module, func, &inputs, &host, *numerics)?))
            }
            Ready::Plugin { program, .. } => Ok(program.run(inputs)?),
        }
    }
}

/// Reports every custom call whose target is missing, as the engine does when it compiles.
fn require_targets(module: &Module, registry: &Registry) -> Result<(), ProgramError> {
    let mut diagnostics = Diagnostics::default();
    for func in module.funcs() {
        func.walk(&mut |inst| {
            if diagnostics.is_full() {
                return;
            }
            if let Op::CustomCall(call) = inst.op()
                && !interpreter::is_target(&call.target)
                && let Err(e) = registry.resolve(call, Device::default().platform())
            {
                diagnostics.push(e.at(inst.span(), &inst.place(&module.source)));
            }
        });
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(advise(diagnostics.into_error(&module.source), advice)) }
}
