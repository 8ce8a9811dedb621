//! Conversions of 16-bit floats without branches or calls, so that the compiler can vectorize loops over
//! them. They produce the same bits as the conversions of `half`, even where the processor flushes subnormal
//! numbers.
//!
//! On processors with F16C, instructions convert eight `f16` at once. Operations on `f16` convert a part of
//! the operands to `f32`, compute in `f32`, and convert the results back ([`by_single`]).

use std::mem::MaybeUninit;

use farcall_ir::scalar::to_odd_f32;
use half::{bf16, f16};

use super::{BLOCK, Operand, VectorLoop};
use crate::simd::vectorized;

/// A 16-bit floating-point type.
pub(crate) trait Half: Copy + Send + Sync + 'static {
    /// Converts exactly to `f32`.
    fn widen(self) -> f32;
    /// Rounds to the nearest number, ties to even.
    fn narrow(x: f32) -> Self;
    /// Rounds an `f64` to the nearest number in one step.
    #[inline(always)]
    fn narrow64(x: f64) -> Self {
        Self::narrow(to_odd_f32(x))
    }
}

impl Half for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        // Moves the exponent and the mantissa to their positions in an `f32`.
        let bits = u32::from(self.to_bits());
        let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
        const INFINITE: u32 = 0x7c00 << 13;
        const BIAS: u32 = (127 - 15) << 23;
        let normal = magnitude + if magnitude < INFINITE { BIAS } else { 2 * BIAS };
        let quiet = if magnitude > INFINITE { 0x0040_0000 } else { 0 };
        // For a subnormal number: combines its mantissa with the exponent of the smallest normal number, and
        // subtracts the smallest normal number.
        const MIN_NORMAL_BITS: u32 = (127 - 14) << 23;
        let subnormal = f32::from_bits(magnitude | MIN_NORMAL_BITS) - f32::from_bits(MIN_NORMAL_BITS);
        f32::from_bits(sign | quiet | if magnitude < 1 << 23 { subnormal.to_bits() } else { normal })
    }

    #[inline(always)]
    fn narrow(x: f32) -> f16 {
        let bits = x.to_bits();
        let (sign, a) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
        // Rounds to the nearest number, ties to even: adds half a unit of the last bit that is kept, or
        // slightly less if that bit is 0. A carry propagates into the exponent.
        const BIAS: u32 = (127 - 15) << 23;
        let normal = a.wrapping_sub(BIAS).wrapping_add(0x0fff + ((a >> 13) & 1)) >> 13;
        // The last bit of this number has the value of the last bit of an `f16` subnormal, so adding it
        // rounds to a subnormal.
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

/// Widens `count` elements.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `count` elements, and they do not overlap.
pub(crate) unsafe fn widen(from: *const f16, to: *mut f32, count: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx") {
        // SAFETY: the instructions were detected; the caller guarantees the memory.
        return unsafe { x86::widen(from, to, count) };
    }
    vectorized(
        #[inline(always)]
        || {
            for i in 0..count {
                // SAFETY: `i` is below `count`; the caller guarantees the elements.
                unsafe { to.add(i).write(Half::widen(from.add(i).read())) };
            }
        },
    );
}

/// Rounds `count` elements.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `count` elements, and they do not overlap.
pub(crate) unsafe fn narrow(from: *const f32, to: *mut f16, count: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx") {
        // SAFETY: the instructions were detected; the caller guarantees the memory.
        return unsafe { x86::narrow(from, to, count) };
    }
    vectorized(
        #[inline(always)]
        || {
            for i in 0..count {
                // SAFETY: `i` is below `count`; the caller guarantees the elements.
                unsafe { to.add(i).write(Half::narrow(from.add(i).read())) };
            }
        },
    );
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use half::f16;

    use super::Half;

    /// Number of elements in a vector.
    const LANES: usize = 8;

    /// # Safety
    /// Same requirements as [`super::widen`]; the processor has the instructions.
    #[target_feature(enable = "avx,f16c")]
    pub(crate) unsafe fn widen(from: *const f16, to: *mut f32, count: usize) {
        let whole = count / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            // SAFETY: `i + LANES <= count`; the caller guarantees the elements.
            unsafe { _mm256_storeu_ps(to.add(i), _mm256_cvtph_ps(_mm_loadu_si128(from.add(i).cast()))) };
        }
        for i in whole..count {
            // SAFETY: `i` is below `count`; the caller guarantees the elements.
            unsafe { to.add(i).write(Half::widen(from.add(i).read())) };
        }
    }

    /// # Safety
    /// Same requirements as [`super::narrow`]; the processor has the instructions.
    #[target_feature(enable = "avx,f16c")]
    pub(crate) unsafe fn narrow(from: *const f32, to: *mut f16, count: usize) {
        let whole = count / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            // SAFETY: `i + LANES <= count`; the caller guarantees the elements.
            unsafe {
                let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.add(i)));
                _mm_storeu_si128(to.add(i).cast(), rounded);
            }
        }
        for i in whole..count {
            // SAFETY: `i` is below `count`; the caller guarantees the elements.
            unsafe { to.add(i).write(Half::narrow(from.add(i).read())) };
        }
    }
}

/// Number of elements converted at once: a multiple of a block.
const PART_ELEMENTS: usize = 8 * BLOCK;

/// Buffer for the converted elements of a part.
#[repr(align(64))]
struct PartBuffer([MaybeUninit<f32>; PART_ELEMENTS]);

impl PartBuffer {
    const fn new() -> PartBuffer {
        PartBuffer([const { MaybeUninit::uninit() }; PART_ELEMENTS])
    }

    fn at(&mut self) -> *mut f32 {
        self.0.as_mut_ptr().cast()
    }
}

