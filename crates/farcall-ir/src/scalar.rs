//! One element of a tensor as a number wide enough for every element type of its class.

use farcall_sig::{DType, DTypeClass};
use half::{bf16, f16};
use num_complex::Complex;

use crate::minifloat;

/// The value of one element: integers as 64 bits, floats as `f64`, which represents every narrower float
/// exactly. NaNs keep their bits: reading and writing an element changes no bit. (A conversion by the
/// processor would quiet a signaling NaN.)
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// An element of `pred`.
    Bool(bool),
    /// An element of a signed integer type, sign-extended.
    Signed(i64),
    /// An element of an unsigned integer type.
    Unsigned(u64),
    /// An element of a floating point type.
    Float(f64),
    /// An element of a complex type.
    Complex(Complex<f64>),
}

impl Scalar {
    /// Zero of a type.
    pub fn zero(dtype: DType) -> Scalar {
        match dtype.class() {
            DTypeClass::Bool => Scalar::Bool(false),
            DTypeClass::Signed => Scalar::Signed(0),
            DTypeClass::Unsigned => Scalar::Unsigned(0),
            DTypeClass::Float => Scalar::Float(0.0),
            DTypeClass::Complex => Scalar::Complex(Complex::new(0.0, 0.0)),
        }
    }

    /// Returns the greatest number of an element type if `is_greatest`, otherwise the least; `None` for
    /// floating-point types without infinities.
    pub fn extreme(dtype: DType, is_greatest: bool) -> Option<Scalar> {
        let unused = 64_u32.saturating_sub(dtype.bits());
        Some(match dtype.class() {
            DTypeClass::Bool => Scalar::Bool(is_greatest),
            DTypeClass::Signed => Scalar::Signed(if is_greatest { i64::MAX } else { i64::MIN } >> unused),
            DTypeClass::Unsigned => Scalar::Unsigned(if is_greatest { u64::MAX >> unused } else { 0 }),
            DTypeClass::Float | DTypeClass::Complex => {
                let infinity = Scalar::Float(if is_greatest { f64::INFINITY } else { f64::NEG_INFINITY });
                let kept = infinity.round_to(dtype.real()).as_f64();
                return (kept == infinity.as_f64()).then_some(infinity);
            }
        })
    }

