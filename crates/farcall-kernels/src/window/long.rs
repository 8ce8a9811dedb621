//! Windows of many elements. The dimensions are reduced one after another, from last to first. Windows share
//! partial results, so the time does not depend on the window size.
//!
//! If all windows start at the beginning of the dimension, as in `cumsum`, each window extends the previous
//! window. If all windows stop at the end of the dimension, each window extends the next one. Other windows
//! are reduced by van Herk's method: the dimension is divided into blocks as long as a window, so that a
//! window is the end of one block joined with the beginning of the next. A pass in each direction computes
//! the ends and the beginnings for all positions. Nothing is subtracted, so each sum is as accurate as if its
//! window were summed alone.

use farcall_ir::interrupt::{self, Pace};

use super::super::args::Args;
use super::super::loops::prepared::PreparedKernel;
use super::{Axis, Fold, MIN_TASK_COMBINATIONS, Run};

/// Number of columns that are reduced at once.
const LANES: usize = 16;
/// Maximum number of tasks. Each task has scratch memory for columns.
const MAX_TASKS: usize = 16;
/// Maximum number of windows that are checked for emptiness when a program is compiled.
const MAX_CHECKED_WINDOWS: usize = 1 << 16;

/// Reduction along one dimension.
#[derive(Clone, Copy)]
struct Pass {
    axis: Axis,
    windows: usize,
    outer: usize,
    inner: usize,
    method: Method,
    /// True if the pass reads the operand rather than the results of the previous pass.
    first: bool,
    /// True if the pass writes the result rather than a buffer for the next pass.
    last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    /// All windows start at the first element.
    Growing,
    /// All windows stop at the last element.
    Shrinking,
    /// Windows cover contiguous elements, at most this number.
    Blocks(usize),
    /// The base or the windows are dilated. Each window is reduced separately.
    Each,
}

/// Prepares the reduction. Folds with loops for vectors ([`Fold::VECTORS`]) have no loops for dilated windows
/// of many elements, which are rare: for these windows the result is `None`, and the caller uses a fold for
/// any processor.
pub(super) fn reduction<F: Fold>(axes: &[Axis], fold: F) -> Option<PreparedKernel> {
    let passes = passes(axes)?;
    if F::VECTORS && passes.iter().any(|pass| pass.method == Method::Each) {
        return None;
    }
    let between = |p: &Pass| p.outer.checked_mul(p.windows)?.checked_mul(p.inner);
    // Intermediate results between passes are in two alternating buffers.
    let mut room = 0;
    for pass in &passes[..passes.len() - 1] {
        room = room.max(between(pass)?);
    }
    let size = size_of::<F::A>();
    let room = room.checked_mul(size)?.checked_next_multiple_of(64)?;
    let mut lines = 0;
    for pass in passes.iter().filter(|p| matches!(p.method, Method::Blocks(_))) {
        lines = lines.max(pass.axis.size.checked_mul(pass.width())?);
    }
    let lines = lines.checked_mul(size)?.checked_next_multiple_of(64)?;

    let (last, before) = passes.split_last()?;
    let (last, before) = (*last, before.to_vec());
    let work = last.axis.size.saturating_mul(last.width());
    let units = last.units();
    let per_task = (MIN_TASK_COMBINATIONS / work.max(1)).max(units.div_ceil(MAX_TASKS)).max(1);
    let tasks = units.div_ceil(per_task).max(1);
    let run = move |args: &Args<'_>, p: usize, pass: &Pass, units: std::ops::Range<usize>, task: usize| {
        let scratch = args.scratch_place();
        let buffer = |p: usize| args.ptr::<F::A>(scratch.from(p % 2 * room));
        let spare = args.ptr::<F::A>(scratch.from(2 * room + task * lines));
        // Before the first pass, no buffer has been written; the first pass reads the operand instead of
        // `from`.
        let memory = PassMemory { args, from: buffer(p + 1), to: buffer(p), spare };
        for unit in units {
            if interrupt::is_due() {
                return;
            }
            memory.unit(fold, pass, unit);
        }
    };
    let count = before.len();
    let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
        let units = task * per_task..((task + 1) * per_task).min(units);
        run(args, count, &last, units, task);
    });
    let first = PreparedKernel::new(move |args| {
        for (p, pass) in before.iter().enumerate() {
            run(args, p, pass, 0..pass.units(), 0);
        }
    });
    let scratch = lines.checked_mul(tasks)?.checked_add(room.checked_mul(2)?)?;
    Some(first.then(prepared).with_scratch(scratch.max(1)).slow())
}

