//! `scatter` by one operation or by assignment, with XLA's semantics: a window that is not entirely inside
//! the operand is dropped.
//!
//! Updates of an element are applied in row-major order of the indices. If windows are rows, the rows of the
//! result are divided among the tasks: each task goes through all indices in order, and applies the updates
//! of the task's rows. If the result is larger than a cache, a task first groups the updates by neighboring
//! rows, so that it reads and writes each row once.
//!
//! Only the implementations of [`Update`] are compiled for each element type and operation.

mod by_region;

use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

use farcall_ir::dims::indexed::{IndexedDims, Placement, WindowAxis};
use farcall_ir::{DType, TensorType};
use farcall_ir::{dims, interrupt};

use super::args::Args;
use super::body::Body;
use super::index::{self, OUTSIDE, Reader, Slices, Starts};
use super::loops::prepared::PreparedKernel;
use super::loops::vector::combine::Combine;
use super::loops::vector::complex;
use super::number::{Integer, Number};
use super::simd::{end_block, vectorized};
use super::types::{by_size, dispatch, unsigned};
use super::{InPlace, Kernel, Request};
use crate::cache::{CACHE_LINE_BYTES, prefetch};

pub(super) static KERNEL: Kernel =
    Kernel { name: "scatter", prepare, in_place: |_| InPlace::First, describe };

pub(super) use by_region::KERNEL as BY_REGION;

/// Minimum number of elements for which the kernel is marked [slow](PreparedKernel::slow).
const MIN_SLOW_ELEMENTS: usize = 1 << 16;
/// Minimum number of updated elements for which a scatter is split into tasks.
const MIN_SPLIT_ELEMENTS: usize = 1 << 19;
/// Minimum number of elements of a row per task, since each task goes through all indices.
const MIN_TASK_COLUMNS: usize = 8;
/// Number of elements of a row that are updated at once.
const BLOCK: usize = 16;
/// Maximum number of tasks.
const MAX_TASKS: usize = 4;
/// Minimum size in bytes of a result for which updates are grouped: larger than a cache.
const MIN_GROUPED_RESULT_BYTES: usize = 8 << 20;
/// Minimum size in bytes of a row for which grouping the updates pays off.
const MIN_GROUPED_ROW_BYTES: usize = 128;
/// Updates are grouped if the number of updated elements per four elements of the result is in this range.
/// With fewer updates, most rows have none; with more updates, rows are often found in a cache anyway.
const UPDATES_PER_FOUR_ELEMENTS: RangeInclusive<usize> = 1..=8;
/// Maximum number of groups of rows in a task.
const MAX_GROUPS: usize = 256;
/// Number of updates that are applied at once, while the following updates are prefetched.
const PREFETCH_DISTANCE_UPDATES: usize = 16;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    request.op.as_scatter()?;
    let [body] = request.bodies else { return None };
    let ([x, indices, updates], [y]) = (request.inputs, request.outputs) else { return None };
    if x != y || updates.dtype != x.dtype {
        return None;
    }
    let windows = Windows::new(IndexedDims::of(request.op)?, x, indices, updates)?;
    prepared(windows, x, Operation::of(body, x.dtype)?.update(x.dtype)?)
}

fn describe(request: &Request<'_>) -> String {
    let (Some(numbers), [body], [x, ..]) = (IndexedDims::of(request.op), request.bodies, request.inputs)
    else {
        return String::new();
    };
    let mut text = match Operation::of(body, x.dtype) {
        Some(Operation::Combine(op)) => format!("{op:?}").to_lowercase(),
        Some(Operation::Set) => "set".to_owned(),
        None => return String::new(),
    };
    if numbers.wraps() {
        text = format!("{text}, {}", index::WRAPS);
    }
    text
}

/// Effect of an update on an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Combine(Combine),
    /// The update replaces the element.
    Set,
}

impl Operation {
    fn of(body: &Body, dtype: DType) -> Option<Operation> {
        if body.args.len() == 2 && body.insts.is_empty() && body.returned == [1] {
            return body.args.iter().all(|t| t.dtype == dtype).then_some(Operation::Set);
        }
        Combine::of(body, dtype).map(Operation::Combine)
    }

