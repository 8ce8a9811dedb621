//! Conversions from and to floats of at most eight bits (`f8E4M3FN`, `f4E2M1FN`, …). Conversions from these
//! types use a table of all codes (bit patterns); conversions to these types operate on the bits of an `f32`.

use std::sync::Arc;

use farcall_ir::DType;
use farcall_ir::minifloat::{self, Format};
use farcall_ir::scalar::to_odd_f32;
use half::{bf16, f16};

use super::half_floats::Half;
use super::{VectorLoop, map1, map1_near};

/// Returns the loop that converts elements between two floating-point types, at least one of which is a
/// minifloat.
pub(crate) fn convert(from: DType, to: DType) -> Option<VectorLoop> {
    if is_small(from) {
        return decoding(from, to);
    }
    if to == DType::F8E8M0FNU {
        return power_of_two(from);
    }
    let to = Rounding::to(to)?;
    // Each conversion goes through an `f32`, exact or rounded to odd, so that it effectively rounds once.
    Some(match from {
        DType::F64 => map1::<f64, u8>(move |x| to.code(to_odd_f32(x))),
        DType::F32 => map1::<f32, u8>(move |x| to.code(x)),
        DType::F16 => map1::<f16, u8>(move |x| to.code(x.widen())),
        DType::BF16 => map1::<bf16, u8>(move |x| to.code(x.widen())),
        _ => return None,
    })
}

fn is_small(dtype: DType) -> bool {
    dtype.is_float() && dtype.bits() <= 8
}

/// Returns the loop that converts from a minifloat. Elements narrower than a byte are stored in one byte
/// each, whose other bits are ignored.
fn decoding(from: DType, to: DType) -> Option<VectorLoop> {
    fn by_table<T: Copy + Send + Sync + 'static>(from: DType, value: impl Fn(f64) -> T) -> VectorLoop {
        let mask = u8::MAX >> (8 - from.bits());
        let table: [T; 256] = std::array::from_fn(|code| value(minifloat::decode(from, code as u8 & mask)));
        let table = Arc::new(table);
        let same = Arc::clone(&table);
        map1_near::<u8, T>(
            move |code| table[usize::from(code)],
            |_| true,
            move |code| same[usize::from(code)],
        )
    }
    Some(match to {
        DType::F64 => by_table(from, |x| x),
        DType::F32 => by_table(from, single),
        DType::F16 => by_table(from, f16::from_f64),
        DType::BF16 => by_table(from, bf16::from_f64),
        to if is_small(to) => by_table(from, move |x| minifloat::encode(to, x)),
        _ => return None,
    })
}

/// Returns the loop that converts floats to powers of two (`f8E8M0FNU`). It operates on bits, because the
/// smallest of these powers is a subnormal `f32`, which the processor may flush to zero.
fn power_of_two(from: DType) -> Option<VectorLoop> {
    Some(match from {
        DType::F64 => map1::<f64, u8>(|x| code_of_power(x.to_bits())),
        DType::F32 => map1::<f32, u8>(|x| code_of_single(x.to_bits())),
        DType::F16 => map1::<f16, u8>(|x| code_of_single(x.widen().to_bits())),
        DType::BF16 => map1::<bf16, u8>(|x| code_of_single(u32::from(x.to_bits()) << 16)),
        _ => return None,
    })
}

/// Returns the code of the power of two nearest to the `f64` with these bits; ties go to the larger one.
#[inline(always)]
fn code_of_power(bits: u64) -> u8 {
    const INFINITE: u64 = 0x7ff << 52;
    // The biased exponent of the smallest power, and half a unit in the last place that is kept.
    const SMALLEST: u64 = 1023 - 127;
    const HALF: u64 = 1 << 51;
    let rounded = (bits.wrapping_add(HALF) >> 52).wrapping_sub(SMALLEST);
    let code = if bits >> 52 < SMALLEST {
        0
    } else if rounded < 0xff {
        rounded
    } else {
        0xff
    };
    // Zero, negative numbers, infinity and NaN become NaN.
    if bits == 0 || bits >= INFINITE { 0xff } else { code as u8 }
}

