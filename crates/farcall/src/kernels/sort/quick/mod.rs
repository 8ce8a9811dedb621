//! Sorts keys, or keys and what goes with them, where they lie: quicksort, which splits a part by registers, down to
//! parts that fit into some registers, which a network sorts.
//!
//! After Wassenberg et al., "Vectorized and performance-portable Quicksort" (2022), and Bramas, "A novel hybrid
//! Quicksort algorithm vectorized using AVX-512" (2017).

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

/// How items are sorted on a processor.
trait Way: Sorts<Keys> + Sorts<Pairs> {
    /// So many items at most are sorted otherwise than by splitting them.
    const FEW: usize;
    /// The number of keys of whose median the pivot is.
    const SAMPLES: usize = 9;
}

/// A way to sort items of a kind.
///
/// # Safety
/// Of its functions: there are so many items, and the processor has the instructions.
trait Sorts<V: Items> {
    /// Sorts up to [`FEW`](Way::FEW) items by their keys.
    unsafe fn sort_few(place: V::Place, count: usize);
    /// Moves items whose key is less than the pivot, or up to it, before the others, and returns how many they are. There
    /// are more than [`FEW`](Way::FEW).
    unsafe fn split<const UP_TO: bool>(place: V::Place, count: usize, pivot: i32) -> usize;
}

/// Samples of lines of at least so many items are [`FEW`](Way::FEW).
const LONG: usize = 1 << 11;
const MOST_SAMPLES: usize = 128;

/// Minimum number of items in a part for a check for an interrupt before it is split.
const MIN_CHECKED: usize = 1 << 16;

/// A line of keys, and maybe of the places of the elements that they are of, none of which is negative.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) keys: *mut i32,
    /// Null if there are none.
    pub(super) places: *mut i32,
}

/// Does the same with any items, in such registers.
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
        let (line, range): (Line, Range<usize>) = ($line, $range);
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

impl Line {
    /// Sorts a part by its keys; where these are equal, by the places.
    ///
    /// # Safety
    /// There are such integers, which nobody else reads or writes meanwhile.
    pub(super) unsafe fn sort(self, part: Range<usize>) {
        // SAFETY: the caller's promise; the processor has the instructions.
        unsafe { self.sort_in(widest(), part) }
    }

    /// The same in such registers.
    ///
    /// # Safety
    /// As of [`Line::sort`], and the processor has them.
    unsafe fn sort_in(self, vectors: Vectors, part: Range<usize>) {
        // SAFETY: the caller's promise.
        unsafe { with_items!(vectors, self, part, sort_all) }
    }

    /// Moves items of a part with keys below some key before the others, and says where these begin. Items with equal
    /// keys are on the same side.
    ///
    /// # Safety
    /// As of [`Line::sort`].
    pub(super) unsafe fn split(self, part: Range<usize>) -> usize {
        let begin = part.start;
        // SAFETY: the caller's promise; the processor has the instructions.
        begin + unsafe { with_items!(widest(), self, part, split_in_two) }
    }
}

/// Sorts items, also those whose keys are equal.
///
/// # Safety
/// As of [`sort`].
#[inline(always)]
unsafe fn sort_all<W: Way + Sorts<V>, V: Items>(place: V::Place, count: usize) {
    // SAFETY: the caller's promise.
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
/// As of [`Items`]: they are there, and the processor has the instructions.
#[inline(always)]
unsafe fn sort<W: Way + Sorts<V>, V: Items>(place: V::Place, count: usize) {
    /// Where it begins and ends, what no key in it is less than, if that is known, and how often it may be split.
    type Part = (usize, usize, Option<i32>, u32);
    // As many parts are put off as a length has bits: the shorter one is sorted first.
    let mut later: [Part; usize::BITS as usize] = [(0, 0, None, 0); usize::BITS as usize];
    later[0] = (0, count, None, 2 * (usize::BITS - count.leading_zeros()));
    let mut left = 1;
    while left > 0 {
        left -= 1;
        let (mut begin, mut end, mut least, mut splits) = later[left];
        loop {
            let count = end - begin;
            // SAFETY: the part, and as many items of it as these functions want.
            unsafe {
                let part = V::at(place, begin);
                if count <= W::FEW {
                    <W as Sorts<V>>::sort_few(part, count);
                    break;
                }
                // The part holds all of its items, though unsorted.
                if count > MIN_CHECKED && interrupt::is_due() {
                    return;
                }
                if splits == 0 {
                    heap::<V>(part, count);
                    break;
                }
                splits -= 1;
                let pivot = median::<W, V>(part, count);
                if least == Some(pivot) {
                    // Those that are equal to it are sorted.
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

/// Splits items at about their median; returns how many are below.
///
/// # Safety
/// As of [`sort`].
#[inline(always)]
unsafe fn split_in_two<W: Way + Sorts<V>, V: Items>(place: V::Place, count: usize) -> usize {
    if count <= W::FEW {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { <W as Sorts<V>>::split::<false>(place, count, median::<W, V>(place, count)) }
}

/// About the median of the keys of more than [`FEW`](Way::FEW) items: that of some.
///
/// # Safety
/// As of [`sort`].
#[inline(always)]
unsafe fn median<W: Way, V: Items>(place: V::Place, count: usize) -> i32 {
    let samples = if count < LONG { W::SAMPLES } else { W::FEW };
    let step = count / samples;
    // SAFETY: items of the line; the room is for as many as there are samples.
    unsafe {
        Keys::with_room::<MOST_SAMPLES, _>(
            #[inline(always)]
            |room| {
                const { assert!(W::FEW <= MOST_SAMPLES && W::SAMPLES <= W::FEW) };
                for i in 0..samples {
                    // Not at the same distance each: a pattern of the line could have it.
                    let at = i * step + (i.wrapping_mul(0x9e37_79b9) >> 8) % step;
                    room.add(i).write(V::key(V::get(V::at(place, at))));
                }
                <W as Sorts<Keys>>::sort_few(room, samples);
                room.add(samples / 2).read()
            },
        )
    }
}

/// Heapsort, for lines that quicksort would take too long for.
///
/// # Safety
/// As of [`sort`].
unsafe fn heap<V: Items>(place: V::Place, count: usize) {
    // SAFETY: items of the line.
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

    /// Sorts a line, whole.
    type Sort = unsafe fn(Line, usize);

    unsafe fn by_heap(line: Line, count: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if line.places.is_null() {
                return heap::<Keys>(line.keys, count);
            }
            heap::<Pairs>((line.keys, line.places), count);
            Pairs::each_equal((line.keys, line.places), count, |places, count| heap::<Keys>(places, count));
        }
    }

    /// All ways of this processor.
    fn all() -> Vec<Sort> {
        macro_rules! vectors {
            ($vectors:ident) => {
                // SAFETY: the caller's promise.
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

    /// Patterns that quicksort is known to be bad at, and numbers that repeat, the largest among them.
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
                    // SAFETY: as many integers, and a way of this processor.
                    unsafe {
                        sort(Line { keys: alone.as_mut_ptr(), places: std::ptr::null_mut() }, count);
                        sort(Line { keys: sorted.as_mut_ptr(), places: places.as_mut_ptr() }, count);
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
