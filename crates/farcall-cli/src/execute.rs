//! Programs that are ready to run.

use anyhow::{Result, bail};
use farcall::Registry;
use farcall_ir::eval::{self, CallSite, Denormals, Host, Value};
use farcall_ir::literal::Literal;
use farcall_ir::module::{Func, Module};
use farcall_ir::verify;

use crate::check_targets;
use crate::show::short;

/// A function of a verified program, ready to run any number of times.
pub(crate) struct Ready<'m> {
    module: &'m Module,
    func: &'m Func,
    denormals: Denormals,
}

impl<'m> Ready<'m> {
    /// Prepares `func`, a function of `module`.
    pub(crate) fn new(
        module: &'m Module,
        func: &'m Func,
        _registry: &Registry,
        denormals: Denormals,
        _evaluator: bool,
    ) -> Result<Ready<'m>> {
        verify::require_static(module)?;
        Ok(Ready { module, func, denormals })
    }

    /// Runs it: one tensor per argument, one per result.
    pub(crate) fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>> {
        let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
        let results = eval::eval(self.module, self.func, &inputs, &Checks, self.denormals)?;
        let tensors = results.into_iter().zip(&self.func.results).map(|(value, ty)| match value {
            Value::Tensor(l) => Ok(l),
            Value::Token | Value::Tuple(_) => bail!("a result is a {}, not a tensor", short(ty)),
        });
        tensors.collect()
    }
}

/// Runs the checks and nothing else.
struct Checks;

impl Host for Checks {
    fn custom_call(&self, site: &CallSite<'_>, operands: &[Value]) -> Result<Vec<Value>, String> {
        check_targets::evaluate(site, operands)
    }
}
