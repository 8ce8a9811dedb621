//! Splits and sorts items in registers.

use std::marker::PhantomData;

use super::items::Items;
use super::lanes::{InLanes, Lanes, Register};
use super::{Sorts, Way};

/// Registers that a network sorts, at most.
const MOST: usize = 8;
/// Integers of the widest register.
const WIDEST: usize = 16;
/// Registers that are split one after the other, without a look at where there is less room.
const BLOCK: usize = 4;

/// In registers of this kind.
pub(super) struct InRegisters<L>(PhantomData<L>);

type Place<V> = <<V as Register>::Items as Items>::Place;

impl<L: Lanes> Way for InRegisters<L> {
    const FEW: usize = MOST * L::LANES;
    const SAMPLES: usize = L::LANES;
}

impl<L: Lanes, V: InLanes> Sorts<V> for InRegisters<L> {
    #[inline(always)]
    unsafe fn sort_few(place: V::Place, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { network::<V::Register<L>>(place, count) }
    }

    #[inline(always)]
    unsafe fn split<const UP_TO: bool>(place: V::Place, count: usize, pivot: i32) -> usize {
        // SAFETY: the caller's promise.
        unsafe { split::<V::Register<L>, UP_TO>(place, count, pivot) }
    }
}

/// Moves items whose key is less than the pivot, or up to it, before the others, and returns how many they are. There
/// are more than [`MOST`] registers of them.
///
/// # Safety
/// As of [`Sorts`].
#[inline(always)]
unsafe fn split<V: Register, const UP_TO: bool>(place: Place<V>, count: usize, pivot: i32) -> usize {
    const { assert!(2 * BLOCK <= MOST) };
    /// Of what is put aside, on either side: three blocks, and two registers of which some lanes do not count.
    const ASIDE: usize = (3 * BLOCK + 2) * WIDEST;
    let lanes = V::Keys::LANES;
    let block = BLOCK * lanes;
    // SAFETY: registers of items of the line. Where one is split, there is room for one more on both sides: what was
    // taken and not yet put is two blocks before another one is taken, from the side where less was taken.
    unsafe {
        let pivot = V::Keys::splat(pivot);
        V::Items::with_room::<ASIDE, _>(
            #[inline(always)]
            |lower| {
                V::Items::with_room::<ASIDE, _>(
                    #[inline(always)]
                    |upper| {
                        // A block of each end, and what is left of a register before. Of this register, some are taken
                        // again: they come last among the upper ones.
                        let odd = count % lanes;
                        let mut aside = Sides::<V> { left: lower, right: upper, lower: 0, upper: ASIDE };
                        let first = V::load(place);
                        aside.put(first, first.goes_left::<UP_TO>(pivot) & ((1 << odd) - 1));
                        aside.put_block::<UP_TO>(load_block(V::Items::at(place, odd)), pivot);
                        aside.put_block::<UP_TO>(load_block(V::Items::at(place, count - block)), pivot);

                        let mut sides = Sides::<V> { left: place, right: place, lower: 0, upper: count };
                        let (mut from, mut until) = (odd + block, count - block);
                        if until - from >= block {
                            // The next block is taken before this one is put: nothing waits for where it ends.
                            let mut taken =
                                load_block(V::Items::at(place, sides.next(&mut from, &mut until, block)));
                            while until - from >= block {
                                let next =
                                    load_block(V::Items::at(place, sides.next(&mut from, &mut until, block)));
                                sides.put_block::<UP_TO>(taken, pivot);
                                taken = next;
                            }
                            aside.put_block::<UP_TO>(taken, pivot);
                        }
                        while from < until {
                            let x = V::load(V::Items::at(place, sides.next(&mut from, &mut until, lanes)));
                            sides.put(x, x.goes_left::<UP_TO>(pivot));
                        }
                        V::Items::copy(lower, V::Items::at(place, sides.lower), aside.lower);
                        let uppers = ASIDE - (lanes - odd) - aside.upper;
                        V::Items::copy(
                            V::Items::at(upper, aside.upper),
                            V::Items::at(place, sides.upper - uppers),
                            uppers,
                        );
                        sides.lower + aside.lower
                    },
                )
            },
        )
    }
}

/// # Safety
/// As of [`Register::load`].
#[inline(always)]
unsafe fn load_block<V: Register>(place: Place<V>) -> [V; BLOCK] {
    std::array::from_fn(
        #[inline(always)]
        // SAFETY: the caller's promise.
        |i| unsafe { V::load(V::Items::at(place, i * V::Keys::LANES)) },
    )
}

/// Where items are put: from one place on, and up to another.
struct Sides<V: Register> {
    left: Place<V>,
    right: Place<V>,
    /// How many are on the left.
    lower: usize,
    /// How far from its place the right side begins.
    upper: usize,
}

impl<V: Register> Sides<V> {
    /// Puts these lanes on the left, the others on the right.
    ///
    /// # Safety
    /// As of [`Register::split`].
    #[inline(always)]
    unsafe fn put(&mut self, x: V, bits: u32) {
        // SAFETY: the caller's promise.
        unsafe { x.split(bits, V::Items::at(self.left, self.lower), V::Items::at(self.right, self.upper)) };
        let lower = bits.count_ones() as usize;
        self.lower += lower;
        self.upper -= V::Keys::LANES - lower;
    }

