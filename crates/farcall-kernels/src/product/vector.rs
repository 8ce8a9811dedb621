//! Products of a matrix and a vector. Each element of the matrix is read once, in memory order.

use std::any::TypeId;
use std::ops::Range;

use farcall_ir::interrupt;

use super::super::loops::prepared::PreparedKernel;
use super::super::simd::vectorized;
use super::micro::{Element, Ring, Stored};
use super::several_lines::{self, LINES, joined};
use super::{PARTIAL_SUM_PRODUCTS, Product, Source, join, with_buffer};

/// Minimum number of matrix elements that a task reads, which takes about ten microseconds.
const MIN_TASK_ELEMENTS: usize = 1 << 18;

/// Number of partial sums (lanes) of a line. Lines are summed one at a time, because the compiler emits
/// shuffles for a loop over several lines at once.
const DOT_LANES: usize = 64;
/// Number of partial sums for the remainder of a line.
const TAIL_LANES: usize = 8;

/// Number of rows of the matrix that are added to the sums in one pass, if neighboring lines are adjacent in
/// memory.
const ROWS_PER_PASS: usize = 4;

/// Number of results that are computed together, if neighboring lines are adjacent in memory.
const MAX_BLOCK_RESULTS: usize = 2048;
/// Minimum number of results of a task, if neighboring lines are adjacent in memory.
const MIN_TASK_RESULTS: usize = 512;

/// Product of the lines of a matrix and a vector. Distances are in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    /// True if the matrix is the right factor.
    is_right: bool,
    lines: usize,
    depth: usize,
    /// Distances between lines and along the depth in the matrix, along the vector, and along the result.
    line: usize,
    down: usize,
    vector: usize,
    out: usize,
}

impl Vector {
    /// Returns the product in this form, if one factor is a vector and the other is contiguous along one
    /// dimension.
    pub(super) fn of(p: &Product) -> Option<Vector> {
        let is_right = match (p.rows, p.columns) {
            (_, 1) => false,
            (1, _) => true,
            _ => return None,
        };
        let (matrix, vector) = if is_right { (&p.rhs, &p.lhs) } else { (&p.lhs, &p.rhs) };
        let ([line, down], [_, vector]) = (matrix.strides()?, vector.strides()?);
        let out = match join(&p.out[usize::from(is_right)]).as_slice() {
            [] => 0,
            [(_, stride)] if isize::try_from(*stride).is_ok() => *stride,
            _ => return None,
        };
        let lines = if is_right { p.columns } else { p.rows };
        let is_plain = p.depth > 1 && lines > 0 && (down == 1 || (line == 1 && out == 1));
        is_plain.then_some(Vector { is_right, lines, depth: p.depth, line, down, vector, out })
    }

    /// Number of elements of the vector that are copied: zero if it can be read in place.
    fn copied<S: Stored<T>, T>(&self) -> usize {
        if S::IS_IDENTITY && self.vector == 1 { 0 } else { self.depth }
    }

    /// Size in bytes of a task's buffer: a copy of the vector, partial sums, and totals.
    pub(super) fn buffer<S: Stored<T>, T>(&self) -> usize {
        self.copied::<S, T>().saturating_add(2 * MAX_BLOCK_RESULTS).saturating_mul(size_of::<T>())
    }

