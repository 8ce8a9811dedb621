//! `scatter` by one operation, or of the updates themselves, with XLA's semantics: a window that does not lie inside as a
//! whole is dropped.
//!
//! Updates of one element come in row-major order of the indices. Where windows are rows, tasks share the rows of the
//! result: each goes through all indices in order, and applies the updates of its own rows. Where the result is larger than a
//! cache, a task puts the updates of rows that are close together first, so that it reads and writes a row once.

mod by_region;

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{Ordering, compiler_fence};

use farcall_ir::interrupt;
use farcall_ir::op::Scatter;
use farcall_ir::{DType, Op, TensorType};

use super::args::{Args, Prepared};
use super::body::Body;
use super::complex;
use super::index::{self, Batch, Entry, OUTSIDE, Reader, Slices, Starts};
use super::movement::row_major;
use super::number::{Integer, Number};
use super::reduce::Combine;
use super::simd::vectorized;
use super::types::{by_size, dispatch};
use super::{InPlace, Kernel, Request};
use crate::cache::{LINE, prefetch};

pub(super) static KERNEL: Kernel =
    Kernel { name: "scatter", prepare, in_place: |_| InPlace::First, describe };

pub(super) use by_region::KERNEL as BY_REGION;

/// Elements from which on a run may take long.
const SLOW: usize = 1 << 16;
/// Updated elements that are worth tasks, and elements of a row for each, since each goes through all indices.
const TASK: usize = 1 << 19;
const COLUMNS: usize = 8;
/// Elements of a row that are updated at once.
const BLOCK: usize = 16;
/// Most tasks.
const MOST_TASKS: usize = 4;
/// Bytes of a result that is larger than a cache, and of a row that is worth the search for its updates. Updates for four
/// elements: of fewer, most rows need not be touched, and of more, rows are found in a cache.
const LARGE: usize = 8 << 20;
const WIDE: usize = 128;
const UPDATES: RangeInclusive<usize> = 1..=8;
/// Most groups of rows whose updates a task puts together.
const GROUPS: usize = 256;
/// How many updates ahead a row of them is brought into the cache.
const AHEAD: usize = 16;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Scatter(s), [body]) = (request.op, request.bodies) else { return None };
    let ([x, indices, updates], [y]) = (request.inputs, request.outputs) else { return None };
    if x != y || updates.dtype != x.dtype {
        return None;
    }
    let windows = Windows::new(s, x, indices, updates)?;
    let operation = Operation::of(body, x.dtype)?;
    operation.scatter(windows, x)
}

fn describe(request: &Request<'_>) -> String {
    let (Op::Scatter(s), [body], [x, ..]) = (request.op, request.bodies, request.inputs) else {
        return String::new();
    };
    let mut text = match Operation::of(body, x.dtype) {
        Some(Operation::Combine(op)) => format!("{op:?}").to_lowercase(),
        Some(Operation::Set) => "set".to_owned(),
        None => return String::new(),
    };
    if s.wrap.iter().any(|n| *n > 0) {
        text = format!("{text}, {}", index::WRAPS);
    }
    text
}

/// What an update does to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Combine(Combine),
    /// It takes its place.
    Set,
}

impl Operation {
    fn of(body: &Body, dtype: DType) -> Option<Operation> {
        if body.args.len() == 2 && body.insts.is_empty() && body.returned == [1] {
            return body.args.iter().all(|t| t.dtype == dtype).then_some(Operation::Set);
        }
        Combine::of(body, dtype).map(Operation::Combine)
    }

    fn scatter(self, windows: Windows, x: &TensorType) -> Option<Prepared> {
        let dtype = x.dtype;
        macro_rules! go {
            ($T:ty, $combine:expr) => {
                prepared::<$T>(windows, x, $combine)
            };
        }
        let Operation::Combine(op) = self else {
            return by_size!(dtype.size(), T => go!(T, |_, update| update))?;
        };
        match op {
            Combine::Add if dtype.is_complex() => {
                dispatch!(dtype, [complex], T => go!(T, |a: T, b: T| a + b))
            }
            Combine::Multiply if dtype.is_complex() => {
                dispatch!(dtype, [complex], T => go!(T, |a: T, b: T| complex::product(a, b)))
            }
            Combine::Add => dispatch!(dtype, [ints, floats], T => go!(T, <T as Number>::add)),
            Combine::Multiply => dispatch!(dtype, [ints, floats], T => go!(T, <T as Number>::mul)),
            Combine::Maximum => dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                go!(T, move |a: T, b: T| Number::max(a.settle(one), b.settle(one)))
            }),
            Combine::Minimum => dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                go!(T, move |a: T, b: T| Number::min(a.settle(one), b.settle(one)))
            }),
            Combine::And => dispatch!(dtype, [ints, pred], T => go!(T, <T as Integer>::and)),
            Combine::Or => dispatch!(dtype, [ints, pred], T => go!(T, <T as Integer>::or)),
            Combine::Xor => dispatch!(dtype, [ints, pred], T => go!(T, <T as Integer>::xor)),
        }?
    }
}

