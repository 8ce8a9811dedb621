//! Order-preserving maps from elements to integers.

use half::{bf16, f16};

use super::super::number::Number;
use super::comparator::Order;
use super::item::{Item, Word};
use super::radix::Narrow;

/// Element type of an operand.
pub(super) trait Element: Copy + Send + Sync + 'static {
    type Word: Word;
    /// A key without payload, at most as large as an element.
    type Alone: Item<Self::Word>;
    const BITS: u32 = 8 * size_of::<Self>() as u32;
    /// Returns one, hidden from the optimizer.
    fn opaque_one() -> Self;
    /// Returns the element's position in the total order.
    fn total(self) -> Self::Word;
    /// Returns the element at this position in the total order.
    fn from_total(total: Self::Word) -> Self;
    /// Returns the positions that stand for all zeros and for all NaNs: the positions of the positive zero
    /// and of the largest NaN. `None` for integers, which have neither.
    fn equals() -> Option<[Self::Word; 2]>;
    fn is_nan(self) -> bool;
    /// Returns true if the element compares as equal to zero; `one` is [`Element::opaque_one`].
    fn is_zero(self, one: Self) -> bool;

    /// Returns the position in the total order that stands for all elements equal to this element in `order`.
    #[inline(always)]
    fn place(self, order: Order, one: Self) -> Self::Word {
        match (order, Self::equals()) {
            (Order::Total, _) | (_, None) => self.total(),
            (_, Some([zero, nan])) => {
                if self.is_nan() {
                    nan
                } else if self.is_zero(one) {
                    zero
                } else {
                    self.total()
                }
            }
        }
    }
}

macro_rules! integers {
    ($($t:ty as $word:ty, $alone:ty, $sign:expr;)*) => {$(
        impl Element for $t {
            type Word = $word;
            type Alone = $alone;
            fn opaque_one() -> $t { 1 }
            #[inline(always)]
            fn total(self) -> $word { <$word>::from((self ^ $sign).cast_unsigned_()) }
            #[inline(always)]
            fn from_total(total: $word) -> $t { total as $t ^ $sign }
            fn equals() -> Option<[$word; 2]> { None }
            fn is_nan(self) -> bool { false }
            fn is_zero(self, _: $t) -> bool { false }
        }
    )*};
}

/// Version of `cast_unsigned` that unsigned integers have, too.
trait CastUnsigned {
    type Unsigned;
    fn cast_unsigned_(self) -> Self::Unsigned;
}

macro_rules! cast_unsigned {
    ($($t:ty as $unsigned:ty;)*) => {$(
        impl CastUnsigned for $t {
            type Unsigned = $unsigned;
            #[inline(always)]
            fn cast_unsigned_(self) -> $unsigned { self as $unsigned }
        }
    )*};
}

cast_unsigned! { u8 as u8; u16 as u16; u32 as u32; u64 as u64; i8 as u8; i16 as u16; i32 as u32; i64 as u64; }

integers! {
    u8 as u32, Narrow<u8>, 0;
    u16 as u32, Narrow<u16>, 0;
    u32 as u32, u32, 0;
    u64 as u64, u64, 0;
    i8 as u32, Narrow<u8>, i8::MIN;
    i16 as u32, Narrow<u16>, i16::MIN;
    i32 as u32, u32, i32::MIN;
    i64 as u64, u64, i64::MIN;
}

macro_rules! floats {
    ($($t:ident, $bits:ident, $signed:ident, $word:ident, $alone:ty;)*) => {$(
        impl Element for $t {
            type Word = $word;
            type Alone = $alone;
            fn opaque_one() -> $t { <$t as Number>::opaque_one() }
            #[inline(always)]
            fn total(self) -> $word {
                let bits = self.to_bits();
                // Flips all bits of negative numbers, and the sign of other numbers.
                let flip = (bits as $signed >> ($bits::BITS - 1)) as $bits | 1 << ($bits::BITS - 1);
                <$word>::from(bits ^ flip)
            }
            #[inline(always)]
            fn from_total(total: $word) -> $t {
                let bits = total as $bits;
                let flip = !((bits as $signed >> ($bits::BITS - 1)) as $bits) | 1 << ($bits::BITS - 1);
                $t::from_bits(bits ^ flip)
            }
            #[inline(always)]
            fn equals() -> Option<[$word; 2]> { Some([1 << ($bits::BITS - 1), <$word>::from($bits::MAX)]) }
            #[inline(always)]
            fn is_nan(self) -> bool { $t::is_nan(self) }
            #[inline(always)]
            fn is_zero(self, one: $t) -> bool { self.settle(one) == <$t as Number>::ZERO }
        }
    )*};
}

floats! {
    f16, u16, i16, u32, Narrow<u16>;
    bf16, u16, i16, u32, Narrow<u16>;
    f32, u32, i32, u32, u32;
    f64, u64, i64, u64, u64;
}
