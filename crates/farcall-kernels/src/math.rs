//! Elementary functions that the compiler can vectorize, for `f32` and, in [`double`], for `f64`.
//!
//! In `f32`, exponentials, logarithms and the error function use `f32` arithmetic with fused multiply-add.
//! Their error is below two units in the last place, subnormal results included. Angles, functions of angles,
//! inverse functions and powers are computed in `f64` and rounded once at the end, so approximations with a
//! relative error of 10⁻⁹ give results within 0.51 units. The functions have no branches. Their results have
//! the same bits on all processors: multiplication and addition are fused where the code calls `mul_add`, and
//! nowhere else. If the processor is set to flush subnormal numbers to zero, exponentials and the functions
//! made from them do so, too. The other functions do not flush reliably, so their callers flush operands and
//! results.

pub(super) mod double;

/// Adding this number rounds to an integer, which is then in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LN_2: f64 = std::f64::consts::LN_2;
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// Clamps a number to these bounds. NaN stays NaN.
#[inline(always)]
pub(super) fn within(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// Taylor series of (eʳ - 1) / r.
const EXP: [f64; 9] = [
    1.0,
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
];

/// Taylor series of atanh(s) / s in `s²`.
const ATANH: [f64; 10] = [
    1.0,
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
];

/// Evaluates a polynomial whose coefficients start with the constant term. The polynomial is split into four
/// polynomials in `t⁴`, which are independent of each other.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(coefficients: &[f64; N], t: f64) -> f64 {
    let square = t * t;
    let fourth = square * square;
    let mut parts = [0.0f64; 4];
    let mut block = N.div_ceil(4);
    while block > 0 {
        block -= 1;
        let mut j = 0;
        while j < 4 && 4 * block + j < N {
            let coefficient = coefficients[4 * block + j];
            // The highest coefficient of each part is its initial value.
            let is_first = 4 * block + j + 4 >= N;
            parts[j] = if is_first { coefficient } else { parts[j].mul_add(fourth, coefficient) };
            j += 1;
        }
    }
    let [a, b, c, d] = parts;
    d.mul_add(t, c).mul_add(square, b.mul_add(t, a))
}

/// Returns `2ᵏ` and `eʳ - 1` with `x = k·ln 2 + r`, for `|x|` below 700.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    let shifted = x * LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = x - k * LN_2;
    // |r| is at most 0.35.
    let p = polynomial(&EXP, r);
    let two_k = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (two_k, p * r)
}

/// eˣ
#[inline(always)]
pub(super) fn exp64(x: f64) -> f64 {
    let (two_k, p) = exp_parts(x);
    two_k + two_k * p
}

/// `x·y + z`, rounded once.
#[inline(always)]
fn fma(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

/// Adding this number to an `f32` rounds to an integer, which is then in the low bits of the sum.
pub(super) const ROUND_32: f32 = 12_582_912.0;
/// Logarithm of two, rounded to `f32`.
pub(super) const LN_2_32: f32 = std::f32::consts::LN_2;
/// Difference between the logarithm of two and [`LN_2_32`].
pub(super) const LN_2_REST: f32 = -1.904_654_3e-9;
/// Chebyshev-type approximation of (eʳ - 1 - r) / r², highest power first.
pub(super) const EXP_REST: [f32; 6] =
    [0.000_199_141_66, 0.001_394_100_6, 0.008_333_273, 0.041_666_355, 0.166_666_67, 0.5];
/// Bounds below which eˣ is zero and above which it is infinite.
pub(super) const EXP_BOUNDS: [f32; 2] = [-104.0, 89.0];
/// Limit of `2·|x|` above which the hyperbolic tangent is ±1.
pub(super) const TANH_DOUBLE: f32 = 20.0;
/// Limit of `|x|` below which the hyperbolic tangent is computed by a formula that loses no digits.
pub(super) const TANH_SMALL: f32 = 0.36;

/// Returns `eʳ - 1` and `k` with `x = k·ln 2 + r`, for `|x|` below 10⁶.
#[inline(always)]
fn exp_parts_32(x: f32) -> (f32, i32) {
    let shifted = fma(x, std::f32::consts::LOG2_E, ROUND_32);
    let k = shifted - ROUND_32;
    exp_rest_32(shifted, fma(-k, LN_2_REST, fma(-k, LN_2_32, x)))
}

/// Returns `eʳ - 1` for `|r|` up to 0.3466, and the integer that rounding has left in the low bits of
/// `shifted`.
#[inline(always)]
fn exp_rest_32(shifted: f32, r: f32) -> (f32, i32) {
    (fma(r * r, horner(&EXP_REST, r), r), (shifted.to_bits() as i32).wrapping_sub(ROUND_32.to_bits() as i32))
}

/// Returns `2ᵏ`, which must be a normal number.
#[inline(always)]
fn two_to_the(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) as u32) << 23)
}

