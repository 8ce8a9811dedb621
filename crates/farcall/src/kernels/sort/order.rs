//! Lines of any operands: the numbers of their elements are sorted, then every operand is brought in that order.

use std::ops::Range;

use super::comparator::Key;
use super::element::Element;
use super::radix::{self, Keyed, Packed, Pair};
use super::{Begin, Operands, Shape, Sorter, end};
use crate::kernels::args::Args;
use crate::kernels::types::{by_size, dispatch};

/// A sorter of such lines, of which `part` is the result; `None` for element types that it does not know. `merges`: it is
/// asked for nothing but lines with unordered elements.
pub(super) fn sorter(
    operands: Operands<'_>,
    keys: Vec<Key>,
    shape: Shape,
    part: Range<usize>,
    merges: bool,
) -> Option<Sorter> {
    let read: Vec<ReadKeys> = keys.iter().map(reader).collect::<Option<_>>()?;
    let permute = Permute::of(operands, |_| true)?;
    let layout = Layout::new(shape.length, keys.len(), merges.then(|| permute.room(part.len())))?;
    let scratch = layout.end;
    let lines = Lines { keys, read, permute, shape, part, layout };
    let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
        // SAFETY: whoever calls it promises that the line and the scratch memory are there.
        unsafe { lines.sort(args, begin, scratch) }
    };
    Some(Sorter { scratch, sort: Box::new(sort) })
}

/// Stands for an element that is neither less nor greater than others.
const UNORDERED: u64 = u64::MAX;

/// Reads the elements from an address on, at a distance, as integers of the same order. True if one is
/// [`UNORDERED`].
type ReadKeys = Box<dyn Fn(*const u8, usize, &mut [u64]) -> bool + Send + Sync>;

fn reader(key: &Key) -> Option<ReadKeys> {
    let Key { dtype, order, descending, .. } = *key;
    let may_be_unordered = key.may_be_unordered();
    dispatch!(dtype, [ints, floats, pred], T => {
        let flip = if descending { u64::MAX >> (64 - <T as Element>::BITS) } else { 0 };
        Box::new(move |x: *const u8, stride: usize, keys: &mut [u64]| {
            let (mut unordered, one) = (false, T::opaque_one());
            for (i, to) in keys.iter_mut().enumerate() {
                // SAFETY: the address is that of a line of elements of this type.
                let x = unsafe { x.cast::<T>().add(i * stride).read() };
                *to = x.place(order, one).key() ^ flip;
                if may_be_unordered && Element::is_nan(x) {
                    (*to, unordered) = (UNORDERED, true);
                }
            }
            unordered
        }) as ReadKeys
    })
}

/// Brings operands in order.
pub(super) struct Permute(Vec<(usize, Permuted)>);

/// An operand: the size of an element, and how a line of such is permuted, or of places written.
enum Permuted {
    InMemory(usize, PermuteLine),
    Counted(usize, WritePlaces),
}

impl Permute {
    /// For those operands that are `meant`; `None` if it does not know the type of one.
    pub(super) fn of(operands: Operands<'_>, meant: impl Fn(usize) -> bool) -> Option<Permute> {
        let line = |i: usize| {
            let (size, counted) = (operands.types[i].size(), operands.counted[i]);
            let permuted = match (counted, size) {
                (true, 4) => Permuted::Counted(size, write_places::<u32>),
                (true, 8) => Permuted::Counted(size, write_places::<u64>),
                (true, _) => return None,
                (false, _) => {
                    Permuted::InMemory(size, by_size!(size, T => permute_line::<T> as PermuteLine)?)
                }
            };
            Some((i, permuted))
        };
        (0..operands.types.len()).filter(|i| meant(*i)).map(line).collect::<Option<_>>().map(Permute)
    }

    /// Bytes of room for so many elements of any operand.
    pub(super) fn room(&self, elements: usize) -> usize {
        let size = |operand: &(usize, Permuted)| match operand.1 {
            Permuted::InMemory(size, _) => size,
            Permuted::Counted(..) => 0,
        };
        self.0.iter().map(size).max().unwrap_or(0).saturating_mul(elements)
    }

