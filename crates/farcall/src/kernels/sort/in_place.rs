//! Lines that one operand of four bytes orders: its elements are sorted as integers where the result lies, and with them,
//! if there are other operands, the places that they had ([`quick`](super::quick)).
//!
//! Numbers that are equal and yet differ, zeros and NaNs, keep their order: if a line has such, they are moved before
//! the others, which are sorted without them, and then where they belong.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::comparator::{Key, Order};
use super::element::Element;
use super::order::Permute;
use super::quick::Line;
use super::{Begin, Operands, Shape, Sorter, end};
use crate::kernels::args::{Args, Prepared};
use crate::kernels::simd::vectorized;
use crate::kernels::types::dispatch;

/// Lines of at least so many elements are sorted in tasks.
const LONG: usize = 1 << 16;
/// Tasks of such a line.
const PARTS: usize = 16;

/// A sorter of such lines; `None` if these are others.
pub(super) fn sorter(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<Sorter> {
    let key = key(keys, shape)?;
    dispatch!(key.dtype, [words], T => {
        let lines = Lines::<T>::new(operands, key, shape)?;
        let scratch = lines.scratch;
        let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
            // SAFETY: whoever calls it promises that the line and the scratch memory are there.
            unsafe { lines.at(args, begin, scratch).sort() }
        };
        Some(Sorter { scratch, sort: Box::new(sort) })
    })?
}

/// Sorts one such line, which is long; `None` if it is another, or may be unordered.
pub(super) fn long_line(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<Prepared> {
    let key = key(keys, shape)?;
    if shape.length < LONG || key.may_be_unordered() {
        return None;
    }
    dispatch!(key.dtype, [words], T => Arc::new(Lines::<T>::new(operands, key, shape)?).in_tasks())?
}

fn key(keys: &[Key], shape: Shape) -> Option<Key> {
    let [key] = *keys else { return None };
    i32::try_from(shape.length).is_ok().then_some(key)
}

struct Lines<T> {
    key: Key,
    shape: Shape,
    /// Turns the order round.
    flip: u32,
    others: Option<Others>,
    /// Bytes of scratch memory: for keys, places, and room for elements.
    scratch: usize,
    places: usize,
    room: usize,
    element: PhantomData<fn(T)>,
}

/// What goes with the keys.
struct Others {
    /// An operand whose result is the places.
    places: Option<usize>,
    permute: Permute,
}

/// What tasks of a line know of each other.
#[derive(Clone, Copy)]
#[repr(C)]
struct Parts {
    /// Whether a part has numbers that are equal and yet differ.
    differ: [bool; PARTS],
    /// How many NaNs and zeros are before the others.
    front: [usize; 2],
    begins: [usize; PARTS + 1],
}

impl<T: Element<Word = u32>> Lines<T> {
    fn new(operands: Operands<'_>, key: Key, shape: Shape) -> Option<Lines<T>> {
        let Operands { types, counted } = operands;
        let is_contiguous = shape.stride == 1;
        let others = match types.len() {
            1 => None,
            count => {
                let is_places = |i: &usize| is_contiguous && counted[*i] && types[*i].size() == 4;
                let places = (0..count).find(is_places);
                let permute = Permute::of(operands, |i| i != key.operand && Some(i) != places)?;
                Some(Others { places, permute })
            }
        };
        let n = shape.length;
        let places = end(0, if is_contiguous { 0 } else { n }, 4)?;
        let has_places = others.as_ref().is_some_and(|others| others.places.is_none());
        let room = end(places, if has_places { n } else { 0 }, 4)?;
        let scratch = end(room, others.as_ref().map_or(0, |others| others.permute.room(n)), 1)?;
        let flip = if key.descending { u32::MAX } else { 0 };
        Some(Lines { key, shape, flip, others, scratch, places, room, element: PhantomData })
    }

    /// The line that begins there.
    ///
    /// # Safety
    /// Lines of all operands and results begin there, and there is so much scratch memory.
    unsafe fn at<'a>(&'a self, args: &'a Args<'a>, begin: Begin, scratch: *mut u8) -> Place<'a, T> {
        // SAFETY: the caller's promise.
        unsafe {
            let input = args.input_ptr::<T>(self.key.operand).add(begin.input);
            let output = args.output_ptr::<T>(self.key.operand).add(begin.output);
            let keys = if self.shape.stride == 1 { output.cast() } else { scratch.cast() };
            let places = match &self.others {
                None => std::ptr::null_mut(),
                Some(Others { places: Some(i), .. }) => args.output_ptr::<i32>(*i).add(begin.output),
                Some(_) => scratch.add(self.places).cast(),
            };
            let line = Line { keys, places };
            Place { lines: self, args, begin, input, output, line, scratch }
        }
    }

    /// A key as an integer of the same order, and the other way round.
    #[inline(always)]
    fn key_of(&self, total: u32) -> i32 {
        (total ^ self.flip ^ 1 << 31).cast_signed()
    }

    #[inline(always)]
    fn element_of(&self, key: i32) -> T {
        T::from_total(key.cast_unsigned() ^ 1 << 31 ^ self.flip)
    }

    /// [`Parts`] lie behind the other scratch memory.
    fn in_tasks(self: Arc<Self>) -> Option<Prepared> {
        /// A phase: so many tasks, each of which gets the line and its own number.
        macro_rules! phase {
            (|$line:ident, $parts:ident, $task:ident| $work:expr) => {{
                let lines = Arc::clone(&self);
                move |args: &Args<'_>, $task: usize| {
                    let begin = Begin { input: 0, output: 0 };
                    // SAFETY: the only line, and its scratch memory.
                    let $line = unsafe { lines.at(args, begin, args.ptr(args.scratch_place())) };
                    // SAFETY: parts, behind the scratch memory of the line; tasks of a phase read and write elements and
                    // parts of their own.
                    unsafe {
                        let $parts = $line.scratch.add(lines.scratch).cast::<Parts>();
                        $work
                    }
                }
            }};
        }
        let n = self.shape.length;
        let stretch = move |task: usize| task * n / PARTS..(task + 1) * n / PARTS;
        let mut all = Prepared::in_tasks(
            PARTS,
            phase!(|line, parts, task| (&raw mut (*parts).differ)
                .cast::<bool>()
                .add(task)
                .write(line.read(stretch(task)))),
        );
        all = all.then(
            1,
            phase!(|line, parts, _task| {
                let differ = (&raw const (*parts).differ).read().contains(&true);
                let front = if differ { line.put_first() } else { [0, 0] };
                (&raw mut (*parts).front).write(front);
                let begins = (&raw mut (*parts).begins).cast::<usize>();
                begins.write(front[0] + front[1]);
                begins.add(PARTS).write(line.lines.shape.length);
            }),
        );
        let mut width = PARTS;
        while width > 1 {
            all = all.then(
                PARTS / width,
                phase!(|line, parts, task| {
                    let begin = (&raw mut (*parts).begins).cast::<usize>().add(task * width);
                    begin.add(width / 2).write(line.line.split(begin.read()..begin.add(width).read()));
                }),
            );
            width /= 2;
        }
        all = all.then(
            PARTS,
            phase!(|line, parts, task| {
                let begin = (&raw const (*parts).begins).cast::<usize>().add(task);
                line.line.sort(begin.read()..begin.add(1).read());
            }),
        );
        all = all.then(1, phase!(|line, parts, _task| line.put_back((&raw const (*parts).front).read())));
        all = all.then(PARTS, phase!(|line, _parts, task| line.write(stretch(task))));
        if self.others.is_some() {
            all = all.then(1, phase!(|line, _parts, _task| line.permute_others()));
        }
        Some(all.with_scratch(end(self.scratch, 1, size_of::<Parts>())?))
    }
}

