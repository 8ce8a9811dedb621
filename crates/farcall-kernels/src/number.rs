//! Arithmetic on single elements, with the semantics of the reference evaluator.

use half::{bf16, f16};

/// Arithmetic common to integers and floats.
pub(super) trait Number: Copy + PartialOrd + 'static {
    const ZERO: Self;
    const UNIT: Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// Quotient. For integers, division by zero gives all ones, and the smallest number divided by -1 wraps.
    fn div(self, b: Self) -> Self;
    /// Remainder, with the sign of the dividend. For integers, the remainder by zero is the dividend.
    fn rem(self, b: Self) -> Self;
    /// Maximum: NaN if an operand is NaN; +0 is larger than -0.
    fn max(self, b: Self) -> Self;
    /// Minimum: NaN if an operand is NaN; -0 is smaller than +0.
    fn min(self, b: Self) -> Self;
    /// Power. For integers, the power wraps, and a negative exponent gives 0 unless the base is 1 or -1.
    fn pow(self, b: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;
    fn from_index(i: usize) -> Self;
    fn total_cmp(self, b: Self) -> std::cmp::Ordering;
    /// Returns the same number, or zero if the number is subnormal and the processor flushes subnormals.
    /// `one` is [`Number::opaque_one`], evaluated outside of the loop.
    fn settle(self, one: Self) -> Self;
    /// Returns one, hidden from the optimizer.
    fn opaque_one() -> Self {
        std::hint::black_box(Self::UNIT)
    }
}

/// Position of NaN in an order of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nan {
    /// Above infinity.
    Largest,
    /// Below minus infinity.
    Smallest,
}

/// Floating-point numbers with an order-preserving map to integers, in which -0 is below +0.
pub(super) trait Float: Number {
    /// The integer type.
    type Key: Copy + Ord + Send + Sync + 'static;
    fn key(self, nan: Nan) -> Self::Key;
    /// Returns the number of a key. All NaNs become the same NaN.
    fn of_key(key: Self::Key) -> Self;
}

