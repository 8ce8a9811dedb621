//! Element types of matrices, and the types used for arithmetic.

use faer::traits::RealField;
use farcall_ffi::{Element, Float};
use half::{bf16, f16};

/// A type used for arithmetic: `f32` or `f64`.
pub(crate) trait Real: Float + RealField {
    /// Numbers between 2^−`SAFE_EXPONENT` and 2^`SAFE_EXPONENT` need no scaling: a sum of their products
    /// stays within the type's range, even if it has one term for each entry of a matrix.
    const SAFE_EXPONENT: i32;
    /// Exponent of the largest power of two that is a normal number and whose inverse is also normal.
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

/// Returns true for a number that is neither infinite nor NaN.
pub(crate) fn is_finite<R: Real>(number: R) -> bool {
    let number: f64 = number.into();
    number.is_finite()
}

/// Returns a power of two that scales numbers to the range in which decompositions are accurate, and its
/// inverse; `None` if one of the numbers is infinite or NaN. Multiplying by the power is exact, except for
/// entries that become negligible.
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
    /// Type for arithmetic: `f32` for types of 16 bits, otherwise the type itself.
    type Real: Real;
    /// Type for arithmetic on small matrices, for which twice the precision costs little.
    type Precise: Real;

    /// Converts to `R`, exactly if `R` is at least as precise.
    fn widen<R: Real>(self) -> R;

    /// Rounds to the nearest number of the type.
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
