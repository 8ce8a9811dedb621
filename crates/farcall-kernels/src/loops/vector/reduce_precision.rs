//! Prebuilt loops that round elements to fewer bits, with integer operations on their bits.

use farcall_ir::DType;

use super::{VectorLoop, map1};

/// Returns the loop that rounds elements of a type to floats with these numbers of bits.
pub(crate) fn work(dtype: DType, exponent_bits: u32, mantissa_bits: u32) -> Option<VectorLoop> {
    let format = |exponent, mantissa| Format::new(exponent, mantissa, exponent_bits, mantissa_bits);
    macro_rules! rounding {
        ($bits:ty, $format:expr) => {{
            let format = $format;
            Some(map1::<$bits, $bits>(move |x| format.round(u64::from(x)) as $bits))
        }};
    }
    match dtype {
        DType::BF16 => rounding!(u16, format(8, 7)),
        DType::F16 => rounding!(u16, format(5, 10)),
        DType::F32 => rounding!(u32, format(8, 23)),
        DType::F64 => rounding!(u64, format(11, 52)),
        _ => None,
    }
}

/// Parameters for reducing the bits of a float.
#[derive(Clone, Copy)]
struct Format {
    sign: u64,
    /// The exponent with all bits set: infinity, or, with mantissa bits, a NaN.
    infinity: u64,
    /// The last mantissa bit that is kept; 1 if all are kept.
    last: u64,
    /// Numbers below this one become zero. Numbers are compared by the bits of exponent and mantissa.
    least: u64,
    /// Numbers from this one on become infinity. If the exponent keeps all its bits, this number is greater
    /// than infinity.
    most: u64,
    /// True if the mantissa has bits to represent a NaN.
    nan: bool,
}

impl Format {
    /// Creates the reduction of floats with `from_exponent` and `from_mantissa` bits to floats with
    /// `exponent` and `mantissa` bits.
    fn new(from_exponent: u32, from_mantissa: u32, exponent: u32, mantissa: u32) -> Format {
        let sign = 1u64 << (from_exponent + from_mantissa);
        let infinity = ((1u64 << from_exponent) - 1) << from_mantissa;
        let (least, most) = if exponent < from_exponent {
            let bias = (1u64 << (from_exponent - 1)) - 1;
            let reduced = (1u64 << (exponent.max(1) - 1)) - 1;
            ((bias - reduced + 1) << from_mantissa, (bias + reduced + 1) << from_mantissa)
        } else {
            (0, u64::MAX)
        };
        let last = 1u64 << from_mantissa.saturating_sub(mantissa);
        Format { sign, infinity, last, least, most, nan: mantissa > 0 }
    }

    /// Rounds to nearest, ties to even. Numbers outside of the exponent's range then become infinity or zero.
    #[inline(always)]
    fn round(self, bits: u64) -> u64 {
        let (sign, size) = (bits & self.sign, bits & !self.sign);
        if size > self.infinity {
            return if self.nan { bits } else { self.infinity };
        }
        let size = if self.last > 1 {
            let odd = u64::from(size & self.last != 0);
            (size + odd + (self.last >> 1) - 1) & !(self.last - 1)
        } else {
            size
        };
        let size = if size >= self.most { self.infinity } else { size };
        sign | if size < self.least { 0 } else { size }
    }
}