    pub(super) fn tasks<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        self,
        product: Product,
        places: [Source; 2],
    ) -> PreparedKernel {
        let least = if self.down == 1 { LINES } else { MIN_TASK_RESULTS };
        let lines =
            (MIN_TASK_ELEMENTS / self.depth).next_multiple_of(least).clamp(least, self.lines.max(least));
        let blocks = self.lines.div_ceil(lines);
        let units = product.matrices().saturating_mul(blocks);
        let per_task = (MIN_TASK_ELEMENTS / self.depth.saturating_mul(lines)).max(1);
        let [matrix, vector] = if self.is_right { [1, 0] } else { [0, 1] };
        let buffer = self.buffer::<S, T>();
        let prepared = PreparedKernel::in_tasks(units.div_ceil(per_task), move |args, task| {
            let [x, y] = [matrix, vector].map(|i| args.ptr::<S>(places[i].place(args)).cast_const());
            let out = args.output_ptr::<R>(0);
            with_buffer(buffer, |buffer| {
                for unit in task * per_task..((task + 1) * per_task).min(units) {
                    if interrupt::is_due() {
                        return;
                    }
                    let at = product.matrix(unit / blocks);
                    let first = unit % blocks * lines;
                    let part = Vector { lines: lines.min(self.lines - first), ..self };
                    // SAFETY: the lines, the vector and the results are within one matrix of the batch, and
                    // no two tasks share a result.
                    unsafe {
                        let (x, y) = (x.add(at[matrix] + first * self.line), y.add(at[vector]));
                        part.run(x, y, out.add(at[2] + first * self.out), buffer.cast::<T>());
                    }
                }
            });
        });
        if self.lines.saturating_mul(self.depth) > 4 * MIN_TASK_ELEMENTS { prepared.slow() } else { prepared }
    }

    /// Computes the results for the lines of this part.
    ///
    /// # Safety
    /// The factors must be valid for reads of all their elements, the result for writes of all its elements,
    /// and `buffer` for writes of [`Vector::buffer`] bytes.
    unsafe fn run<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        x: *const S,
        y: *const S,
        out: *mut R,
        buffer: *mut T,
    ) {
        vectorized(
            #[inline(always)]
            || {
                let copied = self.copied::<S, T>();
                for k in 0..copied {
                    // SAFETY: the caller guarantees that `y` is valid for `depth` elements and that `buffer`
                    // has room for them.
                    unsafe { buffer.add(k).write(y.add(k * self.vector).read().widen()) };
                }
                let y = if copied == 0 { y.cast::<T>() } else { buffer.cast_const() };
                // SAFETY: the caller guarantees the matrix, the vector, the result and the buffer, which
                // starts with the copied elements of the vector.
                unsafe {
                    if self.down == 1 {
                        self.sums(x, y, out);
                    } else {
                        self.columns(x, y, out, buffer.add(copied));
                    }
                }
            },
        );
    }

    /// Computes the results for lines whose elements are contiguous.
    ///
    /// # Safety
    /// Same requirements as [`Vector::run`]; `y` is the vector.
    #[inline(always)]
    unsafe fn sums<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        x: *const S,
        y: *const T,
        out: *mut R,
    ) {
        let abreast =
            if S::IS_IDENTITY && R::IS_IDENTITY && is_f32::<T>() { self.lines / LINES * LINES } else { 0 };
        for first in (0..abreast).step_by(LINES) {
            // SAFETY: these are lines of the matrix and their results, and all types are `f32`.
            unsafe {
                let sums =
                    several_lines::dots(x.add(first * self.line).cast(), self.line, y.cast(), self.depth);
                for (i, sum) in sums.into_iter().enumerate() {
                    out.add((first + i) * self.out).cast::<f32>().write(sum);
                }
            }
        }
        for i in abreast..self.lines {
            // SAFETY: this is a line of the matrix and its result.
            unsafe {
                let sum = dot(x.add(i * self.line), y, self.depth);
                out.add(i * self.out).write(R::narrow(sum));
            }
        }
    }

    /// Computes the results for lines that are next to each other in memory.
    ///
    /// # Safety
    /// Same requirements as [`Vector::run`]; `y` is the vector, and `sums` must have room for
    /// `2 * MAX_BLOCK_RESULTS` elements.
    #[inline(always)]
    unsafe fn columns<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        x: *const S,
        y: *const T,
        out: *mut R,
        sums: *mut T,
    ) {
        for first in (0..self.lines).step_by(MAX_BLOCK_RESULTS) {
            let count = MAX_BLOCK_RESULTS.min(self.lines - first);
            // SAFETY: `sums` has room for two blocks of results (`# Safety`), and `count` is at most one
            // block.
            let (totals, sums) =
                unsafe { (std::slice::from_raw_parts_mut(sums, count), sums.add(MAX_BLOCK_RESULTS)) };
            // SAFETY: the second block of results is disjoint from the first one, and `count` is at most one
            // block.
            let sums = unsafe { std::slice::from_raw_parts_mut(sums, count) };
            totals.fill(T::ZERO);
            for part in (0..self.depth).step_by(PARTIAL_SUM_PRODUCTS) {
                sums.fill(T::ZERO);
                let end = (part + PARTIAL_SUM_PRODUCTS).min(self.depth);
                let whole = part + (end - part) / ROWS_PER_PASS * ROWS_PER_PASS;
                // SAFETY: the row `k` of the matrix has `count` elements from `first` on.
                let row =
                    |k: usize| unsafe { std::slice::from_raw_parts(x.add(first + k * self.down), count) };
                // SAFETY: `k` is below `depth`, the length of the vector.
                let factor = |k: usize| unsafe { y.add(k).read() };
                for k in (part..whole).step_by(ROWS_PER_PASS) {
                    let [a, b, c, d] = [k, k + 1, k + 2, k + 3].map(row);
                    let [s, t, u, v] = [k, k + 1, k + 2, k + 3].map(factor);
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let two = sum.plus(s.times(a[i].widen())).plus(t.times(b[i].widen()));
                        *sum = two.plus(u.times(c[i].widen())).plus(v.times(d[i].widen()));
                    }
                }
                for k in whole..end {
                    let (row, factor) = (row(k), factor(k));
                    for (sum, x) in sums.iter_mut().zip(row) {
                        *sum = sum.plus(factor.times(x.widen()));
                    }
                }
                totals.iter_mut().zip(&*sums).for_each(|(total, sum)| *total = total.plus(*sum));
            }
            for (i, total) in totals.iter().enumerate() {
                // SAFETY: `first + i` is below `lines`, the number of results.
                unsafe { out.add(first + i).write(R::narrow(*total)) };
            }
        }
    }
}