    /// Returns the code that applies the operation to elements of this type.
    fn update(self, dtype: DType) -> Option<Box<dyn Update>> {
        fn update<T: Copy + 'static>(
            combine: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
        ) -> Box<dyn Update> {
            Box::new(FnUpdate { combine, element: PhantomData })
        }
        let Operation::Combine(op) = self else {
            return by_size!(dtype.size(), T => update::<T>(|_, update| update));
        };
        match op {
            Combine::Add if dtype.is_complex() => {
                dispatch!(dtype, [complex], T => update(|a: T, b: T| a + b))
            }
            Combine::Multiply if dtype.is_complex() => {
                dispatch!(dtype, [complex], T => update(|a: T, b: T| complex::product(a, b)))
            }
            Combine::Add => dispatch!(unsigned(dtype), [unsigned, floats], T => update(<T as Number>::add)),
            Combine::Multiply => {
                dispatch!(unsigned(dtype), [unsigned, floats], T => update(<T as Number>::mul))
            }
            Combine::Maximum => dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                update(move |a: T, b: T| Number::max(a.settle(one), b.settle(one)))
            }),
            Combine::Minimum => dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                update(move |a: T, b: T| Number::min(a.settle(one), b.settle(one)))
            }),
            Combine::And => dispatch!(unsigned(dtype), [unsigned], T => update(<T as Integer>::and)),
            Combine::Or => dispatch!(unsigned(dtype), [unsigned], T => update(<T as Integer>::or)),
            Combine::Xor => dispatch!(unsigned(dtype), [unsigned], T => update(<T as Integer>::xor)),
        }
    }
}

/// Application of updates to elements: the code of a scatter that depends on the element type and on the
/// operation. All other code is the same for all scatters.
///
/// Positions and slices count elements from `out` and from `updates`.
trait Update: Send + Sync {
    /// Updates the element at each position other than [`OUTSIDE`].
    ///
    /// # Safety
    /// `out` is valid for reads and writes of the elements at these positions, and `updates` for reads of the
    /// first element of each slice. The two do not overlap, and are aligned for the elements.
    unsafe fn elements(&self, positions: &[usize], slices: Slices, out: *mut u8, updates: *const u8);

    /// Updates rows of `n` elements. Each pair has the position of a row, and the position of its updates.
    ///
    /// # Safety
    /// Same requirements as [`Update::elements`], for these rows.
    unsafe fn rows(&self, n: usize, pairs: &[Pair], out: *mut u8, updates: *const u8);

    /// Updates a window of these dimensions.
    ///
    /// # Safety
    /// Same requirements as [`Update::elements`], for this window.
    unsafe fn window(&self, dims: &[WindowDim], pair: Pair, out: *mut u8, updates: *const u8);
}

/// Position of a window in the result, and position of its updates.
type Pair = (usize, usize);

/// An [`Update`] by a function.
struct FnUpdate<T, C> {
    combine: C,
    element: PhantomData<fn(T)>,
}

impl<T, C> Update for FnUpdate<T, C>
where
    T: Copy + 'static,
    C: Fn(T, T) -> T + Copy + Send + Sync,
{
    unsafe fn elements(&self, positions: &[usize], slices: Slices, out: *mut u8, updates: *const u8) {
        let (out, updates) = (out.cast::<T>(), updates.cast::<T>());
        for (i, at) in positions.iter().enumerate().filter(|(_, at)| **at != OUTSIDE) {
            // SAFETY: the caller guarantees the elements at positions and the slices (`# Safety` above).
            unsafe {
                let (to, from) = (out.add(*at), updates.add(slices.at(i)));
                to.write((self.combine)(to.read(), from.read()));
            }
        }
    }

    unsafe fn rows(&self, n: usize, pairs: &[Pair], out: *mut u8, updates: *const u8) {
        let (out, updates) = (out.cast::<T>(), updates.cast::<T>());
        vectorized(
            #[inline(always)]
            || {
                for (to, from) in pairs {
                    // SAFETY: the caller guarantees the rows and their updates (`# Safety` above).
                    unsafe { row(n, out.add(*to), updates.add(*from), self.combine) };
                }
            },
        );
    }

    unsafe fn window(&self, dims: &[WindowDim], (to, from): Pair, out: *mut u8, updates: *const u8) {
        // SAFETY: the caller guarantees the window and its updates (`# Safety` above).
        unsafe { window(dims, out.cast::<T>().add(to), updates.cast::<T>().add(from), self.combine) };
    }
}

