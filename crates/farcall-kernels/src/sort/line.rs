//! Sorts lines of one operand, or of a key operand and a second operand with elements of four bytes, the
//! *payload*. An item has the key and the payload of an element, so the results are made of the sorted items
//! alone.
//!
//! Elements that compare as equal but have different bits (zeros, NaNs) are an exception, as they have the
//! same key. In the result, they are contiguous and in the order of the operand, so they are read from the
//! operand again.

use std::ops::Range;

use super::super::args::Args;
use super::super::types::dispatch;
use super::comparator::{Key, Order};
use super::element::Element;
use super::item::{Carrier, Item, Word};
use super::radix;
use super::{Begin, Operands, Shape, Sorter, end, order};

/// Makes a sorter of the lines that the module describes. Returns `None` for other lines.
pub(super) fn sorter(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<Sorter> {
    let [key] = *keys else { return None };
    let types = operands.types;
    let carried = match types.len() {
        1 => None,
        2 => Some(Carried { operand: 1 - key.operand, counted: operands.counted[1 - key.operand] }),
        _ => return None,
    };
    if carried.is_some_and(|c| types[c.operand].size() != 4) {
        return None;
    }
    dispatch!(key.dtype, [ints, floats, pred], T => match carried {
        None => lines::<T, <T as Element>::Alone>(key, None, shape),
        carried => lines::<T, <<T as Element>::Word as Carrier>::Item>(key, carried, shape),
    })?
}

/// Makes a sorter of lines of one operand with unordered elements (NaNs). It uses the evaluator's merge sort.
pub(super) fn merger(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<Sorter> {
    let ([key], [_]) = (keys, operands.types) else { return None };
    let (key, n) = (*key, shape.length);
    dispatch!(key.dtype, [floats], T => {
        let spare = end(0, n, size_of::<T>())?;
        let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
            // SAFETY: the caller of a sorter provides `scratch` bytes, whose halves are disjoint and aligned.
            // The operand and the result have a line of elements of type `T`.
            let (elements, spare, line) = unsafe {
                (
                    std::slice::from_raw_parts_mut(scratch.cast::<T>(), n),
                    std::slice::from_raw_parts_mut(scratch.add(spare).cast::<T>(), n),
                    Strided::<T>::new(args, 0, begin, shape),
                )
            };
            line.each(|i, x| elements[i] = x);
            let one = T::opaque_one();
            let place = |x: T| x.place(Order::Numbers, one);
            order::merge_sort(elements, spare, |a: T, b: T| {
                let (a, b) = if key.descending { (b, a) } else { (a, b) };
                !Element::is_nan(a) && !Element::is_nan(b) && place(a) < place(b)
            });
            line.write(0..n, |i| elements[i]);
            true
        };
        Some(Sorter { scratch: spare.checked_mul(2)?, sort: Box::new(sort) })
    })?
}

/// The operand that is the payload of the key.
#[derive(Clone, Copy)]
struct Carried {
    operand: usize,
    /// True if the operand has no memory: its elements are the positions in the line.
    counted: bool,
}

fn lines<T: Element, I: Item<T::Word>>(key: Key, carried: Option<Carried>, shape: Shape) -> Option<Sorter> {
    let n = shape.length;
    let half = n.checked_mul(size_of::<I>())?.checked_next_multiple_of(64)?;
    let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
        // SAFETY: the caller of a sorter provides `scratch` bytes, whose halves are disjoint and aligned.
        // Items are integers, so any contents are valid.
        let (items, spare) = unsafe {
            (
                std::slice::from_raw_parts_mut(scratch.cast::<I>(), n),
                std::slice::from_raw_parts_mut(scratch.add(half).cast::<I>(), n),
            )
        };
        // SAFETY: the operands and results have lines of elements of both types.
        let (x, with) = unsafe {
            let with = carried.map(|c| match c.counted {
                true => Strided::counted(args, c.operand, begin, shape),
                false => Strided::new(args, c.operand, begin, shape),
            });
            (Strided::<T>::new(args, key.operand, begin, shape), with)
        };
        line(key, &x, with.as_ref(), items, spare)
    };
    Some(Sorter { scratch: half.checked_mul(2)?, sort: Box::new(sort) })
}

/// A line of an operand, and the line of its result.
pub(super) struct Strided<T> {
    /// Null if the operand has no memory.
    input: *const T,
    output: *mut T,
    shape: Shape,
}

impl<T: Copy> Strided<T> {
    /// Returns the lines of operand and result number `i` that start at `begin`.
    ///
    /// # Safety
    /// Both lines must exist and have elements of this type.
    pub(super) unsafe fn new(args: &Args<'_>, i: usize, begin: Begin, shape: Shape) -> Strided<T> {
        // SAFETY: the caller guarantees that both lines start there.
        let (input, output) =
            unsafe { (args.input_ptr::<T>(i).add(begin.input), args.output_ptr::<T>(i).add(begin.output)) };
        Strided { input, output, shape }
    }