/// Returns a pass for each dimension to reduce, in order, or `None` if a window might be empty.
fn passes(axes: &[Axis]) -> Option<Vec<Pass>> {
    let mut sizes: Vec<usize> = axes.iter().map(|a| a.size).collect();
    let mut passes = Vec::new();
    for (d, axis) in axes.iter().enumerate().rev().filter(|(_, a)| !a.is_trivial()) {
        let windows = axis.windows();
        let product = |sizes: &[usize]| sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
        let (outer, inner) = (product(&sizes[..d])?, product(&sizes[d + 1..])?);
        let method = Method::of(axis, windows)?;
        passes.push(Pass {
            axis: *axis,
            windows,
            outer,
            inner,
            method,
            first: passes.is_empty(),
            last: false,
        });
        sizes[d] = windows;
    }
    passes.last_mut()?.last = true;
    Some(passes)
}

impl Method {
    fn of(axis: &Axis, windows: usize) -> Option<Method> {
        let last = windows.checked_sub(1)?;
        let (a, b) = (axis.run(0), axis.run(last));
        if axis.base_dilation == 1 && axis.window_dilation == 1 {
            // Without dilation, the windows that cover elements are consecutive. If the first and the last
            // window cover elements, all do.
            if a.count == 0 || b.count == 0 {
                return None;
            }
            return Some(match () {
                () if b.first == 0 => Method::Growing,
                () if a.end() == axis.size => Method::Shrinking,
                () => Method::Blocks(axis.most()),
            });
        }
        if windows > MAX_CHECKED_WINDOWS || (0..windows).any(|r| axis.run(r).count == 0) {
            return None;
        }
        Some(Method::Each)
    }
}

impl Pass {
    /// Number of columns of a unit of work.
    fn width(&self) -> usize {
        if self.inner >= LANES { LANES } else { 1 }
    }

    /// Number of units of work. A line is all elements with the same indices before the axis; a column is all
    /// elements of a line with the same indices after the axis. A unit has [`Pass::width`] columns of a line,
    /// except for the last columns of the line: if they do not fill a unit, each is a separate unit.
    fn units(&self) -> usize {
        self.outer * self.per_line()
    }

    fn per_line(&self) -> usize {
        let width = self.width();
        self.inner / width + self.inner % width
    }
}

/// Memory of a pass.
struct PassMemory<'a, A> {
    args: &'a Args<'a>,
    from: *const A,
    to: *mut A,
    spare: *mut A,
}

impl<A: Copy> PassMemory<'_, A> {
    /// Reduces the columns of one unit of work.
    #[inline(always)]
    fn unit<F: Fold<A = A>>(&self, fold: F, pass: &Pass, unit: usize) {
        let (line, part) = (unit / pass.per_line(), unit % pass.per_line());
        let (width, whole) = (pass.width(), pass.inner / pass.width());
        if width == LANES && part < whole {
            self.columns::<F, LANES>(fold, pass, line, part * LANES);
        } else {
            let column = if part < whole { part } else { whole * width + part - whole };
            self.columns::<F, 1>(fold, pass, line, column);
        }
    }

    #[inline(always)]
    fn columns<F: Fold<A = A>, const W: usize>(&self, fold: F, pass: &Pass, line: usize, column: usize) {
        let (n, inner) = (pass.axis.size, pass.inner);
        let (from, to) = (line * n * inner + column, line * pass.windows * inner + column);
        let x = self.args.input_ptr::<F::T>(0);
        // SAFETY: input 1 is a single element, the initial value.
        let init = fold.widen(unsafe { self.args.input_ptr::<F::T>(1).read() });
        // SAFETY: `i` is below the size of the axis, so the elements lie in the operand or in the results of
        // the previous pass.
        let read = |i: usize| unsafe {
            if pass.first {
                x.add(from + i * inner).cast::<[F::T; W]>().read_unaligned().map(|x| fold.widen(x))
            } else {
                self.from.add(from + i * inner).cast::<[A; W]>().read_unaligned()
            }
        };
        let out = self.args.output_ptr::<F::T>(0);
        // SAFETY: `r` is below the number of windows, so the elements lie in the result or in the buffer of
        // this pass.
        let write = |r: usize, total: [A; W]| unsafe {
            if pass.last {
                let total = total.map(|x| fold.narrow(fold.combine(init, x)));
                out.add(to + r * inner).cast::<[F::T; W]>().write_unaligned(total);
            } else {
                self.to.add(to + r * inner).cast::<[A; W]>().write_unaligned(total);
            }
        };
        let join = |a: [A; W], b: [A; W]| {
            let mut both = a;
            for (a, b) in both.iter_mut().zip(b) {
                *a = fold.combine(*a, b);
            }
            both
        };
        let (axis, windows) = (&pass.axis, pass.windows);
        match pass.method {
            Method::Growing => growing(axis, windows, n, read, write, join),
            Method::Shrinking => shrinking(axis, windows, n, read, write, join),
            Method::Blocks(block) => {
                // SAFETY: the scratch memory of the task has room for a line of columns.
                let ends = unsafe { std::slice::from_raw_parts_mut(self.spare.cast::<[A; W]>(), n) };
                blocks(axis, windows, block, ends, read, write, join);
            }
            Method::Each if F::VECTORS => unreachable!("`reduction` has refused dilated windows"),
            Method::Each => {
                let mut pace = Pace::default();
                for r in 0..windows {
                    let Run { first, step, count } = axis.run(r);
                    if pace.is_due_after(count) {
                        return;
                    }
                    let mut total = read(first);
                    for i in 1..count {
                        total = join(total, read(first + i * step));
                    }
                    write(r, total);
                }
            }
        }
    }
}

