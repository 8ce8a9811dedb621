//! Products with matrices in compressed form.
//!
//! In compressed form, the entries of major index `i` (a row of CSR, a column of CSC) are those from
//! `starts[i]` to before `starts[i + 1]`, and `indices` has the minor index of each entry. The three products
//! are the partial derivatives of the form `Σ a[e]·major[i]·minor[indices[e]]`, in which `major` and `minor`
//! are vectors, or matrices of `n` columns. They check each index where they use it, so that indices are read
//! from memory once.
//!
//! Entries before the first and after the last start belong to no row, and are not read.

use std::ops::Range;

use farcall_ffi::{Context, Error, Result};

use crate::malformed::{Malformed, index_error, start_error};
use crate::number::{Index, Scalar, vectorized};
use crate::parallel::{self, Scattered, balanced, for_each_part, scatter, tasks};

/// Arrays of a matrix in compressed form, without its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compressed<'a, I> {
    pub(crate) starts: &'a [I],
    pub(crate) indices: &'a [I],
    /// Names of `starts` and `indices` in the signature.
    pub(crate) names: [&'static str; 2],
    /// Upper bound of the indices.
    pub(crate) minors: usize,
}

/// Sizes of a product that the arrays of the matrix do not determine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) batches: usize,
    /// Number of columns of the dense matrices; 1 for vectors.
    pub(crate) n: usize,
    /// True if the product is added to the result; otherwise it replaces the result's contents.
    pub(crate) add: bool,
}

/// Returns the part of a batched array that belongs to an entry of the batch.
#[inline(always)]
pub(crate) fn entry<T>(array: &[T], batch: usize, len: usize) -> &[T] {
    &array[batch * len..(batch + 1) * len]
}

impl<'a, I: Index> Compressed<'a, I> {
    /// Number of major indices.
    pub(crate) fn majors(&self) -> usize {
        self.starts.len() - 1
    }

    /// Makes the error for a malformed index.
    #[cold]
    pub(crate) fn error(&self, malformed: Malformed) -> Error {
        match malformed {
            Malformed::Start(at) => start_error(self.names[0], self.starts, at, self.indices.len()),
            Malformed::Index(at) => index_error(self.names[1], self.indices, at, self.minors),
        }
    }

