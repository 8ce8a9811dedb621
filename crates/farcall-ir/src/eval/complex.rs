//! Functions of complex numbers, in double precision.
//!
//! Infinities, NaNs and signed zeros follow C99's Annex G where XLA follows it. The formulas avoid
//! cancellation and overflow. Sources: Kahan, "Branch Cuts for Complex Elementary Functions" (1987), and
//! Hull, Fairgrieve, Tang, "Implementing the Complex Arcsine and Arccosine Functions Using Exception
//! Handling" (1997).

use crate::op::{Binary, Unary};
use crate::scalar::Scalar;
use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, LN_2, PI};

type C = Complex<f64>;

/// Applies a unary operation; `None` if the operation is not defined for complex numbers. The result is real
/// for `abs`, `real` and `imag`, and boolean for `is_finite`.
pub fn unary(op: Unary, z: C) -> Option<Scalar> {
    Some(Scalar::Complex(match op {
        Unary::Abs => return Some(Scalar::Float(libm::hypot(z.re, z.im))),
        Unary::Real => return Some(Scalar::Float(z.re)),
        Unary::Imag => return Some(Scalar::Float(z.im)),
        Unary::IsFinite => return Some(Scalar::Bool(z.re.is_finite() && z.im.is_finite())),
        Unary::Cbrt => polar(libm::cbrt(libm::hypot(z.re, z.im)), libm::atan2(z.im, z.re) / 3.0),
        Unary::Cosine => cosh(C::new(-z.im, z.re)),
        Unary::Exponential => exp(z),
        Unary::ExponentialMinusOne => exp_m1(z),
        Unary::Log => log(z),
        Unary::LogPlusOne => log_1p(z),
        Unary::Logistic => logistic(z),
        Unary::Negate => -z,
        Unary::Rsqrt => rsqrt(z),
        Unary::Sign => sign(z),
        Unary::Sine => minus_i(sinh(times_i(z))),
        Unary::Sqrt => sqrt(z),
        Unary::Tan | Unary::ChloTan => minus_i(tanh(times_i(z))),
        Unary::Tanh => tanh(z),
        Unary::AsinAcosKernel => asin_acos_kernel(z),
        Unary::Acos => acos(z),
        Unary::Acosh => acosh(z),
        Unary::Asin => minus_i(asinh(times_i(z))),
        Unary::Asinh => asinh(z),
        Unary::Atan => minus_i(atanh(times_i(z))),
        Unary::Atanh => atanh(z),
        Unary::Conj => z.conj(),
        Unary::Cosh => cosh(z),
        Unary::Sinh => sinh(z),
        Unary::Square => multiply(z, z),
        Unary::Ceil
        | Unary::CountLeadingZeros
        | Unary::Floor
        | Unary::Not
        | Unary::Popcnt
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::BesselI1e
        | Unary::Digamma
        | Unary::Erf
        | Unary::ErfInv
        | Unary::Erfc
        | Unary::IsInf
        | Unary::IsNegInf
        | Unary::IsPosInf
        | Unary::Lgamma => return None,
    }))
}

/// Applies a binary operation; `None` if the operation is not defined for complex numbers.
pub fn binary(op: Binary, a: C, b: C) -> Option<C> {
    Some(match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => multiply(a, b),
        Binary::Divide => divide(a, b),
        Binary::Power => power(a, b),
        Binary::Atan2 => atan2(a, b),
        // Ordered by real part, then by imaginary part.
        Binary::Maximum if (a.re, a.im) > (b.re, b.im) => a,
        Binary::Minimum if (a.re, a.im) < (b.re, b.im) => a,
        Binary::Maximum | Binary::Minimum => b,
        _ => return None,
    })
}

fn times_i(z: C) -> C {
    C::new(-z.im, z.re)
}

fn minus_i(z: C) -> C {
    C::new(z.im, -z.re)
}

fn polar(radius: f64, angle: f64) -> C {
    C::new(radius * libm::cos(angle), radius * libm::sin(angle))
}