    /// Writes the elements of these numbers of each operand.
    ///
    /// # Safety
    /// Lines of all operands and results of these types begin there; these have as many elements as there are numbers;
    /// each number is that of an element; there is [`room`](Permute::room).
    pub(super) unsafe fn lines(
        &self,
        args: &Args<'_>,
        begin: Begin,
        stride: usize,
        order: &[u32],
        room: *mut u8,
    ) {
        for (i, operand) in &self.0 {
            let out = args.output_ptr::<u8>(*i);
            // SAFETY: the caller's promise.
            unsafe {
                match operand {
                    Permuted::InMemory(size, permute) => {
                        let x = args.input_ptr::<u8>(*i).add(begin.input * size);
                        permute(x, out.add(begin.output * size), stride, order, room);
                    }
                    Permuted::Counted(size, write) => write(out.add(begin.output * size), stride, order),
                }
            }
        }
    }
}

/// Gives the elements of a line a new order: element `order[i]` comes to be number `i`.
type PermuteLine = unsafe fn(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8);

/// # Safety
/// `x` and `out` are lines of elements of the size of `T`, the same one or apart; `order` has numbers of these;
/// there is room for as many.
unsafe fn permute_line<T: Copy>(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8) {
    let (x, out, room) = (x.cast::<T>(), out.cast::<T>(), room.cast::<T>());
    for (i, from) in order.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { room.add(i).write(x.add(*from as usize * stride).read()) };
    }
    for i in 0..order.len() {
        // SAFETY: the caller's promise.
        unsafe { out.add(i * stride).write(room.add(i).read()) };
    }
}

/// Writes the numbers of elements to a line.
type WritePlaces = unsafe fn(out: *mut u8, stride: usize, order: &[u32]);

/// # Safety
/// `out` is a line of as many elements of the type `T`.
unsafe fn write_places<T: From<u32>>(out: *mut u8, stride: usize, order: &[u32]) {
    for (i, from) in order.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { out.cast::<T>().add(i * stride).write(T::from(*from)) };
    }
}

struct Lines {
    keys: Vec<Key>,
    read: Vec<ReadKeys>,
    permute: Permute,
    shape: Shape,
    part: Range<usize>,
    layout: Layout,
}

/// Where parts of the scratch memory begin: numbers of elements in order and room for as many, keys, and room for
/// what is sorted, twice, or for elements, of which each takes up to 16 bytes. What is only merged takes so many bytes of
/// room, once.
struct Layout {
    spare: usize,
    keys: usize,
    room: usize,
    room_2: usize,
    end: usize,
}

impl Layout {
    fn new(length: usize, count: usize, merges: Option<usize>) -> Option<Layout> {
        let spare = end(0, length, 4)?;
        let keys = end(spare, length, 4)?;
        let room = end(keys, length, count.checked_mul(8)?)?;
        if let Some(bytes) = merges {
            let end = room.checked_add(bytes)?;
            return Some(Layout { spare, keys, room, room_2: room, end });
        }
        let room_2 = end(room, length, size_of::<Pair>())?;
        Some(Layout { spare, keys, room, room_2, end: end(room_2, length, size_of::<Pair>())? })
    }
}

/// The parts of the scratch memory.
struct Room<'a> {
    order: &'a mut [u32],
    spare: &'a mut [u32],
    keys: &'a mut [u64],
    items: [*mut u8; 2],
}

