//! Items that are sorted: keys as unsigned integers, with or without four bytes of payload.

use super::radix::{Keyed, Narrow, Packed, Pair};

/// Unsigned integer type of keys.
pub(super) trait Word: Keyed + Ord + Send + Sync + 'static {
    fn flip(self, by: u64) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn flip(self, by: u64) -> u32 {
        self ^ by as u32
    }
}

impl Word for u64 {
    #[inline(always)]
    fn flip(self, by: u64) -> u64 {
        self ^ by
    }
}

/// A sorted item: a key with four bytes of payload, or without payload.
pub(super) trait Item<W>: Keyed + Ord + 'static {
    fn new(word: W, with: u32) -> Self;
    fn word(self) -> W;
    fn with(self) -> u32;
}

/// A key type for which there is an item type with four bytes of payload.
pub(super) trait Carrier: Sized {
    type Item: Item<Self>;
}

impl Carrier for u32 {
    type Item = Packed;
}

impl Carrier for u64 {
    type Item = Pair;
}

impl<W: Word> Item<W> for W {
    #[inline(always)]
    fn new(word: W, _: u32) -> W {
        word
    }
    #[inline(always)]
    fn word(self) -> W {
        self
    }
    #[inline(always)]
    fn with(self) -> u32 {
        0
    }
}

impl Item<u32> for Narrow<u8> {
    #[inline(always)]
    fn new(word: u32, _: u32) -> Narrow<u8> {
        Narrow(word as u8)
    }
    #[inline(always)]
    fn word(self) -> u32 {
        self.0.into()
    }
    #[inline(always)]
    fn with(self) -> u32 {
        0
    }
}

impl Item<u32> for Narrow<u16> {
    #[inline(always)]
    fn new(word: u32, _: u32) -> Narrow<u16> {
        Narrow(word as u16)
    }
    #[inline(always)]
    fn word(self) -> u32 {
        self.0.into()
    }
    #[inline(always)]
    fn with(self) -> u32 {
        0
    }
}

impl Item<u32> for Packed {
    #[inline(always)]
    fn new(word: u32, with: u32) -> Packed {
        Packed(u64::from(word) << 32 | u64::from(with))
    }
    #[inline(always)]
    fn word(self) -> u32 {
        (self.0 >> 32) as u32
    }
    #[inline(always)]
    fn with(self) -> u32 {
        self.0 as u32
    }
}

impl Item<u64> for Pair {
    #[inline(always)]
    fn new(word: u64, with: u32) -> Pair {
        Pair { key: word, with: u64::from(with) }
    }
    #[inline(always)]
    fn word(self) -> u64 {
        self.key
    }
    #[inline(always)]
    fn with(self) -> u32 {
        self.with as u32
    }
}