/// Multiplies by the textbook formula, without special treatment of infinities.
fn multiply(a: C, b: C) -> C {
    C::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// Divides with the special cases of C99, G.5.1.
fn divide(a: C, b: C) -> C {
    // Scaling by a power of two brings the denominator near 1.
    let largest = b.re.abs().max(b.im.abs());
    let exponent = if largest.is_finite() && largest > 0.0 { libm::ilogb(largest) } else { 0 };
    let (c, d) = (libm::scalbn(b.re, -exponent), libm::scalbn(b.im, -exponent));
    let denominator = c * c + d * d;
    let re = libm::scalbn((a.re * c + a.im * d) / denominator, -exponent);
    let im = libm::scalbn((a.im * c - a.re * d) / denominator, -exponent);
    if !re.is_nan() || !im.is_nan() {
        return C::new(re, im);
    }
    let unit = |x: f64| if x.is_infinite() { 1f64 } else { 0.0 }.copysign(x);
    if denominator == 0.0 && (!a.re.is_nan() || !a.im.is_nan()) {
        let infinity = f64::INFINITY.copysign(b.re);
        C::new(infinity * a.re, infinity * a.im)
    } else if (a.re.is_infinite() || a.im.is_infinite()) && b.re.is_finite() && b.im.is_finite() {
        let (x, y) = (unit(a.re), unit(a.im));
        C::new(f64::INFINITY * (x * b.re + y * b.im), f64::INFINITY * (y * b.re - x * b.im))
    } else if (b.re.is_infinite() || b.im.is_infinite()) && a.re.is_finite() && a.im.is_finite() {
        let (x, y) = (unit(b.re), unit(b.im));
        C::new(0.0 * (a.re * x + a.im * y), 0.0 * (a.im * x - a.re * y))
    } else {
        C::new(re, im)
    }
}

fn sign(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return C::new(f64::NAN, f64::NAN);
    }
    if z.re == 0.0 && z.im == 0.0 {
        return C::new(0.0, 0.0);
    }
    let radius = libm::hypot(z.re, z.im);
    if radius == 0.0 || radius.is_infinite() {
        return divide(z, C::new(radius, 0.0));
    }
    C::new(z.re / radius, z.im / radius)
}

/// `e^x (cos y + i sin y)`. `e^x` alone may overflow although its product with the cosine or sine does not.
fn exp(z: C) -> C {
    scaled(1.0, z.re, z.im)
}

/// `factor e^x (cos y + i sin y)`
fn scaled(factor: f64, x: f64, y: f64) -> C {
    if x == f64::NEG_INFINITY && !y.is_finite() {
        return C::new(0.0, 0.0);
    }
    if x == f64::INFINITY && !y.is_finite() {
        return C::new(f64::INFINITY, f64::NAN);
    }
    let product = |t: f64| {
        if t == 0.0 {
            return if x.is_nan() && y != 0.0 { f64::NAN } else { t };
        }
        if (700.0..1500.0).contains(&x) {
            let half = libm::exp(x / 2.0);
            return factor * half * t * half;
        }
        factor * libm::exp(x) * t
    };
    C::new(product(libm::cos(y)), product(libm::sin(y)))
}

/// `1 / (1 + e^-z)`, or the same fraction expanded by `e^z` where `e^-z` would overflow.
fn logistic(z: C) -> C {
    if z.re < -700.0 {
        let e = exp(z);
        return divide(e, e + 1.0);
    }
    divide(C::new(1.0, 0.0), exp(-z) + 1.0)
}

fn exp_m1(z: C) -> C {
    let whole = exp(z);
    if !z.re.is_finite() || !z.im.is_finite() || z.re > 700.0 {
        return whole - 1.0;
    }
    let half = libm::sin(z.im / 2.0);
    C::new(libm::expm1(z.re) * libm::cos(z.im) - 2.0 * half * half, whole.im)
}