impl Lines {
    /// Sorts the line that begins there.
    ///
    /// # Safety
    /// Lines of the operands and results that this was made for begin there, and there is so much scratch memory.
    unsafe fn sort(&self, args: &Args<'_>, begin: Begin, scratch: *mut u8) -> bool {
        let (Shape { length: n, stride }, layout) = (self.shape, &self.layout);
        // SAFETY: the parts of the scratch memory, which are apart, and aligned.
        let mut room = unsafe {
            Room {
                order: std::slice::from_raw_parts_mut(scratch.cast(), n),
                spare: std::slice::from_raw_parts_mut(scratch.add(layout.spare).cast(), n),
                keys: std::slice::from_raw_parts_mut(scratch.add(layout.keys).cast(), n * self.keys.len()),
                items: [scratch.add(layout.room), scratch.add(layout.room_2)],
            }
        };
        let mut unordered = false;
        for ((key, read), keys) in self.keys.iter().zip(&self.read).zip(room.keys.chunks_exact_mut(n)) {
            // SAFETY: an element of the operand.
            let x = unsafe { args.input_ptr::<u8>(key.operand).add(begin.input * key.dtype.size()) };
            unordered |= read(x, stride, keys);
        }
        room.order.iter_mut().zip(0..).for_each(|(at, i)| *at = i);
        if unordered {
            let keys = &*room.keys;
            merge_sort(room.order, room.spare, |a, b| self.less(keys, a as usize, b as usize));
        } else {
            // The least significant one first: those that come later keep its order among equal ones.
            for (k, key) in self.keys.iter().enumerate().rev() {
                // SAFETY: room for the items of a line of either type, twice.
                unsafe { room.by_key(k * n, key.dtype.size()) };
            }
        }
        let wanted = &room.order[self.part.clone()];
        // SAFETY: lines of the operands and the results; numbers of elements; there is room for elements of any size.
        unsafe { self.permute.lines(args, begin, stride, wanted, room.items[0]) };
        true
    }

    /// What the comparator says of two elements.
    fn less(&self, keys: &[u64], a: usize, b: usize) -> bool {
        for (key, keys) in self.keys.iter().zip(keys.chunks_exact(self.shape.length)) {
            let (a, b) = (keys[a], keys[b]);
            if key.may_be_unordered() && (a == UNORDERED || b == UNORDERED) {
                return false;
            }
            if a != b {
                return a < b;
            }
        }
        false
    }
}

impl Room<'_> {
    /// Sorts the numbers by the keys from number `first` on, which come of elements of so many bytes.
    ///
    /// # Safety
    /// There is room for as many items of either type, twice.
    unsafe fn by_key(&mut self, first: usize, size: usize) {
        let (n, bits) = (self.order.len(), 8 * size as u32);
        let keys = &self.keys[first..first + n];
        let ordered = self.order.iter().map(|i| keys[*i as usize]).zip(0u32..);
        if size > 4 {
            // SAFETY: the caller's promise; integers.
            let [items, spare] =
                self.items.map(|at| unsafe { std::slice::from_raw_parts_mut(at.cast::<Pair>(), n) });
            items.iter_mut().zip(ordered).for_each(|(to, (key, i))| *to = Pair { key, with: u64::from(i) });
            let (sorted, _) = radix::sort(items, spare, bits);
            let order = &*self.order;
            self.spare.iter_mut().zip(sorted).for_each(|(to, from)| *to = order[from.with as usize]);
        } else {
            // SAFETY: as above.
            let [items, spare] =
                self.items.map(|at| unsafe { std::slice::from_raw_parts_mut(at.cast::<Packed>(), n) });
            items.iter_mut().zip(ordered).for_each(|(to, (key, i))| *to = Packed(key << 32 | u64::from(i)));
            let (sorted, _) = radix::sort(items, spare, bits);
            let order = &*self.order;
            self.spare.iter_mut().zip(sorted).for_each(|(to, from)| *to = order[from.0 as u32 as usize]);
        }
        self.order.copy_from_slice(self.spare);
    }
}

/// The evaluator's merge sort of numbers that are in order: the same questions, and so the same order, whatever `less`
/// says.
fn merge_sort(order: &mut [u32], spare: &mut [u32], less: impl Fn(u32, u32) -> bool) {
    let mut width = 1;
    while width < order.len() {
        for (run, merged) in order.chunks(2 * width).zip(spare.chunks_mut(2 * width)) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            for to in merged {
                // The right one goes first only if it is less: equal ones keep their order.
                let from = match (left.first(), right.first()) {
                    (Some(l), Some(r)) if less(*r, *l) => &mut right,
                    (None, _) => &mut right,
                    _ => &mut left,
                };
                if let Some((next, rest)) = from.split_first() {
                    (*to, *from) = (*next, rest);
                }
            }
        }
        order.copy_from_slice(spare);
        width *= 2;
    }
}
