//! Sorts lines whose order depends on one operand with four-byte elements. These elements are sorted as
//! integers, directly in the result. If there are other operands, the elements are sorted together with their
//! original positions ([`quick`](super::quick)).
//!
//! Elements that compare as equal but have different bits (zeros, NaNs) keep their order. If a line has such
//! elements, they are moved to the front, the rest of the line is sorted, and then they are moved to their
//! places in the sorted line.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::super::args::Args;
use super::super::loops::prepared::PreparedKernel;
use super::super::simd::vectorized;
use super::super::types::dispatch;
use super::comparator::{Key, Order};
use super::element::Element;
use super::order::Permute;
use super::quick::KeyLine;
use super::{Begin, Operands, Shape, Sorter, end};

/// Minimum number of elements of a line that is sorted in several tasks.
const MIN_LONG_ELEMENTS: usize = 1 << 16;
/// Number of tasks in which such a line is sorted.
const LINE_TASKS: usize = 16;

/// Makes a sorter of lines that have a single key with four-byte elements. Returns `None` for other lines.
pub(super) fn sorter(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<Sorter> {
    let key = key(keys, shape)?;
    dispatch!(key.dtype, [words], T => {
        let lines = InPlaceSort::<T>::new(operands, key, shape)?;
        let scratch = lines.scratch;
        let sort = move |args: &Args<'_>, begin: Begin, scratch: *mut u8| {
            // SAFETY: the caller of a sorter provides the line, and `scratch` bytes of scratch memory
            // (`Sorter::sort`).
            unsafe { lines.at(args, begin, scratch).sort() }
        };
        Some(Sorter { scratch, sort: Box::new(sort) })
    })?
}

/// Prepares the sort of a single long line. Returns `None` if the line is short, does not have a single key
/// with four-byte elements, or may have unordered elements.
pub(super) fn long_line(operands: Operands<'_>, keys: &[Key], shape: Shape) -> Option<PreparedKernel> {
    let key = key(keys, shape)?;
    if shape.length < MIN_LONG_ELEMENTS || key.may_be_unordered() {
        return None;
    }
    dispatch!(key.dtype, [words], T => Arc::new(InPlaceSort::<T>::new(operands, key, shape)?).in_tasks())?
}

fn key(keys: &[Key], shape: Shape) -> Option<Key> {
    let [key] = *keys else { return None };
    i32::try_from(shape.length).is_ok().then_some(key)
}

struct InPlaceSort<T> {
    key: Key,
    shape: Shape,
    /// Mask that reverses the order if the sort is descending.
    flip: u32,
    others: Option<OtherOperands>,
    /// Size in bytes of the scratch memory: keys, positions, and room for elements. The offsets of the last
    /// two are `places` and `room`.
    scratch: usize,
    places: usize,
    room: usize,
    element: PhantomData<fn(T)>,
}

/// Operands other than the key.
struct OtherOperands {
    /// Number of an operand whose elements are the positions in the line. The positions are sorted directly
    /// in the result of this operand.
    places: Option<usize>,
    permute: Permute,
}

/// State that the tasks of a line share.
#[derive(Clone, Copy)]
#[repr(C)]
struct SharedState {
    /// For each task, true if its part may have elements that compare as equal but have different bits.
    differ: [bool; LINE_TASKS],
    /// Number of NaNs and number of zeros that are moved to the front.
    front: [usize; 2],
    /// Beginnings of the parts that tasks sort, and the end of the last part.
    begins: [usize; LINE_TASKS + 1],
}

impl<T: Element<Word = u32>> InPlaceSort<T> {
    fn new(operands: Operands<'_>, key: Key, shape: Shape) -> Option<InPlaceSort<T>> {
        let Operands { types, counted } = operands;
        let is_contiguous = shape.stride == 1;
        let others = match types.len() {
            1 => None,
            count => {
                let is_places = |i: &usize| is_contiguous && counted[*i] && types[*i].size() == 4;
                let places = (0..count).find(is_places);
                let permute = Permute::of(operands, |i| i != key.operand && Some(i) != places)?;
                Some(OtherOperands { places, permute })
            }
        };
        let n = shape.length;
        let places = end(0, if is_contiguous { 0 } else { n }, 4)?;
        let has_places = others.as_ref().is_some_and(|others| others.places.is_none());
        let room = end(places, if has_places { n } else { 0 }, 4)?;
        let scratch = end(room, others.as_ref().map_or(0, |others| others.permute.room(n)), 1)?;
        let flip = if key.descending { u32::MAX } else { 0 };
        Some(InPlaceSort { key, shape, flip, others, scratch, places, room, element: PhantomData })
    }

