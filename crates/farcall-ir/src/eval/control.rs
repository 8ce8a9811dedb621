//! Control flow: which region or function runs next.

use super::machine::{After, Machine, Step};
use super::{EvalError, Value, tensor};
use crate::module::{FuncId, Inst, Region};
use crate::scalar::Scalar;

/// `if`: the first region if the predicate is true, else the second.
pub(super) fn if_<'m>(inst: Inst<'m>, xs: &[Value]) -> Result<Step<'m>, EvalError> {
    branch(inst, usize::from(!is_true(xs)))
}

/// `case`: the region with this number, or the last one if there is none.
pub(super) fn case<'m>(inst: Inst<'m>, xs: &[Value]) -> Result<Step<'m>, EvalError> {
    let index = tensor(xs, 0)?.iter().next().unwrap_or(Scalar::Signed(-1));
    branch(inst, inst.chosen(index))
}

fn branch(inst: Inst<'_>, i: usize) -> Result<Step<'_>, EvalError> {
    Ok(Step::Enter { region: region(inst, i)?, args: Vec::new(), after: After::Bind(inst) })
}

/// `fusion`: what its region does.
pub(super) fn fusion<'m>(inst: Inst<'m>, args: Vec<Value>) -> Result<Step<'m>, EvalError> {
    Ok(Step::Enter { region: region(inst, 0)?, args, after: After::Bind(inst) })
}

/// `while`: asks the condition about a state.
pub(super) fn while_(inst: Inst<'_>, state: Vec<Value>) -> Result<Step<'_>, EvalError> {
    Ok(Step::Enter { region: region(inst, 0)?, args: state.clone(), after: After::Test(inst, state) })
}

/// The body of a `while`, once the condition has said yes.
pub(super) fn iterate(inst: Inst<'_>, state: Vec<Value>) -> Result<Step<'_>, EvalError> {
    Ok(Step::Enter { region: region(inst, 1)?, args: state, after: After::Again(inst) })
}

/// `func.call`, and the function that a `composite` stands for.
pub(super) fn call<'m>(
    m: &Machine<'m>,
    inst: Inst<'m>,
    args: Vec<Value>,
    callee: FuncId,
) -> Result<Step<'m>, EvalError> {
    Ok(Step::Call { func: m.callee(callee)?, args, inst })
}

/// `get_tuple_element`
pub(super) fn get_tuple_element(xs: &[Value], index: usize) -> Result<Vec<Value>, EvalError> {
    match xs {
        [Value::Tuple(parts)] if index < parts.len() => Ok(vec![parts[index].clone()]),
        [Value::Tuple(parts)] => {
            Err(EvalError::new(format!("a tuple of {} has no element {index}", parts.len())))
        }
        _ => Err(EvalError::new("the operand is not a tuple")),
    }
}

/// `async_start`: what its region does, at once. The values are what the future will be.
pub(super) fn async_start<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    operands: Vec<Value>,
) -> Result<Vec<Value>, EvalError> {
    let body = region(inst, 0)?;
    let args = if body.args().is_empty() { Vec::new() } else { operands };
    Ok(vec![Value::Tuple(m.call_region(body, args)?)])
}

/// `async_done`
pub(super) fn async_done(xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    match xs {
        [Value::Tuple(values)] => Ok(values.clone()),
        _ => Err(EvalError::new("the operand is not a future")),
    }
}

/// `partition_id` and `replica_id`: there is one device, number 0.
pub(super) fn only_device(m: &Machine<'_>, inst: Inst<'_>) -> Result<Vec<Value>, EvalError> {
    let ty = m.result_type(inst, 0)?;
    super::one(crate::Literal::zeros(ty.dtype, []))
}

/// True if the first value is a tensor whose first element is true.
pub(super) fn is_true(values: &[Value]) -> bool {
    matches!(values.first(), Some(Value::Tensor(l)) if l.iter().next().is_some_and(|s| s.as_bool()))
}

/// Region number `i` of an instruction.
pub(super) fn region(inst: Inst<'_>, i: usize) -> Result<Region<'_>, EvalError> {
    inst.region(i).ok_or_else(|| EvalError::new(format!("region {i} is missing")))
}
