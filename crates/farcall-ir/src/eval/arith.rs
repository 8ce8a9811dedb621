//! Arithmetic on single elements.
//!
//! The functions take exact values of an element type. Results are not yet rounded to the type, nor are
//! integers truncated to its width. `None` means that the operation is not defined for the type.

use super::{complex, special};
use crate::op::{Binary, Compare, CompareKind, ComparisonDirection, Unary};
use crate::scalar::Scalar;
use farcall_sig::{DType, DTypeClass};

/// Applies a unary operation to an element of `dtype`.
pub(super) fn unary(op: Unary, dtype: DType, x: Scalar) -> Option<Scalar> {
    match x {
        Scalar::Bool(x) => (op == Unary::Not).then_some(Scalar::Bool(!x)),
        Scalar::Signed(x) => unary_integer(op, dtype, x).map(Scalar::Signed),
        Scalar::Unsigned(x) => unary_integer(op, dtype, x.cast_signed()).map(|x| Scalar::Unsigned(x as u64)),
        Scalar::Float(x) => unary_float(op, dtype, x),
        Scalar::Complex(z) => complex::unary(op, z),
    }
}

/// Applies an integer operation. An unsigned operand is passed as the signed integer with the same bits.
fn unary_integer(op: Unary, dtype: DType, x: i64) -> Option<i64> {
    let bits = dtype.bits();
    let mask = u64::MAX >> (64 - bits);
    let signed = dtype.is_signed_integer();
    Some(match op {
        Unary::Abs if signed => x.wrapping_abs(),
        Unary::Abs => x,
        Unary::CountLeadingZeros => i64::from((x as u64 & mask).leading_zeros() - (64 - bits)),
        Unary::Negate => x.wrapping_neg(),
        Unary::Not => !x,
        Unary::Popcnt => i64::from((x as u64 & mask).count_ones()),
        Unary::Sign if signed => x.signum(),
        Unary::Sign => i64::from(x != 0),
        Unary::Square => x.wrapping_mul(x),
        _ => return None,
    })
}

fn unary_float(op: Unary, dtype: DType, x: f64) -> Option<Scalar> {
    Some(Scalar::Float(match op {
        Unary::Abs => x.abs(),
        Unary::Cbrt => libm::cbrt(x),
        Unary::Ceil => x.ceil(),
        Unary::Cosine => libm::cos(x),
        Unary::Exponential => libm::exp(x),
        Unary::ExponentialMinusOne => libm::expm1(x),
        Unary::Floor => x.floor(),
        Unary::Imag => 0.0,
        Unary::IsFinite => return Some(Scalar::Bool(x.is_finite())),
        Unary::Log => libm::log(x),
        Unary::LogPlusOne => libm::log1p(x),
        Unary::Logistic => special::logistic(x),
        Unary::Negate => -x,
        Unary::Real | Unary::Conj => x,
        Unary::RoundNearestAfz => x.round(),
        Unary::RoundNearestEven => x.round_ties_even(),
        Unary::Rsqrt => 1.0 / x.sqrt(),
        Unary::Sign if x.is_nan() || x == 0.0 => x,
        Unary::Sign => 1f64.copysign(x),
        Unary::Sine => libm::sin(x),
        Unary::Sqrt => x.sqrt(),
        Unary::Tan | Unary::ChloTan => libm::tan(x),
        Unary::Tanh => libm::tanh(x),
        Unary::Acos => libm::acos(x),
        // For arguments below -1, some versions of `libm` return a number.
        Unary::Acosh if x < 1.0 => f64::NAN,
        Unary::Acosh => libm::acosh(x),
        Unary::Asin => libm::asin(x),
        Unary::Asinh => libm::asinh(x),
        Unary::Atan => libm::atan(x),
        Unary::Atanh => libm::atanh(x),
        Unary::BesselI1e => special::bessel_i1e(x),
        Unary::Cosh if dtype == DType::F32 => special::cosh_f32(x),
        Unary::Cosh => libm::cosh(x),
        Unary::Digamma => special::digamma(x),
        Unary::Erf => libm::erf(x),
        Unary::ErfInv => special::erf_inv(x),
        Unary::Erfc => libm::erfc(x),
        Unary::IsInf => return Some(Scalar::Bool(x.is_infinite())),
        Unary::IsNegInf => return Some(Scalar::Bool(x == f64::NEG_INFINITY)),
        Unary::IsPosInf => return Some(Scalar::Bool(x == f64::INFINITY)),
        Unary::Lgamma => special::lgamma(x),
        Unary::Sinh if dtype == DType::F32 => special::sinh_f32(x),
        Unary::Sinh => libm::sinh(x),
        Unary::Square => x * x,
        Unary::AsinAcosKernel | Unary::CountLeadingZeros | Unary::Not | Unary::Popcnt => return None,
    }))
}

