//! What is sorted: keys alone, or keys and the places of elements.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "what a block calls is what its function promises, nothing else"
)]

use std::mem::MaybeUninit;

use super::lanes::{Lanes, OfKeys, OfPairs, Register};

/// Items, each of which has a key.
///
/// # Safety
/// Of its functions: there is memory of items where they are read and written.
pub(super) trait Items: 'static {
    /// Where an item lies, and those after it.
    type Place: Copy;
    type Item: Copy;
    type Register<L: Lanes>: Register<Items = Self, Keys = L>;

    /// Where the item lies that is this much further.
    unsafe fn at(place: Self::Place, i: usize) -> Self::Place;
    unsafe fn get(place: Self::Place) -> Self::Item;
    unsafe fn put(place: Self::Place, item: Self::Item);
    fn key(item: Self::Item) -> i32;
    /// Copies items to where they are apart.
    unsafe fn copy(from: Self::Place, to: Self::Place, count: usize);
    /// Calls `f` with memory for `N` items.
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(Self::Place) -> R) -> R;
    /// An item whose key is not less than any other. None of those that are sorted is the same, or it makes no difference.
    fn last() -> Self::Item;
    /// Of `all` items in order, moves the `count` that are not [`last`](Items::last) before these.
    unsafe fn before_last(place: Self::Place, count: usize, all: usize);
    /// The parts of items in the order of their keys where these are equal, if that leaves an order of them open: each is to
    /// be sorted by the keys that are given.
    unsafe fn each_equal(place: Self::Place, count: usize, sort: impl FnMut(*mut i32, usize));
}

/// Keys alone.
pub(super) struct Keys;

impl Items for Keys {
    type Place = *mut i32;
    type Item = i32;
    type Register<L: Lanes> = OfKeys<L>;

    #[inline(always)]
    unsafe fn at(place: *mut i32, i: usize) -> *mut i32 {
        unsafe { place.add(i) }
    }
    #[inline(always)]
    unsafe fn get(place: *mut i32) -> i32 {
        unsafe { place.read() }
    }
    #[inline(always)]
    unsafe fn put(place: *mut i32, item: i32) {
        unsafe { place.write(item) }
    }
    #[inline(always)]
    fn key(item: i32) -> i32 {
        item
    }
    #[inline(always)]
    unsafe fn copy(from: *mut i32, to: *mut i32, count: usize) {
        unsafe { to.copy_from_nonoverlapping(from, count) }
    }
    #[inline(always)]
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(*mut i32) -> R) -> R {
        let mut room = MaybeUninit::<[i32; N]>::uninit();
        f(room.as_mut_ptr().cast())
    }
    #[inline(always)]
    fn last() -> i32 {
        i32::MAX
    }
    #[inline(always)]
    unsafe fn before_last(_: *mut i32, _: usize, _: usize) {}
    #[inline(always)]
    unsafe fn each_equal(_: *mut i32, _: usize, _: impl FnMut(*mut i32, usize)) {}
}

/// Keys, and places of elements, none of which is negative.
pub(super) struct Pairs;

impl Items for Pairs {
    type Place = (*mut i32, *mut i32);
    type Item = (i32, i32);
    type Register<L: Lanes> = OfPairs<L>;

    #[inline(always)]
    unsafe fn at(place: Self::Place, i: usize) -> Self::Place {
        unsafe { (place.0.add(i), place.1.add(i)) }
    }
    #[inline(always)]
    unsafe fn get(place: Self::Place) -> (i32, i32) {
        unsafe { (place.0.read(), place.1.read()) }
    }
    #[inline(always)]
    unsafe fn put(place: Self::Place, item: (i32, i32)) {
        unsafe {
            place.0.write(item.0);
            place.1.write(item.1);
        }
    }
    #[inline(always)]
    fn key(item: (i32, i32)) -> i32 {
        item.0
    }
    #[inline(always)]
    unsafe fn copy(from: Self::Place, to: Self::Place, count: usize) {
        unsafe {
            to.0.copy_from_nonoverlapping(from.0, count);
            to.1.copy_from_nonoverlapping(from.1, count);
        }
    }
    #[inline(always)]
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(Self::Place) -> R) -> R {
        let (mut keys, mut places) = (MaybeUninit::<[i32; N]>::uninit(), MaybeUninit::<[i32; N]>::uninit());
        f((keys.as_mut_ptr().cast(), places.as_mut_ptr().cast()))
    }
    #[inline(always)]
    fn last() -> (i32, i32) {
        (i32::MAX, -1)
    }
    #[inline(always)]
    unsafe fn before_last(place: Self::Place, count: usize, all: usize) {
        unsafe {
            let mut to = match Self::get(Self::at(place, count - 1)) {
                (i32::MAX, _) => 0,
                _ => return,
            };
            for i in 0..all {
                let item = Self::get(Self::at(place, i));
                if item != Self::last() {
                    Self::put(Self::at(place, to), item);
                    to += 1;
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn each_equal(place: Self::Place, count: usize, mut sort: impl FnMut(*mut i32, usize)) {
        let keys = unsafe { std::slice::from_raw_parts(place.0, count) };
        let mut begin = 0;
        while begin < count {
            let end = begin + keys[begin..].iter().take_while(|key| **key == keys[begin]).count();
            if end - begin > 1 {
                sort(unsafe { place.1.add(begin) }, end - begin);
            }
            begin = end;
        }
    }
}
