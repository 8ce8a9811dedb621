//! Derived operations, evaluated by the simpler operations that define them.

use super::machine::Machine;
use super::{EvalError, EvalValue, tensor};
use crate::expand;
use crate::module::Inst;
use crate::op::Derived;

pub(super) fn derived(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    op: &Derived,
) -> Result<Vec<EvalValue>, EvalError> {
    let operands = (0..xs.len()).map(|i| Ok(tensor(xs, i)?.ty())).collect::<Result<Vec<_>, EvalError>>()?;
    let results = (0..inst.results().len()).map(|i| m.result_type(inst, i)).collect::<Result<Vec<_>, _>>()?;
    let func = expand::function(op, &operands, &results, inst)
        .ok_or_else(|| EvalError::new("the types of its operands do not match"))?;
    Machine::new(m.module, &func, m.host, m.numerics(), &|_| None).run(func.body(), xs.to_vec())
}
