//! Rust types that can be elements of a buffer.

use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use farcall_sig::{AttrValue, DType};

pub use farcall_sig::Complex;
use farcall_sig::complex::Part;

/// A Rust type whose values a typed [`Buffer`](crate::Buffer) holds.
///
/// | Rust | element type |
/// | --- | --- |
/// | `i8` … `i64`, `u8` … `u64` | `s8` … `s64`, `u8` … `u64` |
/// | `f32`, `f64` | `f32`, `f64` |
/// | [`Pred`] | `pred` |
/// | [`Complex<f32>`], [`Complex<f64>`] | `c64`, `c128` |
/// | `half::f16`, `half::bf16` (feature `half`) | `f16`, `bf16` |
/// | `num_complex::Complex<f32>`, `…<f64>` (feature `num-complex`) | `c64`, `c128` |
///
/// Any other element type is reached through [`AnyBuffer`](crate::AnyBuffer) as bytes.
///
/// # Safety
/// Every pattern of `DTYPE.size()` bytes is a value of the type, and `size_of::<Self>()` is that size.
/// (Hence [`Pred`] and not `bool`: a buffer's memory comes from others and may hold any byte.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of buffers",
    label = "not an element type",
    note = "element types are i8…i64, u8…u64, f32, f64, Pred (not bool), Complex<f32>, Complex<f64>; f16 and bf16 with the feature `half`",
    note = "any other is reached as bytes, through AnyBuffer"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
}

/// One element of type `pred`: a byte, true unless it is zero.
#[repr(transparent)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Pred(u8);

impl Pred {
    /// Its value.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Pred {
    fn from(value: bool) -> Pred {
        Pred(value.into())
    }
}

impl From<Pred> for bool {
    fn from(value: Pred) -> bool {
        value.get()
    }
}

impl From<Pred> for AttrValue {
    fn from(value: Pred) -> AttrValue {
        value.get().into()
    }
}

impl PartialEq for Pred {
    fn eq(&self, other: &Pred) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Pred {}

macro_rules! elements {
    ($($ty:ty => $dtype:ident,)*) => {
        $(
            // SAFETY: plain data of this size, without invalid bit patterns.
            unsafe impl Element for $ty {
                const DTYPE: DType = {
                    assert!(size_of::<$ty>() == DType::$dtype.size());
                    DType::$dtype
                };
            }
        )*
    };
}

elements! {
    i8 => S8, i16 => S16, i32 => S32, i64 => S64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
    Pred => Pred,
}

// SAFETY: `Complex` is `repr(C)`, two numbers without invalid bit patterns; `Float` is for `f32` and `f64` alone.
unsafe impl<T: Float> Element for Complex<T> {
    const DTYPE: DType = {
        assert!(size_of::<Complex<T>>() == T::COMPLEX.size());
        T::COMPLEX
    };
}

/// Functions of one number, then of two, as the standard library has them.
macro_rules! float_functions {
    (declared; $($one:ident),*; $($two:ident),*) => {
        $(#[doc = concat!("As `f64::", stringify!($one), "`.")] fn $one(self) -> Self;)*
        $(#[doc = concat!("As `f64::", stringify!($two), "`.")] fn $two(self, other: Self) -> Self;)*
    };
    ($ty:ty; $($one:ident),*; $($two:ident),*) => {
        $(#[inline(always)] fn $one(self) -> Self { <$ty>::$one(self) })*
        $(#[inline(always)] fn $two(self, other: Self) -> Self { <$ty>::$two(self, other) })*
    };
}
/// `f32` or `f64`: what a kernel that is written once for both asks of its type.
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
/// Its functions are those of the standard library. A kernel that needs more can have any other bound.
pub trait Float:
    Element
    + Default
    + PartialOrd
    + Debug
    + Display
    + From<f32>
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
    + Part
    + sealed::Sealed
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// −∞, which is less than any other number.
    const NEG_INFINITY: Self;
    /// The complex type of such parts.
    #[doc(hidden)]
    const COMPLEX: DType;

    /// The nearest number.
    fn of(value: f64) -> Self;

    /// The order of IEEE 754's `totalOrder`, which has a place for NaN.
    fn total_cmp(&self, other: &Self) -> Ordering;

    /// True if it is not a number.
    fn is_nan(self) -> bool;

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);

    /// A power with an integer exponent.
    fn powi(self, exponent: i32) -> Self;

    float_functions!(declared;
        abs, sqrt, recip, exp, exp_m1, ln, ln_1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, floor, ceil;
        min, max, powf, atan2, hypot
    );
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! floats {
    ($($ty:ident => $complex:ident,)*) => {$(
        impl sealed::Sealed for $ty {}

        impl Float for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NEG_INFINITY: Self = $ty::NEG_INFINITY;
            const COMPLEX: DType = DType::$complex;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $ty
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
                <$ty>::mul_add(self, a, b)
            }

            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                <$ty>::sin_cos(self)
            }

            #[inline(always)]
            fn powi(self, exponent: i32) -> Self {
                <$ty>::powi(self, exponent)
            }

            float_functions!($ty;
                abs, sqrt, recip, exp, exp_m1, ln, ln_1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, floor, ceil;
                min, max, powf, atan2, hypot
            );
        }
    )*};
}

floats! { f32 => C64, f64 => C128, }

#[cfg(feature = "half")]
elements! {
    half::f16 => F16, half::bf16 => BF16,
}

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32> => C64, num_complex::Complex<f64> => C128,
}