    /// Reads an element from its little-endian bytes; bytes after the first [`DType::size`] are ignored.
    ///
    /// # Panics
    /// If `bytes` is shorter than one element.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Scalar {
        fn le<const N: usize>(bytes: &[u8]) -> [u8; N] {
            std::array::from_fn(|i| bytes[i])
        }
        if let Some(nan) = NanFormat::of(dtype).and_then(|format| format.read(bytes)) {
            return Scalar::Float(nan);
        }
        match dtype {
            DType::Pred => Scalar::Bool(bytes[0] != 0),
            DType::S2 => Scalar::Signed(i64::from((bytes[0] << 6).cast_signed() >> 6)),
            DType::S4 => Scalar::Signed(i64::from((bytes[0] << 4).cast_signed() >> 4)),
            DType::S8 => Scalar::Signed(i64::from(bytes[0].cast_signed())),
            DType::S16 => Scalar::Signed(i64::from(i16::from_le_bytes(le(bytes)))),
            DType::S32 => Scalar::Signed(i64::from(i32::from_le_bytes(le(bytes)))),
            DType::S64 => Scalar::Signed(i64::from_le_bytes(le(bytes))),
            DType::U2 => Scalar::Unsigned(u64::from(bytes[0] & 3)),
            DType::U4 => Scalar::Unsigned(u64::from(bytes[0] & 15)),
            DType::U8 => Scalar::Unsigned(u64::from(bytes[0])),
            DType::U16 => Scalar::Unsigned(u64::from(u16::from_le_bytes(le(bytes)))),
            DType::U32 => Scalar::Unsigned(u64::from(u32::from_le_bytes(le(bytes)))),
            DType::U64 => Scalar::Unsigned(u64::from_le_bytes(le(bytes))),
            DType::BF16 => Scalar::Float(bf16::from_le_bytes(le(bytes)).to_f64()),
            DType::F16 => Scalar::Float(f16::from_le_bytes(le(bytes)).to_f64()),
            DType::F32 => Scalar::Float(f64::from(f32::from_le_bytes(le(bytes)))),
            DType::F64 => Scalar::Float(f64::from_le_bytes(le(bytes))),
            DType::C64 => Scalar::Complex(Complex::new(
                widen(f32::from_le_bytes(le(bytes))),
                widen(f32::from_le_bytes(le(&bytes[4..]))),
            )),
            DType::C128 => Scalar::Complex(Complex::new(
                f64::from_le_bytes(le(bytes)),
                f64::from_le_bytes(le(&bytes[8..])),
            )),
            small => Scalar::Float(minifloat::decode(small, bytes[0])),
        }
    }

    /// Writes the element as `dtype`, little-endian: floats are rounded to nearest even, integers are
    /// truncated to the width. A scalar of another class is converted as by Rust's `as` (a complex number
    /// loses its imaginary part).
    ///
    /// # Panics
    /// If `out` is shorter than one element.
    pub fn write(self, dtype: DType, out: &mut [u8]) {
        let n = dtype.size();
        let out = &mut out[..n];
        if let (Scalar::Float(x), Some(format)) = (self, NanFormat::of(dtype))
            && x.is_nan()
        {
            return out.copy_from_slice(&format.encode(x).to_le_bytes()[..n]);
        }
        match dtype {
            DType::Pred => out[0] = u8::from(self.as_bool()),
            DType::S2 | DType::S4 => {
                // Sign-extended, so that the byte is also the value as an `i8`.
                let shift = 64 - dtype.bits();
                out[0] = ((self.as_i64() << shift) >> shift) as u8;
            }
            DType::U2 => out[0] = (self.as_u64() & 3) as u8,
            DType::U4 => out[0] = (self.as_u64() & 15) as u8,
            DType::S8 | DType::S16 | DType::S32 | DType::S64 => {
                out.copy_from_slice(&self.as_i64().to_le_bytes()[..n]);
            }
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => {
                out.copy_from_slice(&self.as_u64().to_le_bytes()[..n]);
            }
            DType::BF16 => out.copy_from_slice(&bf16::from_f32(to_odd_f32(self.as_f64())).to_le_bytes()),
            DType::F16 => out.copy_from_slice(&f16::from_f32(to_odd_f32(self.as_f64())).to_le_bytes()),
            DType::F32 => out.copy_from_slice(&(self.as_f64() as f32).to_le_bytes()),
            DType::F64 => out.copy_from_slice(&self.as_f64().to_le_bytes()),
            DType::C64 => {
                let z = self.as_complex();
                out[..4].copy_from_slice(&narrow(z.re).to_le_bytes());
                out[4..].copy_from_slice(&narrow(z.im).to_le_bytes());
            }
            DType::C128 => {
                let z = self.as_complex();
                out[..8].copy_from_slice(&z.re.to_le_bytes());
                out[8..].copy_from_slice(&z.im.to_le_bytes());
            }
            small => out[0] = minifloat::encode(small, self.as_f64()),
        }
    }

    /// Rounds the value to `dtype`, or truncates it to the width of `dtype`.
    pub fn round_to(self, dtype: DType) -> Scalar {
        let mut bytes = [0; 16];
        self.write(dtype, &mut bytes);
        Scalar::from_bytes(dtype, &bytes)
    }

    /// Returns the distance to another element of type `dtype` in representable numbers (units in the last
    /// place of `dtype`); for complex numbers, the larger distance of the two parts. It is zero for two NaNs
    /// and for two zeros, and `u64::MAX` for different integers and for different numbers of which one is not
    /// finite.
    pub fn ulp_distance(self, other: Scalar, dtype: DType) -> u64 {
        match (self, other) {
            (Scalar::Float(x), Scalar::Float(y)) => real_ulp_distance(x, y, dtype),
            (Scalar::Complex(x), Scalar::Complex(y)) => {
                let part = dtype.real();
                real_ulp_distance(x.re, y.re, part).max(real_ulp_distance(x.im, y.im, part))
            }
            (x, y) => {
                if x == y {
                    0
                } else {
                    u64::MAX
                }
            }
        }
    }

    /// Returns true unless the value is zero.
    pub fn as_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Signed(x) => x != 0,
            Scalar::Unsigned(x) => x != 0,
            Scalar::Float(x) => x != 0.0,
            Scalar::Complex(z) => z.re != 0.0 || z.im != 0.0,
        }
    }

    /// Converts to a signed integer: floats are truncated and saturated, unsigned values are reinterpreted.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Signed(x) => x,
            Scalar::Unsigned(x) => x.cast_signed(),
            Scalar::Float(x) => x as i64,
            Scalar::Complex(z) => z.re as i64,
        }
    }

    /// Converts to an unsigned integer: floats are truncated and saturated, signed values are reinterpreted.
    pub fn as_u64(self) -> u64 {
        match self {
            Scalar::Bool(b) => u64::from(b),
            Scalar::Signed(x) => x.cast_unsigned(),
            Scalar::Unsigned(x) => x,
            Scalar::Float(x) => x as u64,
            Scalar::Complex(z) => z.re as u64,
        }
    }

    /// Converts to a real number.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Signed(x) => x as f64,
            Scalar::Unsigned(x) => x as f64,
            Scalar::Float(x) => x,
            Scalar::Complex(z) => z.re,
        }
    }

    /// Converts to a complex number.
    pub fn as_complex(self) -> Complex<f64> {
        match self {
            Scalar::Complex(z) => z,
            other => Complex::new(other.as_f64(), 0.0),
        }
    }
}

