//! For any processor: items one by one.

use super::items::Items;
use super::{Sorts, Way};

pub(super) struct Plain;

impl Way for Plain {
    const FEW: usize = 24;
}

impl<V: Items> Sorts<V> for Plain {
    /// By insertion.
    #[inline(always)]
    unsafe fn sort_few(place: V::Place, count: usize) {
        // SAFETY: items of the line.
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

    /// Without a branch, which nobody could predict (Lomuto).
    #[inline(always)]
    unsafe fn split<const UP_TO: bool>(place: V::Place, count: usize, pivot: i32) -> usize {
        let mut lower = 0;
        for i in 0..count {
            // SAFETY: items of the line.
            unsafe {
                let item = V::get(V::at(place, i));
                V::put(V::at(place, i), V::get(V::at(place, lower)));
                V::put(V::at(place, lower), item);
                lower += usize::from(V::key(item) < pivot || UP_TO && V::key(item) == pivot);
            }
        }
        lower
    }
}
