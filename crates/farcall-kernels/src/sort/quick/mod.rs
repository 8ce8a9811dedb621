//! Sorts keys, with or without positions, in place. Quicksort partitions the items with vector registers. A
//! sorting network sorts the parts that fit in a few registers.
//!
//! After Wassenberg et al., "Vectorized and performance-portable Quicksort" (2022), and Bramas, "A novel
//! hybrid Quicksort algorithm vectorized using AVX-512" (2017).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod items;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod plain;
#[cfg(target_arch = "x86_64")]
mod vectors;

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd;
use farcall_ffi::simd::{Vectors, widest};
use farcall_ir::interrupt;

use items::{Items, Keys, Pairs};
use plain::Plain;
#[cfg(target_arch = "x86_64")]
use vectors::InRegisters;

/// Implementation of sorting for an instruction set.
trait Backend: Sorts<Keys> + Sorts<Pairs> {
    /// Maximum number of items that are sorted without being split.
    const MAX_SMALL_ITEMS: usize;
    /// Number of keys whose median is the pivot of a part shorter than [`MIN_LONG_ITEMS`].
    const SAMPLES: usize = 9;
}

/// Sorting of one kind of items.
///
/// # Safety
/// For all functions: `place` must be valid for reads and writes of `count` items, and the processor must
/// have the instructions.
trait Sorts<V: Items> {
    /// Sorts up to [`MAX_SMALL_ITEMS`](Backend::MAX_SMALL_ITEMS) items by their keys.
    unsafe fn sort_small(place: V::Place, count: usize);
    /// Moves items whose key is less than the pivot (or equal to it, if `TAKES_EQUAL`) to the front, and
    /// returns their number. There must be more than [`MAX_SMALL_ITEMS`](Backend::MAX_SMALL_ITEMS) items.
    unsafe fn split<const TAKES_EQUAL: bool>(place: V::Place, count: usize, pivot: i32) -> usize;
}

/// Minimum number of items of a part whose pivot is the median of
/// [`MAX_SMALL_ITEMS`](Backend::MAX_SMALL_ITEMS) samples. Shorter parts have [`SAMPLES`](Backend::SAMPLES).
const MIN_LONG_ITEMS: usize = 1 << 11;
/// Maximum number of samples for a median.
const MAX_SAMPLES: usize = 128;

/// Number of items in a part above which interrupts are checked before the part is split.
const MIN_CHECKED_ITEMS: usize = 1 << 16;

/// A line of keys, optionally with the positions of their elements. Positions are not negative.
#[derive(Clone, Copy)]
pub(super) struct KeyLine {
    pub(super) keys: *mut i32,
    /// Null for lines without positions.
    pub(super) places: *mut i32,
}

/// Calls a function for the items of a line, instantiated for the given vector registers.
macro_rules! with_items {
    (@in $line:ident, $range:ident, $f:ident, $way:ty) => {
        if $line.places.is_null() {
            $f::<$way, Keys>($line.keys.add($range.start), $range.len())
        } else {
            let place = ($line.keys.add($range.start), $line.places.add($range.start));
            $f::<$way, Pairs>(place, $range.len())
        }
    };
    ($vectors:expr, $line:expr, $range:expr, $f:ident) => {{
        let (line, range): (KeyLine, Range<usize>) = ($line, $range);
        match $vectors {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => simd::avx512(
                #[inline(always)]
                || with_items!(@in line, range, $f, InRegisters<avx512::Avx512>),
            ),
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => simd::avx2(
                #[inline(always)]
                || with_items!(@in line, range, $f, InRegisters<avx2::Avx2>),
            ),
            Vectors::Plain => with_items!(@in line, range, $f, Plain),
        }
    }};
}

impl KeyLine {
    /// Sorts a part by its keys, and by positions where keys are equal.
    ///
    /// # Safety
    /// The keys and positions of the part must be valid for reads and writes, and nothing else may access
    /// them during the call.
    pub(super) unsafe fn sort(self, part: Range<usize>) {
        // SAFETY: the caller upholds the same contract, and `widest` has detected the registers.
        unsafe { self.sort_in(widest(), part) }
    }

    /// Sorts a part with the given registers.
    ///
    /// # Safety
    /// Same requirements as [`KeyLine::sort`]; the processor must have these registers.
    unsafe fn sort_in(self, vectors: Vectors, part: Range<usize>) {
        // SAFETY: the caller guarantees the part and the registers.
        unsafe { with_items!(vectors, self, part, sort_all) }
    }