    /// Returns the lines for an operand that has no memory.
    ///
    /// # Safety
    /// The line of the result must exist and have elements of this type.
    unsafe fn counted(args: &Args<'_>, i: usize, begin: Begin, shape: Shape) -> Strided<T> {
        // SAFETY: the caller guarantees that the line starts there.
        let output = unsafe { args.output_ptr::<T>(i).add(begin.output) };
        Strided { input: std::ptr::null(), output, shape }
    }

    fn is_counted(&self) -> bool {
        self.input.is_null()
    }

    /// Calls `f` with the index and the value of each element of the operand, which must have memory.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(usize, T)) {
        let Shape { length, stride } = self.shape;
        // SAFETY: `i` is below the length of the line, which `new` guarantees.
        let mut at = |i: usize, place: usize| f(i, unsafe { self.input.add(place).read() });
        if stride == 1 {
            (0..length).for_each(|i| at(i, i));
        } else {
            (0..length).for_each(|i| at(i, i * stride));
        }
    }

    /// Returns element `i` of the operand, which must have memory.
    #[inline(always)]
    fn get(&self, i: usize) -> T {
        assert!(i < self.shape.length && !self.is_counted());
        // SAFETY: `i` is below the length of the line, as asserted.
        unsafe { self.input.add(i * self.shape.stride).read() }
    }

    /// Writes elements of the result.
    #[inline(always)]
    fn write(&self, range: Range<usize>, f: impl Fn(usize) -> T) {
        let Shape { length, stride } = self.shape;
        assert!(range.end <= length);
        // SAFETY: the range ends at or before the length of the line, as asserted.
        let at = |i: usize, place: usize| unsafe { self.output.add(place).write(f(i)) };
        if stride == 1 {
            range.for_each(|i| at(i, i));
        } else {
            range.for_each(|i| at(i, i * stride));
        }
    }
}

impl<T: Element> Strided<T> {
    /// Calls `f` with the index and the value of each element of the operand, and with the element's position
    /// in an order.
    #[inline(always)]
    pub(super) fn each_place(&self, order: Order, mut f: impl FnMut(usize, T, T::Word)) {
        let one = T::opaque_one();
        // One specialized loop for each order.
        match order {
            Order::Total => self.each(|i, x| f(i, x, x.place(Order::Total, one))),
            Order::Jax => self.each(|i, x| f(i, x, x.place(Order::Jax, one))),
            Order::Numbers => self.each(|i, x| f(i, x, x.place(Order::Numbers, one))),
        }
    }
}

/// Properties of a line's elements.
#[derive(Default)]
struct Read {
    /// True if there is a NaN.
    nan: bool,
    /// True if the bits of some element cannot be restored from its key.
    lost: bool,
}

fn line<T: Element, I: Item<T::Word>>(
    key: Key,
    x: &Strided<T>,
    with: Option<&Strided<u32>>,
    items: &mut [I],
    spare: &mut [I],
) -> bool {
    let flip = if key.descending { u64::MAX >> (64 - T::BITS) } else { 0 };
    // Short lines are sorted by comparisons, which do not keep the order of items with equal keys. The items
    // of such a line therefore carry positions instead of the payload, so that all items differ.
    let by_number = with.is_some() && items.len() <= radix::MAX_COMPARISON_ITEMS;
    let mut read = Read::default();
    x.each_place(key.order, |i, x, place| {
        read.nan |= x.is_nan();
        read.lost |= place != x.total();
        items[i] = I::new(place.flip(flip), i as u32);
    });
    if key.order == Order::Numbers && read.nan {
        return false;
    }
    // A payload without memory consists of the positions, which the items have already.
    let read_with = with.filter(|with| !with.is_counted());
    if let Some(with) = read_with.filter(|_| !by_number) {
        with.each(|i, with| items[i] = I::new(items[i].word(), with));
    }
    let (sorted, spare) = radix::sort(items, spare, T::BITS);
    // After an interrupt, the items may be unsorted, so that equal keys are not contiguous.
    if farcall_ir::interrupt::has_ended() {
        return true;
    }
    if let Some(with) = read_with.filter(|_| by_number) {
        for item in sorted.iter_mut() {
            *item = I::new(item.word(), with.get(item.with() as usize));
        }
    }
    // Ranges of the result whose elements are not determined by their keys.
    let mut ranges = [0..0, 0..0];
    if let Some(equals) = T::equals().filter(|_| read.lost) {
        let places = equals.map(|place| place.flip(flip));
        ranges = places.map(|place| {
            let begin = sorted.partition_point(|item| item.word() < place);
            begin..begin + sorted[begin..].partition_point(|item| item.word() == place)
        });
        let mut next = ranges.clone().map(|range| range.start);
        x.each_place(key.order, |_, x, place| {
            let place = place.flip(flip);
            for (next, equal) in next.iter_mut().zip(places) {
                if place == equal {
                    spare[*next] = I::new(x.total(), 0);
                    *next += 1;
                }
            }
        });
    }
    x.write(0..sorted.len(), |i| T::from_total(sorted[i].word().flip(flip)));
    for range in ranges {
        x.write(range, |i| T::from_total(spare[i].word()));
    }
    if let Some(with) = with {
        with.write(0..sorted.len(), |i| sorted[i].with());
    }
    true
}