/// Returns the code of the power of two nearest to the `f32` with these bits. Subnormals are never flushed to
/// zero.
#[inline(always)]
fn code_of_single(bits: u32) -> u8 {
    const INFINITE: u32 = 0xff << 23;
    const HALF: u32 = 1 << 22;
    // The smallest power, code 0, is half of the smallest normal number. Subnormals from three quarters of
    // the smallest normal number on are rounded up to it, which has code 1.
    let subnormal = u32::from(bits >= HALF + HALF / 2);
    let code = if bits < 1 << 23 { subnormal } else { bits.wrapping_add(HALF) >> 23 };
    if bits == 0 || bits >= INFINITE { 0xff } else { code as u8 }
}

/// Converts a minifloat value to `f32`. The conversion is also exact where the processor flushes subnormals:
/// the smallest power of two of `f8E8M0FNU` is a subnormal `f32`.
fn single(x: f64) -> f32 {
    const MIN_POWER: f32 = f32::from_bits(1 << 22);
    if x == f64::from_bits((1023 - 127) << 52) { MIN_POWER } else { x as f32 }
}

/// Parameters of the conversion of an `f32` to a code.
#[derive(Clone, Copy)]
struct Rounding {
    /// Number of mantissa bits that are dropped.
    dropped: u32,
    /// Half a unit in the last place that is kept, minus one. Adding this number and the last kept bit rounds
    /// to nearest even.
    half: u32,
    /// Difference between the truncated bits of a number and its code.
    rebias: u32,
    /// Bits of the smallest normal number.
    least: u32,
    /// A power of two. Adding it rounds an `f32` to the last place of the format's subnormal numbers.
    magic: f32,
    /// The largest code of a finite number, without its sign.
    most: u32,
    /// The code for numbers above the largest finite number.
    over: Special,
    nan: Special,
    sign: u32,
    /// True if zero has only one code, without a sign.
    one_zero: bool,
}

/// The code for values outside of the finite numbers: NaN, and numbers that are too large.
#[derive(Clone, Copy)]
struct Special {
    code: u32,
    /// True if the sign of the value is added to the code.
    signed: bool,
}

impl Special {
    /// Returns the code of a value. Finds out whether the format encodes the sign of this value.
    fn of(to: DType, value: f64) -> Special {
        let [plus, minus] = [value, -value].map(|x| u32::from(minifloat::encode(to, x)));
        Special { code: plus, signed: plus != minus }
    }

    #[inline(always)]
    fn with(self, sign: u32) -> u32 {
        if self.signed { self.code | sign } else { self.code }
    }
}

impl Rounding {
    fn to(to: DType) -> Option<Rounding> {
        let Format { mantissa_bits, bias, max_finite, sign_bit, .. } = Format::of(to)?;
        let dropped = f32::MANTISSA_DIGITS - 1 - mantissa_bits;
        let power = |exponent: i32| f32::from_bits(((127 + exponent) as u32) << 23);
        let lowest = 1 - bias;
        Some(Rounding {
            dropped,
            half: (1 << (dropped - 1)) - 1,
            rebias: ((127 - bias) as u32) << mantissa_bits,
            least: power(lowest).to_bits(),
            magic: power(lowest - mantissa_bits as i32 + 23),
            most: u32::from(max_finite),
            over: Special::of(to, f64::INFINITY),
            nan: Special::of(to, f64::NAN),
            sign: u32::from(sign_bit),
            one_zero: minifloat::encode(to, -0.0) == 0,
        })
    }

