//! Windows of few elements, each reduced element by element in row-major order, starting with the initial
//! value.
//!
//! Neighbors in memory are reduced together: the elements of the dimensions after the windowed dimensions or,
//! if the last dimension is windowed, the windows along it.

use std::ops::Range;

use super::super::args::Args;
use super::super::loops::prepared::PreparedKernel;
use super::super::simd::with_vectors;
use super::{Axis, Fold, MAX_DIRECT_ELEMENTS, MIN_TASK_COMBINATIONS, Run, product};

/// Maximum number of results that are computed together. The loops over these results have a trip count that
/// is unknown at compile time, because the compiler would otherwise unroll them instead of vectorizing them.
const LANES: usize = 64;

/// Layout of the elements under windows.
struct Shape {
    /// The dimensions before the last one with windows: axis, number of windows, stride in the operand.
    outer: Vec<(Axis, usize, usize)>,
    /// The last dimension with windows, and the number of windows along it.
    last: (Axis, usize),
    /// Number of elements of the dimensions after the last dimension with windows.
    inner: usize,
    /// Number of windows along the last dimension in a unit of work.
    part: usize,
    /// Number of units of work along the last dimension.
    parts: usize,
}

impl Shape {
    fn new(axes: &[Axis]) -> Shape {
        let windowed = axes.iter().rposition(|a| !a.is_trivial()).unwrap_or(0);
        let trivial =
            Axis { size: 1, window: 1, stride: 1, base_dilation: 1, window_dilation: 1, padding: (0, 0) };
        let last = axes.get(windowed).copied().unwrap_or(trivial);
        let inner = product(axes.iter().skip(windowed + 1).map(|a| a.size));
        let mut stride = last.size.saturating_mul(inner);
        let mut outer = Vec::new();
        for axis in axes[..windowed.min(axes.len())].iter().rev() {
            outer.push((*axis, axis.windows(), stride));
            stride = stride.saturating_mul(axis.size);
        }
        outer.reverse();
        let terms = product(axes.iter().map(Axis::most));
        let windows = last.windows();
        let part = (MIN_TASK_COMBINATIONS / terms.saturating_mul(inner).max(1)).clamp(1, windows.max(1));
        Shape { outer, last: (last, windows), inner, part, parts: windows.div_ceil(part) }
    }

    fn units(&self) -> usize {
        let rows = product(self.outer.iter().map(|o| o.1));
        if self.inner == 0 { 0 } else { rows.saturating_mul(self.parts) }
    }
}

pub(super) fn reduction<F: Fold>(axes: &[Axis], fold: F) -> PreparedKernel {
    let shape = Shape::new(axes);
    let units = shape.units();
    let work = product(axes.iter().map(Axis::most).chain([shape.part, shape.inner]));
    let per_task = (MIN_TASK_COMBINATIONS / work.max(1)).max(1);
    let tasks = units.div_ceil(per_task).max(1);
    let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
        let units = task * per_task..((task + 1) * per_task).min(units);
        if F::VECTORS {
            with_vectors(
                #[inline(always)]
                || parts(args, &shape, fold, units),
            );
        } else {
            parts(args, &shape, fold, units);
        }
    });
    if tasks == 1 { prepared } else { prepared.slow() }
}

/// Computes units of work.
#[inline(always)]
fn parts<F: Fold>(args: &Args<'_>, shape: &Shape, fold: F, units: Range<usize>) {
    for unit in units {
        part(args, shape, fold, unit);
    }
}

/// Computes the results of one unit of work: some windows along the last dimension.
#[inline(always)]
fn part<F: Fold>(args: &Args<'_>, shape: &Shape, fold: F, unit: usize) {
    let (x, to) = (args.input_ptr::<F::T>(0), args.output_ptr::<F::T>(0));
    // SAFETY: input 1 is a single element, which does not overlap the result.
    let init = fold.widen(unsafe { args.input_ptr::<F::T>(1).read() });
    let (row, begin) = (unit / shape.parts, unit % shape.parts * shape.part);
    let (axis, windows) = &shape.last;
    let range = begin..(begin + shape.part).min(*windows);
    let mut bases = [0; MAX_DIRECT_ELEMENTS];
    let bases = bases_of(&shape.outer, row, &mut bases);
    let out = |r: usize| (row * windows + r) * shape.inner;
    if shape.inner > 1 {
        for r in range {
            let run = axis.run(r);
            for column in (0..shape.inner).step_by(LANES) {
                let width = LANES.min(shape.inner - column);
                // SAFETY: the rows under the window and the result have `width` columns from `column` on.
                unsafe {
                    columns(
                        fold,
                        init,
                        bases,
                        run,
                        shape.inner,
                        width,
                        x.add(column),
                        to.add(out(r) + column),
                    );
                }
            }
        }
        return;
    }
    let inside = axis.inside(*windows);
    let inside = inside.start.clamp(range.start, range.end)..inside.end.clamp(range.start, range.end);
    let single = |r: usize| {
        let run = axis.run(r);
        let mut total = init;
        for base in bases {
            for i in 0..run.count {
                // SAFETY: the element is under the window, and so inside the operand.
                total =
                    fold.combine(total, fold.widen(unsafe { x.add(base + run.first + i * run.step).read() }));
            }
        }
        // SAFETY: `r` is a window of the row, and the result has one element per window.
        unsafe { to.add(out(r)).write(fold.narrow(total)) };
    };
    (range.start..inside.start).for_each(single);
    for r in inside.clone().step_by(LANES) {
        let width = LANES.min(inside.end - r);
        // SAFETY: the windows are inside the operand with all their elements.
        unsafe { neighbours(fold, init, bases, axis, r, width, x, to.add(out(r))) };
    }
    (inside.end..range.end).for_each(single);
}

