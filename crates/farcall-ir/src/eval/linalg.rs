//! Linear algebra and Fourier transforms.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{FftKind, TriangularSolve};

/// `cholesky`
pub(super) fn cholesky(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _lower: bool,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `triangular_solve`
pub(super) fn triangular_solve(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _solve: &TriangularSolve,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `fft`
pub(super) fn fft(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _kind: FftKind,
    _length: &[usize],
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