/// `x² + y² - 1`, computed with twice the precision.
fn norm_minus_one(x: f64, y: f64) -> f64 {
    let square = |v: f64| {
        let high = v * v;
        (high, libm::fma(v, v, -high))
    };
    let (a, b) = if x.abs() >= y.abs() { (x, y) } else { (y, x) };
    let ((ah, al), (bh, bl)) = (square(a), square(b));
    // `ah - 1` is exact if `ah` is near 1; the sum with `bh` may round.
    let first = ah - 1.0;
    let lost_first = (ah - (first + 1.0)) - 0.0;
    let sum = first + bh;
    let part = sum - first;
    let lost = (first - (sum - part)) + (bh - part);
    sum + (lost + lost_first + al + bl)
}

/// Logarithm of the absolute value.
fn log_abs(x: f64, y: f64) -> f64 {
    let radius = libm::hypot(x, y);
    if radius > 0.5 && radius < 2.0 {
        return 0.5 * libm::log1p(norm_minus_one(x, y));
    }
    let largest = x.abs().max(y.abs());
    if largest > 1e300 && largest.is_finite() {
        return libm::log(libm::hypot(x / 4.0, y / 4.0)) + 2.0 * LN_2;
    }
    if largest < 1e-290 && largest > 0.0 {
        let scale = 2f64.powi(200);
        return libm::log(libm::hypot(x * scale, y * scale)) - 200.0 * LN_2;
    }
    libm::log(radius)
}

fn log(z: C) -> C {
    C::new(log_abs(z.re, z.im), libm::atan2(z.im, z.re))
}

fn log_1p(z: C) -> C {
    let (x, y) = (z.re, z.im);
    let angle = libm::atan2(y, 1.0 + x);
    if !x.is_finite() || !y.is_finite() {
        return C::new(log_abs(1.0 + x, y), angle);
    }
    if x.abs() > 4.0 || y.abs() > 4.0 {
        return C::new(log_abs(1.0 + x, y), angle);
    }
    // `|1 + z|² - 1 = x (2 + x) + y²`, with the rounding errors of the products added back.
    let t = 2.0 + x;
    let t_lost = x - (t - 2.0);
    let (p, q) = (x * t, y * y);
    let lost = libm::fma(x, t, -p) + x * t_lost + libm::fma(y, y, -q);
    let sum = p + q;
    let part = sum - p;
    let sum_lost = (p - (sum - part)) + (q - part);
    let norm = sum + (sum_lost + lost);
    let re = if norm > -0.5 { 0.5 * libm::log1p(norm) } else { log_abs(1.0 + x, y) };
    C::new(re, angle)
}

fn sqrt(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x == 0.0 && y == 0.0 {
        return C::new(0.0, y);
    }
    if y.is_infinite() {
        return C::new(f64::INFINITY, y);
    }
    if x.is_nan() {
        return C::new(x, x);
    }
    if x.is_infinite() {
        let other = if y.is_nan() { y } else { 0f64.copysign(y) };
        return if x > 0.0 {
            C::new(x, other)
        } else {
            C::new(other.abs(), if y.is_nan() { f64::INFINITY } else { f64::INFINITY.copysign(y) })
        };
    }
    if y.is_nan() {
        return C::new(y, y);
    }
    // Scaling by powers of four keeps the hypotenuse in range.
    let largest = x.abs().max(y.abs());
    let half = if largest > 1e300 {
        2
    } else if largest < 1e-290 {
        -200
    } else {
        0
    };
    let (x, y) = (libm::scalbn(x, -2 * half), libm::scalbn(y, -2 * half));
    let t = ((x.abs() + libm::hypot(x, y)) / 2.0).sqrt();
    let (re, im) = if x >= 0.0 { (t, y / (2.0 * t)) } else { (y.abs() / (2.0 * t), t.copysign(y)) };
    C::new(libm::scalbn(re, half), libm::scalbn(im, half))
}

