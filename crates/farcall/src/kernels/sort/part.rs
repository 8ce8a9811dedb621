//! The first or the last elements of lines that are ordered by one operand: they are selected ([`select`]), then all
//! operands are read at their places.
//!
//! The last elements are the first ones of the line from its end on, in the reverse order.

use std::ops::Range;

use super::comparator::{Key, Order};
use super::element::{Element, Word};
use super::line::Strided;
use super::order::Permute;
use super::{Begin, Operands, Shape, Sorter, end};
use crate::kernels::args::Args;
use crate::kernels::select;
use crate::kernels::simd::vectorized;
use crate::kernels::types::dispatch;

/// A sorter of such lines; `None` if these, or the part of them, are others.
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
    let of = Part { key, shape, count: part.len(), is_last: part.start > 0 };
    dispatch!(key.dtype, [ints, floats, pred], T => of.sorter::<T>(operands))?
}

struct Part {
    key: Key,
    shape: Shape,
    count: usize,
    /// The last ones are wanted, else the first ones.
    is_last: bool,
}

impl Part {
    fn sorter<T: Element<Word: select::Key>>(self, operands: Operands<'_>) -> Option<Sorter> {
        let (n, count) = (self.shape.length, self.count);
        let permute = Permute::of(operands, |_| true)?;
        let ranks = select::room(count, n);
        // Keys, ranks, places, and room for elements, one behind the other.
        let ranks_at = end(0, n, size_of::<T::Word>())?;
        let places_at = end(ranks_at, ranks, size_of::<Rank<T>>())?;
        let room_at = end(places_at, count, size_of::<u32>())?;
        let scratch = end(room_at, permute.room(count), 1)?;
        let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
            // SAFETY: the parts of the scratch memory, which are apart and aligned, of integers; elements of this type.
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
            // SAFETY: lines of the operands and the results, numbers of elements, and room for as many.
            unsafe { permute.lines(args, begin, self.shape.stride, places, scratch.add(room_at)) };
            true
        };
        Some(Sorter { scratch, sort: Box::new(sort) })
    }

    /// Makes keys of a line, of which lower ones come first. False if it has no order.
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

/// What an element is ranked by.
type Rank<T> = <<T as Element>::Word as select::Key>::Rank;
