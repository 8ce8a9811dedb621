//! Functions of `f64`, within two units in the last place.

use super::{LOG2_E, ROUND, ln_parts, turned, within};

/// Logarithm of two in two parts. The product of the first part and a 20-bit integer is exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// Taylor series of (eʳ - 1 - r) / r², highest power first.
const EXP_REST: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// Approximation of (atanh(s) - s) / s³ · 2 in powers of `s²`, highest power first (Sun's fdlibm,
/// `e_log.c`).
const LOG_REST: [f64; 7] = [
    0.147_981_986_051_165_86,
    0.153_138_376_992_093_73,
    0.181_835_721_616_180_5,
    0.222_221_984_321_497_84,
    0.285_714_287_436_623_9,
    0.399_999_999_994_094_2,
    0.666_666_666_666_673_5,
];

/// Approximation of (sin r - r) / r³ in powers of `r²`, highest power first (fdlibm, `k_sin.c`).
const SIN_REST: [f64; 6] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_007e-6,
    -0.000_198_412_698_298_579_5,
    0.008_333_333_333_322_49,
    -0.166_666_666_666_666_32,
];
/// Approximation of (cos r - 1 + r²/2) / r⁴ in powers of `r²`, highest power first (fdlibm, `k_cos.c`).
const COS_REST: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -0.001_388_888_888_887_411,
    0.041_666_666_666_666_6,
];

#[inline(always)]
fn horner<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let (mut y, mut i) = (coefficients[0], 1);
    while i < N {
        y = y.mul_add(x, coefficients[i]);
        i += 1;
    }
    y
}

/// Returns `2ᵏ`, which must be a normal number.
#[inline(always)]
fn two_to_the(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) as u64) << 52)
}

/// Returns `eʳ - 1` and `k` with `x = k·ln 2 + r`, for `|x|` up to 800.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, i64) {
    let shifted = x * LOG2_E + ROUND;
    let k = shifted - ROUND;
    let high = (-k).mul_add(LN_2[0], x);
    let r = (-k).mul_add(LN_2[1], high);
    // Rounding error of `r`.
    let lost = (-k).mul_add(LN_2[1], high - r);
    let p = (r * r).mul_add(horner(&EXP_REST, r), lost) + r;
    (p, (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64))
}

/// eˣ
#[inline(always)]
pub(in super::super) fn exp(x: f64) -> f64 {
    let (p, k) = exp_parts(within(x, -746.0, 710.0));
    // Multiplies by `2ᵏ` in two steps, as `2ᵏ` itself may be subnormal or exceed the largest number.
    let half = k >> 1;
    (p + 1.0) * two_to_the(half) * two_to_the(k.wrapping_sub(half))
}

/// eˣ - 1
#[inline(always)]
pub(in super::super) fn exp_m1(x: f64) -> f64 {
    let (p, k) = exp_parts(within(x, -40.0, 710.0));
    // Uses half of `2ᵏ`, as `2ᵏ` may exceed the largest number.
    let half = two_to_the(k.wrapping_sub(1));
    (2.0 * half.mul_add(p, half - 0.5)).copysign(x)
}

#[inline(always)]
pub(in super::super) fn tanh(x: f64) -> f64 {
    // At 22, the function rounds to 1. NaN stays NaN.
    let a = x.abs();
    let (p, k) = exp_parts(2.0 * if a > 22.0 { 22.0 } else { a });
    // e²ᵃ - 1
    let power = two_to_the(k);
    let m = power.mul_add(p, power - 1.0);
    let y = m / (m + 2.0);
    // For small numbers, an equivalent expression is less sensitive to the rounding error of the
    // quotient.
    let small = (-0.5 * m).mul_add(y, 0.5 * m);
    (if a < 0.36 { small } else { y }).copysign(x)
}

/// ln x
#[inline(always)]
pub(in super::super) fn ln(x: f64) -> f64 {
    super::ln_or_special(x, ln_of_positive(x))
}

/// Logarithm of a positive number.
#[inline(always)]
fn ln_of_positive(x: f64) -> f64 {
    let subnormal = x < f64::MIN_POSITIVE;
    let (x, less) = if subnormal { (x * 18_014_398_509_481_984.0, 54.0) } else { (x, 0.0) };
    let (f, k) = ln_parts(x);
    let k = k - less;
    let s = f / (2.0 + f);
    let z = s * s;
    let half = 0.5 * f * f;
    let rest = s * (z * horner(&LOG_REST, z) + half) + k * LN_2[1];
    k * LN_2[0] - ((half - rest) - f)
}

/// ln (1 + x)
#[inline(always)]
pub(in super::super) fn ln_1p(x: f64) -> f64 {
    let y = 1.0 + x;
    // Rounding error of the sum.
    let of_x = y - 1.0;
    let lost = (1.0 - (y - of_x)) + (x - of_x);
    // The rounding error matters only while the sum is not large.
    let ln = ln_of_positive(y) + if y < 1e17 { lost / y } else { 0.0 };
    super::ln_or_special(y, ln).copysign(x)
}

/// Largest angle for which [`sin`] and [`cos`] are accurate.
pub(in super::super) const MAX_ANGLE: f64 = 1e6;

/// Returns sine and cosine of `r` with `x = k·π/2 + r`, and `k` in the low bits of the integer.
#[inline(always)]
fn quadrant(x: f64) -> (f64, f64, u64) {
    // π/2 in three parts.
    const HALF_PI_PARTS: [f64; 3] =
        [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_183_3e-33];
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let k = shifted - ROUND;
    // `high` is exact if it is small. The rounding errors of `product` and of `r` are added up in `lost`.
    let high = (-k).mul_add(HALF_PI_PARTS[0], x);
    let product = k * HALF_PI_PARTS[1];
    let r = high - product;
    let less = r - high;
    let rounded = (high - (r - less)) - (product + less);
    let lost = rounded - k.mul_add(HALF_PI_PARTS[1], -product) - k * HALF_PI_PARTS[2];
    let z = r * r;
    // The sine of -0 is -0.
    let s = if x == 0.0 { x } else { (z * r).mul_add(horner(&SIN_REST, z), lost * (1.0 - 0.5 * z)) + r };
    let half = 0.5 * z;
    let w = 1.0 - half;
    let c = w + (((1.0 - w) - half) + (z * z).mul_add(horner(&COS_REST, z), -(r * lost)));
    (s, c, shifted.to_bits())
}

/// Sine and cosine of angles up to [`MAX_ANGLE`].
#[inline(always)]
pub(in super::super) fn sin_cos(x: f64) -> (f64, f64) {
    turned(quadrant(x))
}

#[inline(always)]
pub(in super::super) fn sin(x: f64) -> f64 {
    sin_cos(x).0
}

#[inline(always)]
pub(in super::super) fn cos(x: f64) -> f64 {
    sin_cos(x).1
}