    /// Returns the entries of a row whose position is after `at`, which is the end of the row before.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize, at: usize) -> Result<(usize, &'a [I]), Malformed> {
        let end = self.starts[row + 1].at();
        self.indices.get(at..end).map(|indices| (end, indices)).ok_or(Malformed::Start(row + 1))
    }

    /// Returns the position of the first index out of range, among `indices`, which begin at position `at`.
    #[cold]
    pub(crate) fn wrong_index(&self, indices: &[I], at: usize) -> Malformed {
        let wrong = indices.iter().position(|index| index.at() >= self.minors);
        Malformed::Index(at + wrong.unwrap_or(0))
    }

    /// Returns the entries of a row, after [`check`](Self::check).
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.starts[row].at()..self.starts[row + 1].at()
    }

    /// Returns the indices of a row, after [`check`](Self::check).
    pub(crate) fn row_indices(&self, row: usize) -> &'a [I] {
        &self.indices[self.range(row)]
    }

    /// Returns a number above the indices of all rows, after [`check`](Self::check).
    pub(crate) fn index_limit(&self) -> usize {
        let own = self.starts[0].at()..self.starts[self.majors()].at();
        self.indices[own].iter().map(|index| index.at() + 1).max().unwrap_or(0)
    }

    /// Checks all starts and indices.
    pub(crate) fn check(&self) -> Result<()> {
        self.bounds(0..self.majors()).map(|_| ()).map_err(|malformed| self.error(malformed))
    }

    /// Returns a range that includes all indices of these rows, which are checked.
    pub(crate) fn bounds(&self, rows: Range<usize>) -> Result<Range<usize>, Malformed> {
        let start = self.starts[rows.start].at();
        let mut at = start;
        for row in rows {
            (at, _) = self.row(row, at)?;
        }
        let indices = self.indices.get(start..at).unwrap_or_default();
        let (mut low, mut high) = (usize::MAX, 0);
        for index in indices {
            low = low.min(index.at());
            high = high.max(index.at());
        }
        match indices.is_empty() {
            true => Ok(0..0),
            false if high < self.minors => Ok(low..high + 1),
            false => Err(self.wrong_index(indices, start)),
        }
    }

    /// `out[i] = Σ a[e]·minor[indices[e]]`
    pub(crate) fn gather<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        a: &[T],
        minor: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (n, entries) = (sizes.n, self.indices.len());
        let ranges = balanced(self.starts, tasks((entries + self.majors()).saturating_mul(n)));
        let lens: Vec<usize> = ranges.iter().map(|rows| rows.len() * n).collect();
        for_each_part(context, sizes.batches, &lens, out, |batch, part, out| {
            let (a, minor) = (entry(a, batch, entries), entry(minor, batch, self.minors * n));
            let rows = ranges[part].clone();
            let done = match n {
                1 => vectorized!(T, I, self.gather_vector(rows, a, minor, out, sizes.add)),
                _ => vectorized!(T, I, self.gather_matrix(rows, a, minor, n, out, sizes.add)),
            };
            done.map_err(|malformed| self.error(malformed))
        })
    }

    #[inline(always)]
    fn gather_vector<T: Scalar>(
        &self,
        rows: Range<usize>,
        a: &[T],
        minor: &[T],
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let mut at = self.starts[rows.start].at();
        for (row, out) in rows.zip(out) {
            let (end, indices) = self.row(row, at)?;
            let Some(sum) = dot(&a[at..end], indices, minor) else {
                return Err(self.wrong_index(indices, at));
            };
            *out = if add { out.plus(sum) } else { sum };
            at = end;
        }
        Ok(())
    }

    #[inline(always)]
    fn gather_matrix<T: Scalar>(
        &self,
        rows: Range<usize>,
        a: &[T],
        minor: &[T],
        n: usize,
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let mut at = self.starts[rows.start].at();
        for (row, out) in rows.zip(out.chunks_exact_mut(n.max(1))) {
            let (end, indices) = self.row(row, at)?;
            let row = SparseRow { a: &a[at..end], indices, minors: self.minors, minor, n };
            if !row.combine(out, add) {
                return Err(self.wrong_index(indices, at));
            }
            at = end;
        }
        Ok(())
    }

    /// `out[indices[e]] = Σ a[e]·major[i]`
    pub(crate) fn scatter<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        a: &[T],
        major: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let Sizes { batches, n, add } = sizes;
        let (entries, majors) = (self.indices.len(), self.majors());
        let chunks = parallel::chunks(entries, n, self.minors);
        let ranges = balanced(self.starts, chunks);
        let bounds =
            |chunk: usize| self.bounds(ranges[chunk].clone()).map_err(|malformed| self.error(malformed));
        scatter(context, Scattered { batches, n, chunks, add }, out, bounds, |batch, chunk, first, out| {
            let (a, major) = (entry(a, batch, entries), entry(major, batch, majors * n));
            let rows = ranges[chunk].clone();
            let done = match n {
                1 => vectorized!(T, I, self.scatter_vector(rows, a, major, first, out)),
                _ => vectorized!(T, I, self.scatter_matrix(rows, a, major, n, first, out)),
            };
            done.map_err(|malformed| self.error(malformed))
        })
    }

    #[inline(always)]
    fn scatter_vector<T: Scalar>(
        &self,
        rows: Range<usize>,
        a: &[T],
        major: &[T],
        first: usize,
        out: &mut [T],
    ) -> Result<(), Malformed> {
        let mut at = self.starts[rows.start].at();
        for row in rows {
            let (end, indices) = self.row(row, at)?;
            let factor = major[row];
            for (a, index) in a[at..end].iter().zip(indices) {
                match out.get_mut(index.at().wrapping_sub(first)) {
                    Some(out) => *out = out.plus(a.times(factor)),
                    None => return Err(self.wrong_index(indices, at)),
                }
            }
            at = end;
        }
        Ok(())
    }

    #[inline(always)]
    fn scatter_matrix<T: Scalar>(
        &self,
        rows: Range<usize>,
        a: &[T],
        major: &[T],
        n: usize,
        first: usize,
        out: &mut [T],
    ) -> Result<(), Malformed> {
        let mut at = self.starts[rows.start].at();
        for row in rows {
            let (end, indices) = self.row(row, at)?;
            let factors = &major[row * n..(row + 1) * n];
            for (a, index) in a[at..end].iter().zip(indices) {
                if index.at() >= self.minors {
                    return Err(self.wrong_index(indices, at));
                }
                let start = (index.at() - first) * n;
                let out = &mut out[start..start + n];
                out.iter_mut().zip(factors).for_each(|(out, factor)| *out = out.plus(a.times(*factor)));
            }
            at = end;
        }
        Ok(())
    }

    /// Divides rows and entries into parts. Returns ranges of rows, the first entry of each part, and the
    /// number of entries of each part.
    pub(crate) fn parts(&self, count: usize) -> (Vec<Range<usize>>, Vec<usize>, Vec<usize>) {
        let (ranges, entries) = (balanced(self.starts, count), self.indices.len());
        // Entries that belong to no row are in the first or the last part. If the starts are malformed, the
        // parts are in order nevertheless, and a row outside of its part is an error.
        let mut firsts = vec![0];
        for rows in &ranges[1..] {
            let before = firsts.last().copied().unwrap_or(0);
            firsts.push(self.starts[rows.start].at().clamp(before, entries));
        }
        let ends = firsts[1..].iter().chain([&entries]);
        let lens: Vec<usize> = firsts.iter().zip(ends).map(|(first, end)| end - first).collect();
        (ranges, firsts, lens)
    }

    /// `out[e] = Σ major[i, j]·minor[indices[e], j]`
    pub(crate) fn sample<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        major: &[T],
        minor: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (n, entries, majors) = (sizes.n, self.indices.len(), self.majors());
        let (ranges, firsts, lens) = self.parts(tasks((entries + majors).saturating_mul(n)));
        for_each_part(context, sizes.batches, &lens, out, |batch, part, out| {
            let dense = (entry(major, batch, majors * n), entry(minor, batch, self.minors * n), n);
            let (rows, first) = (ranges[part].clone(), firsts[part]);
            vectorized!(T, I, self.sample_rows(rows.clone(), dense, first, out, sizes.add))
                .map_err(|malformed| self.error(malformed))
        })
    }

    /// Computes the part of a sampled product that begins at entry `first`.
    #[inline(always)]
    fn sample_rows<T: Scalar>(
        &self,
        rows: Range<usize>,
        (major, minor, n): (&[T], &[T], usize),
        first: usize,
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let mut at = self.starts[rows.start].at();
        if !add {
            // Entries that belong to no row.
            let end = self.starts[rows.end].at().wrapping_sub(first);
            out.iter_mut().take(at.wrapping_sub(first)).for_each(|out| *out = T::ZERO);
            out.iter_mut().skip(end).for_each(|out| *out = T::ZERO);
        }
        for row in rows {
            let (end, indices) = self.row(row, at)?;
            let part = out.get_mut(at.wrapping_sub(first)..end.wrapping_sub(first));
            let part = part.ok_or(Malformed::Start(row + 1))?;
            let left = &major[row * n..(row + 1) * n];
            for (out, index) in part.iter_mut().zip(indices) {
                if index.at() >= self.minors {
                    return Err(self.wrong_index(indices, at));
                }
                let sum = inner(left, &minor[index.at() * n..(index.at() + 1) * n]);
                *out = if add { out.plus(sum) } else { sum };
            }
            at = end;
        }
        Ok(())
    }
}

