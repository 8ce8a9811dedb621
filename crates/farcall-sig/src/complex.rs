//! Complex numbers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A complex number with the memory layout of C, C++ and `num_complex`: the real part, then the imaginary
/// part.
///
/// Arithmetic works with complex and with real numbers:
///
/// ```
/// # use farcall_sig::Complex;
/// let z = Complex::new(3.0, 4.0);
/// assert_eq!(z.norm(), 5.0);
/// assert_eq!(z * z.conj() / 5.0, Complex::new(5.0, 0.0));
/// assert_eq!((z + 1.0).to_string(), "4+4i");
/// ```
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

/// Type of the parts of a complex number: `f32` or `f64`.
pub trait ComplexPart:
    Copy
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + sealed::Sealed
{
    #[doc(hidden)]
    const PART_ZERO: Self;
    #[doc(hidden)]
    const PART_HALF: Self;
    #[doc(hidden)]
    fn part_abs(self) -> Self;
    #[doc(hidden)]
    fn part_sqrt(self) -> Self;
    #[doc(hidden)]
    fn part_exp(self) -> Self;
    #[doc(hidden)]
    fn part_ln(self) -> Self;
    #[doc(hidden)]
    fn part_sin_cos(self) -> (Self, Self);
    #[doc(hidden)]
    fn part_hypot(self, other: Self) -> Self;
    #[doc(hidden)]
    fn part_atan2(self, other: Self) -> Self;
    #[doc(hidden)]
    fn part_copysign(self, sign: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! parts {
    ($($ty:ident),*) => {$(
        impl sealed::Sealed for $ty {}

        impl ComplexPart for $ty {
            const PART_ZERO: $ty = 0.0;
            const PART_HALF: $ty = 0.5;

            #[inline(always)]
            fn part_abs(self) -> $ty {
                self.abs()
            }

            #[inline(always)]
            fn part_sqrt(self) -> $ty {
                self.sqrt()
            }

            #[inline(always)]
            fn part_exp(self) -> $ty {
                self.exp()
            }

            #[inline(always)]
            fn part_ln(self) -> $ty {
                self.ln()
            }

            #[inline(always)]
            fn part_sin_cos(self) -> ($ty, $ty) {
                self.sin_cos()
            }

            #[inline(always)]
            fn part_hypot(self, other: $ty) -> $ty {
                self.hypot(other)
            }

            #[inline(always)]
            fn part_atan2(self, other: $ty) -> $ty {
                self.atan2(other)
            }

            #[inline(always)]
            fn part_copysign(self, sign: $ty) -> $ty {
                self.copysign(sign)
            }
        }
    )*};
}

parts!(f32, f64);

impl<T> Complex<T> {
    /// Creates `re + im·i`.
    pub const fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}

impl<T: ComplexPart> Complex<T> {
    /// Zero.
    pub const ZERO: Complex<T> = Complex::new(T::PART_ZERO, T::PART_ZERO);

    /// Creates the number with this modulus and this argument in radians.
    #[inline]
    pub fn from_polar(norm: T, arg: T) -> Complex<T> {
        let (sin, cos) = arg.part_sin_cos();
        Complex::new(norm * cos, norm * sin)
    }

    /// Returns the conjugate, `re - im·i`.
    #[inline]
    pub fn conj(self) -> Complex<T> {
        Complex::new(self.re, -self.im)
    }

    /// Returns the modulus, without intermediate overflow.
    #[inline]
    pub fn norm(self) -> T {
        self.re.part_hypot(self.im)
    }

    /// Returns the square of the modulus.
    #[inline]
    pub fn norm_sqr(self) -> T {
        self.re * self.re + self.im * self.im
    }

    /// Returns the argument in radians, from −π to π.
    #[inline]
    pub fn arg(self) -> T {
        self.im.part_atan2(self.re)
    }

    /// Returns the exponential, `e` to the power of `self`.
    #[inline]
    pub fn exp(self) -> Complex<T> {
        let norm = self.re.part_exp();
        // A real number is not rotated: infinity · sin 0 would be NaN. A modulus of 0 makes the result 0 at
        // any angle, even an infinite one.
        if self.im == T::PART_ZERO || norm == T::PART_ZERO {
            return Complex::new(norm, T::PART_ZERO.part_copysign(self.im));
        }
        Complex::from_polar(norm, self.im)
    }

    /// Returns the natural logarithm, with an imaginary part from −π to π.
    #[inline]
    pub fn ln(self) -> Complex<T> {
        Complex::new(self.norm().part_ln(), self.arg())
    }

    /// Returns the square root with a nonnegative real part.
    #[inline]
    pub fn sqrt(self) -> Complex<T> {
        if self.re == T::PART_ZERO && self.im == T::PART_ZERO {
            return Complex::new(T::PART_ZERO, self.im);
        }
        let (norm, real) = (self.norm(), self.re.part_abs());
        // The larger part is the square root of (|z| + |re|) / 2, a sum without cancellation. The smaller
        // part follows from it, since the product of the parts is |im| / 2. Halves are added because the sum
        // of the largest numbers would overflow. The numbers themselves are added if their halves underflow
        // to 0.
        let half = norm * T::PART_HALF + real * T::PART_HALF;
        let large = if half > T::PART_ZERO {
            half.part_sqrt()
        } else {
            (norm + real).part_sqrt() * T::PART_HALF.part_sqrt()
        };
        if self.im * T::PART_ZERO != T::PART_ZERO {
            return Complex::new(large, self.im);
        }
        let small = self.im.part_abs() * T::PART_HALF / large;
        let (re, im) = if self.re >= T::PART_ZERO { (large, small) } else { (small, large) };
        Complex::new(re, im.part_copysign(self.im))
    }

    /// Returns true if one of the parts is NaN.
    #[inline]
    pub fn is_nan(self) -> bool {
        self.re.partial_cmp(&self.re).is_none() || self.im.partial_cmp(&self.im).is_none()
    }
}

impl<T: ComplexPart> From<T> for Complex<T> {
    #[inline]
    fn from(re: T) -> Complex<T> {
        Complex::new(re, T::PART_ZERO)
    }
}

impl<T: ComplexPart> Neg for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn neg(self) -> Complex<T> {
        Complex::new(-self.re, -self.im)
    }
}

impl<T: ComplexPart> Add for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn add(self, other: Complex<T>) -> Complex<T> {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl<T: ComplexPart> Sub for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn sub(self, other: Complex<T>) -> Complex<T> {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl<T: ComplexPart> Mul for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn mul(self, other: Complex<T>) -> Complex<T> {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

/// Divides by Smith's method, which overflows in intermediate results only near the largest numbers. A
/// quotient by 0 is NaN.
impl<T: ComplexPart> Div for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn div(self, other: Complex<T>) -> Complex<T> {
        if other.re.part_abs() >= other.im.part_abs() {
            let ratio = other.im / other.re;
            let denominator = other.re + other.im * ratio;
            Complex::new((self.re + self.im * ratio) / denominator, (self.im - self.re * ratio) / denominator)
        } else {
            let ratio = other.re / other.im;
            let denominator = other.re * ratio + other.im;
            Complex::new((self.re * ratio + self.im) / denominator, (self.im * ratio - self.re) / denominator)
        }
    }
}

impl<T: ComplexPart> Add<T> for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn add(self, real: T) -> Complex<T> {
        Complex::new(self.re + real, self.im)
    }
}

impl<T: ComplexPart> Sub<T> for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn sub(self, real: T) -> Complex<T> {
        Complex::new(self.re - real, self.im)
    }
}

impl<T: ComplexPart> Mul<T> for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn mul(self, real: T) -> Complex<T> {
        Complex::new(self.re * real, self.im * real)
    }
}

