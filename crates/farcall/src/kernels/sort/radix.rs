//! Sorts by keys that are integers: from the least significant digit on, each pass stable, for lines that are not
//! short; digits that are the same in all keys take no pass.

use farcall_ir::interrupt;

/// Something with a key.
pub(super) trait Keyed: Copy {
    /// Its type's bits that count.
    const BITS: u32;
    /// The key.
    fn key(self) -> u64;
}

/// A key alone.
impl Keyed for u32 {
    const BITS: u32 = 32;
    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self)
    }
}

/// A key alone.
impl Keyed for u64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn key(self) -> u64 {
        self
    }
}

/// A key of one or two bytes, without an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Narrow<T>(pub(super) T);

impl<T: Copy + Into<u64>> Keyed for Narrow<T> {
    const BITS: u32 = 8 * size_of::<T>() as u32;
    #[inline(always)]
    fn key(self) -> u64 {
        self.0.into()
    }
}

/// A key in the upper half, and what goes with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Packed(pub(super) u64);

impl Keyed for Packed {
    const BITS: u32 = 32;
    #[inline(always)]
    fn key(self) -> u64 {
        self.0 >> 32
    }
}

/// A key of 64 bits, and what goes with it.
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

/// Lines up to this length are sorted by comparison.
pub(super) const SHORT: usize = 160;
/// Lines up to this length have digits of eight bits, longer ones of eleven: a pass over these takes as long as it
/// takes to sum up their counts.
const MEDIUM: usize = 1 << 14;

/// Sorts items by the lowest `bits` of their keys, above which there are none. Items with equal keys keep their order,
/// or, in lines up to [`SHORT`], get the one of the items themselves, which must agree with that of the keys. `spare`
/// is as long as `items`; the result lies in the slice that is returned first.
pub(super) fn sort<'a, T: Keyed + Ord>(
    items: &'a mut [T],
    spare: &'a mut [T],
    bits: u32,
) -> (&'a mut [T], &'a mut [T]) {
    if items.len() <= SHORT {
        items.sort_unstable();
        return (items, spare);
    }
    stable(items, spare, bits)
}

/// The same by digits, whatever the number of items.
fn stable<'a, T: Keyed>(items: &'a mut [T], spare: &'a mut [T], bits: u32) -> (&'a mut [T], &'a mut [T]) {
    let bits = bits.min(T::BITS);
    if items.len() <= MEDIUM {
        by_digits::<T, 8, 256, 8>(items, spare, bits)
    } else {
        by_digits::<T, 11, 2048, 6>(items, spare, bits)
    }
}

/// Up to `PASSES` digits of `WIDTH` bits, which have `DIGITS` values.
fn by_digits<'a, T: Keyed, const WIDTH: u32, const DIGITS: usize, const PASSES: usize>(
    items: &'a mut [T],
    spare: &'a mut [T],
    bits: u32,
) -> (&'a mut [T], &'a mut [T]) {
    const { assert!(DIGITS == 1 << WIDTH && WIDTH as usize * PASSES >= 64) };
    let passes = (bits.div_ceil(WIDTH) as usize).min(PASSES);
    let (mut from, mut to) = (items, spare);
    let mask = DIGITS - 1;
    // Counts, then places.
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
        // `from` holds all items, though unsorted.
        if from.len() > MEDIUM && interrupt::is_due() {
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
            // SAFETY: the counts are those of the items, so places are below their number.
            unsafe { *to_items.get_unchecked_mut(*at as usize) = *item };
            *at += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    (from, to)
}
