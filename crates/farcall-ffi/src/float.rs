//! Traits of floating-point types, for kernels that are generic over them.

use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use farcall_sig::DType;
use farcall_sig::complex::{Complex, ComplexPart};

use crate::element::Element;
use crate::exp::{exp_f32, exp_f64};

/// Declares or implements functions of the standard library: first unary, then binary functions.
macro_rules! float_functions {
    (declared; $($one:ident),*; $($two:ident),*) => {
        $(#[doc = concat!("As `f64::", stringify!($one), "`.")] fn $one(self) -> Self;)*
        $(#[doc = concat!("As `f64::", stringify!($two), "`.")] fn $two(self, other: Self) -> Self;)*
    };
    ($Acc:ty; $($one:ident),*; $($two:ident),*) => {
        $(
            #[inline(always)]
            fn $one(self) -> Self {
                Self::narrow(<$Acc>::$one(self.widen()))
            }
        )*
        $(
            #[inline(always)]
            fn $two(self, other: Self) -> Self {
                Self::narrow(<$Acc>::$two(self.widen(), other.widen()))
            }
        )*
    };
}

/// A floating-point type: `f32` or `f64`, and `f16` or `bf16` with the feature `half`. Kernels that are
/// generic over these types use this trait as their bound.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// #[handler(name = "softplus")]
/// #[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
/// fn softplus<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
///     y.iter_mut().zip(x.iter()).for_each(|(y, &x)| *y = x.max(T::ZERO) + (-x.abs()).exp().ln_1p());
///     Ok(())
/// }
/// ```
///
/// Each operation and function rounds its result. A kernel that should be accurate for half-width types
/// computes in [`Acc`](Float::Acc), and rounds once:
///
/// ```
/// # use farcall_ffi::prelude::*;
/// # #[cfg(feature = "half")]
/// #[handler(name = "mean")]
/// #[signature((x: T[*, n]) -> (y: T[*]) where T: f16 | bf16 | f32 | f64)]
/// fn mean<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
///     for (y, x) in y.iter_mut().zip(x.rows()) {
///         let sum: T::Acc = x.iter().map(|x| x.widen()).sum();
///         *y = T::narrow(sum / T::Acc::of(x.len() as f64));
///     }
///     Ok(())
/// }
/// ```
///
/// The functions are named as in the standard library. A kernel that needs other functions can use any other
/// trait as its bound.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type",
    label = "not a type that kernels compute with",
    note = "f16 and bf16 are floating-point types with the feature `half`; other kernels have other bounds, such as `Element`"
)]
pub trait Float:
    Element
    + Default
    + PartialOrd
    + Debug
    + Display
    + Into<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + for<'a> Sum<&'a Self>
    + sealed::Sealed
{
    /// Type for sums of these numbers: `f32` for half-width types, and the type itself otherwise. Signatures
    /// write it as `acc(T)`.
    type Acc: Real + From<f32>;

    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// −∞, which is less than any other number.
    const NEG_INFINITY: Self;
    /// Number of binary digits of the mantissa.
    const MANTISSA_DIGITS: u32;

    /// Rounds a number to this type.
    fn of(value: impl Into<f64>) -> Self;

    /// Converts to the accumulator type, which is exact.
    fn widen(self) -> Self::Acc;

    /// Rounds from the accumulator type to this type.
    fn narrow(value: Self::Acc) -> Self;

    /// Compares by the order of IEEE 754's `totalOrder`, which includes NaN.
    fn total_cmp(&self, other: &Self) -> Ordering;

    /// Returns true for NaN.
    fn is_nan(self) -> bool;

    /// `self · a + b`, rounded once. Half-width types compute this in `f32`, and then round the result again.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// Returns sine and cosine.
    fn sin_cos(self) -> (Self, Self);

    /// Raises to an integer power.
    fn powi(self, exponent: i32) -> Self;

    float_functions!(declared;
        abs, sqrt, recip, exp, exp_m1, ln, ln_1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, floor, ceil;
        min, max, powf, atan2, hypot, copysign
    );
}

/// `f32` or `f64`: the types of the parts of [`Complex`](crate::Complex) numbers, and of accumulators
/// ([`Float::Acc`]).
///
/// ```
/// # use farcall_ffi::prelude::*;
/// #[handler(name = "unit")]
/// #[signature((angle: T[*]) -> (z: complex(T)[*]) where T: f32 | f64)]
/// fn unit<T: Real>(angle: &Buffer<T>, z: &mut Buffer<Complex<T>>) -> Result<()> {
///     z.iter_mut().zip(angle.iter()).for_each(|(z, &angle)| *z = Complex::from_polar(T::ONE, angle));
///     Ok(())
/// }
/// ```
pub trait Real: Float<Acc = Self> + ComplexPart {
    /// Complex element type with such parts.
    #[doc(hidden)]
    const COMPLEX: DType;

