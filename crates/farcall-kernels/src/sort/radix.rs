//! Radix sort by integer keys, with stable passes from the least significant digit to the most significant.
//! Short lines are sorted by comparison. A digit that is equal in all keys needs no pass.

use farcall_ir::interrupt;

/// An item with a key.
pub(super) trait Keyed: Copy {
    /// Number of significant bits of the key.
    const BITS: u32;
    /// Returns the key.
    fn key(self) -> u64;
}

/// A key without payload.
impl Keyed for u32 {
    const BITS: u32 = 32;
    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self)
    }
}

/// A key without payload.
impl Keyed for u64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn key(self) -> u64 {
        self
    }
}

/// A key of one or two bytes without payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Narrow<T>(pub(super) T);

impl<T: Copy + Into<u64>> Keyed for Narrow<T> {
    const BITS: u32 = 8 * size_of::<T>() as u32;
    #[inline(always)]
    fn key(self) -> u64 {
        self.0.into()
    }
}

/// A key in the upper half, and its payload in the lower half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Packed(pub(super) u64);

impl Keyed for Packed {
    const BITS: u32 = 32;
    #[inline(always)]
    fn key(self) -> u64 {
        self.0 >> 32
    }
}

/// A key of 64 bits, and its payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(C)]
pub(super) struct Pair {
    pub(super) key: u64,
    pub(super) with: u64,
}

impl Keyed for Pair {
    const BITS: u32 = 64;
    #[inline(always)]
    fn key(self) -> u64 {
        self.key
    }
}

/// Maximum number of items that are sorted by comparison.
pub(super) const MAX_COMPARISON_ITEMS: usize = 160;
/// Maximum number of items that are sorted by digits of eight bits. Longer lines have digits of eleven bits,
/// which need fewer passes but more counts: summing up the counts takes as long as a pass over this many
/// items.
const MAX_BYTE_DIGIT_ITEMS: usize = 1 << 14;

/// Sorts items by the lowest `bits` bits of their keys; higher bits must be zero. Items with equal keys keep
/// their order. Up to [`MAX_COMPARISON_ITEMS`] items are sorted by their `Ord` instead, which must agree with
/// the order of their keys. `spare` is as long as `items`. The first of the returned slices holds the result.
pub(super) fn sort<'a, T: Keyed + Ord>(
    items: &'a mut [T],
    spare: &'a mut [T],
    bits: u32,
) -> (&'a mut [T], &'a mut [T]) {
    if items.len() <= MAX_COMPARISON_ITEMS {
        items.sort_unstable();
        return (items, spare);
    }
    stable(items, spare, bits)
}

/// Sorts any number of items by digits, with the arguments of [`sort`].
fn stable<'a, T: Keyed>(items: &'a mut [T], spare: &'a mut [T], bits: u32) -> (&'a mut [T], &'a mut [T]) {
    let bits = bits.min(T::BITS);
    if items.len() <= MAX_BYTE_DIGIT_ITEMS {
        by_digits::<T, 8, 256, 8>(items, spare, bits)
    } else {
        by_digits::<T, 11, 2048, 6>(items, spare, bits)
    }
}

/// Sorts by up to `PASSES` digits of `WIDTH` bits, which have `DIGITS` values.
fn by_digits<'a, T: Keyed, const WIDTH: u32, const DIGITS: usize, const PASSES: usize>(
    items: &'a mut [T],
    spare: &'a mut [T],
    bits: u32,
) -> (&'a mut [T], &'a mut [T]) {
    const { assert!(DIGITS == 1 << WIDTH && WIDTH as usize * PASSES >= 64) };
    let passes = (bits.div_ceil(WIDTH) as usize).min(PASSES);
    let (mut from, mut to) = (items, spare);
    let mask = DIGITS - 1;
    // At first, the counts of digits; later, the positions of the next items with these digits.
    let mut counts = [[0u32; DIGITS]; PASSES];
    if interrupt::is_due() {
        return (from, to);
    }
    for item in &*from {
        let key = item.key();
        for (pass, counts) in counts[..passes].iter_mut().enumerate() {
            counts[(key >> (pass as u32 * WIDTH)) as usize & mask] += 1;
        }
    }
    let first = from.first().map_or(0, |item| item.key());
    for (pass, counts) in counts[..passes].iter_mut().enumerate() {
        let shift = pass as u32 * WIDTH;
        // After an interrupt, the result may be unsorted, but `from` must hold all items.
        if from.len() > MAX_BYTE_DIGIT_ITEMS && interrupt::is_due() {
            break;
        }
        if counts[(first >> shift) as usize & mask] as usize == from.len() {
            continue;
        }
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        let to_items = &mut to[..from.len()];
        for item in &*from {
            let at = &mut counts[(item.key() >> shift) as usize & mask];
            // SAFETY: the digits of the items have been counted, so each position is below the number of
            // items.
            unsafe { *to_items.get_unchecked_mut(*at as usize) = *item };
            *at += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    (from, to)
}