    /// Returns the line that starts at `begin`.
    ///
    /// # Safety
    /// Lines of all operands and results must start at `begin`, and `scratch` must be valid for
    /// `self.scratch` bytes.
    unsafe fn at<'a>(&'a self, args: &'a Args<'a>, begin: Begin, scratch: *mut u8) -> LineMemory<'a, T> {
        // SAFETY: the caller guarantees the lines and the scratch memory.
        unsafe {
            let input = args.input_ptr::<T>(self.key.operand).add(begin.input);
            let output = args.output_ptr::<T>(self.key.operand).add(begin.output);
            let keys = if self.shape.stride == 1 { output.cast() } else { scratch.cast() };
            let places = match &self.others {
                None => std::ptr::null_mut(),
                Some(OtherOperands { places: Some(i), .. }) => args.output_ptr::<i32>(*i).add(begin.output),
                Some(_) => scratch.add(self.places).cast(),
            };
            let line = KeyLine { keys, places };
            LineMemory { lines: self, args, begin, input, output, line, scratch }
        }
    }

    /// Converts a rank in the total order of elements to a key: a signed integer with the order of the sort.
    #[inline(always)]
    fn key_of(&self, total: u32) -> i32 {
        (total ^ self.flip ^ 1 << 31).cast_signed()
    }

    #[inline(always)]
    fn element_of(&self, key: i32) -> T {
        T::from_total(key.cast_unsigned() ^ 1 << 31 ^ self.flip)
    }

    /// Prepares the sort in phases of tasks. [`SharedState`] follows the other scratch memory.
    fn in_tasks(self: Arc<Self>) -> Option<PreparedKernel> {
        /// A phase of several tasks. Each task gets the line, the shared state and the number of the task.
        macro_rules! phase {
            (|$line:ident, $parts:ident, $task:ident| $work:expr) => {{
                let lines = Arc::clone(&self);
                move |args: &Args<'_>, $task: usize| {
                    let begin = Begin { input: 0, output: 0 };
                    // SAFETY: this is the only line, it starts at element 0, and the kernel has requested its
                    // scratch memory.
                    let $line = unsafe { lines.at(args, begin, args.ptr(args.scratch_place())) };
                    // SAFETY: the shared state follows the scratch memory of the line. Tasks of a phase read
                    // and write only their own elements and their own entries.
                    unsafe {
                        let $parts = $line.scratch.add(lines.scratch).cast::<SharedState>();
                        $work
                    }
                }
            }};
        }
        let n = self.shape.length;
        let stretch = move |task: usize| task * n / LINE_TASKS..(task + 1) * n / LINE_TASKS;
        let mut all = PreparedKernel::in_tasks(
            LINE_TASKS,
            phase!(|line, parts, task| (&raw mut (*parts).differ)
                .cast::<bool>()
                .add(task)
                .write(line.read(stretch(task)))),
        );
        all = all.then(PreparedKernel::in_tasks(
            1,
            phase!(|line, parts, _task| {
                let differ = (&raw const (*parts).differ).read().contains(&true);
                let front = if differ { line.put_first() } else { [0, 0] };
                (&raw mut (*parts).front).write(front);
                let begins = (&raw mut (*parts).begins).cast::<usize>();
                begins.write(front[0] + front[1]);
                begins.add(LINE_TASKS).write(line.lines.shape.length);
            }),
        ));
        let mut width = LINE_TASKS;
        while width > 1 {
            all = all.then(PreparedKernel::in_tasks(
                LINE_TASKS / width,
                phase!(|line, parts, task| {
                    let begin = (&raw mut (*parts).begins).cast::<usize>().add(task * width);
                    begin.add(width / 2).write(line.line.split(begin.read()..begin.add(width).read()));
                }),
            ));
            width /= 2;
        }
        all = all.then(PreparedKernel::in_tasks(
            LINE_TASKS,
            phase!(|line, parts, task| {
                let begin = (&raw const (*parts).begins).cast::<usize>().add(task);
                line.line.sort(begin.read()..begin.add(1).read());
            }),
        ));
        let put_back = phase!(|line, parts, _task| line.put_back((&raw const (*parts).front).read()));
        all = all.then(PreparedKernel::in_tasks(1, put_back));
        all = all.then(PreparedKernel::in_tasks(
            LINE_TASKS,
            phase!(|line, _parts, task| line.write(stretch(task))),
        ));
        if self.others.is_some() {
            all = all.then(PreparedKernel::in_tasks(1, phase!(|line, _parts, _task| line.permute_others())));
        }
        Some(all.with_scratch(end(self.scratch, 1, size_of::<SharedState>())?))
    }
}

