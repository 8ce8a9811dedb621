//! Reductions by a single operation.
//!
//! The order of combination depends only on the sizes. A row is divided into blocks. The elements of a block
//! are combined in lanes: accumulators that each combine every sixteenth element. The lanes of a block are
//! then combined pairwise, and so are the totals of blocks. Sums of `f32` and of the 16-bit floats are
//! accumulated in a wider type.

use std::sync::Arc;

use farcall_ir::interrupt::Pace;
use farcall_ir::{Op, dims};

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::loops::vector::combine::{
    BLOCK_ELEMENTS, Combine, Instantiate, Reducer, by_vectors, combine, combining, row,
};
use super::{Kernel, Request, apart};
use crate::cache::MIN_UNCACHED_BYTES;

/// Maximum number of columns that are reduced at once.
const MAX_COLUMNS: usize = 256;
/// Maximum length of rows that are combined column by column if several rows are reduced to one result. Such
/// short rows would not fill the lanes.
const MAX_SHORT_ROW: usize = 64;

/// Reductions of one operand by one operation.
pub(super) static KERNEL: Kernel = Kernel { name: "reduce", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Reduce { dims: reduced }, [x, init], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let [body] = request.bodies else { return None };
    let kept = (0..x.rank()).filter(|d| !reduced.contains(d)).map(|d| x.sizes()[d]);
    let same = init.dtype == x.dtype && y.dtype == x.dtype;
    if !same || init.elements() != Some(1) || !kept.eq(y.sizes().iter().copied()) {
        return None;
    }
    combining(Combine::of(body, x.dtype)?, x.dtype, Tensor(&joined(x.sizes(), reduced)))
}

fn describe(request: &Request<'_>) -> String {
    let (Op::Reduce { dims }, [body], [x, ..]) = (request.op, request.bodies, request.inputs) else {
        return String::new();
    };
    let mut text = Combine::of(body, x.dtype).map_or(String::new(), |op| format!("{op:?}").to_lowercase());
    for (n, reduced) in joined(x.sizes(), dims) {
        text += &format!(" {n}{}", if reduced { "!" } else { "" });
    }
    text
}

/// Joins adjacent dimensions that are both reduced or both kept. Each entry is a size and a flag, which is
/// true for reduced dimensions.
pub(super) fn joined(sizes: &[usize], reduced: &[usize]) -> Vec<(usize, bool)> {
    let kept = sizes.iter().enumerate().filter(|(_, size)| **size != 1);
    dims::join(kept.map(|(d, size)| (*size, reduced.contains(&d))), |outer, inner| {
        (outer.1 == inner.1).then(|| (outer.0.saturating_mul(inner.0), inner.1))
    })
}

/// Reduction of a tensor with these joined dimensions.
#[derive(Clone, Copy)]
struct Tensor<'a>(&'a [(usize, bool)]);

impl Instantiate for Tensor<'_> {
    type Output = PreparedKernel;

    fn combining<R: Reducer>(self, by: R) -> PreparedKernel {
        reduction(Shape::new(self.0), by)
    }
}

/// Layout of the elements of a reduction.
#[derive(Clone)]
pub(super) struct Shape {
    /// Sizes and strides of the kept and of the reduced dimensions, without the innermost dimension of the
    /// tensor.
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
    /// Size of the innermost dimension.
    pub(super) length: usize,
    /// True if the innermost dimension is reduced.
    pub(super) rows: bool,
}

impl Shape {
    pub(super) fn new(dims: &[(usize, bool)]) -> Shape {
        let (mut kept, mut reduced) = (strided(dims, false), strided(dims, true));
        let rows = dims.last().is_some_and(|d| d.1);
        let inner = if rows { reduced.pop() } else { kept.pop() };
        Shape { kept, reduced, length: inner.map_or(1, |(n, _)| n), rows }
    }

    /// Number of results per index of the kept dimensions: one, or the length of the innermost dimension if
    /// it is kept.
    pub(super) fn inner_results(&self) -> usize {
        if self.rows { 1 } else { self.length.max(1) }
    }

    /// Number of indices of the kept dimensions, without the innermost dimension of the tensor.
    pub(super) fn outer(&self) -> usize {
        self.kept.iter().fold(1, |n, d| n.saturating_mul(d.0))
    }

    /// Offset of the first element for an index of the kept dimensions, numbered in row-major order.
    pub(super) fn base(&self, number: usize) -> usize {
        nth_offset(&self.kept, number)
    }

