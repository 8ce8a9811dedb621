//! Operations on corresponding elements.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{Binary, Compare, Unary};

/// `unary`
pub(super) fn unary(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _op: Unary,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `binary`
pub(super) fn binary(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _op: Binary,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `compare`
pub(super) fn compare(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _c: &Compare,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `select`
pub(super) fn select(_xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `clamp`
pub(super) fn clamp(_m: &Machine<'_>, _inst: &Inst, _xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `convert`
pub(super) fn convert(_m: &Machine<'_>, _inst: &Inst, _xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `bitcast_convert`
pub(super) fn bitcast_convert(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `uniform_quantize`
pub(super) fn uniform_quantize(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `uniform_dequantize`
pub(super) fn uniform_dequantize(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `reduce_precision`
pub(super) fn reduce_precision(_xs: &[Value], _e: u32, _m: u32) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
