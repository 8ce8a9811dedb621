//! Element types of matrices, and integer types of indices.

use std::fmt::Display;

use farcall_ffi::{Complex, Element};

/// An element type of matrices. Sums of integers wrap around, as in XLA.
pub(crate) trait Scalar: Element + PartialEq {
    const ZERO: Self;
    /// True for `f32` and `f64`.
    const IS_REAL: bool;
    #[cfg(test)]
    const ONE: Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// Evaluates an expression, which is compiled for the vectors of this processor if elements are real numbers
/// and indices have 32 bits. The other combinations are rarer; they have only the code for any processor, so
/// that the library stays small.
macro_rules! vectorized {
    ($T:ty, $I:ty, $expression:expr) => {
        match <$T>::IS_REAL && size_of::<$I>() == 4 {
            true => farcall_ffi::simd::vectorized!($expression),
            false => $expression,
        }
    };
}
pub(crate) use vectorized;

/// An element type with division.
pub(crate) trait Field: Scalar {
    fn over(self, other: Self) -> Self;
}

macro_rules! fields {
    ($($ty:ty: $zero:expr, $one:expr, $is_real:literal;)*) => {$(
        impl Scalar for $ty {
            const ZERO: Self = $zero;
            const IS_REAL: bool = $is_real;
            #[cfg(test)]
            const ONE: Self = $one;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }

        impl Field for $ty {
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }
        }
    )*};
}
fields! {
    f32: 0.0, 1.0, true;
    f64: 0.0, 1.0, true;
    Complex<f32>: Complex::new(0.0, 0.0), Complex::new(1.0, 0.0), false;
    Complex<f64>: Complex::new(0.0, 0.0), Complex::new(1.0, 0.0), false;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Scalar for $ty {
            const ZERO: Self = 0;
            const IS_REAL: bool = false;
            #[cfg(test)]
            const ONE: Self = 1;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integers!(i32 i64);

/// An integer type of indices.
pub(crate) trait Index: Element + Display + Ord {
    /// Largest value of the type.
    const MAX: usize;

    /// Converts to a `usize`. A negative index becomes a number that is larger than any length.
    fn at(self) -> usize;

    /// Converts from a `usize` that is not above `MAX`.
    fn of(at: usize) -> Self;
}

macro_rules! indices {
    ($($ty:ty)*) => {$(
        impl Index for $ty {
            const MAX: usize = <$ty>::MAX as usize;

            #[inline(always)]
            fn at(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn of(at: usize) -> Self {
                at as $ty
            }
        }
    )*};
}
indices!(i32 i64);