#[inline(always)]
fn within_32(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// eˣ
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let (p, k) = exp_parts_32(within_32(x, EXP_BOUNDS[0], EXP_BOUNDS[1]));
    // Multiplies by `2ᵏ` in two steps, as `2ᵏ` itself may be subnormal or exceed the largest number.
    let half = k >> 1;
    (p + 1.0) * two_to_the(half) * two_to_the(k.wrapping_sub(half))
}

/// eˣ - 1
#[inline(always)]
pub(super) fn exp_m1(x: f32) -> f32 {
    let (p, k) = exp_parts_32(within_32(x, -20.0, 89.0));
    // Uses half of `2ᵏ`, as `2ᵏ` may exceed the largest number.
    let half = two_to_the(k.wrapping_sub(1));
    (2.0 * fma(half, p, half - 0.5)).copysign(x)
}

/// 1 / (1 + e⁻ˣ)
#[inline(always)]
pub(super) fn logistic(x: f32) -> f32 {
    let (p, k) = exp_parts_32(within_32(-x.abs(), -104.0, 0.0));
    let power = two_to_the(k.max(-126));
    // e^-|x| and the divisor, and the rounding error of each.
    let (e, sum) = (fma(power, p, power), 1.0 + power);
    let below = fma(power, p, sum);
    let (rest, rest_below) = (fma(power, p, power - e), fma(power, p, sum - below));
    let (over, rest) = if x < 0.0 { (e, rest) } else { (1.0, 0.0) };
    let inverse = 1.0 / below;
    let y = over * inverse;
    let y = fma(fma(-y, rest_below, fma(-y, below, over) + rest), inverse, y);
    // If `2ᵏ` may be subnormal, the divisor rounds to 1.
    let half = k >> 1;
    let tiny = (p + 1.0) * two_to_the(half) * two_to_the(k.wrapping_sub(half));
    if x < -80.0 { tiny } else { y }
}

#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = x.abs();
    // NaN stays NaN.
    let t = if 2.0 * a > TANH_DOUBLE { TANH_DOUBLE } else { 2.0 * a };
    let shifted = fma(t, std::f32::consts::LOG2_E, ROUND_32);
    // The rounding error of `LN_2_32` does not matter: the larger `k` is, the closer the result is to 1.
    let (p, k) = exp_rest_32(shifted, fma(ROUND_32 - shifted, LN_2_32, t));
    // e²ᵃ - 1
    let power = two_to_the(k);
    let m = fma(power, p, power - 1.0);
    let y = m / (m + 2.0);
    // For small numbers, an equivalent expression is less sensitive to the rounding error of the quotient.
    let small = fma(-0.5 * m, y, 0.5 * m);
    (if a < TANH_SMALL { small } else { y }).copysign(x)
}

/// eˣ / 2. The result is finite whenever eˣ / 2 is, even if eˣ is not.
#[inline(always)]
fn half_exp(x: f32) -> f32 {
    exp(x - std::f32::consts::LN_2)
}

/// The hyperbolic cosine by CHLO's formula, whose rounding errors are part of the reference results.
#[inline(always)]
pub(super) fn cosh(x: f32) -> f32 {
    half_exp(x) + half_exp(-x)
}

/// The hyperbolic sine by CHLO's formulas, whose rounding errors are part of the reference results.
#[inline(always)]
pub(super) fn sinh(x: f32) -> f32 {
    let m = exp_m1(x);
    let small = 0.5 * (m + m / (m + 1.0));
    if x.abs() < 1.0 { small } else { half_exp(x) - half_exp(-x) }
}

/// Approximation of erf(x) / x - 1 in powers of `x²`, highest power first.
const ERF_REST: [f32; 7] =
    [8.204_17e-5, -8.102_915_6e-4, 5.197_487_3e-3, -2.685_796e-2, 0.112_836_696, -0.376_126_32, 0.128_379_17];