/// Reduces windows that all begin at the first of `n` elements or before it. Each window continues the
/// reduction of the window before.
#[inline(always)]
fn growing<A: Copy>(
    axis: &Axis,
    windows: usize,
    n: usize,
    read: impl Fn(usize) -> A,
    write: impl Fn(usize, A),
    join: impl Fn(A, A) -> A,
) {
    let (mut pace, mut end, mut total) = (Pace::default(), 1, read(0));
    let first = axis.run(0).end();
    for r in 0..windows {
        let last = n.min(first + r * axis.stride);
        if pace.is_due_after(last - end.min(last) + 1) {
            return;
        }
        while end < last {
            total = join(total, read(end));
            end += 1;
        }
        write(r, total);
    }
}

/// Reduces windows that all end at the last of `n` elements or after it, from the last window to the first.
/// Each window continues the reduction of the window after it.
#[inline(always)]
fn shrinking<A: Copy>(
    axis: &Axis,
    windows: usize,
    n: usize,
    read: impl Fn(usize) -> A,
    write: impl Fn(usize, A),
    join: impl Fn(A, A) -> A,
) {
    let (mut pace, mut begin) = (Pace::default(), n - 1);
    let mut total = read(begin);
    for r in (0..windows).rev() {
        let first = r as i64 * axis.stride as i64 - axis.padding.0;
        if pace.is_due() {
            return;
        }
        while begin as i64 > first && begin > 0 {
            begin -= 1;
            total = join(read(begin), total);
        }
        write(r, total);
    }
}

/// Reduces windows of contiguous elements. Each window is the end of a block joined with the beginning of the
/// next block.
#[inline(always)]
fn blocks<A: Copy>(
    axis: &Axis,
    windows: usize,
    block: usize,
    ends: &mut [A],
    read: impl Fn(usize) -> A,
    write: impl Fn(usize, A),
    join: impl Fn(A, A) -> A,
) {
    let n = ends.len();
    // Reductions from each position to the end of its block.
    for i in (0..n).rev() {
        let x = read(i);
        ends[i] = if i + 1 == n || (i + 1) % block == 0 { x } else { join(x, ends[i + 1]) };
    }
    // `begin` is the reduction from the beginning of a block up to position `at`.
    let (mut at, mut begin) = (0, read(0));
    for r in 0..windows {
        let run = axis.run(r);
        let last = run.end() - 1;
        // A window that is the end of a block has no second part. Such a window is exactly one block, or is
        // cut off by the end of the dimension.
        let is_end = run.first / block == last / block && (run.end() == n || run.end().is_multiple_of(block));
        if is_end {
            write(r, ends[run.first]);
            continue;
        }
        while at < last {
            at += 1;
            let x = read(at);
            begin = if at % block == 0 { x } else { join(begin, x) };
        }
        // A window that is the beginning of a block has no first part. Such a window is cut off by the start
        // of the dimension.
        write(r, if run.first.is_multiple_of(block) { begin } else { join(ends[run.first], begin) });
    }
}