fn real_ulp_distance(x: f64, y: f64, dtype: DType) -> u64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0;
    }
    if !x.is_finite() || !y.is_finite() {
        return u64::MAX;
    }
    // For numbers of one sign, the bits read as an integer grow with the magnitude, from 0 for zero.
    let code = |x: f64| {
        let mut bytes = [0; 8];
        Scalar::Float(x.abs()).write(dtype, &mut bytes);
        u64::from_le_bytes(bytes)
    };
    if x.is_sign_negative() == y.is_sign_negative() {
        code(x).abs_diff(code(y))
    } else {
        code(x).saturating_add(code(y))
    }
}

/// The NaN encoding of a format that has fewer than 64 bits and has infinities.
#[derive(Clone, Copy)]
struct NanFormat {
    bits: u32,
    mantissa_bits: u32,
}

impl NanFormat {
    const F32: NanFormat = NanFormat { bits: 32, mantissa_bits: 23 };
    const F64_MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

    fn of(dtype: DType) -> Option<NanFormat> {
        let mantissa_bits = match dtype {
            DType::F32 => return Some(NanFormat::F32),
            DType::F16 => 10,
            DType::BF16 => 7,
            DType::F8E5M2 => 2,
            DType::F8E4M3 => 3,
            DType::F8E3M4 => 4,
            _ => return None,
        };
        Some(NanFormat { bits: dtype.bits(), mantissa_bits })
    }

    fn exponent(self) -> u64 {
        ((1 << (self.bits - 1 - self.mantissa_bits)) - 1) << self.mantissa_bits
    }

    /// Reads little-endian bytes as a NaN; `None` for any other value.
    fn read(self, bytes: &[u8]) -> Option<f64> {
        let mut word = [0; 8];
        let size = (self.bits / u8::BITS) as usize;
        word[..size].copy_from_slice(&bytes[..size]);
        let code = u64::from_le_bytes(word);
        let magnitude = code & ((1 << (self.bits - 1)) - 1);
        (magnitude > self.exponent()).then(|| self.decode(code))
    }

    /// Converts a NaN of this format to `f64`, with the same sign and the same upper bits of the mantissa.
    fn decode(self, code: u64) -> f64 {
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        let sign = code >> (self.bits - 1) & 1;
        let mantissa = mantissa << (NanFormat::F64_MANTISSA_BITS - self.mantissa_bits);
        f64::from_bits(sign << 63 | f64::INFINITY.to_bits() | mantissa)
    }

    /// Encodes a NaN in this format. A NaN whose upper mantissa bits are all zero becomes a quiet NaN, since
    /// it would otherwise become an infinity.
    fn encode(self, nan: f64) -> u64 {
        let bits = nan.to_bits();
        let lost = NanFormat::F64_MANTISSA_BITS - self.mantissa_bits;
        let mantissa = bits >> lost & ((1 << self.mantissa_bits) - 1);
        let mantissa = if mantissa == 0 { 1 << (self.mantissa_bits - 1) } else { mantissa };
        (bits >> 63) << (self.bits - 1) | self.exponent() | mantissa
    }
}