impl<T: ComplexPart> Div<T> for Complex<T> {
    type Output = Complex<T>;

    #[inline]
    fn div(self, real: T) -> Complex<T> {
        Complex::new(self.re / real, self.im / real)
    }
}

macro_rules! assigning {
    ($($name:ident::$function:ident by $operation:ident::$operator:ident,)*) => {$(
        impl<T: ComplexPart, U> $name<U> for Complex<T>
        where
            Complex<T>: $operation<U, Output = Complex<T>>,
        {
            #[inline]
            fn $function(&mut self, other: U) {
                *self = $operation::$operator(*self, other);
            }
        }
    )*};
}

assigning! {
    AddAssign::add_assign by Add::add,
    SubAssign::sub_assign by Sub::sub,
    MulAssign::mul_assign by Mul::mul,
    DivAssign::div_assign by Div::div,
}

impl<T: ComplexPart> Sum for Complex<T> {
    fn sum<I: Iterator<Item = Complex<T>>>(numbers: I) -> Complex<T> {
        numbers.fold(T::PART_ZERO.into(), Add::add)
    }
}

impl<'a, T: ComplexPart> Sum<&'a Complex<T>> for Complex<T> {
    fn sum<I: Iterator<Item = &'a Complex<T>>>(numbers: I) -> Complex<T> {
        numbers.copied().sum()
    }
}

