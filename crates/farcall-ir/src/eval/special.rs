//! Functions of one or two real variables that the mathematics library lacks, in double precision.
//!
//! The implementations are slow and simple: series, recurrences and iterations to convergence instead of
//! tabulated approximations. Unless another source is named, formulas are from Abramowitz and Stegun's
//! handbook, and numbers such as 6.3.7 refer to formulas in it.

use crate::scalar::Scalar;
use farcall_sig::DType;
use std::f64::consts::PI;

/// Bernoulli numbers B₂, B₄, …
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// Logarithm of the absolute value of the gamma function; infinity at its poles.
pub fn lgamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// Derivative of the logarithm of the gamma function; NaN at its poles.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() {
        return f64::NAN;
    }
    if x < 0.5 {
        // 6.3.7, with the angle reduced first, since the cotangent has period 1.
        let fraction = x - x.round();
        return digamma(1.0 - x) - PI / libm::tan(PI * fraction);
    }
    // Apply 6.3.5 until `x` is so large that 6.3.18 converges.
    let (mut x, mut shift) = (x, 0.0);
    while x < 15.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let (mut power, mut tail) = (1.0, 0.0);
    for (k, b) in BERNOULLI.iter().enumerate() {
        power *= inverse;
        tail += b * power / (2 * (k + 1)) as f64;
    }
    libm::log(x) - 0.5 / x - tail - shift
}

/// The `n`-th derivative of [`digamma`]; NaN unless `n` is a non-negative integer.
pub fn polygamma(n: f64, x: f64) -> f64 {
    if n < 0.0 || n != n.floor() || n.is_infinite() {
        return f64::NAN;
    }
    if n == 0.0 {
        return digamma(x);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    let factorial = libm::tgamma(n + 1.0);
    let zeta = zeta(n + 1.0, x);
    if factorial.is_infinite() && zeta.is_finite() && zeta > 0.0 {
        return sign * libm::exp(libm::lgamma(n + 1.0) + libm::log(zeta));
    }
    sign * factorial * zeta
}

/// The Hurwitz zeta function Σ (q + k)⁻ˢ for `s` > 1.
pub fn zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if s == 1.0 {
        return f64::INFINITY;
    }
    if q <= 0.0 {
        // The values at the poles follow XLA.
        if q == q.floor() {
            return if s % 2.0 == 0.0 { f64::INFINITY } else { f64::NAN };
        }
        if s != s.floor() {
            return f64::NAN;
        }
    }
    // Euler–Maclaurin summation: the first terms one by one, the rest by an integral and corrections.
    let (mut sum, mut a) = (libm::pow(q, -s), q);
    let mut k = 0;
    while k < 12 || a <= 12.0 {
        a += 1.0;
        let term = libm::pow(a, -s);
        sum += term;
        k += 1;
        if term.abs() < sum.abs() * f64::EPSILON * 1e-3 && a > 1.0 {
            return sum;
        }
        if k > 100_000 {
            break;
        }
    }
    let last = libm::pow(a, -s);
    sum += last * a / (s - 1.0) - 0.5 * last;
    let (mut factor, mut power) = (s, last / a);
    for (j, b) in BERNOULLI.iter().enumerate() {
        // `b / (2j + 2)! · s (s + 1) … (s + 2j) · a^(-s - 2j - 1)`; `factor` includes the factorial.
        let term = b * factor * power / 2.0;
        sum += term;
        if (term / sum).abs() < f64::EPSILON * 0.1 {
            break;
        }
        let n = 2.0 * (j + 1) as f64;
        factor *= (s + n - 1.0) * (s + n) / ((n + 1.0) * (n + 2.0));
        power /= a * a;
    }
    sum
}

/// The inverse error function; infinite at ±1, NaN outside.
pub fn erf_inv(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    if a < 1e-8 {
        return x * PI.sqrt() / 2.0;
    }
    // Winitzki's approximation, then Halley's method on `erf`, or on `erfc` where `erf` is near 1.
    let l = libm::log1p(-a * a);
    let t = 2.0 / (PI * 0.147) + l / 2.0;
    let mut y = ((t * t - l / 0.147).sqrt() - t).sqrt();
    for _ in 0..6 {
        let error = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
        let slope = 2.0 / PI.sqrt() * libm::exp(-y * y);
        let newton = error / slope;
        let step = newton / (1.0 + y * newton);
        y -= step;
        if step.abs() <= y * f64::EPSILON {
            break;
        }
    }
    y.copysign(x)
}

/// `e^(-|x|) I₁(x)`: the modified Bessel function of the first kind, scaled.
pub fn bessel_i1e(x: f64) -> f64 {
    let a = x.abs();
    if a.is_infinite() {
        return 0f64.copysign(x);
    }
    let value = if a <= 25.0 {
        // 9.6.10; all terms are positive.
        let (h, mut k) = (a * a / 4.0, 1.0);
        let (mut term, mut sum) = (a / 2.0, a / 2.0);
        while term > sum * f64::EPSILON * 0.01 {
            term *= h / (k * (k + 1.0));
            sum += term;
            k += 1.0;
        }
        sum * libm::exp(-a)
    } else {
        // 9.7.1 with μ = 4.
        let (mut term, mut sum, mut k) = (1.0f64, 1.0f64, 1.0f64);
        while term.abs() > f64::EPSILON * 0.01 && k < 40.0 {
            let odd = 2.0 * k - 1.0;
            term *= -(4.0 - odd * odd) / (k * 8.0 * a);
            sum += term;
            k += 1.0;
        }
        // `√(2πa)`, without overflow.
        sum / (4.0 * (PI / 8.0 * a).sqrt())
    };
    value.copysign(x)
}