/// Applies a binary operation to elements of `dtype`.
pub(super) fn binary(op: Binary, dtype: DType, a: Scalar, b: Scalar) -> Option<Scalar> {
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => binary_bool(op, a, b).map(Scalar::Bool),
        (Scalar::Signed(a), Scalar::Signed(b)) => binary_signed(op, dtype, a, b).map(Scalar::Signed),
        (Scalar::Unsigned(a), Scalar::Unsigned(b)) => binary_unsigned(op, dtype, a, b).map(Scalar::Unsigned),
        (Scalar::Float(a), Scalar::Float(b)) => binary_float(op, dtype, a, b),
        (Scalar::Complex(a), Scalar::Complex(b)) => complex::binary(op, a, b).map(Scalar::Complex),
        _ => None,
    }
}

fn binary_bool(op: Binary, a: bool, b: bool) -> Option<bool> {
    Some(match op {
        Binary::Add | Binary::Maximum | Binary::Or => a | b,
        Binary::Multiply | Binary::Minimum | Binary::And => a & b,
        Binary::Xor => a ^ b,
        _ => return None,
    })
}

fn binary_signed(op: Binary, dtype: DType, a: i64, b: i64) -> Option<i64> {
    let shift = u32::try_from(b).ok().filter(|s| *s < dtype.bits());
    let mask = u64::MAX >> (64 - dtype.bits());
    Some(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::And => a & b,
        Binary::Divide if b == 0 => -1,
        Binary::Divide => a.wrapping_div(b),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::MulHi => ((i128::from(a) * i128::from(b)) >> dtype.bits()) as i64,
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Or => a | b,
        Binary::Power => power_signed(a, b),
        Binary::Remainder if b == 0 => a,
        Binary::Remainder => a.wrapping_rem(b),
        Binary::ShiftLeft => shift.map_or(0, |s| a << s),
        Binary::ShiftRightArithmetic => a >> shift.unwrap_or(63),
        Binary::ShiftRightLogical => shift.map_or(0, |s| ((a as u64 & mask) >> s) as i64),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Xor => a ^ b,
        Binary::Atan2 | Binary::Complex | Binary::NextAfter | Binary::Polygamma | Binary::Zeta => {
            return None;
        }
    })
}

fn binary_unsigned(op: Binary, dtype: DType, a: u64, b: u64) -> Option<u64> {
    let shift = u32::try_from(b).ok().filter(|s| *s < dtype.bits());
    Some(match op {
        Binary::Divide => a.checked_div(b).unwrap_or(u64::MAX),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::MulHi => ((u128::from(a) * u128::from(b)) >> dtype.bits()) as u64,
        Binary::Power => power_wrapping(a, b),
        Binary::Remainder => a.checked_rem(b).unwrap_or(a),
        Binary::ShiftRightArithmetic => {
            // The highest bit counts as a sign, as in the signed type of the same width.
            let unused = 64 - dtype.bits();
            (((a << unused) as i64 >> unused) >> shift.unwrap_or(63)) as u64
        }
        Binary::ShiftLeft => shift.map_or(0, |s| a << s),
        Binary::ShiftRightLogical => shift.map_or(0, |s| a >> s),
        same_bits => binary_signed(same_bits, DType::S64, a as i64, b as i64)? as u64,
    })
}