    /// Moves items of a part whose keys are below an approximate median to the front, and returns the
    /// beginning of the other items. Items with equal keys stay on the same side.
    ///
    /// # Safety
    /// Same requirements as [`KeyLine::sort`].
    pub(super) unsafe fn split(self, part: Range<usize>) -> usize {
        let begin = part.start;
        // SAFETY: the caller upholds the same contract, and `widest` has detected the registers.
        begin + unsafe { with_items!(widest(), self, part, split_in_two) }
    }
}

/// Sorts items by their keys, and items with equal keys by position.
///
/// # Safety
/// Same requirements as [`sort`].
#[inline(always)]
unsafe fn sort_all<W: Backend + Sorts<V>, V: Items>(place: V::Place, count: usize) {
    // SAFETY: the caller upholds the same contract; `each_equal` calls the function with parts of the items.
    unsafe {
        sort::<W, V>(place, count);
        V::each_equal(
            place,
            count,
            #[inline(always)]
            |places, count| sort::<W, Keys>(places, count),
        );
    }
}

/// Sorts items by their keys.
///
/// # Safety
/// `place` must be valid for reads and writes of `count` items ([`Items`]), and the processor must have the
/// instructions.
#[inline(always)]
unsafe fn sort<W: Backend + Sorts<V>, V: Items>(place: V::Place, count: usize) {
    /// A pending part: its beginning and end, a lower bound of its keys if one is known, and how many more
    /// times it may be split.
    type PendingPart = (usize, usize, Option<i32>, u32);
    // The shorter part is sorted first, so there are at most as many pending parts as a length has bits.
    let mut later: [PendingPart; usize::BITS as usize] = [(0, 0, None, 0); usize::BITS as usize];
    later[0] = (0, count, None, 2 * (usize::BITS - count.leading_zeros()));
    let mut left = 1;
    while left > 0 {
        left -= 1;
        let (mut begin, mut end, mut least, mut splits) = later[left];
        loop {
            let count = end - begin;
            // SAFETY: the part is within the items, and its size is in the range that each function requires.
            unsafe {
                let part = V::at(place, begin);
                if count <= W::MAX_SMALL_ITEMS {
                    <W as Sorts<V>>::sort_small(part, count);
                    break;
                }
                // Returning early leaves all items in the part, but unsorted.
                if count > MIN_CHECKED_ITEMS && interrupt::is_due() {
                    return;
                }
                if splits == 0 {
                    heap::<V>(part, count);
                    break;
                }
                splits -= 1;
                let pivot = median::<W, V>(part, count);
                if least == Some(pivot) {
                    // All items equal to the lower bound come first, and need no more sorting.
                    begin += <W as Sorts<V>>::split::<true>(part, count, pivot);
                    continue;
                }
                let middle = begin + <W as Sorts<V>>::split::<false>(part, count, pivot);
                let (lower, upper) = ((begin, middle, least, splits), (middle, end, Some(pivot), splits));
                let is_lower = middle - begin < end - middle;
                later[left] = if is_lower { upper } else { lower };
                left += 1;
                (begin, end, least, splits) = if is_lower { lower } else { upper };
            }
        }
    }
}

/// Splits items at their approximate median. Returns the number of items below the median.
///
/// # Safety
/// Same requirements as [`sort`].
#[inline(always)]
unsafe fn split_in_two<W: Backend + Sorts<V>, V: Items>(place: V::Place, count: usize) -> usize {
    if count <= W::MAX_SMALL_ITEMS {
        return 0;
    }
    // SAFETY: the caller upholds the same contract, and there are more than `MAX_SMALL_ITEMS` items.
    unsafe { <W as Sorts<V>>::split::<false>(place, count, median::<W, V>(place, count)) }
}

/// Returns an approximate median of the keys of more than [`MAX_SMALL_ITEMS`](Backend::MAX_SMALL_ITEMS)
/// items: the median of a sample.
///
/// # Safety
/// Same requirements as [`sort`].
#[inline(always)]
unsafe fn median<W: Backend, V: Items>(place: V::Place, count: usize) -> i32 {
    let samples = if count < MIN_LONG_ITEMS { W::SAMPLES } else { W::MAX_SMALL_ITEMS };
    let step = count / samples;
    // SAFETY: each sample is an item of the part, and the room has `MAX_SAMPLES` keys, at least as many as
    // samples.
    unsafe {
        Keys::with_room::<MAX_SAMPLES, _>(
            #[inline(always)]
            |room| {
                const { assert!(W::MAX_SMALL_ITEMS <= MAX_SAMPLES && W::SAMPLES <= W::MAX_SMALL_ITEMS) };
                for i in 0..samples {
                    // The distances between samples vary, since a periodic line could have equal keys at
                    // constant distances.
                    let at = i * step + (i.wrapping_mul(0x9e37_79b9) >> 8) % step;
                    room.add(i).write(V::key(V::get(V::at(place, at))));
                }
                <W as Sorts<Keys>>::sort_small(room, samples);
                room.add(samples / 2).read()
            },
        )
    }
}