/// Operations on the bits of integers.
pub(super) trait Integer: Number {
    fn shl(self, b: Self) -> Self;
    fn shr_arithmetic(self, b: Self) -> Self;
    fn shr_logical(self, b: Self) -> Self;
    /// Returns the upper half of the product.
    fn mul_hi(self, b: Self) -> Self;
    fn not(self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn popcount(self) -> Self;
    fn leading_zeros(self) -> Self;
    fn is_below_zero(self) -> bool;
    /// Converts to an index, clamped to `0..=limit`.
    fn clamp_index(self, limit: usize) -> usize;
}

/// Computes the truncated quotient of integers in floating point, because processors have no vector
/// instructions for quotients of integers. The float type has more mantissa bits than the integers have bits.
/// Rounding therefore cannot move a quotient up to the next integer.
macro_rules! quotient {
    (none, $a:expr, $b:expr, $t:ident) => {
        if $b == 0 { !0 } else { $a.wrapping_div($b) }
    };
    ($f:ident, $a:expr, $b:expr, $t:ident) => {{
        // Dividing the smallest number by -1 overflows, so the quotient by -1 is computed by negation, which
        // wraps.
        let opposite = $t::MIN != 0 && $b == !0;
        let by = if opposite || $b == 0 { 1 } else { $b };
        // SAFETY: a quotient by a number other than 0 and -1 is in the range of the type.
        let quotient = unsafe { ($a as $f / by as $f).to_int_unchecked::<$t>() };
        let quotient = if opposite { $a.wrapping_neg() } else { quotient };
        if $b == 0 { !0 } else { quotient }
    }};
}

/// Computes the remainder from the quotient.
macro_rules! remainder {
    (none, $a:expr, $b:expr) => {
        if $b == 0 { $a } else { $a.wrapping_rem($b) }
    };
    ($f:ident, $a:expr, $b:expr) => {
        $a.wrapping_sub(Number::div($a, $b).wrapping_mul($b))
    };
}

macro_rules! integers {
    ($($t:ident $signed:ident $unsigned:ident $by:tt;)*) => {$(
        impl Number for $t {
            const ZERO: $t = 0;
            const UNIT: $t = 1;
            #[inline(always)]
            fn add(self, b: $t) -> $t { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: $t) -> $t { self.wrapping_sub(b) }
            #[inline(always)]
            fn mul(self, b: $t) -> $t { self.wrapping_mul(b) }
            #[inline(always)]
            fn div(self, b: $t) -> $t { quotient!($by, self, b, $t) }
            #[inline(always)]
            fn rem(self, b: $t) -> $t { remainder!($by, self, b) }
            #[inline(always)]
            fn max(self, b: $t) -> $t { Ord::max(self, b) }
            #[inline(always)]
            fn min(self, b: $t) -> $t { Ord::min(self, b) }
            #[inline(always)]
            fn pow(self, b: $t) -> $t {
                if b.is_below_zero() {
                    return match self {
                        1 => 1,
                        x if x == !0 => if b & 1 == 0 { 1 } else { !0 },
                        _ => 0,
                    };
                }
                let (mut base, mut exponent, mut out): ($t, $t, $t) = (self, b, 1);
                while exponent != 0 {
                    if exponent & 1 == 1 {
                        out = out.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                out
            }
            #[inline(always)]
            fn neg(self) -> $t { self.wrapping_neg() }
            #[inline(always)]
            fn abs(self) -> $t { (self as $signed).wrapping_abs() as $t }
            #[inline(always)]
            fn sign(self) -> $t { (self as $signed).signum() as $t }
            #[inline(always)]
            fn settle(self, _: $t) -> $t { self }
            #[inline(always)]
            fn from_index(i: usize) -> $t { i as $t }
            #[inline(always)]
            fn total_cmp(self, b: $t) -> std::cmp::Ordering { self.cmp(&b) }
        }

        impl Integer for $t {
            #[inline(always)]
            fn shl(self, b: $t) -> $t {
                if (b as $unsigned) < $t::BITS as $unsigned { self << b } else { 0 }
            }
            #[inline(always)]
            fn shr_arithmetic(self, b: $t) -> $t {
                let far = (b as $unsigned) >= $t::BITS as $unsigned;
                ((self as $signed) >> if far { $t::BITS - 1 } else { b as u32 }) as $t
            }
            #[inline(always)]
            fn shr_logical(self, b: $t) -> $t {
                if (b as $unsigned) < $t::BITS as $unsigned { ((self as $unsigned) >> b) as $t } else { 0 }
            }
            #[inline(always)]
            fn mul_hi(self, b: $t) -> $t {
                if $t::MIN == 0 {
                    ((self as u128 * b as u128) >> $t::BITS) as $t
                } else {
                    ((self as i128 * b as i128) >> $t::BITS) as $t
                }
            }
            #[inline(always)]
            fn not(self) -> $t { !self }
            #[inline(always)]
            fn and(self, b: $t) -> $t { self & b }
            #[inline(always)]
            fn or(self, b: $t) -> $t { self | b }
            #[inline(always)]
            fn xor(self, b: $t) -> $t { self ^ b }
            #[inline(always)]
            fn popcount(self) -> $t { self.count_ones() as $t }
            #[inline(always)]
            fn leading_zeros(self) -> $t { <$t>::leading_zeros(self) as $t }
            #[inline(always)]
            fn is_below_zero(self) -> bool {
                $signed::MIN as i128 == $t::MIN as i128 && (self as $signed) < 0
            }
            #[inline(always)]
            fn clamp_index(self, limit: usize) -> usize {
                if self.is_below_zero() { 0 } else { usize::try_from(self).map_or(limit, |i| Ord::min(i, limit)) }
            }
        }
    )*};
}

integers! {
    i8 i8 u8 f32;
    i16 i16 u16 f32;
    i32 i32 u32 f64;
    i64 i64 u64 none;
    u8 i8 u8 f32;
    u16 i16 u16 f32;
    u32 i32 u32 f64;
    u64 i64 u64 none;
}

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Number for $t {
            const ZERO: $t = 0.0;
            const UNIT: $t = 1.0;
            #[inline(always)]
            fn add(self, b: $t) -> $t { self + b }
            #[inline(always)]
            fn sub(self, b: $t) -> $t { self - b }
            #[inline(always)]
            fn mul(self, b: $t) -> $t { self * b }
            #[inline(always)]
            fn div(self, b: $t) -> $t { self / b }
            #[inline(always)]
            fn rem(self, b: $t) -> $t { self % b }
            #[inline(always)]
            fn max(self, b: $t) -> $t {
                // The code has no branches, so that loops over it are vectorized. If equal numbers have
                // different bits, they are zeros.
                let nan = self + b;
                let greater = if b > self { b } else { nan };
                let greater = if self > b { self } else { greater };
                if self == b { <$t>::from_bits(self.to_bits() & b.to_bits()) } else { greater }
            }
            #[inline(always)]
            fn min(self, b: $t) -> $t {
                let nan = self + b;
                let less = if b < self { b } else { nan };
                let less = if self < b { self } else { less };
                if self == b { <$t>::from_bits(self.to_bits() | b.to_bits()) } else { less }
            }
            #[inline(always)]
            fn pow(self, b: $t) -> $t { self.powf(b) }
            #[inline(always)]
            fn neg(self) -> $t { -self }
            #[inline(always)]
            fn abs(self) -> $t { <$t>::abs(self) }
            #[inline(always)]
            fn sign(self) -> $t {
                if self.is_nan() || self == 0.0 { self } else { (1.0 as $t).copysign(self) }
            }
            #[inline(always)]
            fn settle(self, one: $t) -> $t { self * one }
            #[inline(always)]
            fn from_index(i: usize) -> $t { i as $t }
            #[inline(always)]
            fn total_cmp(self, b: $t) -> std::cmp::Ordering { <$t>::total_cmp(&self, &b) }
        }
    )*};
}

