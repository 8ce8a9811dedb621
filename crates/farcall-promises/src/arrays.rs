//! Splits, combines and compares tensors.

use std::fmt;
use std::ops::Range;

use farcall::ir::{Literal, Scalar};
use farcall::sig::signature::Reducer;
use farcall::sig::{DType, DTypeClass};
use num_complex::Complex;

/// Returns the entries in this range along a dimension.
pub(super) fn part(x: &Literal, axis: usize, range: Range<usize>) -> Literal {
    let mut dims = x.dims().to_vec();
    let (size, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    dims[axis] = range.len();
    let row = (range.len() * inner).max(1);
    Literal::from_fn(x.dtype(), dims, |i| x.get(i / row * size * inner + range.start * inner + i % row))
}

/// Returns the offset operand for a part of the call that begins `by` entries after the start of the call. An
/// offset operand holds the index of this start within a larger dimension (`row: offset(m)` in a signature).
pub(super) fn later(offset: &Literal, by: usize) -> Literal {
    match (offset.get(0), i64::try_from(by)) {
        (Scalar::Signed(start), Ok(by)) => Literal::scalar(offset.dtype(), Scalar::Signed(start + by)),
        _ => offset.clone(),
    }
}

/// Concatenates tensors along a dimension.
pub(super) fn concatenated(parts: &[&Literal], axis: usize) -> Literal {
    let mut dims = parts[0].dims().to_vec();
    let inner: usize = dims[axis + 1..].iter().product();
    dims[axis] = parts.iter().map(|part| part.dims()[axis]).sum();
    let row = (dims[axis] * inner).max(1);
    Literal::from_fn(parts[0].dtype(), dims, |i| {
        let (outer, mut at) = (i / row, i % row);
        for part in parts {
            let own = part.dims()[axis] * inner;
            if at < own {
                return part.get(outer * own + at);
            }
            at -= own;
        }
        Scalar::zero(parts[0].dtype())
    })
}

/// Stacks tensors along a new dimension.
pub(super) fn stacked(entries: &[&Literal], axis: usize) -> Literal {
    let with_axis = |x: &&Literal| {
        let mut dims = x.dims().to_vec();
        dims.insert(axis, 1);
        x.reshape(dims)
    };
    let entries: Vec<Literal> = entries.iter().map(with_axis).collect();
    concatenated(&entries.iter().collect::<Vec<_>>(), axis)
}

/// Returns a tensor of the same type with different elements. Floats and complex numbers keep their signs,
/// and are scaled by factors below one that vary by position. Integers, which may be indices, and booleans
/// are only rotated by one position.
pub(super) fn other(x: &Literal) -> Literal {
    let (len, is_float) = (x.len(), x.dtype().real().is_float());
    Literal::from_fn(x.dtype(), x.dims().to_vec(), |i| match is_float {
        true => Scalar::Complex(x.get(i).as_complex() * (0.5 + 0.4 * (i % 7) as f64 / 6.0)),
        false => x.get((i + len - 1) % len),
    })
}

/// Combines parts elementwise with the reducer.
pub(super) fn combined(parts: &[&Literal], reducer: Reducer) -> Literal {
    let dtype = parts[0].dtype();
    Literal::from_fn(dtype, parts[0].dims().to_vec(), |i| {
        let values = parts.iter().map(|part| part.get(i));
        values.reduce(|a, b| combine(dtype, reducer, a, b)).unwrap_or(Scalar::zero(dtype))
    })
}

fn combine(dtype: DType, reducer: Reducer, a: Scalar, b: Scalar) -> Scalar {
    match (reducer, dtype.class()) {
        (Reducer::Sum | Reducer::Prod, DTypeClass::Complex) => {
            let (a, b) = (a.as_complex(), b.as_complex());
            Scalar::Complex(if reducer == Reducer::Sum { a + b } else { a * b })
        }
        (Reducer::Sum, DTypeClass::Float) => Scalar::Float(a.as_f64() + b.as_f64()),
        (Reducer::Prod, DTypeClass::Float) => Scalar::Float(a.as_f64() * b.as_f64()),
        (Reducer::Max, DTypeClass::Float) => Scalar::Float(a.as_f64().max(b.as_f64())),
        (Reducer::Min, DTypeClass::Float) => Scalar::Float(a.as_f64().min(b.as_f64())),
        (Reducer::Sum, DTypeClass::Bool) | (Reducer::Or, DTypeClass::Bool) => {
            Scalar::Bool(a.as_bool() | b.as_bool())
        }
        (Reducer::Prod | Reducer::And, DTypeClass::Bool) => Scalar::Bool(a.as_bool() & b.as_bool()),
        // Wrapping arithmetic is the same for signed and unsigned words.
        (Reducer::Sum, _) => Scalar::Unsigned(a.as_u64().wrapping_add(b.as_u64())),
        (Reducer::Prod, _) => Scalar::Unsigned(a.as_u64().wrapping_mul(b.as_u64())),
        (Reducer::And, _) => Scalar::Unsigned(a.as_u64() & b.as_u64()),
        (Reducer::Or, _) => Scalar::Unsigned(a.as_u64() | b.as_u64()),
        (Reducer::Max, DTypeClass::Unsigned) => Scalar::Unsigned(a.as_u64().max(b.as_u64())),
        (Reducer::Min, DTypeClass::Unsigned) => Scalar::Unsigned(a.as_u64().min(b.as_u64())),
        (Reducer::Max, _) => Scalar::Signed(a.as_i64().max(b.as_i64())),
        (Reducer::Min, _) => Scalar::Signed(a.as_i64().min(b.as_i64())),
    }
}

/// Returns the largest rounding error of the floating-point and complex element types of some tensors. The
/// rounding error of a type is the distance from 1 to the next number. If no tensor has such a type, returns
/// the rounding error of `f64`.
pub(super) fn rounding<'a>(tensors: impl IntoIterator<Item = &'a Literal>) -> f64 {
    let of = |x: &Literal| match x.dtype().real() {
        real if !real.is_float() => 0.0,
        DType::F64 => f64::EPSILON,
        DType::F32 => f32::EPSILON.into(),
        DType::F16 => 2.0f64.powi(-10),
        DType::BF16 => 2.0f64.powi(-7),
        _ => 0.25,
    };
    tensors.into_iter().map(of).fold(f64::EPSILON, f64::max)
}