/// Approximation of -ln(1 - erf(x)) above [`ERF_SMALL`], highest power first.
const ERF_FAR: [f32; 9] = [
    -1.642_679e-6,
    4.616_478_7e-5,
    -5.976_772_5e-4,
    4.763_509_6e-3,
    -2.643_164_2e-2,
    0.110_097_244,
    0.631_809_53,
    1.130_241_9,
    -3.218_662_5e-4,
];
/// Limit of `|x|` below which [`ERF_REST`] is used.
const ERF_SMALL: f32 = 0.95;

/// The error function.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = x.abs();
    let small = fma(a, horner(&ERF_REST, a * a), a);
    // At 4, the function rounds to 1. NaN stays NaN.
    let far = if a > 4.0 { 4.0 } else { a };
    let (p, k) = exp_parts_32(-horner(&ERF_FAR, far));
    let power = two_to_the(k);
    let far = 1.0 - fma(power, p, power);
    (if a < ERF_SMALL { small } else { far }).copysign(x)
}

/// Evaluates a polynomial by Horner's scheme, highest coefficient first.
#[inline(always)]
fn horner<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let (mut y, mut i) = (coefficients[0], 1);
    while i < N {
        y = fma(y, x, coefficients[i]);
        i += 1;
    }
    y
}

/// Approximation of (ln(1 + f) - f + f²/2) / f³, highest power first.
const LN_REST: [f32; 10] = [
    -0.059_767_798,
    0.106_320_046,
    -0.108_196_09,
    0.110_362_105,
    -0.124_243_93,
    0.142_851_17,
    -0.166_694_06,
    0.200_000_91,
    -0.249_999_67,
    0.333_333_3,
];

/// Logarithm of a positive number.
#[inline(always)]
fn ln_32(x: f32) -> f32 {
    // Subnormal numbers are scaled to normal ones.
    let subnormal = x < f32::MIN_POSITIVE;
    let (x, less) = if subnormal { (x * 33_554_432.0, 25) } else { (x, 0) };
    // Splits `x` into a power of two and a factor `1 + f` between √½ and √2.
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let f = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0;
    let k = ((shifted as i32) >> 23).wrapping_sub(less) as f32;
    let z = f * f;
    let rest = fma(z, -0.5, fma(z * f, horner(&LN_REST, f), k * LN_2_REST));
    fma(k, LN_2_32, rest + f)
}

/// Replaces a logarithm by its special values: for infinity, for zero, and for negative numbers.
#[inline(always)]
fn ln_or_special_32(x: f32, ln: f32) -> f32 {
    let ln = if x == f32::INFINITY { x } else { ln };
    let ln = if x == 0.0 { f32::NEG_INFINITY } else { ln };
    // NaN is not `>= 0.0`, either.
    if x >= 0.0 { ln } else { f32::NAN }
}

/// ln x
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    ln_or_special_32(x, ln_32(x))
}

/// ln (1 + x)
#[inline(always)]
pub(super) fn ln_1p(x: f32) -> f32 {
    let y = 1.0 + x;
    // Rounding error of the sum.
    let of_x = y - 1.0;
    let lost = (1.0 - (y - of_x)) + (x - of_x);
    // The rounding error matters only while the sum is not large.
    let ln = ln_32(y) + if y < 1e8 { lost / y } else { 0.0 };
    ln_or_special_32(y, ln).copysign(x)
}

/// Logarithm of a number above zero that is normal in `f64`. For other numbers, the result is unspecified.
#[inline(always)]
pub(super) fn ln64(x: f64) -> f64 {
    let (f, k) = ln_parts(x);
    let s = f / (2.0 + f);
    let p = polynomial(&ATANH, s * s);
    k * LN_2 + 2.0 * s * p
}

/// Returns `f` and `k` with `x = 2ᵏ(1 + f)` and `1 + f` between √½ and √2, for a normal number above zero.
#[inline(always)]
fn ln_parts(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    // Converts the exponent, which has twelve bits, to a float: puts it into the low bits of a large number,
    // and subtracts that number.
    let k = f64::from_bits(((shifted >> 52).wrapping_add(2048) & 0xfff) | ROUND.to_bits()) - (ROUND + 2048.0);
    (m - 1.0, k)
}

/// Replaces a logarithm by its special values: for infinity, for zero, and for negative numbers.
#[inline(always)]
pub(super) fn ln_or_special(x: f64, ln: f64) -> f64 {
    let ln = if x == f64::INFINITY { x } else { ln };
    let ln = if x == 0.0 { f64::NEG_INFINITY } else { ln };
    // NaN is not `>= 0.0`, either.
    if x >= 0.0 { ln } else { f64::NAN }
}