/// A line with its memory.
struct LineMemory<'a, T> {
    lines: &'a InPlaceSort<T>,
    args: &'a Args<'a>,
    begin: Begin,
    input: *const T,
    output: *mut T,
    line: KeyLine,
    scratch: *mut u8,
}

/// # Safety
/// All functions have the contract of [`InPlaceSort::at`]. In addition, nothing else may access the memory
/// that a function reads or writes.
impl<T: Element<Word = u32>> LineMemory<'_, T> {
    /// Sorts the line. Returns false if the line is unordered and was left unchanged.
    unsafe fn sort(&self) -> bool {
        let n = self.lines.shape.length;
        // SAFETY: the caller guarantees the whole line and its scratch memory.
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
            // SAFETY: `i` is below the length of the line.
            || (0..length).fold(false, |nan, i| nan | unsafe { self.input.add(i * stride).read() }.is_nan()),
        )
    }

    /// Converts elements to keys, and writes their positions. Returns true if some elements may compare as
    /// equal but have different bits.
    unsafe fn read(&self, range: Range<usize>) -> bool {
        let places = self.line.places;
        vectorized(
            #[inline(always)]
            || {
                if !places.is_null() {
                    for i in range.clone() {
                        // SAFETY: `i` is a position of the line, and the caller guarantees room for
                        // positions. The length fits in `i32`.
                        unsafe { places.add(i).write(i as i32) };
                    }
                }
                // One specialized loop for each case.
                // SAFETY: the caller upholds the same contract.
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
            // SAFETY: `i` is a position of the line. The element is read before its key is written, maybe to
            // the same memory.
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
                    // SAFETY: `i` is a position of the line.
                    unsafe { self.output.add(to).write(self.lines.element_of(self.line.keys.add(i).read())) };
                }
            },
        );
    }

    unsafe fn permute_others(&self) {
        let Some(others) = &self.lines.others else { return };
        let Shape { length, stride } = self.lines.shape;
        // SAFETY: the caller guarantees the line; the places are the positions of its elements, in sorted
        // order.
        unsafe {
            let order = std::slice::from_raw_parts(self.line.places.cast(), length);
            others.permute.lines(self.args, self.begin, stride, order, self.scratch.add(self.lines.room));
        }
    }

    /// Moves all NaNs, and after them all zeros, to the front. Both keep their order. Returns the number of
    /// NaNs and the number of zeros.
    unsafe fn put_first(&self) -> [usize; 2] {
        let one = T::opaque_one();
        // SAFETY: the caller upholds the same contract.
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

    /// Moves the NaNs and zeros at the front to their places among the other items, which are sorted.
    unsafe fn put_back(&self, [nans, zeros]: [usize; 2]) {
        let Some(equals) = T::equals().filter(|_| nans + zeros > 0) else { return };
        let [zero, nan] = equals.map(|total| self.lines.key_of(total));
        // SAFETY: the caller upholds the same contract.
        let mut items = unsafe { self.items() };
        for (begin, count, key) in [(nans, zeros, zero), (0, nans, nan)] {
            let less = items.keys[begin + count..].partition_point(|x| *x < key);
            items.rotate(begin..begin + count + less, count);
        }
    }

    unsafe fn items(&self) -> KeysAndPlaces<'_> {
        let KeyLine { keys, places } = self.line;
        let length = self.lines.shape.length;
        // SAFETY: the caller guarantees the keys of a whole line, and their positions unless these are null.
        unsafe {
            let places = (!places.is_null()).then(|| std::slice::from_raw_parts_mut(places, length));
            KeysAndPlaces { keys: std::slice::from_raw_parts_mut(keys, length), places }
        }
    }
}

/// Keys of a line, and their positions.
struct KeysAndPlaces<'a> {
    keys: &'a mut [i32],
    places: Option<&'a mut [i32]>,
}

impl KeysAndPlaces<'_> {
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

    /// Moves the items for which `meant` is true to the front of a range. These items keep their order, and
    /// so do the others. Returns the number of items for which `meant` is true.
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
