//! Products of a matrix and a vector: every element of the matrix is read once, in the order in which it lies.

use std::any::TypeId;
use std::ops::Range;

use farcall_ir::interrupt;

use super::super::args::Prepared;
use super::super::simd::vectorized;
use super::abreast::{self, LINES};
use super::micro::{Element, Ring, Stored};
use super::{Product, SUMMANDS, Source, join, with_buffer};

/// Elements of the matrix that a task reads at least: some ten microseconds.
const LEAST: usize = 1 << 18;

/// Sums of a line that are kept together. Of several lines at once, the compiler makes shuffles.
const LANES: usize = 64;
/// The same of what is left of a line.
const SHORT: usize = 8;

/// Rows that are added at once where lines are neighbours.
const ROWS: usize = 4;

/// Results that are computed together where lines are neighbours, and at least by a task.
const TOGETHER: usize = 2048;
const FEWEST: usize = 512;

/// Lines of a matrix times a vector. Distances are in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    /// The matrix is the right factor.
    is_right: bool,
    lines: usize,
    depth: usize,
    /// Distances in the matrix, in the vector, and in the result.
    line: usize,
    down: usize,
    vector: usize,
    out: usize,
}

impl Vector {
    /// The product as one, if a factor is a vector and the other one has elements together along one dimension.
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

    /// Elements of the vector that are copied: none, if it can be read where it lies.
    fn copied<S: Stored<T>, T>(&self) -> usize {
        if S::SAME && self.vector == 1 { 0 } else { self.depth }
    }

    /// Bytes that a task works in: a copy of the vector, and sums in two steps.
    pub(super) fn buffer<S: Stored<T>, T>(&self) -> usize {
        self.copied::<S, T>().saturating_add(2 * TOGETHER).saturating_mul(size_of::<T>())
    }

    pub(super) fn tasks<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        self,
        product: Product,
        places: [Source; 2],
    ) -> Prepared {
        let least = if self.down == 1 { LINES } else { FEWEST };
        let lines = (LEAST / self.depth).next_multiple_of(least).clamp(least, self.lines.max(least));
        let blocks = self.lines.div_ceil(lines);
        let units = product.matrices().saturating_mul(blocks);
        let per_task = (LEAST / self.depth.saturating_mul(lines)).max(1);
        let [matrix, vector] = if self.is_right { [1, 0] } else { [0, 1] };
        let buffer = self.buffer::<S, T>();
        let prepared = Prepared::in_tasks(units.div_ceil(per_task), move |args, task| {
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
                    // SAFETY: lines of a matrix, a vector and a result of the batch; tasks have different ones.
                    unsafe {
                        let (x, y) = (x.add(at[matrix] + first * self.line), y.add(at[vector]));
                        part.run(x, y, out.add(at[2] + first * self.out), buffer.cast::<T>());
                    }
                }
            });
        });
        if self.lines.saturating_mul(self.depth) > 4 * LEAST { prepared.slow() } else { prepared }
    }

    /// # Safety
    /// The factors are valid for reads and the result for writes, of these sizes, and the buffer for as many elements
    /// as `tasks` says.
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
                    // SAFETY: the caller's promise.
                    unsafe { buffer.add(k).write(y.add(k * self.vector).read().widen()) };
                }
                let y = if copied == 0 { y.cast::<T>() } else { buffer.cast_const() };
                // SAFETY: as above; the buffer begins with what has been copied of the vector.
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

    /// Lines whose elements are together.
    ///
    /// # Safety
    /// As [`Vector::run`]; `y` is the vector.
    #[inline(always)]
    unsafe fn sums<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        x: *const S,
        y: *const T,
        out: *mut R,
    ) {
        let abreast = if S::SAME && R::SAME && is_f32::<T>() { self.lines / LINES * LINES } else { 0 };
        for first in (0..abreast).step_by(LINES) {
            // SAFETY: lines of the matrix, and their results, all of `f32`.
            unsafe {
                let sums = abreast::dots(x.add(first * self.line).cast(), self.line, y.cast(), self.depth);
                for (i, sum) in sums.into_iter().enumerate() {
                    out.add((first + i) * self.out).cast::<f32>().write(sum);
                }
            }
        }
        for i in abreast..self.lines {
            // SAFETY: a line of the matrix, and its result.
            unsafe {
                let sum = dot(x.add(i * self.line), y, self.depth);
                out.add(i * self.out).write(R::narrow(sum));
            }
        }
    }

    /// Lines that are neighbours.
    ///
    /// # Safety
    /// As [`Vector::run`]; `y` is the vector, and `sums` has room for twice the results that are computed together.
    #[inline(always)]
    unsafe fn columns<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        x: *const S,
        y: *const T,
        out: *mut R,
        sums: *mut T,
    ) {
        for first in (0..self.lines).step_by(TOGETHER) {
            let count = TOGETHER.min(self.lines - first);
            // SAFETY: room for as many sums as there are lines.
            let (totals, sums) = unsafe { (std::slice::from_raw_parts_mut(sums, count), sums.add(TOGETHER)) };
            // SAFETY: as above.
            let sums = unsafe { std::slice::from_raw_parts_mut(sums, count) };
            totals.fill(T::ZERO);
            for part in (0..self.depth).step_by(SUMMANDS) {
                sums.fill(T::ZERO);
                let end = (part + SUMMANDS).min(self.depth);
                let whole = part + (end - part) / ROWS * ROWS;
                // SAFETY: rows of the matrix with as many columns.
                let row =
                    |k: usize| unsafe { std::slice::from_raw_parts(x.add(first + k * self.down), count) };
                // SAFETY: an element of the vector.
                let factor = |k: usize| unsafe { y.add(k).read() };
                for k in (part..whole).step_by(ROWS) {
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
                // SAFETY: a result.
                unsafe { out.add(first + i).write(R::narrow(*total)) };
            }
        }
    }
}

