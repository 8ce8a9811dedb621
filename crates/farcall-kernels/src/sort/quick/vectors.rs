//! Partitioning and sorting of items in vector registers.

use std::marker::PhantomData;

use super::items::Items;
use super::lanes::{InLanes, Lanes, Register};
use super::{Backend, Sorts};

/// Maximum number of registers that a network sorts.
const MAX_NETWORK_REGISTERS: usize = 8;
/// Number of integers in the widest register.
const MAX_LANES: usize = 16;
/// Number of registers in a block. A block is loaded from the side that has less free memory, and its
/// registers are split one after another.
const BLOCK_REGISTERS: usize = 4;

/// Implementation with registers of type `L`.
pub(super) struct InRegisters<L>(PhantomData<L>);

type Place<V> = <<V as Register>::Items as Items>::Place;

impl<L: Lanes> Backend for InRegisters<L> {
    const MAX_SMALL_ITEMS: usize = MAX_NETWORK_REGISTERS * L::LANES;
    const SAMPLES: usize = L::LANES;
}

impl<L: Lanes, V: InLanes> Sorts<V> for InRegisters<L> {
    #[inline(always)]
    unsafe fn sort_small(place: V::Place, count: usize) {
        // SAFETY: the caller upholds the same contract.
        unsafe { network::<V::Register<L>>(place, count) }
    }

    #[inline(always)]
    unsafe fn split<const TAKES_EQUAL: bool>(place: V::Place, count: usize, pivot: i32) -> usize {
        // SAFETY: the caller upholds the same contract.
        unsafe { split::<V::Register<L>, TAKES_EQUAL>(place, count, pivot) }
    }
}