/// Largest angle for which [`sin`], [`cos`] and [`tan`] are accurate.
pub(super) const MAX_ANGLE: f32 = 1e7;

/// Returns sine and cosine of `r` with `x = k·π/2 + r`, and `k` in the low bits of the integer.
#[inline(always)]
fn quadrant(x: f64) -> (f64, f64, u64) {
    // π/2 in two parts. The product of the first part and a 24-bit integer is exact.
    const HIGH: f64 = 1.570_796_310_901_641_8;
    const LOW: f64 = 1.589_325_477_352_819_4e-8;
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * HIGH) - k * LOW;
    let z = r * r;
    let mut s: f64 = 1.0 / 6_227_020_800.0;
    s = s.mul_add(z, -1.0 / 39_916_800.0);
    s = s.mul_add(z, 1.0 / 362_880.0);
    s = s.mul_add(z, -1.0 / 5040.0);
    s = s.mul_add(z, 1.0 / 120.0);
    s = s.mul_add(z, -1.0 / 6.0);
    // A product rather than `r + r * s * z`, so that the sine of -0 is -0.
    s = r * (1.0 + s * z);
    let mut c: f64 = 1.0 / 479_001_600.0;
    c = c.mul_add(z, -1.0 / 3_628_800.0);
    c = c.mul_add(z, 1.0 / 40_320.0);
    c = c.mul_add(z, -1.0 / 720.0);
    c = c.mul_add(z, 1.0 / 24.0);
    c = c.mul_add(z, -0.5);
    c = c.mul_add(z, 1.0);
    (s, c, shifted.to_bits())
}

/// Sine and cosine of angles up to [`MAX_ANGLE`], with a relative error below 10⁻⁹.
#[inline(always)]
pub(super) fn sin_cos64(x: f64) -> (f64, f64) {
    turned(quadrant(x))
}

/// Returns sine and cosine of an angle, given sine and cosine of its remainder after `k` quarter turns.
#[inline(always)]
fn turned((s, c, k): (f64, f64, u64)) -> (f64, f64) {
    let (s, c) = if k & 1 == 0 { (s, c) } else { (c, s) };
    (if k & 2 == 0 { s } else { -s }, if k.wrapping_add(1) & 2 == 0 { c } else { -c })
}

/// The sine of angles up to [`MAX_ANGLE`].
#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    sin_cos64(f64::from(x)).0 as f32
}

/// The cosine of angles up to [`MAX_ANGLE`].
#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    sin_cos64(f64::from(x)).1 as f32
}

/// The tangent of angles up to [`MAX_ANGLE`].
#[inline(always)]
pub(super) fn tan(x: f32) -> f32 {
    let (s, c, k) = quadrant(f64::from(x));
    let (up, down) = if k & 1 == 0 { (s, c) } else { (-c, s) };
    (up / down) as f32
}

/// Taylor series of atan(t) / t in `t²`.
const ATAN: [f64; 14] = [
    1.0,
    -1.0 / 3.0,
    1.0 / 5.0,
    -1.0 / 7.0,
    1.0 / 9.0,
    -1.0 / 11.0,
    1.0 / 13.0,
    -1.0 / 15.0,
    1.0 / 17.0,
    -1.0 / 19.0,
    1.0 / 21.0,
    -1.0 / 23.0,
    1.0 / 25.0,
    -1.0 / 27.0,
];

/// Angle of the vector `(x, y)`, which is not zero, with a relative error below 10⁻¹¹. The vector is finite,
/// except that `y` may be infinite if `x` is finite.
#[inline(always)]
pub(super) fn atan2_64(y: f64, x: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let (a, b) = (y.abs(), x.abs());
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let t = small / large;
    // Above tan(π/8), the angle is computed as the difference from π/4.
    let far = t > 0.414_213_562_373_095;
    let u = if far { (t - 1.0) / (t + 1.0) } else { t };
    let p = u * polynomial(&ATAN, u * u);
    let angle = if far { p + FRAC_PI_4 } else { p };
    let angle = if a > b { FRAC_PI_2 - angle } else { angle };
    let angle = if x < 0.0 { PI - angle } else { angle };
    angle.copysign(y)
}

#[inline(always)]
pub(super) fn atan2(y: f32, x: f32) -> f32 {
    atan2_64(y.into(), x.into()) as f32
}

