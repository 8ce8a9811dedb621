//! Operations whose indices are data.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{Gather, Scatter};

/// `dynamic_slice`
pub(super) fn dynamic_slice(_xs: &[Value], _sizes: &[usize]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `dynamic_update_slice`
pub(super) fn dynamic_update_slice(_xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `real_dynamic_slice`
pub(super) fn real_dynamic_slice(_xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `gather`
pub(super) fn gather(_xs: &[Value], _gather: &Gather) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `dynamic_gather`
pub(super) fn dynamic_gather(_xs: &[Value], _gather: &Gather) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `scatter`
pub(super) fn scatter<'m>(
    _m: &mut Machine<'m>,
    _inst: &'m Inst,
    _xs: &[Value],
    _scatter: &Scatter,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