/// Returns `Σ a[e]·x[indices[e]]`, or `None` if an index is out of range.
#[inline(always)]
fn dot<T: Scalar, I: Index>(a: &[T], indices: &[I], x: &[T]) -> Option<T> {
    let (mut first, mut second, mut third, mut fourth) = (T::ZERO, T::ZERO, T::ZERO, T::ZERO);
    let ((chunks, rest), (index_chunks, rest_indices)) = (a.as_chunks::<4>(), indices.as_chunks::<4>());
    for (a, indices) in chunks.iter().zip(index_chunks) {
        let [i, j, k, l] = indices.map(I::at);
        // One branch for four indices; the compiler concludes that each of them is in range.
        if !((i < x.len()) & (j < x.len()) & (k < x.len()) & (l < x.len())) {
            return None;
        }
        first = first.plus(a[0].times(x[i]));
        second = second.plus(a[1].times(x[j]));
        third = third.plus(a[2].times(x[k]));
        fourth = fourth.plus(a[3].times(x[l]));
    }
    for (a, index) in rest.iter().zip(rest_indices) {
        first = first.plus(a.times(*x.get(index.at())?));
    }
    Some(first.plus(second).plus(third.plus(fourth)))
}

/// Returns `Σ x[j]·y[j]`.
#[inline(always)]
pub(crate) fn inner<T: Scalar>(x: &[T], y: &[T]) -> T {
    const LANES: usize = 8;
    let mut sums = [T::ZERO; LANES];
    let ((x_chunks, x_rest), (y_chunks, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for lane in 0..LANES {
            sums[lane] = sums[lane].plus(x[lane].times(y[lane]));
        }
    }
    let mut sum = T::ZERO;
    for (x, y) in x_rest.iter().zip(y_rest) {
        sum = sum.plus(x.times(*y));
    }
    if x_chunks.is_empty() {
        return sum;
    }
    for half in [4, 2, 1] {
        for lane in 0..half {
            sums[lane] = sums[lane].plus(sums[lane + half]);
        }
    }
    sum.plus(sums[0])
}

/// A row of a sparse matrix, and the dense matrix whose rows it combines.
struct SparseRow<'a, T, I> {
    a: &'a [T],
    indices: &'a [I],
    /// Number of rows of the dense matrix.
    minors: usize,
    minor: &'a [T],
    /// Number of columns of the dense matrix.
    n: usize,
}