fn rsqrt(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return C::new(f64::INFINITY, f64::NAN);
    }
    if (z.re.is_infinite() || z.im.is_infinite()) && !z.re.is_nan() && !z.im.is_nan() {
        return C::new(0.0, 0.0);
    }
    divide(C::new(1.0, 0.0), sqrt(z))
}

fn sinh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.abs() > 700.0 && x.is_finite() && y.is_finite() {
        let large = scaled(0.5, x.abs(), y);
        return C::new(large.re * 1f64.copysign(x), large.im);
    }
    C::new(times(libm::sinh(x), libm::cos(y)), times(libm::cosh(x), libm::sin(y)))
}

fn cosh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.abs() > 700.0 && x.is_finite() && y.is_finite() {
        let large = scaled(0.5, x.abs(), y);
        return C::new(large.re, large.im * 1f64.copysign(x));
    }
    if y == 0.0 && x.is_nan() {
        return C::new(x, y);
    }
    C::new(times(libm::cosh(x), libm::cos(y)), times(libm::sinh(x), libm::sin(y)))
}

/// Multiplies; an exact zero times an infinity is zero.
fn times(a: f64, b: f64) -> f64 {
    if (a == 0.0 && b.is_infinite()) || (b == 0.0 && a.is_infinite()) {
        return 0f64.copysign(a) * 1f64.copysign(b);
    }
    a * b
}

/// Kahan's CTANH.
fn tanh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_infinite() {
        let im = if y.is_finite() { libm::sin(2.0 * y) } else { 0.0 };
        return C::new(1f64.copysign(x), 0f64.copysign(im));
    }
    if x.abs() > 22.0 {
        let (s, c) = (libm::sin(y), libm::cos(y));
        let decay = libm::exp(-x.abs());
        return C::new(1f64.copysign(x), 4.0 * s * c * decay * decay);
    }
    let t = libm::tan(y);
    let beta = 1.0 + t * t;
    let s = libm::sinh(x);
    let rho = (1.0 + s * s).sqrt();
    if t.is_infinite() {
        return C::new(rho / s, 1.0 / t);
    }
    let denominator = 1.0 + beta * s * s;
    C::new(beta * rho * s / denominator, t / denominator)
}

/// Computes `acosh` from `acos` by a quarter turn into the right half plane.
fn acosh(z: C) -> C {
    let w = acos(z);
    if w.re.is_nan() && w.im.is_nan() {
        return w;
    }
    if w.re.is_nan() {
        return C::new(w.im.abs(), w.re);
    }
    if w.im.is_nan() {
        return C::new(w.im, w.re);
    }
    C::new(w.im.abs(), w.re.copysign(z.im))
}

/// Common parts of the arcsine and arccosine of `x + iy` (`x`, `y` not negative).
struct Arc {
    /// `|Im asin|`: `log(a + sqrt(a² - 1))`, `a = (r + s) / 2`.
    log: f64,
    /// `Re asin`: `asin(b)`, `b = x / a`.
    asin: f64,
    /// `Re acos`.
    acos: f64,
}