/// Converts a part of a complex number to `f64`.
fn widen(x: f32) -> f64 {
    if x.is_nan() { NanFormat::F32.decode(x.to_bits().into()) } else { x.into() }
}

fn narrow(x: f64) -> f32 {
    if x.is_nan() { f32::from_bits(NanFormat::F32.encode(x) as u32) } else { x as f32 }
}

/// Quiets a signaling NaN, as any arithmetic does; other numbers are unchanged.
pub(crate) fn quieted(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(x.to_bits() | 1 << (NanFormat::F64_MANTISSA_BITS - 1)) } else { x }
}

/// Rounds to `f32` so that further rounding to at most 22 bits equals a single rounding: an inexact result
/// gets an odd last bit. (The crate `half` itself rounds an `f64` twice.)
///
/// The code has no branches, so that loops over it are vectorized.
#[inline(always)]
pub fn to_odd_f32(x: f64) -> f32 {
    let near = x as f32;
    let (back, bits) = (f64::from(near), near.to_bits());
    // The other `f32` neighbor of `x`.
    let other = if back.abs() > x.abs() { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    let exact = back == x || x.is_nan();
    f32::from_bits(if exact || bits & 1 == 1 { bits } else { other })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_integers_wrap() {
        assert_eq!(Scalar::Signed(9).round_to(DType::S4), Scalar::Signed(-7));
        assert_eq!(Scalar::Unsigned(17).round_to(DType::U4), Scalar::Unsigned(1));
        assert_eq!(Scalar::Signed(200).round_to(DType::S8), Scalar::Signed(-56));
    }

    #[test]
    fn floats_round_once() {
        let above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(Scalar::Float(above_tie).round_to(DType::BF16), Scalar::Float(1.0 + 2f64.powi(-7)));
        let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(Scalar::Float(above_tie).round_to(DType::F16), Scalar::Float(1.0 + 2f64.powi(-10)));
        let tie = -1.0 - 2f64.powi(-11);
        assert_eq!(Scalar::Float(tie).round_to(DType::F16), Scalar::Float(-1.0));
        assert_eq!(Scalar::Float(1e39).round_to(DType::BF16), Scalar::Float(f64::INFINITY));
        assert_eq!(Scalar::Float(2f64.powi(-150)).round_to(DType::BF16), Scalar::Float(0.0));
        assert!(Scalar::Float(f64::NAN).round_to(DType::F16).as_f64().is_nan());
    }

    #[test]
    fn reading_and_writing_an_element_changes_no_bit() {
        let formats = [(DType::F16, 16), (DType::BF16, 16), (DType::F8E5M2, 8), (DType::F8E4M3, 8)];
        for (dtype, bits) in formats.into_iter().chain([(DType::F8E3M4, 8), (DType::F8E4M3FN, 8)]) {
            for code in 0..1u32 << bits {
                let bytes = code.to_le_bytes();
                let mut written = [0; 4];
                Scalar::from_bytes(dtype, &bytes).write(dtype, &mut written);
                assert_eq!(written, bytes, "{dtype} {code:#x}");
            }
        }
        let nans = [0x7f80_0001u32, 0xff80_0001, 0x7fa0_0000, 0x7fff_ffff, 0xffc0_0000, 0xffbf_ffff];
        for bits in nans {
            let bytes = [bits.to_le_bytes(), 0x3f80_0000u32.to_le_bytes()].concat();
            for dtype in [DType::F32, DType::C64] {
                let mut written = vec![0; dtype.size()];
                Scalar::from_bytes(dtype, &bytes).write(dtype, &mut written);
                assert_eq!(written, bytes[..dtype.size()], "{dtype} {bits:#x}");
            }
        }
    }

    #[test]
    fn floats_round_to_nearest_even() {
        assert_eq!(Scalar::Float(1.0 + 1.0 / 512.0).round_to(DType::BF16), Scalar::Float(1.0));
        assert_eq!(Scalar::Float(65520.0).round_to(DType::F16), Scalar::Float(f64::INFINITY));
    }
}