/// `1 / (1 + e^-x)`, accurate even where `e^-x` overflows and the result is not yet zero.
pub fn logistic(x: f64) -> f64 {
    if x < -700.0 { libm::exp(x) } else { 1.0 / (1.0 + libm::exp(-x)) }
}

/// `cosh` as the CHLO dialect defines it for `f32`: `e^(x + log ½) + e^(-x + log ½)`, with each step rounded.
///
/// For large `x`, the result differs from the mathematical value by up to 24 units in the last place, as in
/// XLA and StableHLO's interpreter. Expected results in their tests include that error.
pub(super) fn cosh_f32(x: f64) -> f64 {
    let x = x as f32;
    f64::from(half_exp(x) + half_exp(-x))
}

/// `sinh` as the CHLO dialect defines it for `f32`; see [`cosh_f32`]. Uses `expm1` near zero.
pub(super) fn sinh_f32(x: f64) -> f64 {
    let x = x as f32;
    if x.abs() < 1.0 {
        let m = libm::expm1(f64::from(x)) as f32;
        return f64::from(0.5 * (m + m / (m + 1.0)));
    }
    f64::from(half_exp(x) - half_exp(-x))
}

/// `eˣ / 2`; overflows only if this result does, not if `eˣ` does.
fn half_exp(x: f32) -> f32 {
    libm::exp(f64::from(x - std::f32::consts::LN_2)) as f32
}

/// The number of type `dtype` next to `from` in the direction of `to`.
pub(super) fn next_after(dtype: DType, from: f64, to: f64) -> f64 {
    if from.is_nan() || to.is_nan() {
        return f64::NAN;
    }
    if from == to {
        return to;
    }
    let bits = |b: u64| {
        let value = Scalar::from_bytes(dtype, &b.to_le_bytes()).as_f64();
        if dtype == DType::F64 { f64::from_bits(b) } else { value }
    };
    if from == 0.0 {
        return bits(1).copysign(to);
    }
    let mut bytes = [0; 8];
    Scalar::Float(from.abs()).write(dtype, &mut bytes);
    let code = u64::from_le_bytes(bytes);
    let away = (to > from) == (from > 0.0);
    bits(if away { code + 1 } else { code - 1 }).copysign(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        let error = ((found - expected) / expected).abs();
        assert!(error < 4e-15, "{found} is not {expected}, relative error {error:e}");
    }

    #[test]
    fn digamma_at_known_points() {
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(0.5), -1.963_510_026_021_423_5);
        close(digamma(-1.5), 0.703_156_640_645_243_2);
        close(digamma(1e5), 11.512_920_464_961_896);
        assert!(digamma(-3.0).is_nan());
    }

    #[test]
    fn zeta_at_known_points() {
        close(zeta(2.0, 1.0), PI * PI / 6.0);
        close(zeta(4.0, 1.0), PI.powi(4) / 90.0);
        close(zeta(1.5, 1.0), 2.612_375_348_685_488);
        close(zeta(3.0, 0.5), 8.414_398_322_117_16);
        assert_eq!(zeta(1.0, 2.0), f64::INFINITY);
        close(polygamma(1.0, 1.0), PI * PI / 6.0);
        close(polygamma(2.0, 1.0), -2.404_113_806_319_188_6);
    }

    #[test]
    fn erf_inv_undoes_erf() {
        for x in [1e-9, 1e-3, 0.1, 0.4, 0.5, 0.7, 0.99, 0.999_999, 1.0 - 1e-13] {
            let y = erf_inv(x);
            close(if x < 0.5 { libm::erf(y) } else { libm::erfc(y) }, if x < 0.5 { x } else { 1.0 - x });
            assert_eq!(erf_inv(-x), -y);
        }
    }

    #[test]
    fn bessel_branches_meet() {
        close(bessel_i1e(1.0), 0.207_910_415_349_708_46);
        close(bessel_i1e(25.0), bessel_i1e(25.0f64.next_up()));
        close(bessel_i1e(100.0), 0.039_744_153_025_130_25);
        close(bessel_i1e(f64::MAX), 2.975_447_459_315_899_5e-155);
    }

    #[test]
    fn the_logistic_function_of_large_numbers() {
        close(logistic(-700.0), 9.859_676_543_759_77e-305);
        assert!((logistic((-700.0f64).next_down()) / logistic(-700.0) - 1.0).abs() < 1e-12);
        assert_eq!(logistic(-720.0), libm::exp(-720.0));
        assert_eq!((logistic(-800.0), logistic(f64::NEG_INFINITY), logistic(f64::INFINITY)), (0.0, 0.0, 1.0));
    }

    #[test]
    fn neighbours() {
        assert_eq!(next_after(DType::F32, 1.0, 2.0), f64::from(1f32.next_up()));
        assert_eq!(next_after(DType::F32, 0.0, -1.0), f64::from(-f32::from_bits(1)));
        assert_eq!(next_after(DType::BF16, 1.0, 0.0), 1.0 - 1.0 / 256.0);
        assert_eq!(next_after(DType::F64, -1.0, 0.0), (-1f64).next_up());
    }
}