/// A line.
struct Place<'a, T> {
    lines: &'a Lines<T>,
    args: &'a Args<'a>,
    begin: Begin,
    input: *const T,
    output: *mut T,
    line: Line,
    scratch: *mut u8,
}

/// # Safety
/// Of all functions: as of [`Lines::at`]; nobody else reads or writes what they do.
impl<T: Element<Word = u32>> Place<'_, T> {
    /// Sorts it; false if it has no order, and was left as it is.
    unsafe fn sort(&self) -> bool {
        let n = self.lines.shape.length;
        // SAFETY: the caller's promise.
        unsafe {
            if self.lines.key.may_be_unordered() && self.has_nan() {
                return false;
            }
            let differ = self.read(0..n);
            let front = if differ { self.put_first() } else { [0, 0] };
            self.line.sort(front[0] + front[1]..n);
            self.put_back(front);
            self.write(0..n);
            self.permute_others();
        }
        true
    }

    unsafe fn has_nan(&self) -> bool {
        let Shape { length, stride } = self.lines.shape;
        vectorized(
            #[inline(always)]
            // SAFETY: elements of the line.
            || (0..length).fold(false, |nan, i| nan | unsafe { self.input.add(i * stride).read() }.is_nan()),
        )
    }

    /// Makes keys of elements, and their places; true if some are equal and yet may differ.
    unsafe fn read(&self, range: Range<usize>) -> bool {
        let places = self.line.places;
        vectorized(
            #[inline(always)]
            || {
                if !places.is_null() {
                    for i in range.clone() {
                        // SAFETY: a place of the line, whose length fits.
                        unsafe { places.add(i).write(i as i32) };
                    }
                }
                // A loop for each.
                // SAFETY: the caller's promise.
                unsafe {
                    match (self.lines.key.order, self.lines.shape.stride) {
                        (Order::Total, 1) => self.read_by(range, Order::Total, 1),
                        (Order::Total, stride) => self.read_by(range, Order::Total, stride),
                        (_, 1) => self.read_by(range, Order::Jax, 1),
                        (_, stride) => self.read_by(range, Order::Jax, stride),
                    }
                }
            },
        )
    }

    #[inline(always)]
    unsafe fn read_by(&self, range: Range<usize>, order: Order, stride: usize) -> bool {
        let one = T::opaque_one();
        let mut differ = 0;
        for i in range {
            // SAFETY: an element of the line, which may be where its key will be.
            unsafe {
                let x = self.input.add(i * stride).read();
                let total = x.total();
                differ |= total ^ x.place(order, one);
                self.line.keys.add(i).write(self.lines.key_of(total));
            }
        }
        differ != 0
    }

    unsafe fn write(&self, range: Range<usize>) {
        let stride = self.lines.shape.stride;
        vectorized(
            #[inline(always)]
            || {
                for i in range {
                    let to = if stride == 1 { i } else { i * stride };
                    // SAFETY: an element of the line.
                    unsafe { self.output.add(to).write(self.lines.element_of(self.line.keys.add(i).read())) };
                }
            },
        );
    }

    unsafe fn permute_others(&self) {
        let Some(others) = &self.lines.others else { return };
        let Shape { length, stride } = self.lines.shape;
        // SAFETY: the caller's promise; the places are those of the line's elements, in order.
        unsafe {
            let order = std::slice::from_raw_parts(self.line.places.cast(), length);
            others.permute.lines(self.args, self.begin, stride, order, self.scratch.add(self.lines.room));
        }
    }

    /// Moves NaNs, then zeros, before the others, each in their order; says how many they are.
    unsafe fn put_first(&self) -> [usize; 2] {
        let one = T::opaque_one();
        // SAFETY: the caller's promise.
        let mut items = unsafe { self.items() };
        let is_nan = |key: i32| self.lines.element_of(key).is_nan();
        let mut count = 0;
        for i in 0..items.keys.len() {
            if is_nan(items.keys[i]) || self.lines.element_of(items.keys[i]).is_zero(one) {
                items.swap(i, count);
                count += 1;
            }
        }
        let nans = items.partition(0..count, &is_nan);
        [nans, count - nans]
    }

    /// Moves these where they belong among the others, which are in order.
    unsafe fn put_back(&self, [nans, zeros]: [usize; 2]) {
        let Some(equals) = T::equals().filter(|_| nans + zeros > 0) else { return };
        let [zero, nan] = equals.map(|total| self.lines.key_of(total));
        // SAFETY: the caller's promise.
        let mut items = unsafe { self.items() };
        for (begin, count, key) in [(nans, zeros, zero), (0, nans, nan)] {
            let less = items.keys[begin + count..].partition_point(|x| *x < key);
            items.rotate(begin..begin + count + less, count);
        }
    }

    unsafe fn items(&self) -> Items<'_> {
        let Line { keys, places } = self.line;
        let length = self.lines.shape.length;
        // SAFETY: the caller's promise.
        unsafe {
            let places = (!places.is_null()).then(|| std::slice::from_raw_parts_mut(places, length));
            Items { keys: std::slice::from_raw_parts_mut(keys, length), places }
        }
    }
}

/// The keys of a line, and the places.
struct Items<'a> {
    keys: &'a mut [i32],
    places: Option<&'a mut [i32]>,
}

impl Items<'_> {
    fn swap(&mut self, i: usize, j: usize) {
        self.keys.swap(i, j);
        if let Some(places) = &mut self.places {
            places.swap(i, j);
        }
    }

    fn rotate(&mut self, range: Range<usize>, left: usize) {
        self.keys[range.clone()].rotate_left(left);
        if let Some(places) = &mut self.places {
            places[range].rotate_left(left);
        }
    }

    /// Moves those that are meant before the others of a range, all in their order; says how many they are.
    fn partition(&mut self, range: Range<usize>, meant: &impl Fn(i32) -> bool) -> usize {
        if range.len() < 2 {
            return range.filter(|i| meant(self.keys[*i])).count();
        }
        let middle = range.start.midpoint(range.end);
        let first = self.partition(range.start..middle, meant);
        let second = self.partition(middle..range.end, meant);
        self.rotate(range.start + first..middle + second, middle - range.start - first);
        first + second
    }
}
