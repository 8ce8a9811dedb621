//! Special functions of `f32` that the compiler can vectorize. Like the functions of `math`, they are
//! computed in `f64` without branches, and rounded once at the end.
//!
//! Most are computed from a polynomial that interpolates a smooth function at Chebyshev points, with a
//! relative error below 2·10⁻¹⁰. The tables below hold the coefficients of these polynomials in `t`, starting
//! with the constant term; `t` ranges from -1 to 1.

use super::math::{exp64, ln_or_special, ln64, polynomial, within};

/// `exp(x²) erfc(x)` as a function of `(x - 3) / (x + 3) = (7t - 2) / 9`.
const ERFC: [f64; 13] = [
    0.265_461_921_997_281_47,
    -0.358_622_917_315_560_9,
    0.223_668_849_924_802_07,
    -0.106_674_790_747_572_25,
    0.037_164_377_735_610_966,
    -0.008_248_250_948_271_084,
    0.000_517_115_747_832_624_8,
    0.000_302_689_634_568_603_1,
    -7.126_330_603_883_474e-5,
    -1.129_777_426_235_358e-5,
    5.261_289_656_699_865e-6,
    5.170_350_376_770_134e-7,
    -3.135_211_524_700_620_6e-7,
];

/// `erf⁻¹(x) / x` as a function of `-ln(1 - x²) = 8(t + 1)`.
const ERF_INV: [f64; 23] = [
    2.661_438_641_581_112,
    1.410_858_246_987_305_2,
    -0.323_547_913_774_302_36,
    0.125_726_679_006_139_96,
    -0.036_479_528_391_906_706,
    -0.015_802_444_020_832_383,
    0.042_147_830_977_011_5,
    -0.045_637_238_793_953_78,
    0.032_934_806_504_529_39,
    -0.014_053_533_534_266_63,
    -0.002_808_045_458_968_896,
    0.012_827_787_723_455_922,
    -0.011_969_739_995_022_042,
    0.004_098_632_856_898_396,
    -0.002_938_213_931_652_217,
    0.006_017_579_436_077_162_6,
    0.003_030_245_112_019_773_2,
    -0.012_643_232_028_102_764,
    0.003_908_617_151_425_041,
    0.006_552_039_440_029_62,
    -0.003_501_627_248_445_630_6,
    -0.001_166_081_125_852_22,
    0.000_790_289_001_172_775_8,
];

/// `exp(-x) I₁(x) / x` as a function of `x = 4(t + 1)`.
const BESSEL_NEAR: [f64; 21] = [
    0.044_687_709_875_608_835,
    -0.061_124_337_990_074_99,
    0.068_057_599_896_897_55,
    -0.068_482_609_105_308_6,
    0.063_767_404_637_284_96,
    -0.055_279_976_798_581_335,
    0.044_674_552_725_048_805,
    -0.033_671_970_552_838_74,
    0.023_686_213_041_875_678,
    -0.015_567_987_762_200_9,
    0.009_582_902_619_497_388,
    -0.005_545_309_370_675_91,
    0.003_009_191_642_483_563_8,
    -0.001_517_228_319_652_876_9,
    0.000_737_593_563_488_674_7,
    -0.000_368_446_743_190_978_2,
    0.000_157_153_975_345_035_63,
    -4.077_280_388_096_948e-5,
    1.759_973_057_822_590_2e-5,
    -1.745_472_071_400_764e-5,
    5.984_122_024_648_426e-6,
];

/// `exp(-x) I₁(x) √x` as a function of `1 / x = (t + 1) / 16`.
const BESSEL_FAR: [f64; 10] = [
    0.389_398_459_041_370_5,
    -0.009_749_577_186_226_92,
    -0.000_219_236_540_753_022_02,
    -1.503_890_314_082_328_2e-5,
    -1.828_612_640_495_148_4e-6,
    -3.453_044_520_640_469_7e-7,
    -1.180_581_934_125_939e-7,
    -5.331_069_808_950_009e-8,
    -2.336_653_202_561_831_3e-9,
    7.805_544_285_716_195e-9,
];

/// `ln Γ(x) / ((x - 1)(x - 2))` as a function of `x = 1.75 + 1.25t`.
const LGAMMA: [f64; 24] = [
    0.450_139_312_083_740_6,
    -0.149_351_983_263_831_84,
    0.069_563_206_083_884_3,
    -0.037_214_766_482_452_87,
    0.021_426_338_870_189_08,
    -0.012_897_080_122_454_255,
    0.008_000_198_534_985_837,
    -0.005_061_597_964_994_884_5,
    0.003_187_864_236_797_784,
    -0.002_068_283_054_480_072,
    0.001_712_908_766_804_749_9,
    -0.001_142_400_465_537_495_7,
    -0.000_527_424_053_921_149_1,
    0.000_382_368_794_636_799_24,
    0.002_794_623_887_753_286,
    -0.001_934_684_367_920_116_6,
    -0.003_520_210_854_983_033_3,
    0.002_445_918_711_340_653_5,
    0.003_382_753_103_218_647_7,
    -0.002_347_254_546_699_96,
    -0.001_741_019_717_662_768_3,
    0.001_208_369_542_276_900_2,
    0.000_444_872_766_195_019_1,
    -0.000_308_440_221_972_250_96,
];