/// The algorithm of Hull, Fairgrieve and Tang. Very large and very small arguments are treated separately.
fn arc(x: f64, y: f64) -> Arc {
    let large = 1e150;
    if x > large || y > large {
        // `|z|` is so large that adding 1 has no effect.
        let log = log_abs(x, y) + LN_2;
        return Arc { log, asin: libm::atan2(x, y), acos: libm::atan2(y, x) };
    }
    if y < 1e-150 {
        // `y` is so small that the argument is treated as real.
        if x < 1.0 {
            return Arc { log: y / ((1.0 - x) * (1.0 + x)).sqrt(), asin: libm::asin(x), acos: libm::acos(x) };
        }
        if x == 1.0 {
            return Arc { log: y.sqrt(), asin: FRAC_PI_2 - y.sqrt(), acos: y.sqrt() };
        }
        let root = ((x - 1.0) * (x + 1.0)).sqrt();
        return Arc { log: libm::log1p((x - 1.0) + root), asin: FRAC_PI_2, acos: y / root };
    }
    let (xp, xm) = (x + 1.0, x - 1.0);
    let (r, s) = (libm::hypot(xp, y), libm::hypot(xm, y));
    let a = 0.5 * (r + s);
    let b = x / a;
    let (asin, acos) = if b <= 0.6417 {
        (libm::asin(b), libm::acos(b))
    } else {
        let apx = a + x;
        let root = if x <= 1.0 {
            (0.5 * apx * (y * y / (r + xp) + (s + (1.0 - x)))).sqrt()
        } else {
            y * (0.5 * (apx / (r + xp) + apx / (s + xm))).sqrt()
        };
        (libm::atan2(x, root), libm::atan2(root, x))
    };
    let log = if a <= 1.5 {
        let am1 = if x < 1.0 {
            0.5 * (y * y / (r + xp) + y * y / (s + (1.0 - x)))
        } else {
            0.5 * (y * y / (r + xp) + (s + xm))
        };
        libm::log1p(am1 + (am1 * (a + 1.0)).sqrt())
    } else {
        libm::log(a + (a * a - 1.0).sqrt())
    };
    Arc { log, asin, acos }
}

/// The number `w` for which `asin(z) = atan2(re z, re w) ± i im w`.
fn asin_acos_kernel(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_nan() || y.is_nan() {
        return C::new(f64::NAN, f64::NAN);
    }
    let arc = arc(x, y);
    // The adjacent leg of the right triangle with the angle `arc.asin` and the opposite leg `x`.
    let re = match x {
        0.0 => libm::hypot(1.0, y),
        _ if arc.asin < 1.0 => x / libm::tan(arc.asin),
        _ => x * libm::tan(arc.acos),
    };
    C::new(re, arc.log)
}

fn asinh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        return if x.is_infinite() {
            C::new(x, y)
        } else if y.is_infinite() {
            C::new(y, x)
        } else if y == 0.0 {
            C::new(x, y)
        } else {
            C::new(f64::NAN, f64::NAN)
        };
    }
    if x.is_infinite() || y.is_infinite() {
        return C::new(f64::INFINITY.copysign(x), libm::atan2(y.abs(), x.abs()).copysign(y));
    }
    if x.abs() < 1e-150 && y.abs() < 1e-150 {
        return z;
    }
    // `asinh(z) = i asin(-i z)`: the real and imaginary parts change roles.
    let arc = arc(y.abs(), x.abs());
    C::new(arc.log.copysign(x), arc.asin.copysign(y))
}

fn acos(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        return if x.is_infinite() {
            C::new(y, f64::NEG_INFINITY)
        } else if y.is_infinite() {
            C::new(x, -y)
        } else if x == 0.0 {
            C::new(FRAC_PI_2, y)
        } else {
            C::new(f64::NAN, f64::NAN)
        };
    }
    if x.is_infinite() || y.is_infinite() {
        return C::new(libm::atan2(y.abs(), x), -f64::INFINITY.copysign(y));
    }
    let arc = arc(x.abs(), y.abs());
    let re = if x.is_sign_negative() { PI - arc.acos } else { arc.acos };
    C::new(re, -arc.log.copysign(y))
}

