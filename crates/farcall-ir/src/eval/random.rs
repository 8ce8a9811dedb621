//! Random numbers.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::{RngAlgorithm, RngDistribution};

/// `rng_bit_generator`
pub(super) fn rng_bit_generator(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _algorithm: RngAlgorithm,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}

/// `rng`
pub(super) fn rng(
    _m: &Machine<'_>,
    _inst: &Inst,
    _xs: &[Value],
    _distribution: RngDistribution,
) -> Result<Vec<Value>, EvalError> {
    Err(EvalError::new("the operation is not evaluated by this version"))
}
