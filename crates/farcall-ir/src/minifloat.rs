//! Floating-point formats of at most eight bits: decoding, and encoding with rounding to nearest, ties to
//! even.
//!
//! The OCP 8-bit floating point and microscaling (MX) specifications define the formats. There are also
//! `FNUZ` variants, which have no infinities, and NaN in the place of negative zero. A value that is too
//! large becomes infinity if the format has one, otherwise NaN if the format has one, otherwise (`f4`, `f6`)
//! the largest finite value.

use farcall_sig::DType;

/// Encoding parameters of a format with a sign.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of the mantissa, without the implicit leading one.
    pub mantissa_bits: u32,
    /// Exponent bias.
    pub bias: i32,
    /// Largest code of a finite value, without the sign.
    pub max_finite: u8,
    special: Special,
    /// Mask of the sign bit.
    pub sign_bit: u8,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Special {
    /// Infinities and NaNs in the highest exponent.
    Ieee,
    /// No infinity; all ones (without the sign) is NaN.
    NanAllOnes,
    /// No infinity and no negative zero; the code of negative zero is NaN.
    NanNegativeZero,
    /// Neither infinity nor NaN.
    Finite,
}

impl Format {
    /// Returns the format of a signed float type of at most eight bits; `None` for other types.
    pub fn of(dtype: DType) -> Option<Format> {
        use Special::{Finite, Ieee, NanAllOnes, NanNegativeZero};
        let (mantissa_bits, bias, max_finite, special, sign_bit) = match dtype {
            DType::F4E2M1FN => (1, 1, 0x07, Finite, 0x08),
            DType::F6E2M3FN => (3, 1, 0x1f, Finite, 0x20),
            DType::F6E3M2FN => (2, 3, 0x1f, Finite, 0x20),
            DType::F8E3M4 => (4, 3, 0x6f, Ieee, 0x80),
            DType::F8E4M3 => (3, 7, 0x77, Ieee, 0x80),
            DType::F8E4M3B11FNUZ => (3, 11, 0x7f, NanNegativeZero, 0x80),
            DType::F8E4M3FN => (3, 7, 0x7e, NanAllOnes, 0x80),
            DType::F8E4M3FNUZ => (3, 8, 0x7f, NanNegativeZero, 0x80),
            DType::F8E5M2 => (2, 15, 0x7b, Ieee, 0x80),
            DType::F8E5M2FNUZ => (2, 16, 0x7f, NanNegativeZero, 0x80),
            _ => return None,
        };
        Some(Format { mantissa_bits, bias, max_finite, special, sign_bit })
    }
}

/// Returns the value of a code. `dtype` must be a float type of at most eight bits; others give NaN.
pub fn decode(dtype: DType, code: u8) -> f64 {
    if dtype == DType::F8E8M0FNU {
        return if code == 0xff { f64::NAN } else { exp2(i32::from(code) - 127) };
    }
    let Some(f) = Format::of(dtype) else { return f64::NAN };
    let magnitude = code & (f.sign_bit - 1);
    let negative = code & f.sign_bit != 0;
    let sign = if negative { -1.0 } else { 1.0 };
    if f.special == Special::NanNegativeZero && negative && magnitude == 0 {
        return f64::NAN;
    }
    // Keep the sign of a NaN: it matters where floats are ordered by their bits.
    if magnitude > f.max_finite {
        let infinity = f.special == Special::Ieee && magnitude == f.max_finite + 1;
        return if infinity { f64::INFINITY } else { f64::NAN }.copysign(sign);
    }
    let exponent = i32::from(magnitude >> f.mantissa_bits);
    let fraction = f64::from(magnitude & ((1 << f.mantissa_bits) - 1));
    let scale = 1i32 << f.mantissa_bits;
    let value = if exponent == 0 {
        fraction / f64::from(scale) * exp2(1 - f.bias)
    } else {
        (1.0 + fraction / f64::from(scale)) * exp2(exponent - f.bias)
    };
    sign * value
}