    /// Puts those less than the pivot, or up to it, on the left.
    ///
    /// # Safety
    /// As of [`Register::split`].
    #[inline(always)]
    unsafe fn put_block<const UP_TO: bool>(&mut self, block: [V; BLOCK], pivot: V::Keys) {
        for x in block {
            // SAFETY: the caller's promise.
            unsafe { self.put(x, x.goes_left::<UP_TO>(pivot)) };
        }
    }

    /// The next so many items between the sides, from the side where there is less room.
    #[inline(always)]
    fn next(&self, from: &mut usize, until: &mut usize, count: usize) -> usize {
        // Chosen, not branched to: nobody could predict it.
        let is_left = *from - self.lower <= self.upper - *until;
        let at = if is_left { *from } else { *until - count };
        *from += if is_left { count } else { 0 };
        *until -= if is_left { 0 } else { count };
        at
    }
}

/// Sorts up to [`MOST`] registers of items.
///
/// # Safety
/// As of [`Sorts`].
#[inline(always)]
unsafe fn network<V: Register>(place: Place<V>, count: usize) {
    if count < 2 {
        return;
    }
    // SAFETY: the caller's promise; there is room for the registers.
    unsafe {
        V::Items::with_room::<{ MOST * WIDEST }, _>(
            #[inline(always)]
            |room| {
                let registers = count.div_ceil(V::Keys::LANES).next_power_of_two();
                let all = registers * V::Keys::LANES;
                V::Items::copy(place, room, count);
                for i in count..all {
                    V::Items::put(V::Items::at(room, i), V::Items::last());
                }
                match registers {
                    1 => in_registers::<V, 1>(room),
                    2 => in_registers::<V, 2>(room),
                    4 => in_registers::<V, 4>(room),
                    _ => in_registers::<V, MOST>(room),
                }
                if count < all {
                    V::Items::before_last(room, count, all);
                }
                V::Items::copy(room, place, count);
            },
        )
    }
}

/// Sorts `N` registers of items by a bitonic network. It numbers them lane by lane, so that few of its steps go from
/// lane to lane: it sorts the items of each lane, then those of two, four, and so on.
///
/// # Safety
/// As of [`Sorts`].
#[inline(always)]
unsafe fn in_registers<V: Register, const N: usize>(place: Place<V>) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut v: [V; N] = std::array::from_fn(
            #[inline(always)]
            |i| V::load(V::Items::at(place, i * V::Keys::LANES)),
        );
        sort_lanes(&mut v);
        merge::<V, N, 1, 1>(&mut v);
        merge::<V, N, 3, 2>(&mut v);
        if V::Keys::LANES > 4 {
            merge::<V, N, 7, 4>(&mut v);
        }
        if V::Keys::LANES > 8 {
            merge::<V, N, 15, 8>(&mut v);
        }
        // From numbers lane by lane to numbers register by register.
        let mut rounds = N;
        while rounds > 1 {
            let from = v;
            for i in 0..N / 2 {
                (v[2 * i], v[2 * i + 1]) = from[i].zip(from[i + N / 2]);
            }
            rounds /= 2;
        }
        for (i, v) in v.into_iter().enumerate() {
            v.store(V::Items::at(place, i * V::Keys::LANES));
        }
    }
}

/// Sorts the items of each lane.
///
/// # Safety
/// As of [`Sorts`].
#[inline(always)]
unsafe fn sort_lanes<V: Register, const N: usize>(v: &mut [V; N]) {
    // The networks with the fewest comparisons (Knuth, The Art of Computer Programming, vol. 3, 5.3.4).
    let network: &[[usize; 2]] = const {
        match N {
            1 => &[],
            2 => &[[0, 1]],
            4 => &[[0, 1], [2, 3], [0, 2], [1, 3], [1, 2]],
            8 => &[
                [0, 2],
                [1, 3],
                [4, 6],
                [5, 7],
                [0, 4],
                [1, 5],
                [2, 6],
                [3, 7],
                [0, 1],
                [2, 3],
                [4, 5],
                [6, 7],
                [2, 4],
                [3, 5],
                [1, 4],
                [3, 6],
                [1, 2],
                [3, 4],
                [5, 6],
            ],
            _ => panic!("there is no network for so many"),
        }
    };
    for &[i, j] in network {
        // SAFETY: the caller's promise.
        (v[i], v[j]) = unsafe { v[i].order(v[j]) };
    }
}

/// Sorts the items of each `XOR + 1` lanes, a power of two, of which those whose number has this bit, the highest,
/// are sorted, and the others.
///
/// # Safety
/// As of [`Sorts`].
#[inline(always)]
unsafe fn merge<V: Register, const N: usize, const XOR: usize, const BIT: usize>(v: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        // The first with the last, and so on.
        let from = *v;
        for i in 0..N {
            v[i] = from[i].order_lanes::<BIT>(from[N - 1 - i].swap::<XOR>());
        }
        for v in v.iter_mut() {
            if BIT > 4 {
                *v = v.order_lanes::<4>(v.swap::<4>());
            }
            if BIT > 2 {
                *v = v.order_lanes::<2>(v.swap::<2>());
            }
            if BIT > 1 {
                *v = v.order_lanes::<1>(v.swap::<1>());
            }
        }
        let mut distance = N / 2;
        while distance > 0 {
            for i in (0..N).filter(|i| i & distance == 0) {
                (v[i], v[i + distance]) = v[i].order(v[i + distance]);
            }
            distance /= 2;
        }
    }
}