/// Element format of operands, or of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elements {
    /// `f16`, which the loop processes as `f32`.
    Halves,
    /// Elements of this number of bytes, unchanged.
    Bytes(usize),
}

impl Elements {
    fn bytes(self) -> usize {
        match self {
            Elements::Halves => size_of::<f16>(),
            Elements::Bytes(bytes) => bytes,
        }
    }
}

/// Creates a loop over `f16` from a loop over `f32`. All operands have the format `from`, and the result has
/// the format `to`.
pub(crate) fn by_single(work: VectorLoop, operands: usize, from: Elements, to: Elements) -> VectorLoop {
    VectorLoop::new(move |inputs: &[Operand; 3], out, n| {
        let (mut parts, mut made) = ([const { PartBuffer::new() }; 3], PartBuffer::new());
        for first in (0..n).step_by(PART_ELEMENTS) {
            let count = PART_ELEMENTS.min(n - first);
            let mut each = inputs.iter().zip(&mut parts).enumerate();
            let operands: [Operand; 3] = std::array::from_fn(|_| match each.next() {
                Some((i, (x, part))) if i < operands => {
                    let repeated = x.is_repeated();
                    // SAFETY: an operand has `n` elements, or one block of a repeated element.
                    let at = if repeated { x.at } else { unsafe { x.at.add(first * from.bytes()) } };
                    if from != Elements::Halves {
                        return Operand::new(at, repeated);
                    }
                    // SAFETY: the operand has this number of elements from `at` on, and `part` has room for
                    // them.
                    unsafe { widen(at.cast(), part.at(), if repeated { BLOCK.min(n) } else { count }) };
                    Operand::new(part.at().cast_const().cast(), repeated)
                }
                _ => Operand::ABSENT,
            });
            // SAFETY: `first` is below `n`, the number of results.
            let out = unsafe { out.add(first * to.bytes()) };
            if to == Elements::Halves {
                // SAFETY: the operands have `count` elements, in `parts` or in the caller's memory, and
                // `made` has room for as many.
                unsafe { work.run(&operands, made.at().cast(), count) };
                // SAFETY: the loop has written `count` numbers.
                unsafe { narrow(made.at(), out.cast(), count) };
            } else {
                // SAFETY: the operands have `count` elements, and the caller guarantees the results.
                unsafe { work.run(&operands, out, count) };
            }
        }
    })
}

/// Rounds an integer to the 53 bits of an `f64`, to odd: the last bit is set if bits are lost. A second
/// rounding to fewer bits then gives the same result as a single rounding.
#[inline(always)]
pub(crate) fn integer_to_odd(x: u64) -> f64 {
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
            assert_eq!(x.widen().to_bits(), x.to_f32().to_bits(), "f16 {bits:#x} as f32");
        }
        let near = |x: f32| [x.to_bits().wrapping_sub(1), x.to_bits(), x.to_bits().wrapping_add(1)];
        let between = (0..=u16::MAX).flat_map(|bits| {
            let [x, y] = [bits, bits.wrapping_add(1)].map(|b| f16::from_bits(b).to_f32());
            near(x).into_iter().chain(near((x + y) / 2.0))
        });
        for bits in (0..=u32::MAX).step_by(997).chain(between) {
            let x = f32::from_bits(bits);
            assert_eq!(f16::narrow(x).to_bits(), f16::from_f32(x).to_bits(), "f32 {bits:#x} as f16");
        }
    }

    #[test]
    fn instructions_convert_to_the_same_bits() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).chain([f16::ONE; 3]).collect();
        let mut wide = vec![0f32; halves.len()];
        // SAFETY: both vectors have this number of elements.
        unsafe { widen(halves.as_ptr(), wide.as_mut_ptr(), halves.len()) };
        for (x, y) in halves.iter().zip(&wide) {
            assert_eq!(y.to_bits(), Half::widen(*x).to_bits(), "{x:?} as f32");
        }
        let singles: Vec<f32> = (0..=u32::MAX).step_by(997).map(f32::from_bits).collect();
        let mut rounded = vec![f16::ZERO; singles.len()];
        // SAFETY: both vectors have this number of elements.
        unsafe { narrow(singles.as_ptr(), rounded.as_mut_ptr(), singles.len()) };
        for (x, y) in singles.iter().zip(&rounded) {
            assert_eq!(y.to_bits(), <f16 as Half>::narrow(*x).to_bits(), "f32 {:#x} as f16", x.to_bits());
        }
    }

    #[test]
    fn loops_over_f16_go_part_by_part() {
        let n = 2 * PART_ELEMENTS + 5;
        let numbers: Vec<f16> = (0..n).map(|i| f16::from_f32(i as f32 / 8.0)).collect();
        let factor = [f16::from_f32(2.0); BLOCK];
        let work = super::super::map2::<f32, f32, f32>(|x, y| x * y);
        let work = by_single(work, 2, Elements::Halves, Elements::Halves);
        let mut here = numbers.clone();
        let at = here.as_mut_ptr();
        let from = [
            Operand::each(at.cast_const().cast()),
            Operand::repeated(factor.as_ptr().cast()),
            Operand::ABSENT,
        ];
        // SAFETY: the first operand and the result are the same `n` elements, the second is a block of
        // copies.
        unsafe { work.run(&from, at.cast(), n) };
        assert!(here.iter().zip(&numbers).all(|(y, x)| y.to_f32() == 2.0 * x.to_f32()));
    }

    #[test]
    fn numbers_of_64_bits_are_rounded_once() {
        // Just above and below the midpoint of two `f16` numbers, where rounding to `f32` gives the midpoint
        // itself.
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
