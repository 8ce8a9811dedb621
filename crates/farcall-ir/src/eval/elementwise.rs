//! Elementwise operations: one operation of [`super::arith`] for every element.

use super::arith;
use super::index::zeros;
use super::machine::Machine;
use super::number::flush;
use super::quantize::{dequantized, quantized};
use super::{Denormals, EvalError, EvalValue, one, tensor};
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::elementwise::FunctionInfo;
use crate::op::{Binary, Compare, CompareKind, Unary};
use crate::scalar::{self, Scalar};
use farcall_sig::DType;
use num_complex::Complex;

/// Functions of one variable.
pub(super) fn unary(m: &Machine<'_>, xs: &[EvalValue], op: Unary) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let (from, to) = (x.dtype(), result_dtype(op.info(), x.dtype())?);
    map(to, [x], |[x]| unary_element(m.denormals, op, from, to, x))
}

/// Functions of two variables.
pub(super) fn binary(m: &Machine<'_>, xs: &[EvalValue], op: Binary) -> Result<Vec<EvalValue>, EvalError> {
    let (a, b) = (tensor(xs, 0)?, tensor(xs, 1)?);
    let (from, to) = (a.dtype(), result_dtype(op.info(), a.dtype())?);
    map(to, [a, b], |[a, b]| binary_element(m.denormals, op, from, to, a, b))
}

/// The element type of a function's result.
fn result_dtype(info: &FunctionInfo, operand: DType) -> Result<DType, EvalError> {
    let dtype = info.result.dtype(operand);
    dtype.ok_or_else(|| EvalError::new(format!("it is not defined for {operand} elements")))
}

/// `compare`
pub(super) fn compare(m: &Machine<'_>, xs: &[EvalValue], c: &Compare) -> Result<Vec<EvalValue>, EvalError> {
    let (a, b) = (tensor(xs, 0)?, tensor(xs, 1)?);
    let dtype = a.dtype();
    map(DType::Pred, [a, b], |[a, b]| compare_element(m.denormals, c, dtype, a, b))
}

/// `select`
pub(super) fn select(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    let (pred, a, b) = (tensor(xs, 0)?, tensor(xs, 1)?, tensor(xs, 2)?);
    let pred = spread(pred, a)?;
    map(a.dtype(), [&pred, a, b], |[p, a, b]| Some(if p.as_bool() { a } else { b }))
}

/// `clamp`
pub(super) fn clamp(m: &Machine<'_>, xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    let (low, x, high) = (tensor(xs, 0)?, tensor(xs, 1)?, tensor(xs, 2)?);
    let dtype = x.dtype();
    let (low, high) = (spread(low, x)?, spread(high, x)?);
    map(dtype, [&low, x, &high], |[low, x, high]| clamp_element(m.denormals, dtype, low, x, high))
}

/// `convert`
pub(super) fn convert(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let (from, to) = (x.dtype(), m.result_type(inst, 0)?.dtype);
    map(to, [x], |[x]| Some(convert_element(m.denormals, from, to, x)))
}

/// `bitcast_convert`: the same bits as another type. If the widths differ, the last dimension holds the parts
/// of a wide element, from low to high significance.
pub(super) fn bitcast_convert(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let (from, to) = (x.dtype(), m.result_type(inst, 0)?.dtype);
    let (old, new) = (from.bits() as usize, to.bits() as usize);
    let mut dims = x.dims().to_vec();
    if old > new && old % new == 0 {
        dims.push(old / new);
    } else if new > old && dims.last() == Some(&(new / old)) && new % old == 0 {
        dims.pop();
    } else if old != new {
        return Err(EvalError::new(format!("the bits of {} do not form elements of {to}", x.ty())));
    }
    let mut out = zeros(to, &dims)?;
    let total = x.len() * old;
    let (source, target) = (x.bytes(), out.bytes_mut());
    // The bits are copied one by one, since the width of an element need not be a whole number of bytes. In
    // memory, an element of fewer than eight bits takes a byte.
    let (old_step, new_step) = (from.size() * 8, to.size() * 8);
    for bit in Pace::until_due(0..total) {
        let at = bit / old * old_step + bit % old;
        let to = bit / new * new_step + bit % new;
        target[to / 8] |= (source[at / 8] >> (at % 8) & 1) << (to % 8);
    }
    // Signed elements are stored sign-extended.
    if to.bits() < 8 && to.is_signed_integer() {
        let unused = 8 - to.bits();
        target.iter_mut().for_each(|b| *b = ((*b << unused) as i8 >> unused) as u8);
    }
    one(out)
}