/// Kahan's CATANH.
fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_nan() || y.is_nan() {
        return if z.re.is_infinite() {
            C::new(0f64.copysign(z.re), y)
        } else if z.im.is_infinite() {
            C::new(0f64.copysign(z.re), FRAC_PI_2.copysign(z.im))
        } else if x == 0.0 {
            z
        } else {
            C::new(f64::NAN, f64::NAN)
        };
    }
    let sides = |re: f64, im: f64| C::new(re.copysign(z.re), im.copysign(z.im));
    if x.is_infinite() || y.is_infinite() {
        return sides(0.0, FRAC_PI_2);
    }
    if x > 1e150 || y > 1e150 {
        // `Re(1 / z)`, without overflow.
        let scale = x.max(y);
        let (u, v) = (x / scale, y / scale);
        return sides(u / (u * u + v * v) / scale, FRAC_PI_2);
    }
    if x == 1.0 && y < 1e-150 {
        let re = if y == 0.0 { f64::INFINITY } else { 0.5 * (LN_2 - libm::log(y)) };
        return sides(re, if y == 0.0 { 0.0 } else { 0.25 * PI });
    }
    let m = 1.0 - x;
    let distance = m * m + y * y;
    let re = 0.25 * libm::log1p(4.0 * x / distance);
    let im = 0.5 * libm::atan2(2.0 * y, m * (1.0 + x) - y * y);
    sides(re, im)
}

/// `exp(b log a)`, with XLA's results for zero bases and exponents.
fn power(a: C, b: C) -> C {
    if b.re == 0.0 && b.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 {
        return if b.im == 0.0 && b.re > 0.0 { C::new(0.0, 0.0) } else { C::new(f64::NAN, f64::NAN) };
    }
    if b.im == 0.0 && b.re == 1.0 {
        return a;
    }
    let l = log(a);
    let re = b.re * l.re - b.im * l.im;
    let im = b.re * l.im + b.im * l.re;
    exp(C::new(re, im))
}