/// Where updates go.
struct Windows {
    /// Dimensions of a window, from outer to inner: size, stride in the updates, stride in the operand.
    window: Vec<(usize, usize, usize)>,
    /// Elements of a window.
    size: usize,
    /// Windows are rows: each begins at a multiple of its size, of which the operand has a whole number, and its elements
    /// follow each other.
    rows: bool,
    starts: Starts,
    reader: Reader,
}

impl Windows {
    fn new(s: &Scatter, x: &TensorType, indices: &TensorType, updates: &TensorType) -> Option<Windows> {
        let [x_strides, i_strides, u_strides] = [x, indices, updates]
            .map(|t| row_major(t.sizes()).iter().map(|s| s.unsigned_abs()).collect::<Vec<usize>>());
        if s.index_vector_dim > indices.rank()
            || x.elements()?.max(updates.elements()?) > isize::MAX as usize / 16
        {
            return None;
        }
        // Windows: dimensions of the updates that are some of the operand's.
        let dropped = |d: &usize| s.inserted_window_dims.contains(d) || s.input_batching_dims.contains(d);
        let kept: Vec<usize> = (0..x.rank()).filter(|d| !dropped(d)).collect();
        let ascending = s.update_window_dims.windows(2).all(|d| d[0] < d[1]);
        if kept.len() != s.update_window_dims.len() || !ascending {
            return None;
        }
        let mut sizes = vec![1; x.rank()];
        let mut window = Vec::new();
        for (d, u) in kept.iter().zip(&s.update_window_dims) {
            sizes[*d] = *updates.sizes().get(*u)?;
            window.push((sizes[*d], u_strides[*u], x_strides[*d]));
        }
        let limit = |d: usize| x.sizes().get(d)?.checked_sub(sizes[d]);
        (0..x.rank()).try_for_each(|d| limit(d).map(drop))?;

        // The other dimensions of the updates are those of the indices.
        let free: Vec<usize> = (0..updates.rank()).filter(|d| !s.update_window_dims.contains(d)).collect();
        let outer: Vec<usize> = (0..indices.rank()).filter(|d| *d != s.index_vector_dim).collect();
        if outer.len() != free.len() {
            return None;
        }
        let batch = outer.iter().zip(&free).map(|(d, u)| {
            let parted = s.scatter_indices_batching_dims.iter().position(|b| b == d);
            let operand = match parted {
                Some(i) => {
                    let of = *s.input_batching_dims.get(i)?;
                    (x.sizes().get(of)? == &indices.sizes()[*d]).then_some(x_strides[of])?
                }
                None => 0,
            };
            let size = indices.sizes()[*d];
            (updates.sizes()[*u] == size).then_some(Batch {
                size,
                indices: i_strides[*d],
                operand,
                slices: u_strides[*u],
            })
        });
        let batch: Vec<Batch> = batch.collect::<Option<_>>()?;

        let indexed = &s.scatter_dims_to_operand_dims;
        let entries = indexed.iter().enumerate().map(|(i, d)| {
            let wrap = s.wrap.get(i).copied().unwrap_or(0);
            Some(Entry { limit: limit(*d)?, stride: *x_strides.get(*d)?, wrap })
        });
        let entries: Vec<Entry> = entries.collect::<Option<_>>()?;
        let twice = |(i, d): (usize, &usize)| {
            indexed[..i].contains(d) || s.input_batching_dims.contains(d) || sizes.get(*d).is_none()
        };
        let length = indices.sizes().get(s.index_vector_dim).copied().unwrap_or(1);
        let batching = &s.input_batching_dims;
        let repeated = batching.iter().enumerate().any(|(i, d)| batching[..i].contains(d));
        if length != entries.len() || indexed.iter().enumerate().any(twice) || repeated {
            return None;
        }
        // Updates are applied index by index, the evaluator's go through the dimensions of the updates. The order is the
        // same if elements of a window that come first there cannot meet others.
        let early = |(u, d): (&usize, &usize)| {
            free.iter().any(|f| f > u && updates.sizes()[*f] > 1) && indexed.contains(d) && sizes[*d] > 1
        };
        if s.update_window_dims.iter().zip(&kept).any(early) {
            return None;
        }
        let size = window.iter().fold(1usize, |n, w| n.saturating_mul(w.0));
        let window = joined(window);
        let apart = indexed.iter().all(|d| sizes[*d] == 1) && matches!(window[..], [] | [(_, 1, 1)]);
        let whole = size > 0 && x.elements()?.is_multiple_of(size);
        let mut multiples = entries.iter().map(|e| e.stride).chain(batch.iter().map(|b| b.operand));
        let rows = apart && whole && multiples.all(|stride| stride.is_multiple_of(size));
        let distance = i_strides.get(s.index_vector_dim).copied().unwrap_or(0);
        let starts = Starts::new(batch, entries, distance);
        Some(Windows { window, size, rows, starts, reader: Reader::dropping(indices.dtype)? })
    }
}