/// Returns the offsets of the lines of the operand that the windows of a row cover, in row-major order. A
/// line runs along the last dimension with windows. A row is all windows along that dimension.
fn bases_of<'a>(
    outer: &[(Axis, usize, usize)],
    row: usize,
    bases: &'a mut [usize; MAX_DIRECT_ELEMENTS],
) -> &'a [usize] {
    let (mut count, mut rest) = (1, row);
    bases[0] = 0;
    // Starts with the innermost dimension: the offsets so far are repeated for each element of the next
    // dimension.
    for (axis, windows, stride) in outer.iter().rev() {
        let run = axis.run(rest % windows);
        rest /= windows;
        for i in (0..run.count).rev() {
            for j in 0..count {
                bases[i * count + j] = bases[j] + (run.first + i * run.step) * stride;
            }
        }
        count *= run.count;
    }
    &bases[..count]
}

/// Reduces `width` columns at once.
///
/// # Safety
/// `x` must be valid for reads of `width` elements that start at each position under the window, and `out`
/// for writes of `width` elements. `width` must be at most [`LANES`].
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the loop needs them in registers")]
unsafe fn columns<F: Fold>(
    fold: F,
    init: F::A,
    bases: &[usize],
    run: Run,
    inner: usize,
    width: usize,
    x: *const F::T,
    out: *mut F::T,
) {
    let mut totals = [init; LANES];
    let totals = &mut totals[..width];
    let mut places = [0; MAX_DIRECT_ELEMENTS];
    let mut count = 0;
    for base in bases {
        for i in 0..run.count {
            places[count] = base + (run.first + i * run.step) * inner;
            count += 1;
        }
    }
    // SAFETY: the caller guarantees that `x` has `width` columns at each position under the window.
    let values = |at: usize| unsafe { std::slice::from_raw_parts(x.add(at), width) };
    // Each total is read and written once per four elements of its window, which are combined in order.
    let (fours, rest) = places[..count].as_chunks::<4>();
    for at in fours {
        let [a, b, c, d] = at.map(values);
        for ((((total, a), b), c), d) in totals.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            for x in [a, b, c, d] {
                *total = fold.combine(*total, fold.widen(*x));
            }
        }
    }
    for at in rest {
        for (total, x) in totals.iter_mut().zip(values(*at)) {
            *total = fold.combine(*total, fold.widen(*x));
        }
    }
    for (j, total) in totals.iter().enumerate() {
        // SAFETY: the caller guarantees that `out` is valid for `width` elements.
        unsafe { out.add(j).write(fold.narrow(*total)) };
    }
}

/// Reduces `width` windows from window `r` on.
///
/// # Safety
/// The windows must be entirely inside the tensor `x`, and `out` must be valid for writes of `width` results.
/// `width` must be at most [`LANES`].
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the loop needs them in registers")]
unsafe fn neighbours<F: Fold>(
    fold: F,
    init: F::A,
    bases: &[usize],
    axis: &Axis,
    r: usize,
    width: usize,
    x: *const F::T,
    out: *mut F::T,
) {
    let first = (r as i64 * axis.stride as i64 - axis.padding.0) as usize;
    let mut totals = [init; LANES];
    for base in bases {
        for w in 0..axis.window {
            // SAFETY: the caller guarantees that the windows are inside `x`, so position `w` of window `r` is
            // an element.
            let at = unsafe { x.add(base + first + w * axis.window_dilation) };
            macro_rules! step {
                ($stride:expr) => {
                    for (j, total) in totals[..width].iter_mut().enumerate() {
                        // SAFETY: window `r + j` is inside `x`, too, so its position `w` is an element.
                        *total = fold.combine(*total, fold.widen(unsafe { at.add(j * $stride).read() }));
                    }
                };
            }
            match axis.stride {
                1 => step!(1),
                2 => step!(2),
                stride => step!(stride),
            }
        }
    }
    for (j, total) in totals[..width].iter().enumerate() {
        // SAFETY: the caller guarantees that `out` is valid for `width` results.
        unsafe { out.add(j).write(fold.narrow(*total)) };
    }
}