/// Integer power. A negative exponent gives 0, unless the base is 1 or -1.
fn power_signed(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (_, 0..) => power_wrapping(base as u64, exponent as u64) as i64,
        (1, _) => 1,
        (-1, _) if exponent % 2 == 0 => 1,
        (-1, _) => -1,
        _ => 0,
    }
}

fn power_wrapping(mut base: u64, mut exponent: u64) -> u64 {
    let mut out = 1u64;
    while exponent != 0 {
        if exponent & 1 == 1 {
            out = out.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    out
}

fn binary_float(op: Binary, dtype: DType, a: f64, b: f64) -> Option<Scalar> {
    Some(Scalar::Float(match op {
        Binary::Add => a + b,
        Binary::Atan2 => libm::atan2(a, b),
        Binary::Complex => return Some(Scalar::Complex(num_complex::Complex::new(a, b))),
        Binary::Divide => a / b,
        Binary::Maximum => maximum(a, b),
        Binary::Minimum => -maximum(-a, -b),
        Binary::Multiply => a * b,
        Binary::Power => libm::pow(a, b),
        Binary::Remainder => a % b,
        Binary::Subtract => a - b,
        Binary::NextAfter => special::next_after(dtype, a, b),
        Binary::Polygamma => special::polygamma(a, b),
        Binary::Zeta => special::zeta(a, b),
        Binary::And
        | Binary::MulHi
        | Binary::Or
        | Binary::Xor
        | Binary::ShiftLeft
        | Binary::ShiftRightArithmetic
        | Binary::ShiftRightLogical => return None,
    }))
}

/// The larger number; NaN if either is NaN, and +0 is larger than -0 (IEEE 754-2019).
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        a + b
    } else if a > b || (a == b && a.is_sign_positive()) {
        a
    } else {
        b
    }
}

/// Compares elements of one type.
pub(super) fn compare(c: &Compare, a: Scalar, b: Scalar) -> Option<bool> {
    use std::cmp::Ordering;
    let order = match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(&b)),
        (Scalar::Signed(a), Scalar::Signed(b)) => Some(a.cmp(&b)),
        (Scalar::Unsigned(a), Scalar::Unsigned(b)) => Some(a.cmp(&b)),
        (Scalar::Float(a), Scalar::Float(b)) if c.kind == Some(CompareKind::TotalOrder) => {
            Some(a.total_cmp(&b))
        }
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Complex(a), Scalar::Complex(b)) => {
            return match c.direction {
                ComparisonDirection::Eq => Some(a == b),
                ComparisonDirection::Ne => Some(a != b),
                _ => None,
            };
        }
        _ => return None,
    };
    Some(match c.direction {
        ComparisonDirection::Eq => order == Some(Ordering::Equal),
        ComparisonDirection::Ne => order != Some(Ordering::Equal),
        ComparisonDirection::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        ComparisonDirection::Gt => order == Some(Ordering::Greater),
        ComparisonDirection::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ComparisonDirection::Lt => order == Some(Ordering::Less),
    })
}

/// `min(max(x, low), high)`
pub(super) fn clamp(dtype: DType, low: Scalar, x: Scalar, high: Scalar) -> Option<Scalar> {
    binary(Binary::Minimum, dtype, binary(Binary::Maximum, dtype, low, x)?, high)
}