/// The dimensions of a window without those of size 1, neighbours that can be walked as one joined.
fn joined(window: Vec<(usize, usize, usize)>) -> Vec<(usize, usize, usize)> {
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (size, u, x) in window.into_iter().filter(|w| w.0 != 1) {
        match joined.last_mut() {
            Some(outer) if outer.1 == size.saturating_mul(u) && outer.2 == size.saturating_mul(x) => {
                *outer = (outer.0.saturating_mul(size), u, x);
            }
            _ => joined.push((size, u, x)),
        }
    }
    joined
}

fn prepared<T: Copy + 'static>(
    windows: Windows,
    x: &TensorType,
    combine: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
) -> Option<Prepared> {
    let elements = x.elements()?;
    let size = windows.size;
    let updates = windows.starts.count().saturating_mul(size);
    let bytes = size_of::<T>();
    let worth = elements.saturating_mul(bytes) >= LARGE
        && size.saturating_mul(bytes) >= WIDE
        && UPDATES.contains(&(updates.saturating_mul(4) / elements));
    if windows.rows
        && worth
        && let Some(groups) = Groups::new(elements, &windows)
    {
        return in_groups::<T>(windows, groups, combine);
    }
    let tasks = if windows.rows && updates >= TASK { (size / COLUMNS).clamp(1, MOST_TASKS) } else { 1 };
    let rows = elements / size.max(1);
    let work = move |args: &Args<'_>, task: usize| {
        let own = match tasks {
            1 => 0..elements,
            _ => rows * task / tasks * size..rows * (task + 1) / tasks * size,
        };
        copy::<T>(args, own.start, own.len());
        if updates > 0 {
            vectorized(
                #[inline(always)]
                || windows.apply::<T>(args, own, combine),
            );
        }
    };
    let prepared = Prepared::in_tasks(tasks, work);
    Some(if elements.max(updates) < SLOW { prepared } else { prepared.slow() })
}

/// For results that are larger than a cache.
fn in_groups<T: Copy + 'static>(
    windows: Windows,
    groups: Groups,
    combine: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
) -> Option<Prepared> {
    let scratch = windows.starts.count().checked_mul(size_of::<u32>())?;
    let work = move |args: &Args<'_>, task: usize| {
        let own = groups.of_task(task);
        vectorized(
            #[inline(always)]
            || {
                let mut parts = [(0, 0); GROUPS];
                let words = windows.sort(args, own.clone(), groups, &mut parts);
                // Some words may be missing.
                if interrupt::has_ended() {
                    return;
                }
                windows.apply_sorted::<T>(args, own, groups, &parts, words, combine);
            },
        );
    };
    Some(Prepared::in_tasks(groups.tasks, work).with_scratch(scratch).slow())
}

/// Rows in groups that a cache holds. An update of a group is a word: the number of its row in the group, and below that its
/// own.
#[derive(Clone, Copy)]
struct Groups {
    rows: usize,
    tasks: usize,
    /// Rows of a group, and bits of the number of an update, as powers of two.
    group: u32,
    number: u32,
    /// 2⁶⁴ divided by the elements of a row, rounded up.
    inverse: u64,
}