fn is_f32<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<f32>()
}

/// The product of a line and a vector.
///
/// # Safety
/// `x` and `y` are valid for reads of `depth` elements.
#[inline(always)]
unsafe fn dot<S: Stored<T>, T: Element + Ring>(x: *const S, y: *const T, depth: usize) -> T {
    let mut total = T::ZERO;
    let (whole, most) = (depth / LANES * LANES, depth / SHORT * SHORT);
    for part in (0..whole).step_by(LANES * SUMMANDS) {
        // SAFETY: elements of the line and of the vector.
        total = total.plus(unsafe { lanes::<LANES, _, _>(x, y, part..(part + LANES * SUMMANDS).min(whole)) });
    }
    if whole < most {
        // SAFETY: as above.
        total = total.plus(unsafe { lanes::<SHORT, _, _>(x, y, whole..most) });
    }
    for k in most..depth {
        // SAFETY: an element of the line and one of the vector.
        let (x, y) = unsafe { (x.add(k).read(), y.add(k).read()) };
        total = total.plus(x.widen().times(y));
    }
    total
}

/// The same for a range of elements, of which there are a multiple of `N`, in as many sums.
///
/// # Safety
/// `x` and `y` are valid for reads of these elements.
#[inline(always)]
unsafe fn lanes<const N: usize, S: Stored<T>, T: Element + Ring>(
    x: *const S,
    y: *const T,
    range: Range<usize>,
) -> T {
    let mut sums = [T::ZERO; N];
    for k in range.step_by(N) {
        // SAFETY: the caller's promise.
        let (x, y): (&[S; N], &[T; N]) = unsafe { (&*x.add(k).cast(), &*y.add(k).cast()) };
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = sum.plus(x.widen().times(*y));
        }
    }
    joined(&mut sums)
}

/// The sum of a power of two of numbers, by halves.
#[inline(always)]
pub(super) fn joined<T: Ring>(sums: &mut [T]) -> T {
    let mut n = sums.len();
    while n > 1 {
        n /= 2;
        for i in 0..n {
            sums[i] = sums[i].plus(sums[i + n]);
        }
    }
    sums[0]
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
            // SAFETY: as many elements.
            let found: f64 = unsafe { dot(x.as_ptr(), y.as_ptr(), depth) };
            let products = || x.iter().zip(&y).map(|(x, y)| x * y);
            let (wanted, size): (f64, f64) = (products().sum(), products().map(f64::abs).sum());
            assert!((found - wanted).abs() <= f64::EPSILON * 16.0 * size, "{depth}: {found}, not {wanted}");
        }
    }
}
