//! Functions of complex numbers, computed in `f64`. Ordinary arguments use a short formula that the compiler
//! can vectorize; other arguments use the evaluator's functions, which handle infinities, NaNs, zeros and
//! overflow.

use std::ops::{Add, Mul, Neg, Sub};

use farcall_ir::DType;
use farcall_ir::eval::complex as exact;
use farcall_ir::op::{Binary, Compare, ComparisonDirection, Unary};
use num_complex::Complex;

use super::{VectorLoop, map1, map1_near, map2, map2_near, scalar1, scalar2};
use crate::math;
use crate::number::Number;

type C = Complex<f64>;

/// Type of the real and imaginary parts.
pub(crate) trait Component:
    Copy
    + Send
    + Sync
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + 'static
{
    const UNIT: Self;
    /// True if intermediate results need fewer digits than `f64` has.
    const REDUCED_PRECISION: bool;
    /// Converts to `f64`, and flushes subnormal numbers if the processor is set to flush them. `one` is one,
    /// hidden from the optimizer.
    fn wide(self, one: Self) -> f64;
    fn narrow(x: f64, one: f64) -> Self;
    /// The exponential. Like the functions below, it has the accuracy that the type needs.
    fn exp(x: f64) -> f64;
    fn sin_cos(x: f64) -> (f64, f64);
    /// The logarithm of a positive, normal number.
    fn ln(x: f64) -> f64;
    /// `ln(1 + x)` for `x` from -¾ to 2.
    fn ln_1p(x: f64) -> f64;
    /// The angle of two finite numbers that are not both zero.
    fn atan2(y: f64, x: f64) -> f64;
}

impl Component for f32 {
    const UNIT: f32 = 1.0;
    const REDUCED_PRECISION: bool = true;
    #[inline(always)]
    fn wide(self, _: f32) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn narrow(x: f64, _: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        math::exp64(x)
    }
    #[inline(always)]
    fn sin_cos(x: f64) -> (f64, f64) {
        math::sin_cos64(x)
    }
    #[inline(always)]
    fn ln(x: f64) -> f64 {
        math::ln64(x)
    }
    #[inline(always)]
    fn ln_1p(x: f64) -> f64 {
        let y = 1.0 + x;
        math::ln64(y) + (x - (y - 1.0)) / y
    }
    #[inline(always)]
    fn atan2(y: f64, x: f64) -> f64 {
        math::atan2_64(y, x)
    }
}

impl Component for f64 {
    const UNIT: f64 = 1.0;
    const REDUCED_PRECISION: bool = false;
    #[inline(always)]
    fn wide(self, one: f64) -> f64 {
        self * one
    }
    #[inline(always)]
    fn narrow(x: f64, one: f64) -> f64 {
        x * one
    }
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        math::double::exp(x)
    }
    #[inline(always)]
    fn sin_cos(x: f64) -> (f64, f64) {
        math::double::sin_cos(x)
    }
    #[inline(always)]
    fn ln(x: f64) -> f64 {
        math::double::ln(x)
    }
    #[inline(always)]
    fn ln_1p(x: f64) -> f64 {
        math::double::ln_1p(x)
    }
    #[inline(always)]
    fn atan2(y: f64, x: f64) -> f64 {
        y.atan2(x)
    }
}

