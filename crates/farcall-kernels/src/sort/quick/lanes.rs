//! Vector registers of items.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each block relies only on the contract of its function"
)]

use super::items::{Items, Keys, Pairs};

/// A vector register of integers.
///
/// # Safety
/// For all functions: the processor must have the instructions, and memory that is read or written must be
/// valid for integers.
pub(super) trait Lanes: Copy {
    /// One flag per lane.
    type Mask: Copy;
    /// Number of integers in a register: 4, 8 or 16.
    const LANES: usize;

    unsafe fn load(from: *const i32) -> Self;
    unsafe fn store(self, to: *mut i32);
    unsafe fn splat(x: i32) -> Self;
    /// Returns the lanes whose integer is less than the integer of `other`.
    unsafe fn less(self, other: Self) -> Self::Mask;
    /// Returns the lanes whose integer is less than the integer of `other`. In lanes whose number has the bit
    /// `BIT`, the integer must be greater instead.
    unsafe fn less_or_greater<const BIT: usize>(self, other: Self) -> Self::Mask;
    /// Returns the mask as bits.
    unsafe fn bits(mask: Self::Mask) -> u32;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// Returns the integers of `other` in the lanes of the mask, and the integers of `self` in other lanes.
    unsafe fn select(self, mask: Self::Mask, other: Self) -> Self;
    /// Returns the integers of `other` in lanes whose number has the bit `BIT`, and the integers of `self` in
    /// other lanes.
    unsafe fn merge<const BIT: usize>(self, other: Self) -> Self;
    /// Moves the integer of lane `i ^ XOR` to lane `i`.
    unsafe fn swap<const XOR: usize>(self) -> Self;
    /// Interleaves the integers of both registers.
    unsafe fn zip(self, other: Self) -> (Self, Self);
    /// Stores the integers of the lanes in `bits` from `left` on, and the other integers so that they end
    /// just before `right`. Both keep their order. A whole register of memory may be overwritten from `left`
    /// on, and another one before `right`.
    unsafe fn split(self, bits: u32, left: *mut i32, right: *mut i32);
}

/// Returns the source lane of each of `N` lanes in [`Lanes::swap`].
pub(super) const fn swapped<const N: usize>(xor: usize) -> [i32; N] {
    let (mut from, mut i) = ([0; N], 0);
    while i < N {
        from[i] = (i ^ xor) as i32;
        i += 1;
    }
    from
}

/// Items for which there are vector registers.
///
/// # Safety
/// Same requirements as [`Items`].
pub(super) trait InLanes: Items {
    type Register<L: Lanes>: Register<Items = Self, Keys = L>;

    /// Copies items to memory that does not overlap.
    unsafe fn copy(from: Self::Place, to: Self::Place, count: usize);
    /// Returns an item whose key is not less than any other key. This item fills up incomplete registers. No
    /// item with a position is identical to it. A key alone may be identical, but identical keys need not be
    /// told apart.
    fn last() -> Self::Item;
    /// Among the first `all` items, which are sorted, moves the `count` items that are not
    /// [`last`](InLanes::last) to the front.
    unsafe fn before_last(place: Self::Place, count: usize, all: usize);
}

impl InLanes for Keys {
    type Register<L: Lanes> = OfKeys<L>;

    #[inline(always)]
    unsafe fn copy(from: *mut i32, to: *mut i32, count: usize) {
        unsafe { to.copy_from_nonoverlapping(from, count) }
    }
    #[inline(always)]
    fn last() -> i32 {
        i32::MAX
    }
    #[inline(always)]
    unsafe fn before_last(_: *mut i32, _: usize, _: usize) {}
}

impl InLanes for Pairs {
    type Register<L: Lanes> = OfPairs<L>;

    #[inline(always)]
    unsafe fn copy(from: Self::Place, to: Self::Place, count: usize) {
        unsafe {
            to.0.copy_from_nonoverlapping(from.0, count);
            to.1.copy_from_nonoverlapping(from.1, count);
        }
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
}

/// A register of items.
///
/// # Safety
/// For all functions: the same requirements as for [`Lanes`], with memory that is valid for items.
pub(super) trait Register: Copy {
    type Items: InLanes;
    type Keys: Lanes;