/// Converts a value to another type. Floats become integers by truncation toward zero and saturation (NaN
/// becomes 0), nonzero values become true, and complex numbers lose their imaginary part unless the new type
/// is complex.
pub(super) fn convert(x: Scalar, to: DType) -> Scalar {
    match (to.class(), x) {
        (DTypeClass::Bool, Scalar::Complex(z)) => Scalar::Bool(z.re != 0.0),
        (DTypeClass::Bool, x) => Scalar::Bool(x.as_bool()),
        (DTypeClass::Complex, x) => Scalar::Complex(x.as_complex()),
        (DTypeClass::Signed, Scalar::Float(_) | Scalar::Complex(_)) => {
            let unused = 64 - to.bits();
            Scalar::Signed(x.as_i64().clamp(i64::MIN >> unused, i64::MAX >> unused))
        }
        (DTypeClass::Unsigned, Scalar::Float(_) | Scalar::Complex(_)) => {
            Scalar::Unsigned(x.as_u64().min(u64::MAX >> (64 - to.bits())))
        }
        (DTypeClass::Signed, x) => Scalar::Signed(x.as_i64()),
        (DTypeClass::Unsigned, x) => Scalar::Unsigned(x.as_u64()),
        (DTypeClass::Float, Scalar::Signed(x)) if to != DType::F64 => {
            let magnitude = to_odd(x.unsigned_abs());
            Scalar::Float(if x < 0 { -magnitude } else { magnitude })
        }
        (DTypeClass::Float, Scalar::Unsigned(x)) if to != DType::F64 => Scalar::Float(to_odd(x)),
        (DTypeClass::Float, x) => Scalar::Float(x.as_f64()),
    }
}

/// Converts an integer to a float with 53 significant bits. If the conversion drops nonzero bits, it sets the
/// last bit, so that a later rounding to fewer bits gives the same result as a single rounding.
fn to_odd(x: u64) -> f64 {
    let extra = 11u32.saturating_sub(x.leading_zeros());
    let lost = x & ((1 << extra) - 1);
    let kept = (x >> extra) | u64::from(lost != 0);
    kept as f64 * f64::from(1u32 << extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Traits;

    /// Elements of each class of types, including special values.
    fn samples() -> Vec<(DType, Vec<Scalar>)> {
        let signed = [0, 1, -1, 3, -7, 127, -128].map(Scalar::Signed);
        let unsigned = [0, 1, 3, 127, 128, 255].map(Scalar::Unsigned);
        let floats = [0.0, -0.0, 1.0, -2.5, 0.5, 3.25, f64::INFINITY, f64::NEG_INFINITY].map(Scalar::Float);
        let bools = [false, true].map(Scalar::Bool);
        vec![
            (DType::S8, signed.to_vec()),
            (DType::U8, unsigned.to_vec()),
            (DType::F64, floats.to_vec()),
            (DType::Pred, bools.to_vec()),
        ]
    }

    /// Returns true if the values are equal, with NaN equal to itself.
    fn same(a: Option<Scalar>, b: Option<Scalar>, dtype: DType) -> bool {
        let text = |x: Option<Scalar>| format!("{:?}", x.map(|x| x.round_to(dtype)));
        text(a) == text(b)
    }

    #[test]
    fn what_is_declared_of_functions_holds() {
        for (dtype, values) in samples() {
            for op in Binary::VARIANTS {
                let f = |a, b| binary(op, dtype, a, b).map(|x| x.round_to(dtype));
                let is = |traits| op.info().op.is(traits);
                for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                    let commutes = !is(Traits::COMMUTATIVE) || same(f(a, b), f(b, a), dtype);
                    assert!(commutes, "{op:?} is not commutative for {a:?} and {b:?}");
                    if is(Traits::IDEMPOTENT) && f(a, a).is_some() {
                        assert!(same(f(a, a), Some(a), dtype), "{op:?} is not idempotent for {a:?}");
                    }
                    for c in &values {
                        let left = f(a, b).and_then(|ab| f(ab, *c));
                        let right = f(b, *c).and_then(|bc| f(a, bc));
                        let associates = !is(Traits::ASSOCIATIVE) || same(left, right, dtype);
                        assert!(associates, "{op:?} is not associative for {a:?}, {b:?} and {c:?}");
                    }
                }
            }
            for op in Unary::VARIANTS.into_iter().filter(|op| op.info().op.is(Traits::IDEMPOTENT)) {
                for x in &values {
                    let Some(once) = unary(op, dtype, *x).map(|x| x.round_to(dtype)) else { continue };
                    assert!(
                        same(unary(op, dtype, once), Some(once), dtype),
                        "{op:?} is not idempotent for {x:?}"
                    );
                }
            }
        }
    }
}
