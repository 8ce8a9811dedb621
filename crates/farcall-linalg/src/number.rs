//! The element types of matrices, and the types in which is computed.

use faer::traits::RealField;
use farcall_ffi::{Element, Float};
use half::{bf16, f16};

/// A type in which is computed: `f32` or `f64`.
pub(crate) trait Real: Float + RealField {
    /// Numbers up to this power of two, and down to its inverse, can be multiplied with each other and added up as often
    /// as a matrix has entries without leaving the type's range.
    const SAFE_EXPONENT: i32;
    /// The largest power of two that is a normal number, as is its inverse.
    const MAX_EXPONENT: i32;
}

impl Real for f32 {
    const SAFE_EXPONENT: i32 = 40;
    const MAX_EXPONENT: i32 = 126;
}

impl Real for f64 {
    const SAFE_EXPONENT: i32 = 400;
    const MAX_EXPONENT: i32 = 1022;
}

/// True for a number that is neither infinite nor NaN.
pub(crate) fn is_finite<R: Real>(number: R) -> bool {
    let number: f64 = number.into();
    number.is_finite()
}

/// A power of two that brings numbers into the range in which decompositions are accurate, and its inverse; none if one
/// of the numbers is infinite or NaN. Multiplying by it is exact, except for entries that are negligible then.
pub(crate) fn scale<T: Number, R: Real>(numbers: impl Iterator<Item = T>) -> Option<[R; 2]> {
    let mut largest = 0.0f64;
    for number in numbers {
        let size = number.widen::<f64>().abs();
        if !size.is_finite() {
            return None;
        }
        largest = largest.max(size);
    }
    let exponent = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
    let exponent = match exponent.abs() > R::SAFE_EXPONENT {
        true => exponent.clamp(-R::MAX_EXPONENT, R::MAX_EXPONENT),
        false => 0,
    };
    Some([-exponent, exponent].map(|e| R::of(2f64.powi(e))))
}

/// An element type of matrices: `f16`, `bf16`, `f32` or `f64`.
pub(crate) trait Number: Element {
    /// The type in which is computed: `f32` for types of 16 bits, otherwise the type itself.
    type Real: Real;
    /// The same for small matrices, for which twice the digits cost little.
    type Precise: Real;

    /// The same number, if `R` is at least as precise.
    fn widen<R: Real>(self) -> R;

    /// The nearest number.
    fn round<R: Real>(value: R) -> Self;
}

macro_rules! numbers {
    ($($ty:ty: $real:ty, $precise:ty, $widen:expr, $round:expr;)*) => {$(
        impl Number for $ty {
            type Real = $real;
            type Precise = $precise;

            fn widen<R: Real>(self) -> R {
                R::of($widen(self))
            }

            fn round<R: Real>(value: R) -> $ty {
                $round(value.into())
            }
        }
    )*};
}
numbers! {
    f16: f32, f32, f16::to_f64, f16::from_f64;
    bf16: f32, f32, bf16::to_f64, bf16::from_f64;
    f32: f32, f64, f64::from, |value: f64| value as f32;
    f64: f64, f64, std::convert::identity, std::convert::identity;
}