    /// Number of indices of the reduced dimensions, without the innermost dimension of the tensor.
    pub(super) fn lines(&self) -> usize {
        self.reduced.iter().fold(1, |n, d| n.saturating_mul(d.0))
    }

    /// Offset of an index of the reduced dimensions, numbered in row-major order.
    #[inline(always)]
    pub(super) fn line(&self, number: usize) -> usize {
        match self.reduced[..] {
            [(_, stride)] => number * stride,
            _ => nth_offset(&self.reduced, number),
        }
    }
}

/// Offset of the index with this row-major number.
fn nth_offset(dims: &[(usize, usize)], number: usize) -> usize {
    let (mut at, mut rest) = (0, number);
    for (n, stride) in dims.iter().rev() {
        at += rest % n * stride;
        rest /= n;
    }
    at
}

/// Returns the sizes of the reduced dimensions (if `kind` is true) or of the kept dimensions, with their
/// strides in a row-major tensor.
fn strided(joined: &[(usize, bool)], kind: bool) -> Vec<(usize, usize)> {
    let sizes: Vec<usize> = joined.iter().map(|(size, _)| *size).collect();
    let all = joined.iter().zip(dims::strides(&sizes));
    all.filter(|((_, reduced), _)| *reduced == kind).map(|((size, _), stride)| (*size, stride)).collect()
}

/// Minimum number of elements that a task combines.
const MIN_TASK_ELEMENTS: usize = 200_000;

fn reduction<R: Reducer>(shape: Shape, by: R) -> PreparedKernel {
    let lines = shape.lines();
    let work = shape.outer().saturating_mul(lines).saturating_mul(shape.length);
    if shape.rows && lines == 1 && shape.outer() == 1 && work >= 2 * MIN_TASK_ELEMENTS {
        return long_row(shape.length, by);
    }
    // A unit of work is one result or, if columns are reduced, the results of a group of columns.
    let across = if shape.rows { 1 } else { shape.length.div_ceil(MAX_COLUMNS) };
    let units = shape.outer().saturating_mul(across);
    let tasks = (work / MIN_TASK_ELEMENTS).clamp(1, units.clamp(1, 256));
    let share = units.div_ceil(tasks);
    // Prefetching runs past the end of the line. It is useful only if each result has a single line, since
    // the line that is read next then follows in memory.
    let far = lines == 1 && is_far::<R>(work);
    PreparedKernel::in_tasks(tasks, move |args, task| {
        let (x, out) = (args.input_ptr::<R::Element>(0), args.output_ptr::<R::Element>(0));
        for unit in task * share..((task + 1) * share).min(units) {
            // SAFETY: the task has a result to compute, so input 1 is the initial value, one element of this
            // type, disjoint from the output.
            let init = by.widen(unsafe { args.input_ptr::<R::Element>(1).read() });
            let (number, part) = (unit / across, unit % across);
            let base = shape.base(number);
            if shape.rows && lines > 1 && shape.length <= MAX_SHORT_ROW {
                // SAFETY: the rows lie within the operand.
                let total = by_vectors(
                    &by,
                    #[inline(always)]
                    |by| unsafe { short_rows(x.add(base), &shape, lines, by, init) },
                );
                // SAFETY: the output has one element per index of the kept dimensions.
                unsafe { out.add(number).write(by.narrow(total)) };
            } else if shape.rows {
                let identity = by.identity(init);
                let (mut total, mut pace) = (init, Pace::default());
                for l in 0..lines {
                    if pace.is_due_after(shape.length) {
                        return;
                    }
                    // SAFETY: the row lies within the operand.
                    let row = unsafe { row(x.add(base + shape.line(l)), shape.length, &by, identity, far) };
                    total = by.combine(total, row);
                }
                // SAFETY: the output has one element per index of the kept dimensions.
                unsafe { out.add(number).write(by.narrow(total)) };
            } else {
                let begin = part * MAX_COLUMNS;
                let width = MAX_COLUMNS.min(shape.length - begin);
                by_vectors(
                    &by,
                    #[inline(always)]
                    |by| {
                        // SAFETY: the operand has `width` columns from `begin` on, and so does the output.
                        unsafe {
                            let out = out.add(number * shape.length + begin);
                            columns(x.add(base + begin), &shape, [lines, width], out, by, init);
                        }
                    },
                );
            }
        }
    })
}

