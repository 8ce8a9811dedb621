//! The exponential functions of [`simd::exp`](crate::simd::exp), without branches and calls.

macro_rules! exp_in_loops {
    ($name:ident, $ty:ident, $Bits:ident, $limits:expr, $ln_2:expr, $factorials:expr) => {
        #[inline(always)]
        pub(crate) fn $name(x: $ty) -> $ty {
            const DIGITS: u32 = $ty::MANTISSA_DIGITS - 1;
            // Adding this to a small number rounds the number to an integer, which is then in the lowest
            // bits.
            const ROUND: $ty = 1.5 * (1u64 << DIGITS) as $ty;
            const BIAS: $Bits = $ty::MAX_EXP as $Bits - 1;
            let (low, high): ($ty, $ty) = $limits;
            // NaN fails both comparisons and is kept.
            let x = if x < low { low } else { x };
            let x = if x > high { high } else { x };
            let shifted = x * std::$ty::consts::LOG2_E + ROUND;
            let k = shifted - ROUND;
            // x = k·ln 2 + r. The first part of ln 2 has so few bits that its product with k is exact.
            let (first, rest): ($ty, $ty) = $ln_2;
            let r = x - k * first - k * rest;
            // Taylor series, for |r| up to ½·ln 2.
            let mut p: $ty = 1.0 / $factorials[0];
            for factorial in &$factorials[1..] {
                p = p * r + 1.0 / factorial;
            }
            // Two factors, because 2^k may be subnormal or above the largest number.
            let k = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
            let two_to_the = |k: i32| $ty::from_bits((k as $Bits).wrapping_add(BIAS) << DIGITS);
            p * two_to_the(k >> 1) * two_to_the(k - (k >> 1))
        }
    };
}

exp_in_loops!(
    exp_f32,
    f32,
    u32,
    (-104.0, 89.0),
    (0.693_359_4, -2.121_944_4e-4),
    [5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0]
);
exp_in_loops!(
    exp_f64,
    f64,
    u64,
    (-746.0, 710.0),
    (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
    [
        6_227_020_800.0,
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0
    ]
);
