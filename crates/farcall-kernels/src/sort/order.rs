//! Sorts lines of any number of operands: sorts the indices of their elements, and then permutes each
//! operand.

use std::ops::Range;

use farcall_ir::interrupt::{self, Pace};

use super::super::args::Args;
use super::super::types::{by_size, dispatch};
use super::comparator::Key;
use super::element::Element;
use super::radix::{self, Keyed, Packed, Pair};
use super::{Begin, Operands, Shape, Sorter, end};

/// Creates a sorter for lines of any operands, which writes the elements `part` of each sorted line. Returns
/// `None` for unknown element types. `merges` is true if the sorter is only called for lines with unordered
/// elements.
///
/// The scratch memory has two lists of indices, and two lists of keys with indices. The latter are empty if
/// `merges` is true.
pub(super) fn sorter(
    operands: Operands<'_>,
    keys: Vec<Key>,
    shape: Shape,
    part: Range<usize>,
    merges: bool,
) -> Option<Sorter> {
    let read: Vec<ReadKeys> = keys.iter().map(reader).collect::<Option<_>>()?;
    let permute = Permute::of(operands, |_| true)?;
    let item =
        if keys.iter().any(|key| key.dtype.size() > 4) { size_of::<Pair>() } else { size_of::<Packed>() };
    let layout = Layout::new(shape.length, if merges { 0 } else { item }, permute.room(part.len()))?;
    let scratch = layout.end;
    let lines = IndexSort { keys, read, permute, shape, part, layout };
    let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
        // SAFETY: the caller of a sorter provides the line, and `scratch` bytes of scratch memory
        // (`Sorter::sort`).
        unsafe { lines.sort(args, begin, scratch) }
    };
    Some(Sorter { scratch, sort: Box::new(sort) })
}

/// Function that reads the elements of a line with the given indices, and writes their keys. The line is
/// given by a pointer to its first element and a stride.
type ReadLine = dyn Fn(*const u8, usize, &[u32], &mut [u64]) + Send + Sync;

/// Functions that read elements as keys. Keys are integers that have the order of the elements.
struct ReadKeys {
    /// Reads the elements of a line that have the given indices.
    all: Box<ReadLine>,
    /// Reads one element. Returns `None` if the element is neither less nor greater than others (a NaN).
    one: Box<dyn Fn(*const u8) -> Option<u64> + Send + Sync>,
}

fn reader(key: &Key) -> Option<ReadKeys> {
    let Key { dtype, order, descending, .. } = *key;
    let may_be_unordered = key.may_be_unordered();
    dispatch!(dtype, [ints, floats, pred], T => {
        let flip = if descending { u64::MAX >> (64 - <T as Element>::BITS) } else { 0 };
        let key = move |x: T, one: T| x.place(order, one).key() ^ flip;
        ReadKeys {
            all: Box::new(move |x: *const u8, stride: usize, numbers: &[u32], keys: &mut [u64]| {
                let one = T::opaque_one();
                for (i, to) in numbers.iter().zip(keys) {
                    // SAFETY: the caller provides a line of elements of type `T`, and indices below its
                    // length.
                    *to = key(unsafe { x.cast::<T>().add(*i as usize * stride).read() }, one);
                }
            }),
            one: Box::new(move |x: *const u8| {
                // SAFETY: the caller provides an element of type `T`.
                let x = unsafe { x.cast::<T>().read() };
                let is_unordered = may_be_unordered && Element::is_nan(x);
                (!is_unordered).then(|| key(x, T::opaque_one()))
            }),
        }
    })
}

/// Permutation of the lines of several operands.
pub(super) struct Permute(Vec<(usize, Permuted)>);

/// An operand: the size of an element, and the function that permutes a line of elements in memory, or writes
/// the positions if the operand has no memory.
enum Permuted {
    InMemory(usize, PermuteLine),
    Counted(usize, WritePlaces),
}

impl Permute {
    /// Makes a permutation of the operands for which `meant` is true. Returns `None` if the type of one of
    /// these operands is not supported.
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

    /// Returns the size in bytes of the scratch memory for permuting this many elements of any of the
    /// operands.
    pub(super) fn room(&self, elements: usize) -> usize {
        let size = |operand: &(usize, Permuted)| match operand.1 {
            Permuted::InMemory(size, _) => size,
            Permuted::Counted(..) => 0,
        };
        self.0.iter().map(size).max().unwrap_or(0).saturating_mul(elements)
    }