/// Heapsort, for lines for which quicksort would take too long.
///
/// # Safety
/// Same requirements as [`sort`].
unsafe fn heap<V: Items>(place: V::Place, count: usize) {
    // SAFETY: the caller guarantees `count` items; all indices below are less than `count`.
    let (get, put) =
        (|i| unsafe { V::get(V::at(place, i)) }, |i, item| unsafe { V::put(V::at(place, i), item) });
    let sift = |mut at: usize, end: usize| {
        let item = get(at);
        while 2 * at + 1 < end {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let is_right = right < end && V::key(get(left)) < V::key(get(right));
            let child = if is_right { right } else { left };
            if V::key(get(child)) <= V::key(item) {
                break;
            }
            put(at, get(child));
            at = child;
        }
        put(at, item);
    };
    (0..count / 2).rev().for_each(|at| sift(at, count));
    for end in (1..count).rev() {
        let (first, last) = (get(0), get(end));
        put(0, last);
        put(end, first);
        sift(0, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that sorts a whole line.
    type Sort = unsafe fn(KeyLine, usize);

    unsafe fn by_heap(line: KeyLine, count: usize) {
        // SAFETY: the contract is that of `KeyLine::sort`.
        unsafe {
            if line.places.is_null() {
                return heap::<Keys>(line.keys, count);
            }
            heap::<Pairs>((line.keys, line.places), count);
            Pairs::each_equal((line.keys, line.places), count, |places, count| heap::<Keys>(places, count));
        }
    }

    /// Returns all implementations that this processor supports.
    fn all() -> Vec<Sort> {
        macro_rules! vectors {
            ($vectors:ident) => {
                // SAFETY: the contract is that of `KeyLine::sort`; the processor has these registers.
                |line, count| unsafe { line.sort_in(Vectors::$vectors, 0..count) }
            };
        }
        let mut all: Vec<Sort> = vec![vectors!(Plain), by_heap];
        #[cfg(target_arch = "x86_64")]
        match widest() {
            Vectors::Avx512 => all.extend([vectors!(Avx2), vectors!(Avx512)] as [Sort; 2]),
            Vectors::Avx2 => all.push(vectors!(Avx2)),
            Vectors::Plain => {}
        }
        all
    }

    /// Returns key `i` of a line. Some patterns are known to be bad for quicksort; others repeat a few keys,
    /// for example `i32::MAX`.
    fn key(pattern: usize, i: usize, count: usize, random: i32) -> i32 {
        match pattern {
            0 => random,
            1 => random % 3,
            2 => i as i32,
            3 => -(i as i32),
            4 => [i32::MAX, i32::MIN, random][random.unsigned_abs() as usize % 3],
            5 => i32::MAX,
            6 => (i % 17) as i32,
            _ => i.min(count - i) as i32,
        }
    }

    #[test]
    fn any_number_of_items_of_any_pattern() {
        let mut state = 1u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.cast_signed()
        };
        for count in (0..150).chain([255, 256, 257, 1000, 2047, 2049, 5003]) {
            for pattern in 0..8 {
                let keys: Vec<i32> = (0..count).map(|i| key(pattern, i, count, random())).collect();
                let mut wanted: Vec<(i32, i32)> = keys.iter().copied().zip(0..).collect();
                wanted.sort_unstable();
                for sort in all() {
                    let (mut alone, mut sorted) = (keys.clone(), keys.clone());
                    let mut places: Vec<i32> = (0..count as i32).collect();
                    // SAFETY: the vectors have `count` integers, and the processor supports the
                    // implementation.
                    unsafe {
                        sort(KeyLine { keys: alone.as_mut_ptr(), places: std::ptr::null_mut() }, count);
                        sort(KeyLine { keys: sorted.as_mut_ptr(), places: places.as_mut_ptr() }, count);
                    }
                    let found: Vec<(i32, i32)> = sorted.into_iter().zip(places).collect();
                    assert_eq!(found, wanted, "{count} items of pattern {pattern}");
                    assert!(
                        alone.iter().eq(wanted.iter().map(|(key, _)| key)),
                        "{count} keys of pattern {pattern}"
                    );
                }
            }
        }
    }
}