/// Returns the code nearest to a value, ties to even. `dtype` must be a float type of at most eight bits;
/// others give 0.
pub fn encode(dtype: DType, value: f64) -> u8 {
    if dtype == DType::F8E8M0FNU {
        return encode_power_of_two(value);
    }
    let Some(f) = Format::of(dtype) else { return 0 };
    let sign = if value.is_sign_negative() { f.sign_bit } else { 0 };
    let nan = match f.special {
        Special::Ieee => sign | (f.max_finite + 1) | (1 << (f.mantissa_bits - 1)),
        Special::NanAllOnes => sign | (f.sign_bit - 1),
        Special::NanNegativeZero => f.sign_bit,
        Special::Finite => f.sign_bit,
    };
    if value.is_nan() {
        return nan;
    }
    let too_large = match f.special {
        Special::Ieee => sign | (f.max_finite + 1),
        Special::NanAllOnes | Special::NanNegativeZero => nan,
        Special::Finite => sign | f.max_finite,
    };
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return too_large;
    }
    let lowest = 1 - f.bias;
    let exponent = exponent_of(magnitude).max(lowest);
    if exponent > f.bias + 2 {
        return too_large;
    }
    // The rounded value as a multiple of a unit in the last place. For a normal number, this includes the
    // implicit leading bit, which adds the 1 that `exponent - lowest` lacks in the exponent field.
    let ulps = (magnitude / exp2(exponent - f.mantissa_bits as i32)).round_ties_even() as i32;
    let code = ((exponent - lowest) << f.mantissa_bits) + ulps;
    if code > i32::from(f.max_finite) {
        return too_large;
    }
    if code == 0 && f.special == Special::NanNegativeZero {
        return 0;
    }
    sign | code as u8
}

/// Returns the code of the power of two nearest to a value; ties round up. Zero and negative numbers give
/// NaN. Positive values below the smallest power of two give that power.
fn encode_power_of_two(value: f64) -> u8 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 0xff;
    }
    if value < exp2(-127) {
        return 0;
    }
    let exponent = exponent_of(value);
    let up = value / exp2(exponent) >= 1.5;
    u8::try_from(exponent + 127 + i32::from(up)).unwrap_or(0xff)
}

/// Floor of the binary logarithm of a positive finite number.
fn exponent_of(x: f64) -> i32 {
    let bits = x.to_bits();
    match (bits >> 52) & 0x7ff {
        0 if bits << 12 == 0 => i32::MIN / 2,
        0 => -1023 - ((bits << 12).leading_zeros() as i32),
        e => e as i32 - 1023,
    }
}

fn exp2(e: i32) -> f64 {
    2f64.powi(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_decode_and_encode() {
        for dtype in DType::VARIANTS.into_iter().filter(|d| d.is_float() && d.bits() <= 8) {
            for code in 0..=u8::try_from((1u32 << dtype.bits()) - 1).unwrap() {
                let value = decode(dtype, code);
                if value.is_nan() {
                    assert!(decode(dtype, encode(dtype, value)).is_nan(), "{dtype} {code:#x}");
                } else {
                    assert_eq!(encode(dtype, value), code, "{dtype} {code:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(decode(DType::F8E4M3FN, 0x7e), 448.0);
        assert_eq!(decode(DType::F8E5M2, 0x7b), 57344.0);
        assert_eq!(decode(DType::F8E5M2, 0x7c), f64::INFINITY);
        assert_eq!(decode(DType::F8E4M3B11FNUZ, 0x7f), 30.0);
        assert_eq!(decode(DType::F8E4M3FNUZ, 0x01), 2f64.powi(-10));
        assert_eq!(decode(DType::F4E2M1FN, 0x07), 6.0);
        assert!(decode(DType::F8E4M3FN, encode(DType::F8E4M3FN, 1e9)).is_nan());
        assert_eq!(decode(DType::F6E2M3FN, encode(DType::F6E2M3FN, 1e9)), 7.5);
    }

    /// The values of E8M0 are powers of two. Rounding to them must agree with ml_dtypes and XLA.
    #[test]
    fn powers_of_two() {
        let round = |x: f64| decode(DType::F8E8M0FNU, encode(DType::F8E8M0FNU, x));
        for x in [0.0, -0.0, -1.0, f64::INFINITY, f64::NAN, 1.5 * 2f64.powi(127)] {
            assert!(round(x).is_nan(), "{x}");
        }
        let rounded = [3.0, 6.0, 1.4, 1.6, 0.75, 1e-45].map(round);
        assert_eq!(rounded, [4.0, 8.0, 1.0, 2.0, 1.0, 2f64.powi(-127)]);
    }

    #[test]
    fn nans_keep_their_sign() {
        let signs = [0x7f, 0xff].map(|code| decode(DType::F8E4M3FN, code).is_sign_negative());
        assert_eq!(signs, [false, true]);
        assert_eq!(encode(DType::F8E5M2, decode(DType::F8E5M2, 0xfe)), 0xfe);
    }

    #[test]
    fn ties_go_to_even() {
        // 3.0 and 3.25 are neighbors in e4m3, so 3.125 is a tie.
        assert_eq!(decode(DType::F8E4M3FN, encode(DType::F8E4M3FN, 3.2)), 3.25);
        assert_eq!(decode(DType::F8E4M3FN, encode(DType::F8E4M3FN, 3.125)), 3.0);
        assert_eq!(decode(DType::F8E5M2, encode(DType::F8E5M2, 0.1)), 0.09375);
    }
}