/// Moves items whose key is less than the pivot (or equal to it, if `TAKES_EQUAL`) to the front, and returns
/// their number. There must be more than [`MAX_NETWORK_REGISTERS`] registers of items.
///
/// # Safety
/// Same requirements as [`Sorts`].
#[inline(always)]
unsafe fn split<V: Register, const TAKES_EQUAL: bool>(place: Place<V>, count: usize, pivot: i32) -> usize {
    const { assert!(2 * BLOCK_REGISTERS <= MAX_NETWORK_REGISTERS) };
    /// Capacity for items that are put aside, on either side: three blocks, and two registers, since whole
    /// registers are stored even if only some of their lanes count.
    const ASIDE_ITEMS: usize = (3 * BLOCK_REGISTERS + 2) * MAX_LANES;
    let lanes = V::Keys::LANES;
    let block = BLOCK_REGISTERS * lanes;
    // SAFETY: all loaded registers are within the items. Whenever a register is split, there is room for one
    // more register on both sides: when a block is taken, two more blocks have been taken but not yet stored,
    // and each is taken from the side with less room.
    unsafe {
        let pivot = V::Keys::splat(pivot);
        V::Items::with_room::<ASIDE_ITEMS, _>(
            #[inline(always)]
            |lower| {
                V::Items::with_room::<ASIDE_ITEMS, _>(
                    #[inline(always)]
                    |upper| {
                        // Puts aside the odd items at the start, which do not fill a register, and a block at
                        // each end. The other lanes of the first register are loaded again with the next
                        // block. In `aside`, they come last among the upper items and are not copied back.
                        let odd = count % lanes;
                        let mut aside =
                            Sides::<V> { left: lower, right: upper, lower: 0, upper: ASIDE_ITEMS };
                        let first = V::load(place);
                        aside.put(first, first.goes_left::<TAKES_EQUAL>(pivot) & ((1 << odd) - 1));
                        aside.put_block::<TAKES_EQUAL>(load_block(V::Items::at(place, odd)), pivot);
                        aside.put_block::<TAKES_EQUAL>(load_block(V::Items::at(place, count - block)), pivot);

                        let mut sides = Sides::<V> { left: place, right: place, lower: 0, upper: count };
                        let (mut from, mut until) = (odd + block, count - block);
                        if until - from >= block {
                            // The next block is loaded before the current block is stored, so that the load
                            // does not wait until the store position is known.
                            let mut taken =
                                load_block(V::Items::at(place, sides.next(&mut from, &mut until, block)));
                            while until - from >= block {
                                let next =
                                    load_block(V::Items::at(place, sides.next(&mut from, &mut until, block)));
                                sides.put_block::<TAKES_EQUAL>(taken, pivot);
                                taken = next;
                            }
                            aside.put_block::<TAKES_EQUAL>(taken, pivot);
                        }
                        while from < until {
                            let x = V::load(V::Items::at(place, sides.next(&mut from, &mut until, lanes)));
                            sides.put(x, x.goes_left::<TAKES_EQUAL>(pivot));
                        }
                        V::Items::copy(lower, V::Items::at(place, sides.lower), aside.lower);
                        let uppers = ASIDE_ITEMS - (lanes - odd) - aside.upper;
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

/// Loads a block of registers.
///
/// # Safety
/// Same requirements as [`Register::load`], for all registers of the block.
#[inline(always)]
unsafe fn load_block<V: Register>(place: Place<V>) -> [V; BLOCK_REGISTERS] {
    std::array::from_fn(
        #[inline(always)]
        // SAFETY: the caller guarantees the items of the block.
        |i| unsafe { V::load(V::Items::at(place, i * V::Keys::LANES)) },
    )
}

/// Destination of split items: upward from `left`, and downward to `right`.
struct Sides<V: Register> {
    left: Place<V>,
    right: Place<V>,
    /// Number of items stored from `left` on.
    lower: usize,
    /// Offset from `right` of the first item stored there.
    upper: usize,
}

impl<V: Register> Sides<V> {
    /// Stores the lanes in `bits` on the left, the others on the right.
    ///
    /// # Safety
    /// Same requirements as [`Register::split`].
    #[inline(always)]
    unsafe fn put(&mut self, x: V, bits: u32) {
        // SAFETY: the caller upholds the same contract, for the next positions on both sides.
        unsafe { x.split(bits, V::Items::at(self.left, self.lower), V::Items::at(self.right, self.upper)) };
        let lower = bits.count_ones() as usize;
        self.lower += lower;
        self.upper -= V::Keys::LANES - lower;
    }

    /// Stores items less than the pivot (or equal to it, if `TAKES_EQUAL`) on the left, the others on the
    /// right.
    ///
    /// # Safety
    /// Same requirements as [`Register::split`], for all registers of the block.
    #[inline(always)]
    unsafe fn put_block<const TAKES_EQUAL: bool>(&mut self, block: [V; BLOCK_REGISTERS], pivot: V::Keys) {
        for x in block {
            // SAFETY: the caller upholds the same contract.
            unsafe { self.put(x, x.goes_left::<TAKES_EQUAL>(pivot)) };
        }
    }

    /// Takes the next `count` items between the two sides, from the side with less room, and returns their
    /// offset.
    #[inline(always)]
    fn next(&self, from: &mut usize, until: &mut usize, count: usize) -> usize {
        // Conditional moves instead of a branch, which would be unpredictable.
        let is_left = *from - self.lower <= self.upper - *until;
        let at = if is_left { *from } else { *until - count };
        *from += if is_left { count } else { 0 };
        *until -= if is_left { 0 } else { count };
        at
    }
}

/// Sorts up to [`MAX_NETWORK_REGISTERS`] registers of items.
///
/// # Safety
/// Same requirements as [`Sorts`].
#[inline(always)]
unsafe fn network<V: Register>(place: Place<V>, count: usize) {
    if count < 2 {
        return;
    }
    // SAFETY: the caller guarantees `count` items, at most as many as the largest network sorts, for which
    // there is room.
    unsafe {
        V::Items::with_room::<{ MAX_NETWORK_REGISTERS * MAX_LANES }, _>(
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
                    _ => in_registers::<V, MAX_NETWORK_REGISTERS>(room),
                }
                if count < all {
                    V::Items::before_last(room, count, all);
                }
                V::Items::copy(room, place, count);
            },
        )
    }
}

/// Sorts `N` registers of items with a bitonic network. Items are numbered lane by lane, so that few steps
/// cross lanes: the network sorts the items of each lane, then of each two lanes, of four, and so on.
///
/// # Safety
/// Same requirements as [`Sorts`], for `N` full registers.
#[inline(always)]
unsafe fn in_registers<V: Register, const N: usize>(place: Place<V>) {
    // SAFETY: the caller guarantees `N` registers of items.
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
        // Transposes from lane-by-lane order to register-by-register order.
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
/// Same requirements as [`Sorts`].
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
            _ => panic!("unsupported number of registers"),
        }
    };
    for &[i, j] in network {
        // SAFETY: the caller guarantees that the processor has the instructions ([`Sorts`]).
        (v[i], v[j]) = unsafe { v[i].order(v[j]) };
    }
}

/// Sorts the items of each group of `XOR + 1` lanes, a power of two. `BIT` is the highest bit of `XOR`. Both
/// halves of a group must be sorted: the lanes whose numbers have the bit `BIT`, and the others.
///
/// # Safety
/// Same requirements as [`Sorts`].
#[inline(always)]
unsafe fn merge<V: Register, const N: usize, const XOR: usize, const BIT: usize>(v: &mut [V; N]) {
    // SAFETY: the caller guarantees that the processor has the instructions ([`Sorts`]).
    unsafe {
        // Compares the first item with the last, and so on.
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