    /// Returns the code nearest to a number, ties to even, like [`minifloat::encode`].
    #[inline(always)]
    fn code(self, x: f32) -> u8 {
        let bits = x.to_bits();
        let size = bits & !(1 << 31);
        let sign = if bits == size { 0 } else { self.sign };
        let odd = (size >> self.dropped) & 1;
        let normal = (size.wrapping_add(self.half + odd) >> self.dropped).wrapping_sub(self.rebias);
        let subnormal = (f32::from_bits(size) + self.magic).to_bits().wrapping_sub(self.magic.to_bits());
        let code = if size < self.least { subnormal } else { normal };
        let number = if self.one_zero && code == 0 { 0 } else { sign | code };
        let code = if code > self.most { self.over.with(sign) } else { number };
        let code = if size > f32::INFINITY.to_bits() { self.nan.with(sign) } else { code };
        code as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::Operand;
    use super::*;

    fn small() -> Vec<DType> {
        DType::VARIANTS.into_iter().filter(|dtype| is_small(*dtype)).collect()
    }

    fn run<X: Copy, Y: Copy + Default>(work: &VectorLoop, x: &[X]) -> Vec<Y> {
        let mut y = vec![Y::default(); x.len()];
        let from = Operand::each(x.as_ptr().cast());
        // SAFETY: operand and result have this number of elements.
        unsafe { work.run(&[from, Operand::ABSENT, Operand::ABSENT], y.as_mut_ptr().cast(), x.len()) };
        y
    }

    #[test]
    fn codes_match_the_evaluator() {
        let halves: Vec<u16> = (0..=u16::MAX).collect();
        // All signs, exponents and high mantissa bits, with low bits that are at or next to a tie or an exact
        // value.
        let mut singles: Vec<f32> = Vec::new();
        for high in 0..=u16::MAX {
            let low = [0u16, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
            singles.extend(low.map(|low| f32::from_bits(u32::from(high) << 16 | u32::from(low))));
        }
        let doubles: Vec<f64> = singles
            .iter()
            .flat_map(|x| {
                let x = f64::from(*x);
                [x, f64::from_bits(x.to_bits().wrapping_sub(1)), f64::from_bits(x.to_bits().wrapping_add(1))]
            })
            .collect();
        for to in small() {
            let expected = |x: f64| minifloat::encode(to, x);
            let from = |dtype: DType| convert(dtype, to).unwrap();
            for (x, code) in singles.iter().zip(run::<f32, u8>(&from(DType::F32), &singles)) {
                assert_eq!(code, expected(f64::from(*x)), "code of {x:e} ({:#x}) in {to}", x.to_bits());
            }
            for (x, code) in doubles.iter().zip(run::<f64, u8>(&from(DType::F64), &doubles)) {
                assert_eq!(code, expected(*x), "code of {x:e} ({:#x}) in {to}", x.to_bits());
            }
            for (x, code) in halves.iter().zip(run::<u16, u8>(&from(DType::F16), &halves)) {
                assert_eq!(code, expected(f16::from_bits(*x).to_f64()), "code of f16 {x:#x} in {to}");
            }
            for (x, code) in halves.iter().zip(run::<u16, u8>(&from(DType::BF16), &halves)) {
                assert_eq!(code, expected(bf16::from_bits(*x).to_f64()), "code of bf16 {x:#x} in {to}");
            }
        }
    }

    #[test]
    fn numbers_match_the_evaluator() {
        let codes: Vec<u8> = (0..=u8::MAX).collect();
        for from in small() {
            let codes = &codes[..1 << from.bits()];
            let numbers = run::<u8, f32>(&convert(from, DType::F32).unwrap(), codes);
            for (code, number) in codes.iter().zip(numbers) {
                let expected = minifloat::decode(from, *code) as f32;
                assert_eq!(number.to_bits(), expected.to_bits(), "value of code {code:#x} of {from}");
            }
            let [doubles, halves, brains] =
                [DType::F64, DType::F16, DType::BF16].map(|to| convert(from, to).unwrap());
            for (code, number) in codes.iter().zip(run::<u8, f64>(&doubles, codes)) {
                assert_eq!(
                    number.to_bits(),
                    minifloat::decode(from, *code).to_bits(),
                    "value of code {code:#x} of {from}"
                );
            }
            for (code, number) in codes.iter().zip(run::<u8, f16>(&halves, codes)) {
                assert_eq!(number.to_bits(), f16::from_f64(minifloat::decode(from, *code)).to_bits());
            }
            for (code, number) in codes.iter().zip(run::<u8, bf16>(&brains, codes)) {
                assert_eq!(number.to_bits(), bf16::from_f64(minifloat::decode(from, *code)).to_bits());
            }
            for to in small() {
                for (code, other) in codes.iter().zip(run::<u8, u8>(&convert(from, to).unwrap(), codes)) {
                    assert_eq!(
                        other,
                        minifloat::encode(to, minifloat::decode(from, *code)),
                        "{from} to {to}"
                    );
                }
            }
        }
    }
}
