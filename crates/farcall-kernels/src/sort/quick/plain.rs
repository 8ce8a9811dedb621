//! Implementation for any processor, item by item.

use super::items::Items;
use super::{Backend, Sorts};

pub(super) struct Plain;

impl Backend for Plain {
    const MAX_SMALL_ITEMS: usize = 24;
}

impl<V: Items> Sorts<V> for Plain {
    /// Insertion sort.
    #[inline(always)]
    unsafe fn sort_small(place: V::Place, count: usize) {
        // SAFETY: the caller guarantees `count` items.
        unsafe {
            for i in 1..count {
                let item = V::get(V::at(place, i));
                let mut to = i;
                while to > 0 && V::key(V::get(V::at(place, to - 1))) > V::key(item) {
                    V::put(V::at(place, to), V::get(V::at(place, to - 1)));
                    to -= 1;
                }
                V::put(V::at(place, to), item);
            }
        }
    }

    /// Lomuto's partition without a branch, which would be unpredictable.
    #[inline(always)]
    unsafe fn split<const TAKES_EQUAL: bool>(place: V::Place, count: usize, pivot: i32) -> usize {
        let mut lower = 0;
        for i in 0..count {
            // SAFETY: the caller guarantees `count` items.
            unsafe {
                let item = V::get(V::at(place, i));
                V::put(V::at(place, i), V::get(V::at(place, lower)));
                V::put(V::at(place, lower), item);
                lower += usize::from(V::key(item) < pivot || TAKES_EQUAL && V::key(item) == pivot);
            }
        }
        lower
    }
}