fn is_f32<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<f32>()
}

/// Returns the product of a line and a vector.
///
/// # Safety
/// `x` and `y` must be valid for reads of `depth` elements.
#[inline(always)]
unsafe fn dot<S: Stored<T>, T: Element + Ring>(x: *const S, y: *const T, depth: usize) -> T {
    let mut total = T::ZERO;
    let (whole, most) = (depth / DOT_LANES * DOT_LANES, depth / TAIL_LANES * TAIL_LANES);
    for part in (0..whole).step_by(DOT_LANES * PARTIAL_SUM_PRODUCTS) {
        // SAFETY: the range ends at or before `depth`.
        total = total.plus(unsafe {
            lanes::<DOT_LANES, _, _>(x, y, part..(part + DOT_LANES * PARTIAL_SUM_PRODUCTS).min(whole))
        });
    }
    if whole < most {
        // SAFETY: `most` is at most `depth`.
        total = total.plus(unsafe { lanes::<TAIL_LANES, _, _>(x, y, whole..most) });
    }
    for k in most..depth {
        // SAFETY: `k` is below `depth`.
        let (x, y) = unsafe { (x.add(k).read(), y.add(k).read()) };
        total = total.plus(x.widen().times(y));
    }
    total
}

/// Returns the product of a range of elements, summed in `N` lanes. The length of the range is a multiple of
/// `N`.
///
/// # Safety
/// `x` and `y` must be valid for reads of these elements.
#[inline(always)]
unsafe fn lanes<const N: usize, S: Stored<T>, T: Element + Ring>(
    x: *const S,
    y: *const T,
    range: Range<usize>,
) -> T {
    let mut sums = [T::ZERO; N];
    for k in range.step_by(N) {
        // SAFETY: the caller guarantees that the range, a multiple of `N`, can be read.
        let (x, y): (&[S; N], &[T; N]) = unsafe { (&*x.add(k).cast(), &*y.add(k).cast()) };
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = sum.plus(x.widen().times(*y));
        }
    }
    joined(&mut sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_length_are_summed_once() {
        for depth in 0..300 {
            let numbers = |by: usize| -> Vec<f64> {
                (0..depth).map(|i| ((i * by + 11) % 101) as f64 / 7.0 - 5.0).collect()
            };
            let (x, y) = (numbers(37), numbers(53));
            // SAFETY: both vectors have `depth` elements.
            let found: f64 = unsafe { dot(x.as_ptr(), y.as_ptr(), depth) };
            let products = || x.iter().zip(&y).map(|(x, y)| x * y);
            let (wanted, size): (f64, f64) = (products().sum(), products().map(f64::abs).sum());
            assert!((found - wanted).abs() <= f64::EPSILON * 16.0 * size, "{depth}: {found}, not {wanted}");
        }
    }
}
