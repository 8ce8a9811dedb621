//! Operations without a kernel: the reference evaluator on copies of the buffers.

use farcall_ir::Literal;
use farcall_ir::eval::{EvalError, NoHost, Value, eval_inst};

use crate::plan::{Plan, ReferenceSite};

/// Evaluates an instruction. `inputs`: its operands, then what its regions capture.
pub(super) fn run(
    plan: &Plan,
    site: &ReferenceSite,
    inputs: Vec<Literal>,
) -> Result<Vec<Literal>, EvalError> {
    let func = &plan.module.funcs[site.func];
    let mut values: Vec<Value> = inputs.into_iter().map(Value::Tensor).collect();
    let captured = values.split_off(site.inst.operands.len());
    let around = |id| site.captured.iter().position(|c| *c == id).map(|i| captured[i].clone());
    let results = eval_inst(&plan.module, func, &site.inst, &values, &around, &NoHost, plan.denormals)?;
    Ok(results.iter().filter_map(|v| v.tensor().cloned()).collect())
}
