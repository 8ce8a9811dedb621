//! Quantized tensors: stored integers that represent real numbers.
//!
//! Arithmetic on quantized tensors is the specification's `dequantize_op_quantize`, in the expressed type.

use super::index::zeros;
use super::{EvalError, EvalValue};
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::module::{Func, Inst, ValueId};
use crate::op::{Op, Traits};
use crate::scalar::Scalar;
use crate::types::{Quantization, TensorType};

/// Returns true for operations computed on the real numbers that quantized operands represent. Other
/// operations move stored integers, or apply a region that contains the arithmetic.
pub(super) fn is_arithmetic(op: &Op) -> bool {
    op.info().is(Traits::ARITHMETIC)
}

/// Returns true if an operand or a result of the instruction is quantized.
pub(super) fn touches(func: &Func, inst: Inst<'_>) -> bool {
    let mut values = inst.own_operands().iter().chain(inst.results());
    values.any(|id| func.tensor(*id).is_some_and(|t| t.quant.is_some()))
}

/// Dequantizes the quantized operands of an instruction.
pub(super) fn express(
    func: &Func,
    inst: Inst<'_>,
    operands: Vec<EvalValue>,
) -> Result<Vec<EvalValue>, EvalError> {
    converted(func, inst.own_operands(), operands, dequantized)
}

/// Quantizes the results of an instruction that have quantized types.
pub(super) fn store(
    func: &Func,
    inst: Inst<'_>,
    values: Vec<EvalValue>,
) -> Result<Vec<EvalValue>, EvalError> {
    converted(func, inst.results(), values, quantized)
}

/// Converts the tensors among the values with these ids, each by its type.
fn converted(
    func: &Func,
    ids: &[ValueId],
    values: Vec<EvalValue>,
    convert: fn(&Literal, &TensorType) -> Result<Literal, EvalError>,
) -> Result<Vec<EvalValue>, EvalError> {
    let convert = |(id, value): (&ValueId, EvalValue)| match (func.tensor(*id), value) {
        (Some(ty), EvalValue::Tensor(l)) => Ok(EvalValue::Tensor(convert(&l, ty)?)),
        (_, other) => Ok(other),
    };
    ids.iter().zip(values).map(convert).collect()
}

/// Dequantizes a tensor to the expressed type: `(stored - zero point) * scale`. Other tensors are returned
/// unchanged.
pub(super) fn dequantized(x: &Literal, ty: &TensorType) -> Result<Literal, EvalError> {
    let Some(q) = &ty.quant else { return Ok(x.clone()) };
    let parameter = parameters(x.dims(), q);
    let expressed = Literal::try_from_fn(q.expressed, x.dims(), |i| {
        let p = parameter(i);
        let stored = x.get(i).as_i64().wrapping_sub(q.zero_points[p]) as f64;
        // Each step is rounded to the expressed type.
        let stored = Scalar::Float(stored).round_to(q.expressed).as_f64();
        let scale = Scalar::Float(q.scale(p)).round_to(q.expressed).as_f64();
        Scalar::Float(stored * scale)
    });
    Ok(expressed?)
}

/// Quantizes a tensor to the stored type: `x / scale + zero point`, clamped and rounded. If `ty` is not
/// quantized, the tensor is returned unchanged.
pub(super) fn quantized(x: &Literal, ty: &TensorType) -> Result<Literal, EvalError> {
    let Some(q) = &ty.quant else { return Ok(x.clone()) };
    if !x.dtype().is_float() {
        return Err(EvalError::new(format!("{} cannot be quantized", x.ty())));
    }
    let parameter = parameters(x.dims(), q);
    let round = |v: f64| Scalar::Float(v).round_to(q.expressed).as_f64();
    let (min, max) = (round(q.storage_min as f64), round(q.storage_max as f64));
    let mut out = zeros(ty.dtype, x.dims())?;
    for i in Pace::until_due(0..x.len()) {
        let p = parameter(i);
        let scaled = round(x.get(i).as_f64() / round(q.scale(p)));
        let moved = round(scaled + round(q.zero_points[p] as f64));
        let whole = if moved.is_nan() { 0.0 } else { moved.clamp(min, max).round_ties_even() };
        out.set(i, super::arith::convert(Scalar::Float(whole), ty.dtype));
    }
    Ok(out)
}

/// Returns the index of the scale and zero point for the element at a position.
fn parameters(dims: &[usize], q: &Quantization) -> impl Fn(usize) -> usize + use<> {
    let (inner, size) = match q.axis {
        Some(axis) if axis < dims.len() => (dims[axis + 1..].iter().product::<usize>().max(1), dims[axis]),
        _ => (1, 1),
    };
    let count = q.scales.len().min(q.zero_points.len()).max(1);
    move |i| (i / inner % size.max(1)).min(count - 1)
}