    #[doc(hidden)]
    fn exp_in_loops(self) -> Self;
}

impl Real for f32 {
    const COMPLEX: DType = DType::C64;

    #[inline(always)]
    fn exp_in_loops(self) -> Self {
        exp_f32(self)
    }
}

impl Real for f64 {
    const COMPLEX: DType = DType::C128;

    #[inline(always)]
    fn exp_in_loops(self) -> Self {
        exp_f64(self)
    }
}

// SAFETY: `Complex` is `repr(C)` with two numbers without invalid bit patterns; `Real` is only implemented
// for `f32` and `f64`.
unsafe impl<T: Real> Element for Complex<T> {
    const DTYPE: DType = {
        assert!(size_of::<Complex<T>>() == T::COMPLEX.size());
        T::COMPLEX
    };
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! floats {
    ($($ty:ty: $Acc:ty, $zero:expr, $one:expr, $of:expr, $widen:expr, $narrow:expr;)*) => {$(
        impl sealed::Sealed for $ty {}

        impl Float for $ty {
            type Acc = $Acc;

            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const NEG_INFINITY: Self = <$ty>::NEG_INFINITY;
            const MANTISSA_DIGITS: u32 = <$ty>::MANTISSA_DIGITS;

            #[inline(always)]
            fn of(value: impl Into<f64>) -> Self {
                $of(value.into())
            }

            #[inline(always)]
            fn widen(self) -> $Acc {
                $widen(self)
            }

            #[inline(always)]
            fn narrow(value: $Acc) -> Self {
                $narrow(value)
            }

            #[inline(always)]
            fn total_cmp(&self, other: &Self) -> Ordering {
                <$ty>::total_cmp(self, other)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self::narrow(<$Acc>::mul_add(self.widen(), a.widen(), b.widen()))
            }

            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                let (sin, cos) = <$Acc>::sin_cos(self.widen());
                (Self::narrow(sin), Self::narrow(cos))
            }

            #[inline(always)]
            fn powi(self, exponent: i32) -> Self {
                Self::narrow(<$Acc>::powi(self.widen(), exponent))
            }

            float_functions!($Acc;
                abs, sqrt, recip, exp, exp_m1, ln, ln_1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, floor, ceil;
                min, max, powf, atan2, hypot, copysign
            );
        }
    )*};
}

floats! {
    f32: f32, 0.0, 1.0, |value: f64| value as f32, std::convert::identity, std::convert::identity;
    f64: f64, 0.0, 1.0, std::convert::identity, std::convert::identity, std::convert::identity;
}

#[cfg(feature = "half")]
use half::{bf16, f16};

#[cfg(feature = "half")]
floats! {
    f16: f32, f16::ZERO, f16::ONE, f16::from_f64, f16::to_f32, f16::from_f32;
    bf16: f32, bf16::ZERO, bf16::ONE, bf16::from_f64, bf16::to_f32, bf16::from_f32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean<T: Float>(x: &[T]) -> T {
        T::narrow(x.iter().map(|x| x.widen()).sum::<T::Acc>() / T::Acc::of(x.len() as f64))
    }

    #[test]
    fn the_same_kernel_for_all() {
        assert_eq!(mean(&[1.0f32, 2.0]), 1.5);
        assert_eq!(mean(&[1.0f64, 2.0]), 1.5);
        assert_eq!(<f32 as Float>::max(f32::of(0.1), f32::of(2)), 2.0);
    }

    /// Checks the mean of 4096 ones. A running sum in a half-width type would stop before it reaches 4096.
    #[cfg(feature = "half")]
    #[test]
    fn sums_are_kept_in_more_digits() {
        assert_eq!(mean(&vec![f16::ONE; 4096]), f16::ONE);
        assert_eq!(mean(&vec![bf16::ONE; 4096]), bf16::ONE);
        assert_eq!(Float::exp(f16::of(1)), f16::from_f64(1f64.exp()));
        assert_eq!(Float::mul_add(bf16::of(3), bf16::of(0.5), bf16::of(-1)), bf16::of(0.5));
        assert!(<f16 as Float>::NEG_INFINITY < f16::MIN && Float::is_nan(bf16::NAN));
    }
}
