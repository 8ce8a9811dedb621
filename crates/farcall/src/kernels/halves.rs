//! Conversions of the 16-bit floats without branches and calls, so that loops over them become vectors. They have the bits of
//! those of `half`, also where the processor flushes subnormal numbers.

use farcall_ir::scalar::to_odd_f32;
use half::{bf16, f16};

/// A float of 16 bits.
pub(super) trait Half: Copy + Send + Sync + 'static {
    /// The same number.
    fn widen(self) -> f32;
    /// The nearest number; of two, the even one.
    fn narrow(x: f32) -> Self;
    /// The same from an `f64`, rounded once.
    #[inline(always)]
    fn narrow64(x: f64) -> Self {
        Self::narrow(to_odd_f32(x))
    }
}

impl Half for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        // Exponent and mantissa, where an `f32` has them.
        let bits = u32::from(self.to_bits());
        let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
        const INFINITE: u32 = 0x7c00 << 13;
        const BIAS: u32 = (127 - 15) << 23;
        let normal = magnitude + if magnitude < INFINITE { BIAS } else { 2 * BIAS };
        let quiet = if magnitude > INFINITE { 0x0040_0000 } else { 0 };
        // Of a subnormal number, the mantissa after the one of the smallest normal number, less that one.
        const LEAST: u32 = (127 - 14) << 23;
        let subnormal = f32::from_bits(magnitude | LEAST) - f32::from_bits(LEAST);
        f32::from_bits(sign | quiet | if magnitude < 1 << 23 { subnormal.to_bits() } else { normal })
    }

    #[inline(always)]
    fn narrow(x: f32) -> f16 {
        let bits = x.to_bits();
        let (sign, a) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
        // Half of the last place that stays, less one if that is even; what is carried goes into the exponent.
        const BIAS: u32 = (127 - 15) << 23;
        let normal = a.wrapping_sub(BIAS).wrapping_add(0x0fff + ((a >> 13) & 1)) >> 13;
        // Added to a number of which the last place is that of subnormal ones.
        const MAGIC: u32 = (127 - 1) << 23;
        let subnormal = (f32::from_bits(a) + f32::from_bits(MAGIC)).to_bits().wrapping_sub(MAGIC);
        let finite = if a < (127 - 14) << 23 { subnormal } else { normal };
        let nan = 0x7e00 | ((a >> 13) & 0x03ff);
        let special = if a > 0x7f80_0000 { nan } else { 0x7c00 };
        f16::from_bits((sign | if a >= (127 + 16) << 23 { special } else { finite }) as u16)
    }
}

impl Half for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    fn narrow(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}

/// An integer in the 53 bits of an `f64`: the last bit is set if some are lost, so that a second rounding to fewer bits comes
/// out as if it were the only one.
#[inline(always)]
pub(super) fn integer_to_odd(x: u64) -> f64 {
    let kept = (x >> 11) | u64::from(x & 0x7ff != 0);
    if x >> 53 == 0 { x as f64 } else { kept as f64 * 2048.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_has_the_bits_of_half() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            assert_eq!(x.widen().to_bits(), x.to_f32().to_bits(), "{bits:#x}");
        }
        let near = |x: f32| [x.to_bits().wrapping_sub(1), x.to_bits(), x.to_bits().wrapping_add(1)];
        let between = (0..=u16::MAX).flat_map(|bits| {
            let [x, y] = [bits, bits.wrapping_add(1)].map(|b| f16::from_bits(b).to_f32());
            near(x).into_iter().chain(near((x + y) / 2.0))
        });
        for bits in (0..=u32::MAX).step_by(997).chain(between) {
            let x = f32::from_bits(bits);
            assert_eq!(f16::narrow(x).to_bits(), f16::from_f32(x).to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn numbers_of_64_bits_are_rounded_once() {
        // Just above and below the middle of two numbers, where `f32` has the middle itself.
        let middle = 1.0 + 2f64.powi(-11);
        let tiny = 2f64.powi(-40);
        assert_eq!(f16::narrow64(middle + tiny), f16::from_f32(1.0 + 2f32.powi(-10)));
        assert_eq!(f16::narrow64(middle), f16::ONE);
        assert_eq!(f16::narrow64(-(middle + tiny)), -f16::from_f32(1.0 + 2f32.powi(-10)));
        assert_eq!(bf16::narrow64(1.0 + 2f64.powi(-8) + tiny), bf16::from_f32(1.0 + 2f32.powi(-7)));
        assert_eq!(bf16::narrow64(1e300), bf16::INFINITY);
        assert_eq!(bf16::narrow64(-1e-300).to_bits(), 0x8000);
        assert!(f16::narrow64(f64::NAN).is_nan());
        assert_eq!(integer_to_odd(u64::MAX), 2f64.powi(64) - 2048.0);
        assert_eq!(integer_to_odd(1 << 53), 2f64.powi(53));
    }
}
