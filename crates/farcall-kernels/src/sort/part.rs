//! The first or the last elements of lines that are ordered by one operand. These elements are selected
//! ([`select`]), and all operands are read at the positions of the selected elements.
//!
//! The last elements of a line are the first elements of the reversed line, in reverse order.

use std::ops::Range;

use super::super::args::Args;
use super::super::select;
use super::super::simd::vectorized;
use super::super::types::dispatch;
use super::comparator::{Key, Order};
use super::element::Element;
use super::item::Word;
use super::line::Strided;
use super::order::Permute;
use super::{Begin, Operands, Shape, Sorter, end};

/// Makes a sorter that selects the first or the last elements of lines with one key. Returns `None` for lines
/// with several keys, and for parts in the middle of a line.
pub(super) fn sorter(
    operands: Operands<'_>,
    keys: &[Key],
    shape: Shape,
    part: &Range<usize>,
) -> Option<Sorter> {
    let [key] = *keys else { return None };
    if part.start > 0 && part.end < shape.length {
        return None;
    }
    let of = PartSort { key, shape, count: part.len(), is_last: part.start > 0 };
    dispatch!(key.dtype, [ints, floats, pred], T => of.sorter::<T>(operands))?
}

struct PartSort {
    key: Key,
    shape: Shape,
    count: usize,
    /// True if the last elements are wanted, false if the first elements are wanted.
    is_last: bool,
}

impl PartSort {
    fn sorter<T: Element<Word: select::Key>>(self, operands: Operands<'_>) -> Option<Sorter> {
        let (n, count) = (self.shape.length, self.count);
        let permute = Permute::of(operands, |_| true)?;
        let ranks = select::room(count, n);
        // The scratch memory holds keys, then ranks, then positions, then elements.
        let ranks_at = end(0, n, size_of::<T::Word>())?;
        let places_at = end(ranks_at, ranks, size_of::<Rank<T>>())?;
        let room_at = end(places_at, count, size_of::<u32>())?;
        let scratch = end(room_at, permute.room(count), 1)?;
        let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
            // SAFETY: the caller of a sorter provides `scratch` bytes: the slices are disjoint and aligned
            // parts of the scratch memory. Integers may have any bits. The operand and the result have
            // elements of type `T`.
            let (keys, ranks, places, x) = unsafe {
                (
                    std::slice::from_raw_parts_mut(scratch.cast::<T::Word>(), n),
                    std::slice::from_raw_parts_mut(scratch.add(ranks_at).cast::<Rank<T>>(), ranks),
                    std::slice::from_raw_parts_mut(scratch.add(places_at).cast::<u32>(), count),
                    Strided::<T>::new(args, self.key.operand, begin, self.shape),
                )
            };
            if !self.read(&x, keys) {
                return false;
            }
            let first = vectorized(
                #[inline(always)]
                || select::first(keys, count, |key| key, ranks),
            );
            for (i, rank) in first.iter().enumerate() {
                let place = <T::Word as select::Key>::place(*rank);
                if self.is_last {
                    places[count - 1 - i] = (n - 1) as u32 - place;
                } else {
                    places[i] = place;
                }
            }
            // SAFETY: the caller of a sorter provides the lines of the operands and of the results; `places`
            // are positions in the line; there is room for `count` elements of any operand.
            unsafe { permute.lines(args, begin, self.shape.stride, places, scratch.add(room_at)) };
            true
        };
        Some(Sorter { scratch, sort: Box::new(sort) })
    }

    /// Writes a key for each element. Elements with lower keys come first. Returns false if the line is
    /// unordered.
    fn read<T: Element>(&self, x: &Strided<T>, keys: &mut [T::Word]) -> bool {
        let flip = if self.key.descending != self.is_last { u64::MAX >> (64 - T::BITS) } else { 0 };
        let mut nan = false;
        x.each_place(self.key.order, |i, x, place| {
            nan |= x.is_nan();
            keys[i] = place.flip(flip);
        });
        if self.is_last {
            keys.reverse();
        }
        self.key.order != Order::Numbers || !nan
    }
}

/// Key of an element, combined with its position.
type Rank<T> = <<T as Element>::Word as select::Key>::Rank;