    unsafe fn load(place: <Self::Items as Items>::Place) -> Self;
    unsafe fn store(self, place: <Self::Items as Items>::Place);
    fn keys(self) -> Self::Keys;
    /// Returns the lesser and the greater item of each lane.
    unsafe fn order(self, other: Self) -> (Self, Self);
    /// Compares each lane with the same lane of `swapped`: a register after a [swap](Register::swap) by an
    /// `XOR` whose highest bit is `BIT`. Returns the greater item in lanes whose number has `BIT`, and the
    /// lesser item in the others. The two lanes that compare the same pair therefore get different items.
    unsafe fn order_lanes<const BIT: usize>(self, swapped: Self) -> Self;
    unsafe fn swap<const XOR: usize>(self) -> Self;
    unsafe fn zip(self, other: Self) -> (Self, Self);
    unsafe fn split(
        self,
        bits: u32,
        left: <Self::Items as Items>::Place,
        right: <Self::Items as Items>::Place,
    );

    /// Returns the lanes whose key is less than the pivot (or equal to it, if `TAKES_EQUAL`).
    #[inline(always)]
    unsafe fn goes_left<const TAKES_EQUAL: bool>(self, pivot: Self::Keys) -> u32 {
        unsafe {
            if TAKES_EQUAL {
                !Self::Keys::bits(pivot.less(self.keys())) & ((1 << Self::Keys::LANES) - 1)
            } else {
                Self::Keys::bits(self.keys().less(pivot))
            }
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct OfKeys<L>(L);

impl<L: Lanes> Register for OfKeys<L> {
    type Items = Keys;
    type Keys = L;

    #[inline(always)]
    unsafe fn load(place: *mut i32) -> Self {
        OfKeys(unsafe { L::load(place) })
    }
    #[inline(always)]
    unsafe fn store(self, place: *mut i32) {
        unsafe { self.0.store(place) }
    }
    #[inline(always)]
    fn keys(self) -> L {
        self.0
    }
    #[inline(always)]
    unsafe fn order(self, other: Self) -> (Self, Self) {
        unsafe { (OfKeys(self.0.min(other.0)), OfKeys(self.0.max(other.0))) }
    }
    #[inline(always)]
    unsafe fn order_lanes<const BIT: usize>(self, swapped: Self) -> Self {
        unsafe { OfKeys(self.0.min(swapped.0).merge::<BIT>(self.0.max(swapped.0))) }
    }
    #[inline(always)]
    unsafe fn swap<const XOR: usize>(self) -> Self {
        OfKeys(unsafe { self.0.swap::<XOR>() })
    }
    #[inline(always)]
    unsafe fn zip(self, other: Self) -> (Self, Self) {
        let (x, y) = unsafe { self.0.zip(other.0) };
        (OfKeys(x), OfKeys(y))
    }
    #[inline(always)]
    unsafe fn split(self, bits: u32, left: *mut i32, right: *mut i32) {
        unsafe { self.0.split(bits, left, right) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct OfPairs<L>(L, L);

impl<L: Lanes> Register for OfPairs<L> {
    type Items = Pairs;
    type Keys = L;

    #[inline(always)]
    unsafe fn load(place: (*mut i32, *mut i32)) -> Self {
        unsafe { OfPairs(L::load(place.0), L::load(place.1)) }
    }
    #[inline(always)]
    unsafe fn store(self, place: (*mut i32, *mut i32)) {
        unsafe {
            self.0.store(place.0);
            self.1.store(place.1);
        }
    }
    #[inline(always)]
    fn keys(self) -> L {
        self.0
    }
    #[inline(always)]
    unsafe fn order(self, other: Self) -> (Self, Self) {
        unsafe {
            let swap = other.0.less(self.0);
            let with = (self.1.select(swap, other.1), other.1.select(swap, self.1));
            (OfPairs(self.0.min(other.0), with.0), OfPairs(self.0.max(other.0), with.1))
        }
    }
    #[inline(always)]
    unsafe fn order_lanes<const BIT: usize>(self, swapped: Self) -> Self {
        unsafe {
            // If the keys are equal, each lane keeps its item.
            let swap = swapped.0.less_or_greater::<BIT>(self.0);
            OfPairs(self.0.select(swap, swapped.0), self.1.select(swap, swapped.1))
        }
    }
    #[inline(always)]
    unsafe fn swap<const XOR: usize>(self) -> Self {
        unsafe { OfPairs(self.0.swap::<XOR>(), self.1.swap::<XOR>()) }
    }
    #[inline(always)]
    unsafe fn zip(self, other: Self) -> (Self, Self) {
        let (keys, with) = unsafe { (self.0.zip(other.0), self.1.zip(other.1)) };
        (OfPairs(keys.0, with.0), OfPairs(keys.1, with.1))
    }
    #[inline(always)]
    unsafe fn split(self, bits: u32, left: (*mut i32, *mut i32), right: (*mut i32, *mut i32)) {
        unsafe {
            self.0.split(bits, left.0, right.0);
            self.1.split(bits, left.1, right.1);
        }
    }
}