    /// Permutes a line of each operand: the element with the index `order[i]` becomes element `i` of the
    /// result.
    ///
    /// # Safety
    /// A line of each operand and of each result must start at `begin`, and have elements of the operand's
    /// type. The lines of the results must have `order.len()` elements, and each index must refer to an
    /// element of the operands' lines. `room` must have [`room`](Permute::room) bytes for `order.len()`
    /// elements.
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
            // SAFETY: the caller guarantees the lines, the indices and the room, for operands of these sizes.
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

/// Function that permutes a line: element `order[i]` becomes element `i`.
type PermuteLine = unsafe fn(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8);

/// Permutes a line of elements.
///
/// # Safety
/// `x` and `out` must be lines of elements of the size of `T`, either the same line or disjoint. `order` must
/// have indices of these elements. `room` must be valid for as many elements.
unsafe fn permute_line<T: Copy>(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8) {
    let (x, out, room) = (x.cast::<T>(), out.cast::<T>(), room.cast::<T>());
    for (i, from) in order.iter().enumerate() {
        // SAFETY: the caller guarantees that the index refers to an element, and room for `order.len()`
        // elements.
        unsafe { room.add(i).write(x.add(*from as usize * stride).read()) };
    }
    for i in 0..order.len() {
        // SAFETY: the caller guarantees that `out` has `order.len()` elements; the loop above has filled the
        // room.
        unsafe { out.add(i * stride).write(room.add(i).read()) };
    }
}

/// Function that writes the indices in `order` as the elements of a line.
type WritePlaces = unsafe fn(out: *mut u8, stride: usize, order: &[u32]);

/// Writes indices to a line.
///
/// # Safety
/// `out` must be a line of `order.len()` elements of type `T`.
unsafe fn write_places<T: From<u32>>(out: *mut u8, stride: usize, order: &[u32]) {
    for (i, from) in order.iter().enumerate() {
        // SAFETY: the caller guarantees that `out` has `order.len()` elements.
        unsafe { out.cast::<T>().add(i * stride).write(T::from(*from)) };
    }
}

struct IndexSort {
    keys: Vec<Key>,
    read: Vec<ReadKeys>,
    permute: Permute,
    shape: Shape,
    part: Range<usize>,
    layout: Layout,
}

/// Offsets in the scratch memory: the sorted indices come first, then spare room for as many indices, then
/// room for two lists of items or for elements.
struct Layout {
    spare: usize,
    room: usize,
    room_2: usize,
    end: usize,
}

impl Layout {
    /// Lays out the memory for a line of `length` elements.
    fn new(length: usize, item: usize, elements: usize) -> Option<Layout> {
        let spare = end(0, length, 4)?;
        let room = end(spare, length, 4)?;
        let room_2 = end(room, length, item)?;
        let end = end(room_2, length, item)?.max(room.checked_add(elements)?);
        Some(Layout { spare, room, room_2, end })
    }
}

/// The parts of the scratch memory.
struct Buffers<'a> {
    order: &'a mut [u32],
    spare: &'a mut [u32],
    items: [*mut u8; 2],
}

impl IndexSort {
    /// Sorts the line that starts at `begin`.
    ///
    /// # Safety
    /// `begin` must be the first element of a line of the operands and results that the sort was made for.
    /// `scratch` must be valid for `layout.end` bytes.
    unsafe fn sort(&self, args: &Args<'_>, begin: Begin, scratch: *mut u8) -> bool {
        let (Shape { length: n, stride }, layout) = (self.shape, &self.layout);
        // SAFETY: the caller guarantees the scratch memory; its parts are disjoint and aligned.
        let mut room = unsafe {
            Buffers {
                order: std::slice::from_raw_parts_mut(scratch.cast(), n),
                spare: std::slice::from_raw_parts_mut(scratch.add(layout.spare).cast(), n),
                items: [scratch.add(layout.room), scratch.add(layout.room_2)],
            }
        };
        room.order.iter_mut().zip(0..).for_each(|(at, i)| *at = i);
        // SAFETY: the caller guarantees that a line of the operand starts there.
        let first =
            |key: &Key| unsafe { args.input_ptr::<u8>(key.operand).add(begin.input * key.dtype.size()) };
        if self.is_unordered(first) {
            merge_sort(room.order, room.spare, |a, b| self.less(first, a as usize, b as usize));
        } else {
            // Sorts by the least significant key first: later passes, by more significant keys, keep this
            // order among elements with equal keys.
            for (key, read) in self.keys.iter().zip(&self.read).rev() {
                let x = first(key);
                // SAFETY: the layout has room for two lists with an item per element.
                unsafe { room.by_key(|order, keys| (read.all)(x, stride, order, keys), key.dtype.size()) };
            }
        }
        if interrupt::is_due() {
            return true;
        }
        let wanted = &room.order[self.part.clone()];
        // SAFETY: the caller guarantees the lines, `wanted` has indices of elements, and the room is large
        // enough for as many elements of any operand.
        unsafe { self.permute.lines(args, begin, stride, wanted, room.items[0]) };
        true
    }

