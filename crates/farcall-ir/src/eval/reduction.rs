//! Reductions over dimensions and windows, `map`, sorting.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{ReduceWindow, SelectAndScatter};

/// `reduce`
pub(super) fn reduce<'m>(
    _m: &mut Machine<'m>,
    _inst: &'m Inst,
    _xs: &[Value],
    _dims: &[usize],
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `reduce_window`
pub(super) fn reduce_window<'m>(
    _m: &mut Machine<'m>,
    _inst: &'m Inst,
    _xs: &[Value],
    _window: &ReduceWindow,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `select_and_scatter`
pub(super) fn select_and_scatter<'m>(
    _m: &mut Machine<'m>,
    _inst: &'m Inst,
    _xs: &[Value],
    _window: &SelectAndScatter,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `map`
pub(super) fn map<'m>(_m: &mut Machine<'m>, _inst: &'m Inst, _xs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `sort`
pub(super) fn sort<'m>(
    _m: &mut Machine<'m>,
    _inst: &'m Inst,
    _xs: &[Value],
    _dim: usize,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `top_k`
pub(super) fn top_k(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _k: usize,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