/// `reduce_precision`: rounds to a format with these numbers of bits. Values that are too large become
/// infinite; values below the smallest normal number of the format become zero.
pub(super) fn reduce_precision(
    xs: &[EvalValue],
    exponent: u32,
    mantissa: u32,
) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let dtype = x.dtype();
    map(dtype, [x], |[x]| reduce_precision_element(dtype, x, exponent, mantissa))
}

/// `uniform_quantize`: from a float or another quantized type.
pub(super) fn uniform_quantize(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    let float = dequantized(tensor(xs, 0)?, &m.operand_type(inst, 0)?)?;
    one(quantized(&float, &m.result_type(inst, 0)?)?)
}

/// `uniform_dequantize`
pub(super) fn uniform_dequantize(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    one(dequantized(tensor(xs, 0)?, &m.operand_type(inst, 0)?)?)
}

/// Applies `f` to corresponding elements.
fn map<const N: usize>(
    dtype: DType,
    xs: [&Literal; N],
    f: impl Fn([Scalar; N]) -> Option<Scalar>,
) -> Result<Vec<EvalValue>, EvalError> {
    let dims = xs[0].dims();
    if let Some(other) = xs.iter().find(|x| x.dims() != dims) {
        return Err(EvalError::new(format!("{} and {} differ in shape", xs[0].ty(), other.ty())));
    }
    let mut out = zeros(dtype, dims)?;
    let mut elements = xs.map(|x| x.iter());
    for chunk in Pace::until_due(out.bytes_mut().chunks_exact_mut(dtype.size())) {
        let args = std::array::from_fn(|i| elements[i].next().unwrap_or(Scalar::Bool(false)));
        let value = f(args).ok_or_else(|| EvalError::new(format!("it is not defined for {}", xs[0].ty())))?;
        value.write(dtype, chunk);
    }
    one(out)
}

/// Broadcasts a scalar to the shape of another tensor; other tensors are returned unchanged.
fn spread(x: &Literal, like: &Literal) -> Result<Literal, EvalError> {
    if x.dims().is_empty() && !like.dims().is_empty() {
        return super::index::strided(x, like.dims(), 0, &vec![0; like.dims().len()]);
    }
    Ok(x.clone())
}

/// Applies a unary operation to an element of `from`; the caller rounds the result to `to`.
pub(super) fn unary_element(
    denormals: Denormals,
    op: Unary,
    from: DType,
    to: DType,
    x: Scalar,
) -> Option<Scalar> {
    let moves = matches!(op, Unary::Negate | Unary::Real | Unary::Imag | Unary::Conj)
        || (op == Unary::Abs && !from.is_complex());
    if denormals == Denormals::Ieee || moves {
        return arith::unary(op, from, x);
    }
    Some(flush(denormals, to, arith::unary(op, from, flush(denormals, from, x))?.round_to(to)))
}

/// Applies a binary operation to elements of `from`; the caller rounds the result to `to`.
pub(super) fn binary_element(
    denormals: Denormals,
    op: Binary,
    from: DType,
    to: DType,
    a: Scalar,
    b: Scalar,
) -> Option<Scalar> {
    if denormals == Denormals::Ieee || matches!(op, Binary::Complex | Binary::NextAfter) {
        return arith::binary(op, from, a, b);
    }
    let [a, b] = [a, b].map(|x| flush(denormals, from, x));
    Some(flush(denormals, to, arith::binary(op, from, a, b)?.round_to(to)))
}

