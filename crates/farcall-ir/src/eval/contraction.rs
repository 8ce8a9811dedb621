//! Products and convolutions.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{Convolution, DotGeneral};

/// `dot_general`
pub(super) fn dot_general(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _dot: &DotGeneral,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `convolution`
pub(super) fn convolution(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _conv: &Convolution,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `dynamic_convolution`
pub(super) fn dynamic_convolution(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _conv: &Convolution,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