/// A dimension of a window: size, stride in the updates, stride in the operand.
type WindowDim = (usize, usize, usize);

/// Placement of the windows and of their updates.
struct Windows {
    /// Dimensions of a window, from outer to inner.
    window: Vec<WindowDim>,
    /// Number of elements of a window.
    size: usize,
    /// True if windows are rows: contiguous elements that start at a multiple of the window's size. The
    /// number of elements of the operand is then also a multiple of the window's size.
    rows: bool,
    starts: Starts,
    reader: Reader,
}

impl Windows {
    fn new(
        numbers: IndexedDims<'_>,
        x: &TensorType,
        indices: &TensorType,
        updates: &TensorType,
    ) -> Option<Windows> {
        if x.elements()?.max(updates.elements()?) > isize::MAX as usize / 16 {
            return None;
        }
        let sizes = numbers.window_sizes(x.rank(), updates.sizes())?;
        let Placement { window, batch, entries, entry_stride } =
            numbers.placement(&sizes, [x.sizes(), indices.sizes(), updates.sizes()])?;
        // This kernel applies one window after another; the evaluator applies updates in row-major order of
        // the updates tensor. The orders can give different results only if a window dimension comes before a
        // scatter dimension in that tensor, and windows can overlap along the window dimension.
        let free = numbers.windows_batch_dims(updates.rank());
        let early = |(u, d): (&usize, &usize)| {
            free.iter().any(|f| f > u && updates.sizes()[*f] > 1)
                && numbers.indexed_dims.contains(d)
                && sizes[*d] > 1
        };
        if numbers.window_dims.iter().zip(&numbers.operand_window_dims(x.rank())).any(early) {
            return None;
        }
        let size = window.iter().fold(1usize, |n, w| n.saturating_mul(w.size));
        let window = joined(window);
        let apart =
            numbers.indexed_dims.iter().all(|d| sizes[*d] == 1) && matches!(window[..], [] | [(_, 1, 1)]);
        let whole = size > 0 && x.elements()?.is_multiple_of(size);
        let mut multiples = entries.iter().map(|e| e.stride).chain(batch.iter().map(|b| b.operand));
        let rows = apart && whole && multiples.all(|stride| stride.is_multiple_of(size));
        let starts = Starts::new(batch, entries, entry_stride);
        Some(Windows { window, size, rows, starts, reader: Reader::dropping(indices.dtype)? })
    }
}

/// Returns the dimensions of a window, without dimensions of size 1. Adjacent dimensions that can be walked
/// as one dimension are joined.
fn joined(window: Vec<WindowAxis>) -> Vec<WindowDim> {
    let window = window.into_iter().filter(|w| w.size != 1);
    let joined = dims::join(window, |outer, inner| {
        let continues = dims::continues(outer.windows, inner.size, inner.windows)
            && dims::continues(outer.operand, inner.size, inner.operand);
        continues.then(|| WindowAxis { size: outer.size.saturating_mul(inner.size), ..*inner })
    });
    joined.into_iter().map(|w| (w.size, w.windows, w.operand)).collect()
}

fn prepared(windows: Windows, x: &TensorType, update: Box<dyn Update>) -> Option<PreparedKernel> {
    let elements = x.elements()?;
    let size = windows.size;
    let updates = windows.starts.count().saturating_mul(size);
    let bytes = x.dtype.size();
    let worth = elements.saturating_mul(bytes) >= MIN_GROUPED_RESULT_BYTES
        && size.saturating_mul(bytes) >= MIN_GROUPED_ROW_BYTES
        && UPDATES_PER_FOUR_ELEMENTS.contains(&(updates.saturating_mul(4) / elements));
    if windows.rows
        && worth
        && let Some(groups) = Groups::new(elements, &windows)
    {
        return in_groups(windows, groups, update, bytes);
    }
    let tasks = if windows.rows && updates >= MIN_SPLIT_ELEMENTS {
        (size / MIN_TASK_COLUMNS).clamp(1, MAX_TASKS)
    } else {
        1
    };
    let rows = elements / size.max(1);
    let work = move |args: &Args<'_>, task: usize| {
        let own = match tasks {
            1 => 0..elements,
            _ => rows * task / tasks * size..rows * (task + 1) / tasks * size,
        };
        copy(args, own.start * bytes, own.len() * bytes);
        if updates > 0 {
            vectorized(
                #[inline(always)]
                || windows.apply(args, own, &*update),
            );
        }
    };
    let prepared = PreparedKernel::in_tasks(tasks, work);
    Some(if elements.max(updates) < MIN_SLOW_ELEMENTS { prepared } else { prepared.slow() })
}