/// The largest difference between corresponding elements of two tensors.
pub(super) struct Difference {
    /// Difference relative to the largest absolute value in either tensor. Infinite if integers differ, or if
    /// the two values differ and at least one of them is not finite.
    pub(super) relative: f64,
    /// Position of the difference.
    index: Vec<usize>,
    found: Complex<f64>,
    expected: Complex<f64>,
}

/// Compares two tensors of one type.
pub(super) fn difference(found: &Literal, expected: &Literal) -> Difference {
    let exact = !expected.dtype().real().is_float();
    let of = |x: &Literal| x.iter().map(Scalar::as_complex).collect::<Vec<_>>();
    let (a, b) = (of(found), of(expected));
    let scale = largest(&a).max(largest(&b));
    let mut worst = (0.0, 0);
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let nan = |z: &Complex<f64>| z.re.is_nan() || z.im.is_nan();
        let error = match a == b || (nan(a) && nan(b)) {
            true => 0.0,
            false if exact || !a.is_finite() || !b.is_finite() => f64::INFINITY,
            false => (a - b).norm() / scale,
        };
        if error > worst.0 {
            worst = (error, i);
        }
    }
    let mut at = worst.1;
    let mut index = vec![0; expected.dims().len()];
    for (i, size) in index.iter_mut().zip(expected.dims()).rev() {
        *i = at % size.max(&1);
        at /= size.max(&1);
    }
    let value = |of: &[Complex<f64>]| of.get(worst.1).copied().unwrap_or_default();
    Difference { relative: worst.0, index, found: value(&a), expected: value(&b) }
}

/// Returns the largest absolute value, not counting infinities and NaNs.
pub(super) fn largest(values: &[Complex<f64>]) -> f64 {
    values.iter().filter(|z| z.is_finite()).map(|z| z.norm()).fold(f64::MIN_POSITIVE, f64::max)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |z: Complex<f64>| {
            if z.im == 0.0 { short(z.re) } else { format!("{}{:+}i", short(z.re), z.im as f32) }
        };
        write!(f, "{} at {:?}, not {}", number(self.found), self.index, number(self.expected))
    }
}

/// Formats a number with few digits.
pub(super) fn short(x: f64) -> String {
    (x as f32).to_string()
}