impl<T: Scalar, I: Index> SparseRow<'_, T, I> {
    /// Computes the row of the product. Returns false if an index is out of range.
    #[inline(always)]
    fn combine(&self, out: &mut [T], add: bool) -> bool {
        // Loops rather than `Iterator::all`, which is not always inlined and then uses no wide vectors.
        let mut j = 0;
        let (wide, rest) = out.as_chunks_mut::<16>();
        for out in wide {
            if !self.tile(j, out, add) {
                return false;
            }
            j += 16;
        }
        let (narrow, single) = rest.as_chunks_mut::<4>();
        for out in narrow {
            if !self.tile(j, out, add) {
                return false;
            }
            j += 4;
        }
        for out in single.as_chunks_mut::<1>().0 {
            if !self.tile(j, out, add) {
                return false;
            }
            j += 1;
        }
        true
    }

    /// Computes `WIDTH` columns of the row, starting at column `j`.
    #[inline(always)]
    fn tile<const WIDTH: usize>(&self, j: usize, out: &mut [T; WIDTH], add: bool) -> bool {
        let mut sums = [T::ZERO; WIDTH];
        let mut add_row = |a: &T, x: &[T; WIDTH]| {
            for lane in 0..WIDTH {
                sums[lane] = sums[lane].plus(a.times(x[lane]));
            }
        };
        let entries = self.a.iter().zip(self.indices);
        if self.n.is_multiple_of(WIDTH) {
            let (x, per_row) = (self.minor.as_chunks::<WIDTH>().0, self.n / WIDTH);
            for (a, index) in entries {
                match x.get(index.at().wrapping_mul(per_row).wrapping_add(j / WIDTH)) {
                    Some(x) if index.at() < self.minors => add_row(a, x),
                    _ => return false,
                }
            }
        } else {
            for (a, index) in entries {
                if index.at() >= self.minors {
                    return false;
                }
                let Some(x) = self.minor[index.at() * self.n + j..].first_chunk() else { return false };
                add_row(a, x);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = if add { out.plus(sum) } else { sum };
        }
        true
    }
}