/// Prepares a scatter into a result that is larger than a cache.
fn in_groups(
    windows: Windows,
    groups: Groups,
    update: Box<dyn Update>,
    bytes: usize,
) -> Option<PreparedKernel> {
    let scratch = windows.starts.count().checked_mul(size_of::<u32>())?;
    let work = move |args: &Args<'_>, task: usize| {
        let own = groups.of_task(task);
        vectorized(
            #[inline(always)]
            || {
                let mut parts = [(0, 0); MAX_GROUPS];
                let words = windows.sort(args, own.clone(), groups, &mut parts);
                // After an interrupt, not all words have been written.
                if interrupt::has_ended() {
                    return;
                }
                windows.apply_sorted(args, own, groups, &parts, words, (&*update, bytes));
            },
        );
    };
    Some(PreparedKernel::in_tasks(groups.tasks, work).with_scratch(scratch).slow())
}

/// Groups of rows that fit in a cache. An update of a group is encoded as a word: the row's number in the
/// group in the high bits, and the number of the update in the low bits.
#[derive(Clone, Copy)]
struct Groups {
    rows: usize,
    tasks: usize,
    /// Binary logarithm of the number of rows in a group.
    group: u32,
    /// Number of low bits that hold the number of an update.
    number: u32,
    /// 2⁶⁴ divided by the number of elements in a row, rounded up.
    inverse: u64,
}

impl Groups {
    /// Returns `None` if words have too few bits.
    fn new(elements: usize, windows: &Windows) -> Option<Groups> {
        let (rows, count) = (elements / windows.size, windows.starts.count());
        u32::try_from(elements.max(count.saturating_mul(windows.size))).ok()?;
        let tasks = rows.min(MAX_TASKS);
        let group = rows.div_ceil(tasks).div_ceil(MAX_GROUPS).next_power_of_two().ilog2();
        let number = count.next_power_of_two().ilog2();
        let inverse = (u64::MAX / u64::try_from(windows.size).ok()?).checked_add(1)?;
        (group + number < u32::BITS).then_some(Groups { rows, tasks, group, number, inverse })
    }

    /// Rows of a task.
    fn of_task(self, task: usize) -> Range<usize> {
        let share = self.rows.div_ceil(self.tasks);
        (task * share).min(self.rows)..((task + 1) * share).min(self.rows)
    }

    /// Returns the number of the row that starts at this element. The number is computed without a division,
    /// which would take longer than the rest of the grouping.
    #[inline(always)]
    fn row(self, first: usize) -> u32 {
        ((u128::from(self.inverse) * first as u128) >> 64) as u32
    }

    #[inline(always)]
    fn word(self, row: u32, update: u32) -> u32 {
        (row & ((1 << self.group) - 1)) << self.number | update
    }

    /// Decodes a word: the row in the group, and the update.
    #[inline(always)]
    fn of_word(self, word: u32) -> (usize, usize) {
        ((word >> self.number) as usize, (word & ((1 << self.number) - 1)) as usize)
    }
}

/// Copies bytes of the operand to the result, unless both are the same memory.
fn copy(args: &Args<'_>, first: usize, count: usize) {
    let (x, out) = (args.input_ptr::<u8>(0), args.output_ptr::<u8>(0));
    if !std::ptr::eq(x, out) {
        // SAFETY: the operand and the result have these bytes and do not overlap.
        unsafe { out.add(first).copy_from_nonoverlapping(x.add(first), count) };
    }
}