impl Groups {
    /// `None` if words are too short.
    fn new(elements: usize, windows: &Windows) -> Option<Groups> {
        let (rows, count) = (elements / windows.size, windows.starts.count());
        u32::try_from(elements.max(count.saturating_mul(windows.size))).ok()?;
        let tasks = rows.min(MOST_TASKS);
        let group = rows.div_ceil(tasks).div_ceil(GROUPS).next_power_of_two().ilog2();
        let number = count.next_power_of_two().ilog2();
        let inverse = (u64::MAX / u64::try_from(windows.size).ok()?).checked_add(1)?;
        (group + number < u32::BITS).then_some(Groups { rows, tasks, group, number, inverse })
    }

    /// The rows of a task.
    fn of_task(self, task: usize) -> Range<usize> {
        let share = self.rows.div_ceil(self.tasks);
        (task * share).min(self.rows)..((task + 1) * share).min(self.rows)
    }

    /// The number of the row that begins with this element. (Divisions would take longer than all the rest of the search.)
    #[inline(always)]
    fn row(self, first: usize) -> u32 {
        ((u128::from(self.inverse) * first as u128) >> 64) as u32
    }

    #[inline(always)]
    fn word(self, row: u32, update: u32) -> u32 {
        (row & ((1 << self.group) - 1)) << self.number | update
    }

    /// The row in the group, and the update.
    #[inline(always)]
    fn of_word(self, word: u32) -> (usize, usize) {
        ((word >> self.number) as usize, (word & ((1 << self.number) - 1)) as usize)
    }
}

/// Copies elements of the operand to the result, if that is not in its place.
fn copy<T: Copy>(args: &Args<'_>, first: usize, count: usize) {
    let (x, out) = (args.input_ptr::<T>(0), args.output_ptr::<T>(0));
    if !std::ptr::eq(x, out) {
        // SAFETY: both have these elements, and are apart.
        unsafe { out.add(first).copy_from_nonoverlapping(x.add(first), count) };
    }
}

impl Windows {
    /// Applies the updates to these elements, all of them unless windows are rows.
    #[inline(always)]
    fn apply<T: Copy>(&self, args: &Args<'_>, own: Range<usize>, combine: impl Fn(T, T) -> T + Copy) {
        let (updates, out) = (args.input_ptr::<T>(2), args.output_ptr::<T>(0));
        macro_rules! each {
            ($to:ident, $from:ident => $update:expr) => {
                self.blocks(
                    args,
                    1,
                    #[inline(always)]
                    |positions, slices| {
                        for (i, at) in positions.iter().enumerate().filter(|(_, at)| **at != OUTSIDE) {
                            // SAFETY: windows of the result, which lie inside as a whole, and their updates.
                            unsafe {
                                let ($to, $from) = (out.add(*at), updates.add(slices.at(i)));
                                $update;
                            }
                        }
                    },
                )
            };
        }
        match self.window[..] {
            [] => each!(to, from => to.write(combine(to.read(), from.read()))),
            [(n, 1, 1)] => {
                let mut chosen = [0; index::BLOCK];
                self.blocks(
                    args,
                    1,
                    #[inline(always)]
                    |positions, slices| {
                        let count = choose(positions, &own, &mut chosen);
                        for i in &chosen[..count] {
                            // SAFETY: as above.
                            unsafe { row(n, out.add(positions[*i]), updates.add(slices.at(*i)), combine) };
                        }
                    },
                );
            }
            _ => each!(to, from => window(&self.window, to, from, combine)),
        }
    }

    /// Calls `f` with the offsets of windows in the result and of their updates: for all index vectors, which
    /// this input holds, block by block.
    #[inline(always)]
    fn blocks(&self, args: &Args<'_>, indices: usize, f: impl FnMut(&[usize], Slices)) {
        let indices = args.input_ptr(indices);
        // SAFETY: index vectors among the indices.
        unsafe { self.starts.each(0..self.starts.count(), self.reader, indices, f) };
    }