    /// Returns true if the line has an element that is neither less nor greater than others (a NaN).
    fn is_unordered(&self, first: impl Fn(&Key) -> *const u8) -> bool {
        let mut keys = self.keys.iter().zip(&self.read).filter(|(key, _)| key.may_be_unordered());
        keys.any(|(key, read)| {
            let (x, step) = (first(key), self.shape.stride * key.dtype.size());
            (0..self.shape.length).any(|i| (read.one)(x.wrapping_add(i * step)).is_none())
        })
    }

    /// Returns the comparator's result for two elements.
    fn less(&self, first: impl Fn(&Key) -> *const u8, a: usize, b: usize) -> bool {
        for (key, read) in self.keys.iter().zip(&self.read) {
            let (x, step) = (first(key), self.shape.stride * key.dtype.size());
            let [a, b] = [a, b].map(|i| (read.one)(x.wrapping_add(i * step)));
            let (Some(a), Some(b)) = (a, b) else { return false };
            if a != b {
                return a < b;
            }
        }
        false
    }
}

impl Buffers<'_> {
    /// Sorts the indices by the keys of their elements, which have `size` bytes. `read` writes the keys of
    /// the elements with the given indices.
    ///
    /// # Safety
    /// Both lists of items must have room for one item per index.
    unsafe fn by_key(&mut self, read: impl Fn(&[u32], &mut [u64]), size: usize) {
        let (n, bits) = (self.order.len(), 8 * size as u32);
        let [items, spare] = self.items;
        // The keys are first written to the second list of items; an item is at least as long as a key.
        // SAFETY: the caller guarantees room for one item per index; keys are plain integers.
        let keys = unsafe { std::slice::from_raw_parts_mut(spare.cast::<u64>(), n) };
        read(self.order, keys);
        let ordered = keys.iter().copied().zip(0u32..);
        if size > 4 {
            // SAFETY: the caller guarantees room for one item per index (`# Safety` above); items are plain
            // integers.
            let items = unsafe { std::slice::from_raw_parts_mut(items.cast::<Pair>(), n) };
            items.iter_mut().zip(ordered).for_each(|(to, (key, i))| *to = Pair { key, with: u64::from(i) });
            // SAFETY: the caller guarantees room for one item per index (`# Safety` above). The keys in this
            // memory have been copied to `items`, and are not used again.
            let spare = unsafe { std::slice::from_raw_parts_mut(spare.cast::<Pair>(), n) };
            let (sorted, _) = radix::sort(items, spare, bits);
            let order = &*self.order;
            self.spare.iter_mut().zip(sorted).for_each(|(to, from)| *to = order[from.with as usize]);
        } else {
            // SAFETY: the caller guarantees room for one item per index (`# Safety` above); items are plain
            // integers.
            let items = unsafe { std::slice::from_raw_parts_mut(items.cast::<Packed>(), n) };
            items.iter_mut().zip(ordered).for_each(|(to, (key, i))| *to = Packed(key << 32 | u64::from(i)));
            // SAFETY: the caller guarantees room for one item per index (`# Safety` above). The keys in this
            // memory have been copied to `items`, and are not used again.
            let spare = unsafe { std::slice::from_raw_parts_mut(spare.cast::<Packed>(), n) };
            let (sorted, _) = radix::sort(items, spare, bits);
            let order = &*self.order;
            self.spare.iter_mut().zip(sorted).for_each(|(to, from)| *to = order[from.0 as u32 as usize]);
        }
        self.order.copy_from_slice(self.spare);
    }
}

/// The evaluator's merge sort. It calls `less` for the same pairs as the evaluator, so both produce the same
/// order, whatever `less` returns.
pub(super) fn merge_sort<T: Copy>(order: &mut [T], spare: &mut [T], mut less: impl FnMut(T, T) -> bool) {
    let mut width = 1;
    while width < order.len() && !interrupt::is_due() {
        merge_runs(order, spare, width, &mut less);
        order.copy_from_slice(spare);
        width *= 2;
    }
}

/// Merges pairs of adjacent runs of this width to `merged`. The last run may be shorter.
pub(super) fn merge_runs<T: Copy>(
    order: &[T],
    merged: &mut [T],
    width: usize,
    mut less: impl FnMut(T, T) -> bool,
) {
    let (mut pace, mut due) = (Pace::default(), false);
    for (run, merged) in order.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
        let (mut left, mut right) = run.split_at(width.min(run.len()));
        for part in merged.chunks_mut(Pace::STEPS) {
            // After an interrupt, the order does not matter, but the merged values must still be indices of
            // elements.
            due = due || pace.is_due_after(part.len());
            for to in part {
                // The right element goes first only if it is less, so equal elements keep their order.
                let from = match (left.first(), right.first()) {
                    (Some(l), Some(r)) if !due && less(*r, *l) => &mut right,
                    (None, _) => &mut right,
                    _ => &mut left,
                };
                if let Some((next, rest)) = from.split_first() {
                    (*to, *from) = (*next, rest);
                }
            }
        }
    }
}
