//! Collectives with a single participant, which receives its own data, in the type of the result.

use super::index::{known_sizes, zeros};
use super::machine::Machine;
use super::{EvalError, EvalValue, elementwise, quantize, tensor};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::CollectiveBroadcast;
use crate::op::collective::{Grid, ProcessRole};
use crate::scalar::Scalar;

/// The device grid that the program is written for.
pub(super) fn grid(m: &Machine<'_>) -> Grid {
    Grid::of(&m.module.attrs)
}

/// `all_gather`, `all_reduce` and `reduce_scatter`
pub(super) fn gathered(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    role: ProcessRole,
) -> Result<Vec<EvalValue>, EvalError> {
    match role {
        // `Outside` does not occur in verified programs, since the groups of these operations cover all
        // processes.
        ProcessRole::Alone | ProcessRole::Outside => converted(m, inst, xs),
        ProcessRole::OneOf(n) => Err(several(n)),
    }
}

/// `collective_broadcast` and `collective_reduce`
pub(super) fn rooted(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    op: &CollectiveBroadcast,
) -> Result<Vec<EvalValue>, EvalError> {
    let roots = if op.dynamic_root { xs.len().saturating_sub(1) } else { xs.len() };
    exchanged(m, inst, &xs[..roots], op.groups.exchange_role(grid(m)))
}

/// `all_to_all`, `collective_broadcast` and `collective_permute`: a device that receives nothing gets zeros.
pub(super) fn exchanged(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    role: ProcessRole,
) -> Result<Vec<EvalValue>, EvalError> {
    match role {
        ProcessRole::Alone => converted(m, inst, xs),
        ProcessRole::Outside => (0..inst.results().len())
            .map(|i| {
                let ty = m.result_type(inst, i)?;
                let mut out = zeros(ty.dtype, known_sizes(&ty)?)?;
                // Quantized tensors represent zero by their zero point.
                if let Some(q) = &ty.quant {
                    let zero = Scalar::Signed(q.zero_points.first().copied().unwrap_or(0));
                    (0..out.len()).for_each(|i| out.set(i, zero));
                }
                Ok(EvalValue::Tensor(out))
            })
            .collect(),
        ProcessRole::OneOf(n) => Err(several(n)),
    }
}

/// Converts the operands to the result types, which may be wider for reductions.
fn converted(m: &Machine<'_>, inst: Inst<'_>, xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    (0..xs.len())
        .map(|i| {
            let (x, from, to) = (tensor(xs, i)?, m.operand_type(inst, i)?, m.result_type(inst, i)?);
            if from.dtype == to.dtype && from.quant == to.quant {
                return Ok(xs[i].clone());
            }
            if from.quant.is_some() || to.quant.is_some() {
                return quantize::quantized(&quantize::dequantized(x, &from)?, &to).map(EvalValue::Tensor);
            }
            let element = |i| elementwise::convert_element(m.denormals, from.dtype, to.dtype, x.get(i));
            Ok(EvalValue::Tensor(Literal::try_from_fn(to.dtype, x.dims(), element)?))
        })
        .collect()
}

pub(super) fn several(n: usize) -> EvalError {
    EvalError::new(format!("it takes {n} participants, but a program runs on one device here"))
}