    /// Puts the updates of each group of these rows together, in the order of the indices: where those of a group begin and
    /// end goes to `parts`. Indices are read twice; should somebody change them meanwhile, updates are lost, and that is all.
    #[inline(always)]
    fn sort<'a>(
        &self,
        args: &'a Args<'_>,
        rows: Range<usize>,
        groups: Groups,
        parts: &mut [(u32, u32); GROUPS],
    ) -> &'a [u32] {
        let mut counts = [0u32; GROUPS];
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
        // SAFETY: there is scratch memory for a word for each update. Those that other tasks refer to are for the updates of
        // their rows, which come before these or behind them.
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

    /// Calls `f` with each update of these rows: the number of its row among them, and its own. Returns how many updates rows
    /// before these have.
    #[inline(always)]
    fn own(&self, args: &Args<'_>, rows: Range<usize>, groups: Groups, mut f: impl FnMut(u32, u32)) -> usize {
        let (own, mut chosen) = (rows.start * self.size..rows.end * self.size, [0; index::BLOCK]);
        let mut before = 0;
        self.blocks(
            args,
            1,
            #[inline(always)]
            |positions, slices| {
                for at in positions {
                    before += usize::from(*at < own.start);
                }
                let count = choose(positions, &own, &mut chosen);
                for i in &chosen[..count] {
                    f(groups.row(positions[*i] - own.start), groups.row(slices.at(*i)));
                }
            },
        );
        before
    }

    /// Writes these rows with their updates, a group after the other.
    #[inline(always)]
    fn apply_sorted<T: Copy>(
        &self,
        args: &Args<'_>,
        rows: Range<usize>,
        groups: Groups,
        parts: &[(u32, u32); GROUPS],
        words: &[u32],
        combine: impl Fn(T, T) -> T + Copy,
    ) {
        let (updates, out) = (args.input_ptr::<T>(2), args.output_ptr::<T>(0));
        let n = self.size;
        for (first, (begin, end)) in rows.clone().step_by(1 << groups.group).zip(parts) {
            let count = (rows.end - first).min(1 << groups.group);
            copy::<T>(args, first * n, count * n);
            for i in *begin as usize..*end as usize {
                if let Some(next) = words.get(i + AHEAD) {
                    let next = updates.wrapping_add(groups.of_word(*next).1 * n).cast::<u8>();
                    (0..n * size_of::<T>()).step_by(LINE).for_each(|i| prefetch(next.wrapping_add(i), false));
                }
                let (at, update) = groups.of_word(words[i]);
                if at < count {
                    // SAFETY: a row of the result, and an update of it.
                    unsafe { row(n, out.add((first + at) * n), updates.add(update * n), combine) };
                }
            }
        }
    }
}

/// Writes the numbers of those positions that lie in a range; how many there are.
#[inline(always)]
fn choose(positions: &[usize], own: &Range<usize>, chosen: &mut [usize; index::BLOCK]) -> usize {
    // Without a branch that would be taken half of the time.
    let mut count = 0;
    for (i, at) in positions.iter().enumerate() {
        chosen[count] = i;
        count += usize::from(own.contains(at));
    }
    count
}

/// Updates elements that follow each other.
///
/// # Safety
/// There are `n` elements, and as many updates apart from them.
#[inline(always)]
unsafe fn row<T: Copy>(n: usize, to: *mut T, from: *const T, combine: impl Fn(T, T) -> T) {
    let blocks = n / BLOCK;
    for k in 0..blocks {
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.add(k * BLOCK).cast::<[T; BLOCK]>();
            let (mut values, by) = (to.read(), from.add(k * BLOCK).cast::<[T; BLOCK]>().read());
            // Not by an iterator, whose functions would be calls if they were not inlined.
            let mut i = 0;
            while i < BLOCK {
                values[i] = combine(values[i], by[i]);
                i += 1;
            }
            to.write(values);
        }
        // A loop over blocks is not to be vectorized itself.
        compiler_fence(Ordering::SeqCst);
    }
    for i in blocks * BLOCK..n {
        // SAFETY: the caller's promise.
        unsafe { to.add(i).write(combine(to.add(i).read(), from.add(i).read())) };
    }
}

/// Updates a window.
///
/// # Safety
/// It lies in the tensor from `to` on, its updates in that from `from` on, and these are apart.
unsafe fn window<T: Copy>(
    dims: &[(usize, usize, usize)],
    to: *mut T,
    from: *const T,
    combine: impl Fn(T, T) -> T + Copy,
) {
    match dims {
        // SAFETY: the caller's promise.
        [] => unsafe { to.write(combine(to.read(), from.read())) },
        [(n, u, x), rest @ ..] => {
            for i in 0..*n {
                // SAFETY: the caller's promise.
                unsafe { window(rest, to.add(i * x), from.add(i * u), combine) };
            }
        }
    }
}