/// Returns true if this many elements come from memory rather than from cache.
fn is_far<R: Reducer>(elements: usize) -> bool {
    elements.saturating_mul(size_of::<R::Element>()) >= MIN_UNCACHED_BYTES
}

/// Reduces all elements to one result, in parts that several threads can compute.
fn long_row<R: Reducer>(length: usize, by: R) -> PreparedKernel {
    let by = Arc::new(by);
    let tasks = (length / MIN_TASK_ELEMENTS).clamp(1, 256);
    let share = length.div_ceil(tasks).next_multiple_of(BLOCK_ELEMENTS);
    let parts = length.div_ceil(share);
    let far = is_far::<R>(length);
    let last = Arc::clone(&by);
    let init = |args: &Args<'_>, by: &R| {
        // SAFETY: input 1 is the initial value, one element of this type, disjoint from the output and the
        // scratch memory.
        by.widen(unsafe { args.input_ptr::<R::Element>(1).read() })
    };
    let work = move |args: &Args<'_>, task: usize| {
        let begin = task * share;
        let identity = by.identity(init(args, &by));
        // SAFETY: the part ends at or before `length`, the number of elements of the operand.
        let total = unsafe {
            row(args.input_ptr::<R::Element>(0).add(begin), share.min(length - begin), &*by, identity, far)
        };
        // SAFETY: the scratch memory has one total per task.
        unsafe { args.ptr::<R::Total>(args.scratch_place()).add(task).write(total) };
    };
    let combine = move |args: &Args<'_>| {
        let mut total = init(args, &last);
        for task in 0..parts {
            // SAFETY: the tasks, which have ended, have written all `parts` totals.
            let part = unsafe { args.ptr::<R::Total>(args.scratch_place()).add(task).read() };
            total = last.combine(total, part);
        }
        // SAFETY: the output has a single element.
        unsafe { args.output_ptr::<R::Element>(0).write(last.narrow(total)) };
    };
    PreparedKernel::in_tasks(parts, work)
        .then(PreparedKernel::new(combine))
        .with_scratch(parts * size_of::<R::Total>())
}

/// Combines columns of a tensor.
///
/// # Safety
/// `x` must be valid for reads of `width` elements of each line, and `out` for writes of `width` elements.
/// `width` must be at most [`MAX_COLUMNS`].
#[inline(always)]
unsafe fn columns<R: Reducer>(
    x: *const R::Element,
    shape: &Shape,
    [lines, width]: [usize; 2],
    out: *mut R::Element,
    by: &R,
    init: R::Total,
) {
    let (mut totals, mut pace) = ([init; MAX_COLUMNS], Pace::default());
    for l in 0..lines {
        if pace.is_due_after(width) {
            break;
        }
        // SAFETY: the caller guarantees all `lines` lines from `x` on.
        let line = unsafe { x.add(shape.line(l)) };
        // SAFETY: the line has `width` elements, and `totals` has at least as many.
        unsafe { combine(line, totals.as_mut_ptr(), width, by) };
    }
    for (j, total) in totals[..width].iter().enumerate() {
        // SAFETY: the caller guarantees that `out` is valid for `width` elements.
        unsafe { out.add(j).write(by.narrow(*total)) };
    }
}

/// Combines rows of at most [`MAX_SHORT_ROW`] elements. Each column has a total. After every block of rows,
/// the totals of the columns are combined.
///
/// # Safety
/// `x` must be valid for reads of all lines.
#[inline(always)]
unsafe fn short_rows<R: Reducer>(
    x: *const R::Element,
    shape: &Shape,
    lines: usize,
    by: &R,
    init: R::Total,
) -> R::Total {
    let identity = by.identity(init);
    let (length, at_once) = (shape.length, (BLOCK_ELEMENTS / shape.length.max(1)).max(1));
    let (mut total, mut pace) = (init, Pace::default());
    for first in (0..lines).step_by(at_once) {
        if pace.is_due_after(BLOCK_ELEMENTS) {
            break;
        }
        let mut lanes = [identity; MAX_SHORT_ROW];
        for l in first..(first + at_once).min(lines) {
            // SAFETY: the line lies within the operand, and its length is at most `MAX_SHORT_ROW`, the number
            // of `lanes`.
            unsafe { combine(x.add(shape.line(l)), lanes.as_mut_ptr(), length, by) };
        }
        total = lanes[..length].iter().fold(total, |total, lane| by.combine(total, *lane));
    }
    total
}
