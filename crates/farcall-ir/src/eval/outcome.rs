//! Outcome of an instruction: values, or the region or function that runs next.

use super::{EvalError, EvalValue};
use crate::module::{Func, Inst, Region};

/// Outcome of evaluating one instruction.
pub(super) enum Step<'m> {
    /// The results of the instruction.
    Values(Vec<EvalValue>),
    /// The values that the current region returns.
    Return(Vec<EvalValue>),
    /// A region has to run first.
    Enter { region: Region<'m>, args: Vec<EvalValue>, after: Continuation<'m> },
    /// A function has to run first; it computes the results of the instruction.
    Call { func: &'m Func, args: Vec<EvalValue>, inst: Inst<'m> },
}

/// Continuation after a region returns.
pub(super) enum Continuation<'m> {
    /// The values are the result of the machine.
    Finish,
    /// The values are the results of this instruction.
    Bind(Inst<'m>),
    /// The values are the results of this call: the function's window is dropped, and the caller's window
    /// becomes current.
    Leave { inst: Inst<'m>, func: &'m Func, base: usize },
    /// The value is the result of this loop's condition for the state in the second field.
    Test(Inst<'m>, Vec<EvalValue>),
    /// The values are the next state of this loop.
    Again(Inst<'m>),
}

impl<'m> Step<'m> {
    /// Runs the condition of a `while` on a state.
    pub(super) fn condition(inst: Inst<'m>, state: Vec<EvalValue>) -> Result<Step<'m>, EvalError> {
        let after = Continuation::Test(inst, state.clone());
        Ok(Step::Enter { region: region(inst, 0)?, args: state, after })
    }

    /// Runs the body of a `while` after its condition was true.
    pub(super) fn body(inst: Inst<'m>, state: Vec<EvalValue>) -> Result<Step<'m>, EvalError> {
        Ok(Step::Enter { region: region(inst, 1)?, args: state, after: Continuation::Again(inst) })
    }
}

/// Returns true if the first value is a tensor whose first element is true.
pub(super) fn is_true(values: &[EvalValue]) -> bool {
    matches!(values.first(), Some(EvalValue::Tensor(l)) if l.iter().next().is_some_and(|s| s.as_bool()))
}

/// Region number `i` of an instruction.
pub(super) fn region(inst: Inst<'_>, i: usize) -> Result<Region<'_>, EvalError> {
    inst.region(i).ok_or_else(|| EvalError::new(format!("region {i} is missing")))
}