/// Computes `1 - erf(x)`.
#[inline(always)]
pub(super) fn erfc(x: f32) -> f32 {
    let x = f64::from(x);
    // The result at 10.5 is 0 in `f32`.
    let a = within(x.abs(), 0.0, 10.5);
    let t = (11.0 - 54.0 / (a + 3.0)) * (1.0 / 7.0);
    let y = exp64(-a * a) * polynomial(&ERFC, t);
    (if x < 0.0 { 2.0 - y } else { y }) as f32
}

/// The inverse of the error function; infinite at ±1, NaN outside.
#[inline(always)]
pub(super) fn erf_inv(x: f32) -> f32 {
    let x = f64::from(x);
    let w = -ln64((1.0 - x) * (1.0 + x));
    let y = x * polynomial(&ERF_INV, w * 0.125 - 1.0);
    let y = if x.abs() == 1.0 { x * f64::INFINITY } else { y };
    // The comparison is false for NaN, too.
    (if x.abs() <= 1.0 { y } else { f64::NAN }) as f32
}

/// The scaled modified Bessel function of the first kind, `e^(-|x|) I₁(x)`.
#[inline(always)]
pub(super) fn bessel_i1e(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let near = a * polynomial(&BESSEL_NEAR, within(a, 0.0, 8.0) * 0.25 - 1.0);
    let far = polynomial(&BESSEL_FAR, 16.0 / within(a, 8.0, f64::INFINITY) - 1.0) / a.sqrt();
    ((if a <= 8.0 { near } else { far }) as f32).copysign(x)
}

/// Computes `ln Γ(x)` for positive `x`.
#[inline(always)]
pub(super) fn lgamma(x: f32) -> f32 {
    const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
    let x = f64::from(x);
    // From 3 on, Stirling's series is used (Abramowitz and Stegun, 6.1.41). Below 8, it is evaluated at x +
    // 5, as Γ(x + 5) = x (x + 1) … (x + 4) Γ(x).
    let up = x < 8.0;
    let y = if up { x + 5.0 } else { x };
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    let mut s: f64 = -1.0 / 1680.0;
    s = s.mul_add(z, 1.0 / 1260.0);
    s = s.mul_add(z, -1.0 / 360.0);
    s = s.mul_add(z, 1.0 / 12.0);
    let far = (y - 0.5) * ln64(y) - y + HALF_LN_TAU + inverse * s;
    // Below 3, the polynomial is used. Below ½, it is evaluated at x + 1, as Γ(x + 1) = x Γ(x).
    let v = if x < 0.5 { x + 1.0 } else { x };
    let near = (v - 1.0) * (v - 2.0) * polynomial(&LGAMMA, v * 0.8 - 1.4);
    let product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0);
    let factor = if up { product } else { 1.0 };
    let factor = if x < 3.0 { 1.0 } else { factor };
    let factor = if x < 0.5 { x } else { factor };
    // At 1, `near` is -0. Adding 0 makes it +0.
    let value = (if x < 3.0 { near + 0.0 } else { far }) - ln64(factor);
    (if x == f64::INFINITY { x } else { value }) as f32
}

/// The derivative of `ln Γ(x)`, for positive `x`.
#[inline(always)]
pub(super) fn digamma(x: f32) -> f32 {
    let x = f64::from(x);
    // Below 8, the series is evaluated at x + 8, and the sum of 1 / x to 1 / (x + 7) is subtracted
    // (Abramowitz and Stegun, 6.3.5). The sum is computed as a fraction.
    let up = x < 8.0;
    let (mut over, mut under, mut term) = (0.0, 1.0, if up { x } else { 1.0 });
    let mut i = 0;
    while i < 8 {
        over = over * term + under;
        under *= term;
        term += 1.0;
        i += 1;
    }
    let sum = if up { over / under } else { 0.0 };
    // The series is formula 6.3.18 of Abramowitz and Stegun, with Bernoulli numbers.
    let y = if up { x + 8.0 } else { x };
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    let mut s: f64 = -3617.0 / 8160.0;
    s = s.mul_add(z, 1.0 / 12.0);
    s = s.mul_add(z, -691.0 / 32_760.0);
    s = s.mul_add(z, 1.0 / 132.0);
    s = s.mul_add(z, -1.0 / 240.0);
    s = s.mul_add(z, 1.0 / 252.0);
    s = s.mul_add(z, -1.0 / 120.0);
    s = s.mul_add(z, 1.0 / 12.0);
    let value = ln_or_special(y, ln64(y)) - 0.5 * inverse - z * s - sum;
    value as f32
}

#[cfg(test)]
mod tests {
    use farcall_ir::eval::special;

    use super::super::math::tests::worst;
    use super::*;

    #[test]
    fn functions_are_within_a_unit_in_the_last_place() {
        let all = |_: f32| true;
        worst("erfc", erfc, libm::erfc, all, 0.52);
        worst("erf_inv", erf_inv, special::erf_inv, all, 0.52);
        worst("bessel_i1e", bessel_i1e, special::bessel_i1e, all, 0.52);
        worst("lgamma", lgamma, special::lgamma, |x| x > 0.0, 0.52);
        worst("digamma", digamma, special::digamma, |x| x > 0.0, 0.52);
    }

    #[test]
    fn digamma_near_its_root() {
        let root = 1.461_632_1_f32;
        for i in -1000..1000i32 {
            let x = f32::from_bits(root.to_bits().wrapping_add_signed(i));
            let (y, e) = (f64::from(digamma(x)), special::digamma(f64::from(x)));
            assert!((y - e).abs() < 1e-7 * e.abs(), "{x:e}: {y:e} is not {e:e}");
        }
    }
}