floats! { f32 f64 }

macro_rules! halves {
    ($($t:ident)*) => {$(
        impl Number for $t {
            const ZERO: $t = $t::ZERO;
            const UNIT: $t = $t::ONE;
            #[inline(always)]
            fn add(self, b: $t) -> $t { $t::from_f32(self.to_f32() + b.to_f32()) }
            #[inline(always)]
            fn sub(self, b: $t) -> $t { $t::from_f32(self.to_f32() - b.to_f32()) }
            #[inline(always)]
            fn mul(self, b: $t) -> $t { $t::from_f32(self.to_f32() * b.to_f32()) }
            #[inline(always)]
            fn div(self, b: $t) -> $t { $t::from_f32(self.to_f32() / b.to_f32()) }
            #[inline(always)]
            fn rem(self, b: $t) -> $t { $t::from_f32(self.to_f32() % b.to_f32()) }
            #[inline(always)]
            fn max(self, b: $t) -> $t { $t::from_f32(Number::max(self.to_f32(), b.to_f32())) }
            #[inline(always)]
            fn min(self, b: $t) -> $t { $t::from_f32(Number::min(self.to_f32(), b.to_f32())) }
            #[inline(always)]
            fn pow(self, b: $t) -> $t { $t::from_f32(self.to_f32().powf(b.to_f32())) }
            #[inline(always)]
            fn neg(self) -> $t { -self }
            #[inline(always)]
            fn abs(self) -> $t { $t::from_bits(self.to_bits() & 0x7fff) }
            #[inline(always)]
            fn sign(self) -> $t { $t::from_f32(Number::sign(self.to_f32())) }
            #[inline(always)]
            fn settle(self, one: $t) -> $t { Number::mul(self, one) }
            #[inline(always)]
            fn from_index(i: usize) -> $t { $t::from_f32(i as f32) }
            #[inline(always)]
            fn total_cmp(self, b: $t) -> std::cmp::Ordering { <$t>::total_cmp(&self, &b) }
        }
    )*};
}

halves! { f16 bf16 }

/// Conversion to the type in which numbers are compared. The processor may flush subnormals of this type in
/// comparisons.
pub(super) trait Compared: Number + Send + Sync {
    type Wide: PartialOrd + Copy;
    fn wide(self) -> Self::Wide;
}

macro_rules! compared {
    ($($t:ident as $wide:ident, $widen:expr;)*) => {$(
        impl Compared for $t {
            type Wide = $wide;
            #[inline(always)]
            fn wide(self) -> $wide { $widen(self) }
        }
    )*};
}

fn same<T>(x: T) -> T {
    x
}

compared! {
    u8 as u8, same; u16 as u16, same; u32 as u32, same; u64 as u64, same;
    i8 as i8, same; i16 as i16, same; i32 as i32, same; i64 as i64, same;
    f16 as f32, f16::to_f32; bf16 as f32, bf16::to_f32; f32 as f32, same; f64 as f64, same;
}

macro_rules! ordered {
    ($($t:ident as $int:ident),*) => {$(
        impl Float for $t {
            type Key = $int;

            #[inline(always)]
            fn key(self, nan: Nan) -> $int {
                let bits = self.to_bits() as $int;
                // For negative numbers, all bits except the sign are inverted.
                let key = bits ^ ((bits >> ($int::BITS - 1)) & $int::MAX);
                let of_nan = if nan == Nan::Largest { $int::MAX } else { $int::MIN };
                if self == self { key } else { of_nan }
            }

            #[inline(always)]
            fn of_key(key: $int) -> $t {
                // The largest and the smallest integers correspond to NaNs in any case.
                $t::from_bits((key ^ ((key >> ($int::BITS - 1)) & $int::MAX)) as _)
            }
        }
    )*};
}

ordered!(f32 as i32, f64 as i64);

/// Implements [`Float`] through `f32`, which represents all numbers of these types.
macro_rules! ordered_as_f32 {
    ($($t:ident),*) => {$(
        impl Float for $t {
            type Key = i32;

            #[inline(always)]
            fn key(self, nan: Nan) -> i32 {
                self.to_f32().key(nan)
            }

            #[inline(always)]
            fn of_key(key: i32) -> $t {
                $t::from_f32(f32::of_key(key))
            }
        }
    )*};
}

ordered_as_f32!(f16, bf16);