#[inline(always)]
pub(super) fn atan(x: f32) -> f32 {
    atan2(x, 1.0)
}

/// Angle with this sine; NaN beyond ±1.
#[inline(always)]
pub(super) fn asin(x: f32) -> f32 {
    let x = f64::from(x);
    atan2_64(x, ((1.0 - x) * (1.0 + x)).sqrt()) as f32
}

/// Angle with this cosine; NaN beyond ±1.
#[inline(always)]
pub(super) fn acos(x: f32) -> f32 {
    let x = f64::from(x);
    atan2_64(((1.0 - x) * (1.0 + x)).sqrt(), x) as f32
}

/// Limit below which odd functions with derivative 1 are evaluated by the first two terms of their series.
const MAX_SERIES_ARGUMENT: f64 = 1e-3;

/// ln (x + √(x² + 1))
#[inline(always)]
pub(super) fn asinh(x: f32) -> f32 {
    let a = f64::from(x).abs();
    let y = a + a.mul_add(a, 1.0).sqrt();
    let far = ln_or_special(y, ln64(y));
    let near = (a * a * a).mul_add(-1.0 / 6.0, a);
    ((if a < MAX_SERIES_ARGUMENT { near } else { far }) as f32).copysign(x)
}

/// ln (x + √(x² - 1)), NaN below 1.
#[inline(always)]
pub(super) fn acosh(x: f32) -> f32 {
    let x = f64::from(x);
    let y = x + ((x - 1.0) * (x + 1.0)).sqrt();
    // NaN is not `>= 1.0`, either.
    (if x >= 1.0 { ln_or_special(y, ln64(y)) } else { f64::NAN }) as f32
}

/// ½ ln ((1 + x) / (1 - x)), infinite at ±1, NaN beyond.
#[inline(always)]
pub(super) fn atanh(x: f32) -> f32 {
    let a = f64::from(x).abs();
    let y = (1.0 + a) / (1.0 - a);
    let far = 0.5 * ln_or_special(y, ln64(y));
    let near = (a * a * a).mul_add(1.0 / 3.0, a);
    ((if a < MAX_SERIES_ARGUMENT { near } else { far }) as f32).copysign(x)
}

