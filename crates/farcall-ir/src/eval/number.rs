//! The number types of products, solvers and transforms: `f64`, complex `f64`, wrapping `i64`.
//!
//! Tensors are converted once before the inner loops, and rounded once after them. Short sums of `f32` are an
//! exception; see [`MAX_SHORT_SUM_TERMS`].

use std::num::Wrapping;
use std::ops::{Add, Div, Mul, Sub};

use farcall_sig::DType;
use num_complex::Complex;

use super::Denormals;
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::scalar::Scalar;

/// Maximum number of terms of a sum that is computed in its own type, rounding each step, as XLA does. For
/// few terms, the order of the additions hardly matters. If the terms cancel, little but rounding errors is
/// left, and tests compare with results of XLA that contain these errors. XLA splits longer sums into partial
/// sums in several ways, so a sum in `f64` is the best substitute for them.
pub(super) const MAX_SHORT_SUM_TERMS: usize = 64;

/// Numbers that support addition and multiplication.
pub(super) trait Number: Copy + Add<Output = Self> + Mul<Output = Self> {
    const ZERO: Self;
    fn from_scalar(x: Scalar) -> Self;
    fn to_scalar(self) -> Scalar;
}

/// Numbers that support division.
pub(super) trait Divisible: Number + Sub<Output = Self> + Div<Output = Self> {
    fn conj(self) -> Self;
    fn re(self) -> f64;
    fn from_real(x: f64) -> Self;
}

/// Loads the elements of a tensor as numbers.
pub(super) fn load<N: Number>(tensor: &Literal, denormals: Denormals) -> Vec<N> {
    let dtype = tensor.dtype();
    let mut numbers = Vec::with_capacity(tensor.len());
    numbers.extend(Pace::until_due(tensor.iter()).map(|x| N::from_scalar(flush(denormals, dtype, x))));
    // Zeros replace the elements that an interrupt left out.
    numbers.resize(tensor.len(), N::ZERO);
    numbers
}

/// Stores numbers to the tensor `out`, rounded to its type.
pub(super) fn store<N: Number>(values: &[N], mut out: Literal, denormals: Denormals) -> Literal {
    let dtype = out.dtype();
    for (element, value) in Pace::until_due(out.bytes_mut().chunks_exact_mut(dtype.size()).zip(values)) {
        flush(denormals, dtype, value.to_scalar().round_to(dtype)).write(dtype, element);
    }
    out
}

/// Flushes a subnormal number to a zero of the same sign, if the mode requires it.
pub(super) fn flush(denormals: Denormals, dtype: DType, x: Scalar) -> Scalar {
    if denormals == Denormals::Ieee {
        return x;
    }
    let smallest = match dtype.real() {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F32 | DType::BF16 => f64::from(f32::MIN_POSITIVE),
        _ => return x,
    };
    let flush = |x: f64| if x.abs() < smallest { 0.0_f64.copysign(x) } else { x };
    match x {
        Scalar::Float(x) => Scalar::Float(flush(x)),
        Scalar::Complex(z) => Scalar::Complex(Complex::new(flush(z.re), flush(z.im))),
        other => other,
    }
}

/// Integers of any width: the low bits of a sum or product only depend on the low bits of its operands.
impl Number for Wrapping<i64> {
    const ZERO: Wrapping<i64> = Wrapping(0);

    fn from_scalar(x: Scalar) -> Wrapping<i64> {
        Wrapping(x.as_i64())
    }

    fn to_scalar(self) -> Scalar {
        Scalar::Signed(self.0)
    }
}

impl Number for f64 {
    const ZERO: f64 = 0.0;

    fn from_scalar(x: Scalar) -> f64 {
        x.as_f64()
    }

    fn to_scalar(self) -> Scalar {
        Scalar::Float(self)
    }
}

impl Number for Complex<f64> {
    const ZERO: Complex<f64> = Complex::new(0.0, 0.0);

    fn from_scalar(x: Scalar) -> Complex<f64> {
        x.as_complex()
    }

    fn to_scalar(self) -> Scalar {
        Scalar::Complex(self)
    }
}

impl Number for f32 {
    const ZERO: f32 = 0.0;

    fn from_scalar(x: Scalar) -> f32 {
        x.as_f64() as f32
    }

    fn to_scalar(self) -> Scalar {
        Scalar::Float(f64::from(self))
    }
}

impl Number for Complex<f32> {
    const ZERO: Complex<f32> = Complex::new(0.0, 0.0);

    fn from_scalar(x: Scalar) -> Complex<f32> {
        let z = x.as_complex();
        Complex::new(z.re as f32, z.im as f32)
    }

    fn to_scalar(self) -> Scalar {
        Scalar::Complex(Complex::new(self.re.into(), self.im.into()))
    }
}

impl Divisible for f64 {
    fn conj(self) -> f64 {
        self
    }

    fn re(self) -> f64 {
        self
    }

    fn from_real(x: f64) -> f64 {
        x
    }
}

impl Divisible for Complex<f64> {
    fn conj(self) -> Complex<f64> {
        Complex::conj(&self)
    }

    fn re(self) -> f64 {
        self.re
    }

    fn from_real(x: f64) -> Complex<f64> {
        Complex::new(x, 0.0)
    }
}