impl Windows {
    /// Applies the updates to the elements `own`. Unless windows are rows, `own` must be all elements.
    #[inline(always)]
    fn apply(&self, args: &Args<'_>, own: Range<usize>, update: &dyn Update) {
        let (updates, out) = (args.input_ptr::<u8>(2), args.output_ptr::<u8>(0));
        match self.window[..] {
            [] => self.blocks(
                args,
                1,
                #[inline(always)]
                // SAFETY: positions are those of elements of the result, and the input has their updates.
                |positions, slices| unsafe { update.elements(positions, slices, out, updates) },
            ),
            [(n, 1, 1)] => {
                let mut pairs = [(0, 0); index::BLOCK];
                self.blocks(
                    args,
                    1,
                    #[inline(always)]
                    |positions, slices| {
                        let count = choose(positions, slices, &own, &mut pairs);
                        // SAFETY: `choose` selected the positions of windows inside the result, and the
                        // input has their updates.
                        unsafe { update.rows(n, &pairs[..count], out, updates) };
                    },
                );
            }
            _ => self.blocks(
                args,
                1,
                #[inline(always)]
                |positions, slices| {
                    for (i, at) in positions.iter().enumerate().filter(|(_, at)| **at != OUTSIDE) {
                        // SAFETY: a position other than `OUTSIDE` is that of a window inside the result, and
                        // `slices.at(i)` is the start of the window's updates in the input.
                        unsafe { update.window(&self.window, (*at, slices.at(i)), out, updates) };
                    }
                },
            ),
        }
    }

    /// Calls `f`, block by block, with the positions of the windows in the result, and with their updates.
    /// `indices` is the number of the input that contains the index vectors.
    #[inline(always)]
    fn blocks(&self, args: &Args<'_>, indices: usize, f: impl FnMut(&[usize], Slices)) {
        let indices = args.input_ptr(indices);
        // SAFETY: the input holds all index vectors.
        unsafe { self.starts.each(0..self.starts.count(), self.reader, indices, f) };
    }

    /// Groups the updates of these rows, in the order of the indices within each group. Writes the beginning
    /// and the end of each group to `parts`. The indices are read twice: first to count the updates of each
    /// group, then to store them. At most as many updates are stored as were counted.
    #[inline(always)]
    fn sort<'a>(
        &self,
        args: &'a Args<'_>,
        rows: Range<usize>,
        groups: Groups,
        parts: &mut [(u32, u32); MAX_GROUPS],
    ) -> &'a [u32] {
        let mut counts = [0u32; MAX_GROUPS];
        let before = self.own(
            args,
            rows.clone(),
            groups,
            #[inline(always)]
            |row, _| counts[(row >> groups.group) as usize] += 1,
        );
        let mut total = 0;
        for (part, count) in parts.iter_mut().zip(counts) {
            *part = (total, total);
            total += count;
        }
        // SAFETY: the scratch memory has a word for each update. Other tasks' slices are for the updates of
        // their own rows, which are before or after these rows. The slices do not overlap as long as all
        // tasks read the same indices: the caller of the kernel guarantees that nothing writes the operands
        // during a run (`PreparedKernel::run`).
        let words = unsafe {
            let first = args.ptr::<u32>(args.scratch_place()).add(before);
            std::slice::from_raw_parts_mut(first, total as usize)
        };
        self.own(
            args,
            rows,
            groups,
            #[inline(always)]
            |row, update| {
                let group = (row >> groups.group) as usize;
                let (begin, end) = &mut parts[group];
                if *end - *begin < counts[group] {
                    words[*end as usize] = groups.word(row, update);
                    *end += 1;
                }
            },
        );
        words
    }

    /// Calls `f` with each update of these rows: the number of the row, counted from the first of these rows,
    /// and the number of the update. Returns the number of updates of earlier rows.
    #[inline(always)]
    fn own(&self, args: &Args<'_>, rows: Range<usize>, groups: Groups, mut f: impl FnMut(u32, u32)) -> usize {
        let (own, mut pairs) = (rows.start * self.size..rows.end * self.size, [(0, 0); index::BLOCK]);
        let mut before = 0;
        self.blocks(
            args,
            1,
            #[inline(always)]
            |positions, slices| {
                for at in positions {
                    before += usize::from(*at < own.start);
                }
                let count = choose(positions, slices, &own, &mut pairs);
                for (at, update) in &pairs[..count] {
                    f(groups.row(at - own.start), groups.row(*update));
                }
            },
        );
        before
    }

    /// Copies these rows to the result and applies their updates, group by group.
    #[inline(always)]
    fn apply_sorted(
        &self,
        args: &Args<'_>,
        rows: Range<usize>,
        groups: Groups,
        parts: &[(u32, u32); MAX_GROUPS],
        words: &[u32],
        (update, bytes): (&dyn Update, usize),
    ) {
        let (updates, out) = (args.input_ptr::<u8>(2), args.output_ptr::<u8>(0));
        let n = self.size;
        for (first, (begin, end)) in rows.clone().step_by(1 << groups.group).zip(parts) {
            let count = (rows.end - first).min(1 << groups.group);
            copy(args, first * n * bytes, count * n * bytes);
            let mut pairs = [(0, 0); PREFETCH_DISTANCE_UPDATES];
            for begin in (*begin as usize..*end as usize).step_by(PREFETCH_DISTANCE_UPDATES) {
                let mut chosen = 0;
                for i in begin..(begin + PREFETCH_DISTANCE_UPDATES).min(*end as usize) {
                    if let Some(next) = words.get(i + PREFETCH_DISTANCE_UPDATES) {
                        let next = updates.wrapping_add(groups.of_word(*next).1 * n * bytes);
                        (0..n * bytes)
                            .step_by(CACHE_LINE_BYTES)
                            .for_each(|i| prefetch(next.wrapping_add(i), false));
                    }
                    let (at, update) = groups.of_word(words[i]);
                    pairs[chosen] = ((first + at) * n, update * n);
                    chosen += usize::from(at < count);
                }
                // SAFETY: the result has these rows, and the input has their updates.
                unsafe { update.rows(n, &pairs[..chosen], out, updates) };
            }
        }
    }
}