/// `-i log((x + iy) / sqrt(x² + y²))`
fn atan2(y: C, x: C) -> C {
    let norm = sqrt(multiply(x, x) + multiply(y, y));
    minus_i(log(divide(x + times_i(y), norm)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results computed with a precision of 2,000 bits: operation, argument, result.
    #[expect(clippy::approx_constant, reason = "some results happen to be close to mathematical constants")]
    const VALUES: &[(Unary, [f64; 2], [f64; 2])] = &[
        (Unary::Cosine, [-0.75, 1.25], [1.3817387306342588, 1.0919301355539746]),
        (Unary::Exponential, [-0.75, 1.25], [0.14894773732680602, 0.4482685932492423]),
        (Unary::ExponentialMinusOne, [-0.75, 1.25], [-0.851052262673194, 0.4482685932492423]),
        (Unary::Log, [-0.75, 1.25], [0.3768859011881901, 2.1112158270654806]),
        (Unary::Log, [0.6, 0.8], [2.2204460492503132e-17, 0.9272952180016123]),
        (Unary::Log, [3e+200, -4e+200], [462.12645651124325, -0.9272952180016122]),
        (Unary::Log, [1e-300, 1e-300], [-690.4289543079337, 0.7853981633974483]),
        (Unary::LogPlusOne, [-0.75, 1.25], [0.2427539078908504, 1.373400766945016]),
        (Unary::LogPlusOne, [1e-10, 1e-12], [9.99999999950005e-11, 9.999999999e-13]),
        (Unary::LogPlusOne, [-0.4, 0.8], [2.2204460492503132e-17, 0.9272952180016123]),
        (Unary::Logistic, [-0.75, 1.25], [0.2446230286734523, 0.2947146865855311]),
        (Unary::Rsqrt, [-0.75, 1.25], [0.4080766864815038, -0.7207411175452055]),
        (Unary::Sine, [-0.75, 1.25], [-1.2872229100264918, 1.1721063598927026]),
        (Unary::Sqrt, [-0.75, 1.25], [0.594868882070379, 1.050651696260784]),
        (Unary::Sqrt, [-1e+300, 1e-300], [0.0, 1e+150]),
        (Unary::Sqrt, [3e-310, 0.0], [1.7320508075688746e-155, 0.0]),
        (Unary::Tan, [-0.75, 1.25], [-0.16080778591620642, 0.9753632850312356]),
        (Unary::Tanh, [-0.75, 1.25], [-1.3726075705337832, 0.3857959526097507]),
        (Unary::Tanh, [30.0, 1.0], [1.0, 1.5924545408982667e-26]),
        (Unary::Tanh, [0.25, 1.5707963], [4.082988165073551, 4.1989726058798397e-07]),
        (Unary::Acos, [-0.75, 1.25], [2.0240725044336907, -1.1323936316053083]),
        (Unary::Acos, [1.0000001, 1e-09], [2.2360399713181758e-06, -0.0004472191818991297]),
        (Unary::Acos, [1e+200, -1.0], [1e-200, 461.2101657793691]),
        (Unary::Acosh, [-0.75, 1.25], [1.1323936316053083, 2.0240725044336907]),
        (Unary::Acosh, [1e-20, 100000.0], [12.206072645555174, 1.5707963267948966]),
        (Unary::Asin, [-0.75, 1.25], [-0.4532761776387939, 1.1323936316053083]),
        (Unary::Asin, [1.0, 1e-12], [1.5707953267948966, 1.0000000000000834e-06]),
        (Unary::Asin, [0.999, 1e-30], [1.526071239626163, 2.2366272042129212e-29]),
        (Unary::Asinh, [-0.75, 1.25], [-1.0317185344477802, 0.9117382909684877]),
        (Unary::Atan, [-0.75, 1.25], [-1.1071487177940904, 0.5493061443340549]),
        (Unary::Atan, [1e-12, 1.0000001], [1.5707913267951497, 8.405621440442198]),
        (Unary::Atanh, [-0.75, 1.25], [-0.2614921387956719, 0.9968251264639186]),
        (Unary::Atanh, [0.999999, 1e-09], [7.254328369247794, 0.0005000000833191806]),
        (Unary::Atanh, [1e+170, 2.0], [1e-170, 1.5707963267948966]),
        (Unary::Cosh, [-0.75, 1.25], [0.4082425918779688, -0.7803659308458533]),
        (Unary::Cosh, [710.0, 1.5], [7.901326914928688e+306, 1.1141992896730018e+308]),
        (Unary::Sinh, [-0.75, 1.25], [-0.2592948545511628, 1.2286345240950955]),
        (Unary::Sinh, [-1e-12, 1e-09], [-1e-12, 1e-09]),
        (Unary::Cbrt, [-0.75, 1.25], [0.8644878030774887, 0.7336904208583991]),
    ];

    #[test]
    fn values_are_close_to_exact_ones() {
        for (op, [x, y], [re, im]) in VALUES {
            let found = unary(*op, C::new(*x, *y)).unwrap().as_complex();
            let close = |a: f64, b: f64| (a - b).abs() <= 16.0 * f64::EPSILON * b.abs();
            assert!(
                close(found.re, *re) && close(found.im, *im),
                "{op:?}({x} + {y}i) is {found}, not {re} + {im}i"
            );
        }
    }

    #[test]
    fn zeros_and_infinities() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let same = |a: C, b: C| {
            let part = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits();
            assert!(part(a.re, b.re) && part(a.im, b.im), "{a} is not {b}");
        };
        let c = C::new;
        same(divide(c(1.0, 0.0), c(0.0, 0.0)), c(inf, nan));
        same(divide(c(1.0, 1.0), c(inf, 0.0)), c(0.0, 0.0));
        same(power(c(0.0, 0.0), c(2.0, 0.0)), c(0.0, 0.0));
        same(power(c(0.0, 0.0), c(-1.0, 0.0)), c(nan, nan));
        same(power(c(3.0, 4.0), c(0.0, 0.0)), c(1.0, 0.0));
        same(sqrt(c(-4.0, -0.0)), c(0.0, -2.0));
        same(exp(c(-inf, nan)), c(0.0, 0.0));
        same(log(c(0.0, 0.0)), c(-inf, 0.0));
        same(tanh(c(inf, 1.0)), c(1.0, 0.0));
        same(rsqrt(c(0.0, 0.0)), c(inf, nan));
        same(sign(c(0.0, 0.0)), c(0.0, 0.0));
        same(sign(c(nan, 1.0)), c(nan, nan));
    }
}
