//! Sorted items: keys alone, or keys with the positions of elements.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each block relies only on the contract of its function"
)]

use std::mem::MaybeUninit;

/// Items that have a key.
///
/// # Safety
/// For all functions: memory that is read or written must be valid for items.
pub(super) trait Items: 'static {
    /// Pointer to an item and the items after it.
    type Place: Copy;
    type Item: Copy;

    /// Returns the pointer to the item `i` items further.
    unsafe fn at(place: Self::Place, i: usize) -> Self::Place;
    unsafe fn get(place: Self::Place) -> Self::Item;
    unsafe fn put(place: Self::Place, item: Self::Item);
    fn key(item: Self::Item) -> i32;
    /// Calls `f` with memory for `N` items.
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(Self::Place) -> R) -> R;
    /// Calls `sort` for each group of items with equal keys, if the order within such a group matters. The
    /// items must be sorted by keys; `sort` gets the integers by which to sort a group.
    unsafe fn each_equal(place: Self::Place, count: usize, sort: impl FnMut(*mut i32, usize));
}

/// Keys alone.
pub(super) struct Keys;

impl Items for Keys {
    type Place = *mut i32;
    type Item = i32;

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
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(*mut i32) -> R) -> R {
        let mut room = MaybeUninit::<[i32; N]>::uninit();
        f(room.as_mut_ptr().cast())
    }
    #[inline(always)]
    unsafe fn each_equal(_: *mut i32, _: usize, _: impl FnMut(*mut i32, usize)) {}
}

/// Keys with the positions of elements. Positions are not negative.
pub(super) struct Pairs;

impl Items for Pairs {
    type Place = (*mut i32, *mut i32);
    type Item = (i32, i32);

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
    unsafe fn with_room<const N: usize, R>(f: impl FnOnce(Self::Place) -> R) -> R {
        let (mut keys, mut places) = (MaybeUninit::<[i32; N]>::uninit(), MaybeUninit::<[i32; N]>::uninit());
        f((keys.as_mut_ptr().cast(), places.as_mut_ptr().cast()))
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
