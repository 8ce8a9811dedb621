//! Element types of LAPACK's routines: `f32`, `f64` and the complex types of these parts, in LAPACK's names
//! `s`, `d`, `c` and `z`.

pub(crate) mod vectors;

use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use faer::traits::ComplexField;
use farcall_ffi::{Element, Error, Float, Result};
use farcall_lapack::{MatrixElement, Routines};
use num_complex::Complex;

use self::vectors::Vectors;
use crate::number::Real;

/// Complex numbers of two `f32`: XLA's `c64`, LAPACK's type `c`.
#[expect(non_camel_case_types, reason = "the name stands beside f32 and f64")]
pub(crate) type c32 = Complex<f32>;

/// Complex numbers of two `f64`: XLA's `c128`, LAPACK's type `z`.
#[expect(non_camel_case_types, reason = "the name stands beside f32 and f64")]
pub(crate) type c64 = Complex<f64>;

/// A real type, with the constants that LAPACK's algorithms compare with. (A bound for real matrices is
/// `R: RealScalar + Scalar<Real = R>`; as a supertrait, `Scalar` would be a cycle.)
pub(crate) trait RealScalar: Real {
    /// Largest relative error of an operation: 2^−24 or 2^−53.
    const EPSILON: Self;
    /// Smallest positive normal number. Its reciprocal is finite.
    const MIN_NORMAL: Self;
    /// Largest finite number.
    const MAX_FINITE: Self;
}

impl RealScalar for f32 {
    const EPSILON: f32 = f32::EPSILON / 2.0;
    const MIN_NORMAL: f32 = f32::MIN_POSITIVE;
    const MAX_FINITE: f32 = f32::MAX;
}

impl RealScalar for f64 {
    const EPSILON: f64 = f64::EPSILON / 2.0;
    const MIN_NORMAL: f64 = f64::MIN_POSITIVE;
    const MAX_FINITE: f64 = f64::MAX;
}

/// An element type of matrices: `f32`, `f64`, [`c32`] or [`c64`].
pub(crate) trait Scalar:
    Element
    + ComplexField<Real: RealScalar>
    + MatrixElement<Part = <Self as ComplexField>::Real>
    + Vectors
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Returns a complex number. Real types drop the imaginary part.
    fn of_parts(real: Self::Real, imaginary: Self::Real) -> Self;

    /// Returns the real part.
    fn re(self) -> Self::Real;

    /// Returns the imaginary part: 0 for a real number.
    fn im(self) -> Self::Real;

    /// Returns the complex conjugate.
    fn conjugate(self) -> Self;

    /// Returns the absolute value, without intermediate overflow.
    fn modulus(self) -> Self::Real;

    /// Returns the sum of the absolute values of both parts, which LAPACK compares to choose pivots.
    fn modulus1(self) -> Self::Real;

    /// Returns the product with a real number.
    fn times(self, factor: Self::Real) -> Self;

    /// Returns the quotient of two numbers, without intermediate overflow.
    fn over(self, divisor: Self) -> Self;

    /// Returns true if neither the number nor its reciprocal overflows or loses digits.
    #[inline(always)]
    fn is_invertible(self) -> bool {
        is_invertible_size(self.modulus1())
    }

    /// Returns the number 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::zero_impl()
    }

    /// Returns the number 1.
    #[inline(always)]
    fn one() -> Self {
        Self::one_impl()
    }

    /// Converts a real number.
    #[inline(always)]
    fn of_real(real: Self::Real) -> Self {
        Self::of_parts(real, Self::Real::ZERO)
    }

    /// Rounds a real number.
    #[inline(always)]
    fn of_f64(number: f64) -> Self {
        Self::from_f64_impl(number)
    }

    /// Returns the conjugate if `conjugated` is true, otherwise the number itself.
    #[inline(always)]
    fn conjugate_if(self, conjugated: bool) -> Self {
        if conjugated { self.conjugate() } else { self }
    }
}

/// [`Scalar::is_invertible`] of a number with this [`modulus1`](Scalar::modulus1).
#[inline(always)]
pub(crate) fn is_invertible_size<R: RealScalar>(size: R) -> bool {
    size >= R::MIN_NORMAL && size <= R::ONE / R::MIN_NORMAL
}

/// Returns the routines of the LAPACK library that replaces this crate's algorithms; `None` if the process
/// uses no such library.
///
/// # Errors
/// `FAILED_PRECONDITION` if a library was requested, but cannot be used.
pub(crate) fn system_routines<T: Scalar>() -> Result<Option<Routines<T>>> {
    farcall_lapack::routines().map_err(|error| Error::failed_precondition(error.to_string()))
}

macro_rules! real_scalars {
    ($($ty:ty)*) => {$(
        impl Scalar for $ty {

            #[inline(always)]
            fn of_parts(real: $ty, _: $ty) -> $ty {
                real
            }

            #[inline(always)]
            fn re(self) -> $ty {
                self
            }

            #[inline(always)]
            fn im(self) -> $ty {
                0.0
            }

            #[inline(always)]
            fn conjugate(self) -> $ty {
                self
            }

            #[inline(always)]
            fn modulus(self) -> $ty {
                <$ty>::abs(self)
            }

            #[inline(always)]
            fn modulus1(self) -> $ty {
                <$ty>::abs(self)
            }

            #[inline(always)]
            fn times(self, factor: $ty) -> $ty {
                self * factor
            }

            #[inline(always)]
            fn over(self, divisor: $ty) -> $ty {
                self / divisor
            }
        }

        impl Scalar for Complex<$ty> {

            #[inline(always)]
            fn of_parts(real: $ty, imaginary: $ty) -> Self {
                Complex::new(real, imaginary)
            }

            #[inline(always)]
            fn re(self) -> $ty {
                self.re
            }

            #[inline(always)]
            fn im(self) -> $ty {
                self.im
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                Complex::new(self.re, -self.im)
            }

            #[inline(always)]
            fn modulus(self) -> $ty {
                self.re.hypot(self.im)
            }

            #[inline(always)]
            fn modulus1(self) -> $ty {
                self.re.abs() + self.im.abs()
            }

            #[inline(always)]
            fn times(self, factor: $ty) -> Self {
                Complex::new(self.re * factor, self.im * factor)
            }

            /// Divides as in R. L. Smith, *Algorithm 116: Complex division*, 1962.
            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                if divisor.re.abs() >= divisor.im.abs() {
                    let ratio = divisor.im / divisor.re;
                    let scale = divisor.re + divisor.im * ratio;
                    Complex::new((self.re + self.im * ratio) / scale, (self.im - self.re * ratio) / scale)
                } else {
                    let ratio = divisor.re / divisor.im;
                    let scale = divisor.re * ratio + divisor.im;
                    Complex::new((self.re * ratio + self.im) / scale, (self.im * ratio - self.re) / scale)
                }
            }
        }
    )*};
}
real_scalars!(f32 f64);