/// Writes a pair for each position in the range `own` to `pairs`: the position, and the position of its
/// updates. Returns the number of pairs.
#[inline(always)]
fn choose(
    positions: &[usize],
    slices: Slices,
    own: &Range<usize>,
    pairs: &mut [Pair; index::BLOCK],
) -> usize {
    // Branchless, as a branch would be mispredicted half of the time.
    let mut count = 0;
    for (i, at) in positions.iter().enumerate() {
        pairs[count] = (*at, slices.at(i));
        count += usize::from(own.contains(at));
    }
    count
}

/// Updates contiguous elements.
///
/// # Safety
/// `to` must be valid for reads and writes of `n` elements, `from` for reads of `n` elements, and the two
/// must not overlap.
#[inline(always)]
unsafe fn row<T: Copy>(n: usize, to: *mut T, from: *const T, combine: impl Fn(T, T) -> T) {
    let blocks = n / BLOCK;
    for k in 0..blocks {
        // SAFETY: the block ends at or before `n`, for which the caller guarantees both pointers.
        unsafe {
            let to = to.add(k * BLOCK).cast::<[T; BLOCK]>();
            let (mut values, by) = (to.read(), from.add(k * BLOCK).cast::<[T; BLOCK]>().read());
            // The loop does not use an iterator, whose functions might not be inlined.
            let mut i = 0;
            while i < BLOCK {
                values[i] = combine(values[i], by[i]);
                i += 1;
            }
            to.write(values);
        }
        end_block();
    }
    for i in blocks * BLOCK..n {
        // SAFETY: `i` is below `n`, for which the caller guarantees both pointers.
        unsafe { to.add(i).write(combine(to.add(i).read(), from.add(i).read())) };
    }
}

/// Updates a window.
///
/// # Safety
/// The window must lie in the tensor from `to` on and its updates in the tensor from `from` on; the two must
/// not overlap.
unsafe fn window<T: Copy>(
    dims: &[WindowDim],
    to: *mut T,
    from: *const T,
    combine: impl Fn(T, T) -> T + Copy,
) {
    match dims {
        // SAFETY: a window without dimensions has one element, for which the caller guarantees both pointers.
        [] => unsafe { to.write(combine(to.read(), from.read())) },
        [(n, u, x), rest @ ..] => {
            for i in 0..*n {
                // SAFETY: `i` is below the size of the dimension, so this is a part of the window.
                unsafe { window(rest, to.add(i * x), from.add(i * u), combine) };
            }
        }
    }
}