/// `xʸ` for finite `x` above zero and finite `y`.
#[inline(always)]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    exp64(within(f64::from(y) * ln64(f64::from(x)), -150.0, 90.0)) as f32
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Checks that the results differ by at most two units in the last place from those of the mathematics
    /// library, whose error is about half a unit.
    #[test]
    fn functions_of_f64_are_close() {
        type Function = fn(f64) -> f64;
        let all: [(&str, Function, Function, f64); 7] = [
            ("exp", double::exp, libm::exp, f64::INFINITY),
            ("exp_m1", double::exp_m1, libm::expm1, f64::INFINITY),
            ("tanh", double::tanh, libm::tanh, f64::INFINITY),
            ("ln", double::ln, libm::log, f64::INFINITY),
            ("ln_1p", double::ln_1p, libm::log1p, f64::INFINITY),
            ("sin", double::sin, libm::sin, double::MAX_ANGLE),
            ("cos", double::cos, libm::cos, double::MAX_ANGLE),
        ];
        for (name, f, exact, most) in all {
            let mut worst = (0.0, 0.0);
            let multiples = (-700..700).map(|n| f64::from(n) * std::f64::consts::FRAC_PI_4);
            let small = (-40_000..40_000).map(|n| f64::from(n) * 0.000_25 + 1e-7);
            let edges =
                [0.0, -0.0, 1.0, -1.0, 1e-310, 5e-324, f64::MIN_POSITIVE, f64::MAX, 709.78, -745.1, -708.4];
            let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            // A prime step reaches all exponents and signs.
            let bits = (0..=u64::MAX).step_by(92_233_720_368_547_741).map(f64::from_bits);
            for x in multiples.chain(small).chain(edges).chain(special).chain(bits) {
                if x.abs() > most {
                    continue;
                }
                let (y, e) = (f(x), exact(x));
                if e.is_nan() || e.is_infinite() || e == 0.0 {
                    let same = y.to_bits() == e.to_bits() || (y.is_nan() && e.is_nan());
                    assert!(same || (y - e).abs() < 1e-323, "{name}({x:e}) is {y:e}, not {e:e}");
                    continue;
                }
                let unit = f64::from_bits(e.abs().max(f64::MIN_POSITIVE).to_bits() & 0x7ff0_0000_0000_0000)
                    * f64::EPSILON;
                let distance = (y - e).abs() / unit;
                if distance > worst.0 || distance.is_nan() {
                    worst = (distance, x);
                }
            }
            assert!(worst.0 <= 2.0, "{name}({:e}) is {} units off", worst.1, worst.0);
        }
    }

    /// Checks that the results of `f` are less than `bound` units in the last place from those of `exact`.
    /// The operands are spread over all bit patterns.
    pub(in super::super) fn worst(
        name: &str,
        f: fn(f32) -> f32,
        exact: fn(f64) -> f64,
        holds: fn(f32) -> bool,
        bound: f64,
    ) {
        let mut worst = (0.0, 0.0);
        // A prime step reaches all exponents and signs.
        let edges =
            [0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000];
        for bits in (0..=u32::MAX).step_by(10_007).chain(edges) {
            let x = f32::from_bits(bits);
            if !holds(x) {
                continue;
            }
            let (y, e) = (f(x), exact(f64::from(x)));
            let rounded = e as f32;
            if rounded.is_nan() || rounded.is_infinite() || rounded == 0.0 {
                assert!(
                    y == rounded || (y.is_nan() && rounded.is_nan()) || (y - rounded).abs() < 1e-44,
                    "{name}({x:e}) is {y:e}, not {rounded:e}"
                );
                assert!(
                    y.is_nan() || y != 0.0 || y.is_sign_negative() == rounded.is_sign_negative(),
                    "{name}({x:e}) is {y}, with the wrong sign"
                );
                continue;
            }
            let ulp = f64::from(f32::from_bits((rounded.abs().to_bits()).max(0x0080_0000) & 0x7f80_0000))
                * 2f64.powi(-23);
            let distance = (f64::from(y) - e).abs() / ulp;
            if distance > worst.0 {
                worst = (distance, x);
            }
        }
        assert!(worst.0 < bound, "{name}({:e}) is {} units off", worst.1, worst.0);
    }

    #[test]
    fn functions_are_within_units_in_the_last_place() {
        let all = |_: f32| true;
        let angle = |x: f32| x.abs() <= MAX_ANGLE;
        worst("exp", exp, libm::exp, all, 2.0);
        worst("exp_m1", exp_m1, libm::expm1, all, 2.0);
        worst("logistic", logistic, |x| 1.0 / (1.0 + libm::exp(-x)), all, 1.5);
        worst("tanh", tanh, libm::tanh, all, 2.0);
        worst("ln", ln, libm::log, all, 2.0);
        worst("ln_1p", ln_1p, libm::log1p, all, 2.0);
        worst("sin", sin, libm::sin, angle, 0.52);
        worst("cos", cos, libm::cos, angle, 0.52);
        worst("tan", tan, libm::tan, angle, 0.52);
        worst("cosh", cosh, libm::cosh, |x| x.abs() < 1.0, 2.0);
        worst("sinh", sinh, libm::sinh, |x| x.abs() < 1.0, 2.5);
        worst("erf", erf, libm::erf, all, 1.3);
        worst("asin", asin, libm::asin, all, 0.52);
        worst("acos", acos, libm::acos, all, 0.52);
        worst("asinh", asinh, libm::asinh, all, 0.52);
        worst("acosh", acosh, libm::acosh, all, 0.52);
        worst("atanh", atanh, libm::atanh, all, 0.52);
        worst("atan", atan, libm::atan, all, 0.52);
        worst("atan2 of 3", |x| atan2(3.0, x), |x| libm::atan2(3.0, x), |x| x.is_finite(), 0.52);
        worst(
            "atan2 of -1e-3",
            |x| atan2(-1e-3, x),
            |x| libm::atan2((-1e-3f32).into(), x),
            |x| x.is_finite(),
            0.52,
        );
        worst("atan2 to -2", |y| atan2(y, -2.0), |y| libm::atan2(y, -2.0), |y| y.is_finite(), 0.52);
        worst("pow 1.5", |x| pow(x, 1.5), |x| libm::pow(x, 1.5), |x| x > 0.0 && x.is_finite(), 0.52);
        worst("pow -7", |x| pow(x, -7.0), |x| libm::pow(x, -7.0), |x| x > 0.0 && x.is_finite(), 0.52);
        worst("1.0001^", |x| pow(1.0001, x), |x| libm::pow(f64::from(1.0001f32), x), |x| x.is_finite(), 0.52);
    }
}
