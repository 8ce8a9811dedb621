//! Control flow: selects the region or function that runs next.

use super::machine::Machine;
use super::outcome::{Continuation, Step, is_true, region};
use super::{EvalError, EvalValue, tensor};
use crate::module::{FuncId, Inst};
use crate::scalar::Scalar;

/// `if`: runs the first region if the predicate is true, otherwise the second.
pub(super) fn if_<'m>(inst: Inst<'m>, xs: &[EvalValue]) -> Result<Step<'m>, EvalError> {
    branch(inst, usize::from(!is_true(xs)))
}

/// `case`: runs the region that the operand selects, or the last region if the index is out of range.
pub(super) fn case<'m>(inst: Inst<'m>, xs: &[EvalValue]) -> Result<Step<'m>, EvalError> {
    let index = tensor(xs, 0)?.iter().next().unwrap_or(Scalar::Signed(-1));
    branch(inst, inst.chosen(index))
}

fn branch(inst: Inst<'_>, i: usize) -> Result<Step<'_>, EvalError> {
    Ok(Step::Enter { region: region(inst, i)?, args: Vec::new(), after: Continuation::Bind(inst) })
}

/// Calls the function of a `func.call` or the decomposition of a `composite`.
pub(super) fn call<'m>(
    m: &Machine<'m>,
    inst: Inst<'m>,
    args: Vec<EvalValue>,
    callee: FuncId,
) -> Result<Step<'m>, EvalError> {
    Ok(Step::Call { func: m.callee(callee)?, args, inst })
}

/// `get_tuple_element`
pub(super) fn get_tuple_element(xs: &[EvalValue], index: usize) -> Result<Vec<EvalValue>, EvalError> {
    match xs {
        [EvalValue::Tuple(parts)] if index < parts.len() => Ok(vec![parts[index].clone()]),
        [EvalValue::Tuple(parts)] => {
            Err(EvalError::new(format!("a tuple of {} has no element {index}", parts.len())))
        }
        _ => Err(EvalError::new("the operand is not a tuple")),
    }
}

/// `async_start`: runs its region immediately. The values are the contents of the future.
pub(super) fn async_start<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    operands: Vec<EvalValue>,
) -> Result<Vec<EvalValue>, EvalError> {
    let body = region(inst, 0)?;
    let args = if body.args().is_empty() { Vec::new() } else { operands };
    Ok(vec![EvalValue::Tuple(m.call_region(body, args)?)])
}

/// `async_done`
pub(super) fn async_done(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    match xs {
        [EvalValue::Tuple(values)] => Ok(values.clone()),
        _ => Err(EvalError::new("the operand is not a future")),
    }
}