/// `1.5-2i`
impl<T: fmt::Display> fmt::Display for Complex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.re.fmt(f)?;
        let im = self.im.to_string();
        let plus = if im.starts_with('-') { "" } else { "+" };
        match f.precision() {
            Some(precision) => write!(f, "{plus}{:.precision$}i", self.im),
            None => write!(f, "{plus}{im}i"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        let (a, b) = (Complex::new(1.0, 2.0), Complex::new(-3.0, 0.5));
        assert_eq!(a + b - b, a);
        assert_eq!(a * b, Complex::new(-4.0, -5.5));
        assert_eq!(a * b / b, a);
        assert_eq!([a, b].iter().sum::<Complex<f64>>(), Complex::new(-2.0, 2.5));
        let mut c = a;
        c += b;
        c -= 1.0;
        c *= 2.0;
        c /= Complex::new(0.0, 1.0);
        assert_eq!(c, Complex::new(5.0, 6.0));
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let large = Complex::new(1e200_f64, -1e200);
        assert_eq!(large / large, Complex::from(1.0));
        assert_eq!((large / Complex::new(0.0, 1e200)).re, -1.0);
        assert!(large.norm().is_finite() && large.sqrt().re.is_finite());
    }

    #[test]
    fn functions() {
        let close =
            |a: Complex<f64>, b: Complex<f64>| assert!((a - b).norm() < 1e-14, "{a} is not close to {b}");
        for z in [Complex::new(0.3, -1.2), Complex::new(-2.0, 1e-3), Complex::new(-2.0, -0.0)] {
            close(z.sqrt() * z.sqrt(), z);
            assert!(z.sqrt().re >= 0.0);
            close(z.ln().exp(), z);
            close(Complex::from_polar(z.norm(), z.arg()), z);
        }
        assert_eq!(Complex::new(-4.0, -0.0).sqrt(), Complex::new(0.0, -2.0));
        assert!(Complex::new(0.0, f64::NAN).is_nan());
        assert_eq!(Complex::new(1000.0, 0.0).exp(), Complex::new(f64::INFINITY, 0.0));
        assert_eq!(Complex::new(f64::NEG_INFINITY, f64::INFINITY).exp(), Complex::new(0.0, 0.0));
        assert!(Complex::new(0.0, f64::from_bits(1)).sqrt().re > 0.0);
        assert_eq!(Complex::new(1.0, f64::INFINITY).sqrt(), Complex::new(f64::INFINITY, f64::INFINITY));
        assert_eq!(Complex::new(f64::MAX, 0.0).sqrt().im, 0.0);
        assert_eq!(format!("{} {:.1}", Complex::new(1.5, -2.0), Complex::new(0.25, 1.0)), "1.5-2i 0.2+1.0i");
    }
}