/// Multiplies by the plain formula, without special treatment of infinities.
#[inline(always)]
pub(crate) fn product<T: Component>(x: Complex<T>, y: Complex<T>) -> Complex<T> {
    Complex::new(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
}

/// Returns true if the square of the larger part, and so the sum of both squares, is a normal number.
#[inline(always)]
fn ordinary(z: C) -> bool {
    let largest = larger(z.re.abs(), z.im.abs());
    largest > 1e-70 && largest < 1e70 && z.re.abs() < 1e70 && z.im.abs() < 1e70
}

#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

/// Returns true if exponential, sine and cosine of these parts neither overflow nor lose digits.
#[inline(always)]
fn moderate(exponent: f64, angle: f64) -> bool {
    exponent.abs() < 700.0 && angle.abs() <= math::double::MAX_ANGLE
}

#[inline(always)]
fn divide(a: C, b: C) -> C {
    let norm = b.re * b.re + b.im * b.im;
    C::new((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm)
}

#[inline(always)]
fn abs(z: C) -> f64 {
    (z.re * z.re + z.im * z.im).sqrt()
}

#[inline(always)]
fn exp<T: Component>(z: C) -> C {
    let (e, (s, c)) = (T::exp(z.re), T::sin_cos(z.im));
    C::new(e * c, e * s)
}

#[inline(always)]
fn log<T: Component>(z: C) -> C {
    let (a, b) = (larger(z.re.abs(), z.im.abs()), if z.re.abs() > z.im.abs() { z.im } else { z.re });
    let (high, low) = (a * a, b * b);
    // If the sum of the squares is near 1, the logarithm is computed from the sum minus one, to which the
    // rounding errors of the squares are added.
    let sum = high + low;
    let first = high - 1.0;
    let less = first + low;
    let lost = (low - (less - first)) + a.mul_add(a, -high) + b.mul_add(b, -low);
    let near = T::ln_1p(less + lost);
    let far = T::ln(sum);
    C::new(0.5 * if sum > 0.5 && sum < 2.0 { near } else { far }, T::atan2(z.im, z.re))
}

#[inline(always)]
fn sqrt(z: C) -> C {
    let t = ((z.re.abs() + abs(z)) * 0.5).sqrt();
    let other = z.im.abs() / (2.0 * t);
    let (re, im) = if z.re >= 0.0 { (t, other) } else { (other, t) };
    C::new(re, im.copysign(z.im))
}

/// The sine, from the sine and cosine of the real part and the hyperbolic functions of the imaginary part.
#[inline(always)]
fn sin<T: Component>(z: C) -> C {
    let (s, c) = T::sin_cos(z.re);
    C::new(s * z.im.cosh(), c * z.im.sinh())
}

#[inline(always)]
fn cos<T: Component>(z: C) -> C {
    let (s, c) = T::sin_cos(z.re);
    C::new(c * z.im.cosh(), -(s * z.im.sinh()))
}

/// The hyperbolic tangent, by Kahan's CTANH.
#[inline(always)]
fn tanh(z: C) -> C {
    let t = z.im.tan();
    let (beta, s) = (1.0 + t * t, z.re.sinh());
    let rho = (1.0 + s * s).sqrt();
    let denominator = 1.0 + beta * s * s;
    C::new(beta * rho * s / denominator, t / denominator)
}

/// Computes `exp(y log x)`.
#[inline(never)]
fn power<T: Component>(x: C, y: C) -> C {
    let l = log::<T>(x);
    let re = math::within(y.re * l.re - y.im * l.im, -700.0, 700.0);
    exp::<T>(C::new(re, y.re * l.im + y.im * l.re))
}

#[inline(always)]
fn times_i(z: C) -> C {
    C::new(-z.im, z.re)
}

#[inline(always)]
fn minus_i(z: C) -> C {
    C::new(z.im, -z.re)
}

/// Returns the loop of a unary operation on complex elements.
pub(crate) fn unary(op: Unary, dtype: DType) -> Option<VectorLoop> {
    match dtype {
        DType::C64 => unary_of::<f32>(op),
        DType::C128 => unary_of::<f64>(op),
        _ => None,
    }
}

fn unary_of<T: Component>(op: Unary) -> Option<VectorLoop> {
    let (one, one64) = (std::hint::black_box(T::UNIT), std::hint::black_box(1.0));
    let wide = move |z: Complex<T>| C::new(z.re.wide(one), z.im.wide(one));
    let narrow = move |z: C| Complex::new(T::narrow(z.re, one64), T::narrow(z.im, one64));
    // Uses the evaluator's function, which exists for every operation that has a loop below.
    let exactly = move |z: Complex<T>| {
        narrow(exact::unary(op, wide(z)).map_or(C::new(f64::NAN, f64::NAN), |value| value.as_complex()))
    };
    macro_rules! function {
        ($f:expr, $z:ident => $near:expr) => {
            map1_near::<Complex<T>, Complex<T>>(
                move |z| narrow($f(wide(z))),
                move |z| {
                    let $z = wide(z);
                    $near
                },
                exactly,
            )
        };
    }
    // One loop for all functions that call other functions and so cannot be vectorized.
    let apart = move |f: fn(C) -> C, near: fn(C) -> bool| {
        scalar1::<Complex<T>, Complex<T>>(
            move |z| if near(wide(z)) { narrow(f(wide(z))) } else { exactly(z) },
        )
    };
    Some(match op {
        Unary::Real => map1::<Complex<T>, T>(|z| z.re),
        Unary::Imag => map1::<Complex<T>, T>(|z| z.im),
        Unary::Conj => map1::<Complex<T>, Complex<T>>(|z| Complex::new(z.re, -z.im)),
        Unary::Negate => map1::<Complex<T>, Complex<T>>(|z| Complex::new(-z.re, -z.im)),
        Unary::Abs => map1_near::<Complex<T>, T>(
            move |z| T::narrow(abs(wide(z)), one64),
            move |z| ordinary(wide(z)),
            move |z| T::narrow(wide(z).re.hypot(wide(z).im), one64),
        ),
        Unary::IsFinite => {
            map1::<Complex<T>, u8>(move |z| u8::from(wide(z).re.is_finite() && wide(z).im.is_finite()))
        }
        Unary::Square => map1::<Complex<T>, Complex<T>>(|z| product(z, z)),
        Unary::Exponential if T::REDUCED_PRECISION => function!(exp::<T>, z => moderate(z.re, z.im)),
        Unary::Exponential => apart(exp::<T>, |z| moderate(z.re, z.im)),
        Unary::Log if T::REDUCED_PRECISION => function!(log::<T>, z => ordinary(z)),
        Unary::Sqrt if T::REDUCED_PRECISION => function!(sqrt, z => ordinary(z)),
        Unary::Sqrt => apart(sqrt, ordinary),
        Unary::Log => apart(log::<T>, ordinary),
        Unary::Rsqrt => apart(|z| divide(C::new(1.0, 0.0), sqrt(z)), ordinary),
        Unary::Sign => apart(|z: C| z / abs(z), ordinary),
        Unary::Sine => apart(sin::<T>, |z| moderate(z.im, z.re)),
        Unary::Cosine => apart(cos::<T>, |z| moderate(z.im, z.re)),
        Unary::Sinh => apart(|z| minus_i(sin::<T>(times_i(z))), |z| moderate(z.re, z.im)),
        Unary::Cosh => apart(|z| cos::<T>(times_i(z)), |z| moderate(z.re, z.im)),
        Unary::Tanh => apart(tanh, |z| z.re.abs() < 20.0 && z.im.is_finite()),
        Unary::Tan | Unary::ChloTan => {
            apart(|z| minus_i(tanh(times_i(z))), |z| z.im.abs() < 20.0 && z.re.is_finite())
        }
        _ => {
            exact::unary(op, C::new(0.5, 0.5))?;
            scalar1::<Complex<T>, Complex<T>>(exactly)
        }
    })
}

/// Returns the loop of a binary operation on pairs of complex elements.
pub(crate) fn binary(op: Binary, dtype: DType) -> Option<VectorLoop> {
    match dtype {
        DType::C64 => binary_of::<f32>(op),
        DType::C128 => binary_of::<f64>(op),
        _ => None,
    }
}

fn binary_of<T: Component>(op: Binary) -> Option<VectorLoop> {
    exact::binary(op, C::new(0.5, 0.5), C::new(0.5, 0.5))?;
    let (one, one64) = (std::hint::black_box(T::UNIT), std::hint::black_box(1.0));
    let wide = move |z: Complex<T>| C::new(z.re.wide(one), z.im.wide(one));
    let narrow = move |z: C| Complex::new(T::narrow(z.re, one64), T::narrow(z.im, one64));
    let exactly = move |x, y| narrow(exact::binary(op, x, y).unwrap_or(C::new(f64::NAN, f64::NAN)));
    Some(match op {
        Binary::Add => {
            map2::<Complex<T>, Complex<T>, Complex<T>>(|x, y| Complex::new(x.re + y.re, x.im + y.im))
        }
        Binary::Subtract => {
            map2::<Complex<T>, Complex<T>, Complex<T>>(|x, y| Complex::new(x.re - y.re, x.im - y.im))
        }
        Binary::Multiply => map2::<Complex<T>, Complex<T>, Complex<T>>(product),
        Binary::Divide => map2_near::<Complex<T>, Complex<T>>(
            move |x, y| narrow(divide(wide(x), wide(y))),
            move |x, y| {
                // The product of such a part and a part of the divisor is a normal number or zero.
                let fits = |part: f64| part == 0.0 || (part.abs() > 1e-150 && part.abs() < 1e70);
                let x = wide(x);
                ordinary(wide(y)) && fits(x.re) && fits(x.im)
            },
            move |x, y| exactly(wide(x), wide(y)),
        ),
        Binary::Power if T::REDUCED_PRECISION => {
            scalar2::<Complex<T>, Complex<T>, Complex<T>>(move |x, y| {
                let (x, y) = (wide(x), wide(y));
                // The result of `log` is below 200.
                let small = y.re.abs() < 1e4 && y.im.abs() < 1e4;
                if ordinary(x) && small && (y.im != 0.0 || (y.re != 0.0 && y.re != 1.0)) {
                    narrow(power::<T>(x, y))
                } else {
                    exactly(x, y)
                }
            })
        }
        _ => scalar2::<Complex<T>, Complex<T>, Complex<T>>(move |x, y| exactly(wide(x), wide(y))),
    })
}

/// Returns the loop that compares pairs of complex elements for equality.
pub(crate) fn compare(c: Compare, dtype: DType) -> Option<VectorLoop> {
    fn of<T: Component>(wanted: bool) -> VectorLoop {
        let one = std::hint::black_box(T::UNIT);
        let part = move |x: T, y: T| x.wide(one) == y.wide(one);
        map2::<Complex<T>, Complex<T>, u8>(move |x, y| {
            u8::from((part(x.re, y.re) & part(x.im, y.im)) == wanted)
        })
    }
    let wanted = match c.direction {
        ComparisonDirection::Eq => true,
        ComparisonDirection::Ne => false,
        _ => return None,
    };
    match dtype {
        DType::C64 => Some(of::<f32>(wanted)),
        DType::C128 => Some(of::<f64>(wanted)),
        _ => None,
    }
}

/// Returns the loop that converts elements from or to a complex type. The other type is a complex type or a
/// float of four or eight bytes per part; integers of these sizes can also be converted to a complex type.
/// The imaginary part of a converted real number is zero; converting to a real type drops it.
pub(crate) fn convert(from: DType, to: DType) -> Option<VectorLoop> {
    // The multiplications flush subnormal numbers if the processor is set to flush them.
    let (one, one64) = (f32::opaque_one(), f64::opaque_one());
    macro_rules! to {
        ($s:ty, $x:ident => $re:expr, $im:expr) => {
            Some(match to {
                DType::C64 => map1::<$s, Complex<f32>>(move |$x| Complex::new($re as f32, $im as f32)),
                DType::C128 => map1::<$s, Complex<f64>>(move |$x| Complex::new($re as f64, $im as f64)),
                DType::F32 => map1::<$s, f32>(move |$x| $re as f32),
                DType::F64 => map1::<$s, f64>(move |$x| $re as f64),
                _ => return None,
            })
        };
    }
    match from {
        DType::S32 => to!(i32, x => x, 0),
        DType::S64 => to!(i64, x => x, 0),
        DType::F32 => to!(f32, x => x * one, 0),
        DType::F64 => to!(f64, x => x * one64, 0),
        DType::C64 => to!(Complex<f32>, x => x.re * one, x.im * one),
        DType::C128 => to!(Complex<f64>, x => x.re * one64, x.im * one64),
        _ => None,
    }
}