/// Compares elements of `dtype`.
pub(super) fn compare_element(
    denormals: Denormals,
    c: &Compare,
    dtype: DType,
    a: Scalar,
    b: Scalar,
) -> Option<Scalar> {
    // The total order compares bits, like integers, so nothing is flushed.
    let bits = c.kind == Some(CompareKind::TotalOrder);
    let [a, b] = [a, b].map(|x| if bits { x } else { flush(denormals, dtype, x) });
    arith::compare(c, a, b).map(Scalar::Bool)
}

/// Applies `clamp` to an element of `dtype`.
pub(super) fn clamp_element(
    denormals: Denormals,
    dtype: DType,
    low: Scalar,
    x: Scalar,
    high: Scalar,
) -> Option<Scalar> {
    let [low, x, high] = [low, x, high].map(|x| flush(denormals, dtype, x));
    arith::clamp(dtype, low, x, high)
}

/// Converts an element of `from` to `to`; the caller rounds the result.
pub(super) fn convert_element(denormals: Denormals, from: DType, to: DType, x: Scalar) -> Scalar {
    // `f8E8M0FNU` stores powers of two, the smallest of which is a subnormal `f32`. Flushing would lose this
    // power.
    let powers = from == DType::F8E8M0FNU || to == DType::F8E8M0FNU;
    if from == to {
        return x;
    }
    let x = quieted(x, to);
    if denormals == Denormals::Ieee || powers {
        return arith::convert(x, to);
    }
    flush(denormals, to, arith::convert(flush(denormals, from, x), to).round_to(to))
}

/// Quiets NaNs in a conversion's operand; eight-bit formats have one NaN for each sign.
fn quieted(x: Scalar, to: DType) -> Scalar {
    let quiet = |x: f64| match x.is_nan() && to.bits() <= 8 {
        true => f64::NAN.copysign(x),
        false => scalar::quieted(x),
    };
    match x {
        Scalar::Float(x) => Scalar::Float(quiet(x)),
        Scalar::Complex(z) => Scalar::Complex(Complex::new(quiet(z.re), quiet(z.im))),
        x => x,
    }
}

/// Applies `reduce_precision` to an element. Works on the bits of the operand's type, like XLA: the mantissa
/// is first rounded to nearest even, then values outside of the exponent's range become infinity or zero.
pub(super) fn reduce_precision_element(
    dtype: DType,
    x: Scalar,
    exponent: u32,
    mantissa: u32,
) -> Option<Scalar> {
    let (from_exponent, from_mantissa) = match dtype {
        DType::F8E3M4 => (3, 4),
        DType::F8E4M3 => (4, 3),
        DType::F8E5M2 => (5, 2),
        DType::BF16 => (8, 7),
        DType::F16 => (5, 10),
        DType::F32 => (8, 23),
        DType::F64 => (11, 52),
        _ => return None,
    };
    if x.as_f64().is_nan() {
        return Some(if mantissa > 0 { x } else { Scalar::Float(f64::INFINITY) });
    }
    let mut bytes = [0; 8];
    x.write(dtype, &mut bytes);
    let mut bits = u64::from_le_bytes(bytes);
    let sign = bits & 1 << (from_exponent + from_mantissa);
    if mantissa < from_mantissa {
        let last = 1u64 << (from_mantissa - mantissa);
        let odd = u64::from(bits & last != 0);
        bits = (bits + odd + (last >> 1) - 1) & !(last - 1);
    }
    if exponent < from_exponent {
        let field = ((1u64 << from_exponent) - 1) << from_mantissa;
        let bias = (1u64 << (from_exponent - 1)) - 1;
        let reduced = (1u64 << (exponent.max(1) - 1)) - 1;
        let code = (bits & field) >> from_mantissa;
        if code > bias + reduced {
            bits = sign | field;
        } else if code <= bias - reduced {
            bits = sign;
        }
    }
    Some(Scalar::from_bytes(dtype, &bits.to_le_bytes()))
}
