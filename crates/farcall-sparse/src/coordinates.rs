//! Products with matrices in coordinate form: each entry has a row and a column, in any order.
//!
//! As in [`compressed`](crate::compressed), the products are the partial derivatives of a form,
//! `Σ a[e]·x[rows[e]]·y[columns[e]]`.

use std::ops::Range;

use farcall_ffi::{Context, Error, Result};

use crate::compressed::{Sizes, entry, inner};
use crate::malformed::index_error;
use crate::number::{Index, Scalar, vectorized};
use crate::parallel::{self, Scattered, even, for_each_part, scatter, tasks};

/// Arrays of a matrix in coordinate form, without its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinates<'a, I> {
    /// Row and column of each entry.
    pub(crate) indices: [&'a [I]; 2],
    /// Names of these arrays in the signature.
    pub(crate) names: [&'static str; 2],
    /// Numbers of rows and columns.
    pub(crate) limits: [usize; 2],
}

impl<I: Index> Coordinates<'_, I> {
    fn entries(&self) -> usize {
        self.indices[0].len()
    }

    /// Makes the error for the first index out of range, among these entries.
    #[cold]
    fn error(&self, entries: Range<usize>) -> Error {
        let is_wrong = |at: usize, axis: usize| self.indices[axis][at].at() >= self.limits[axis];
        let wrong = entries.flat_map(|at| [(at, 0), (at, 1)]).find(|(at, axis)| is_wrong(*at, *axis));
        let (at, axis) = wrong.unwrap_or((0, 0));
        index_error(self.names[axis], self.indices[axis], at, self.limits[axis])
    }

    /// Checks all indices.
    pub(crate) fn check(&self) -> Result<()> {
        let below = |axis: usize| self.indices[axis].iter().all(|index| index.at() < self.limits[axis]);
        if below(0) && below(1) { Ok(()) } else { Err(self.error(0..self.entries())) }
    }

    /// Returns a range that includes the indices of these entries along `axis`.
    fn bounds(&self, axis: usize, entries: Range<usize>) -> Result<Range<usize>> {
        let (mut low, mut high) = (usize::MAX, 0);
        let indices = &self.indices[axis][entries.clone()];
        for index in indices {
            low = low.min(index.at());
            high = high.max(index.at());
        }
        match entries.is_empty() {
            true => Ok(0..0),
            false if high < self.limits[axis] => Ok(low..high + 1),
            false => Err(self.error(entries)),
        }
    }

    /// With `axis = 0`, `out[rows[e]] = Σ a[e]·x[columns[e]]`. With `axis = 1`, rows and columns change
    /// places.
    pub(crate) fn scatter<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        axis: usize,
        (a, x): (&[T], &[T]),
        out: &mut [T],
    ) -> Result<()> {
        let Sizes { batches, n, add } = sizes;
        let entries = self.entries();
        let chunks = parallel::chunks(entries, n, self.limits[axis]);
        let ranges = even(entries, chunks);
        let bounds = |chunk: usize| self.bounds(axis, ranges[chunk].clone());
        scatter(context, Scattered { batches, n, chunks, add }, out, bounds, |batch, chunk, first, out| {
            let (a, x) = (entry(a, batch, entries), entry(x, batch, self.limits[1 - axis] * n));
            let range = ranges[chunk].clone();
            let done = match n {
                1 => vectorized!(T, I, self.scatter_vector(range.clone(), axis, a, x, first, out)),
                _ => vectorized!(T, I, self.scatter_matrix(range.clone(), axis, (a, x, n), first, out)),
            };
            done.ok_or_else(|| self.error(range))
        })
    }

    /// Returns `None` if an index is out of range.
    #[inline(always)]
    fn scatter_vector<T: Scalar>(
        &self,
        entries: Range<usize>,
        axis: usize,
        a: &[T],
        x: &[T],
        first: usize,
        out: &mut [T],
    ) -> Option<()> {
        let [to, from] = [axis, 1 - axis].map(|axis| &self.indices[axis][entries.clone()]);
        for ((a, to), from) in a[entries].iter().zip(to).zip(from) {
            let x = x.get(from.at())?;
            let out = out.get_mut(to.at().wrapping_sub(first))?;
            *out = out.plus(a.times(*x));
        }
        Some(())
    }

    /// Returns `None` if an index is out of range.
    #[inline(always)]
    fn scatter_matrix<T: Scalar>(
        &self,
        entries: Range<usize>,
        axis: usize,
        (a, x, n): (&[T], &[T], usize),
        first: usize,
        out: &mut [T],
    ) -> Option<()> {
        let [to, from] = [axis, 1 - axis].map(|axis| &self.indices[axis][entries.clone()]);
        for ((a, to), from) in a[entries].iter().zip(to).zip(from) {
            if to.at() >= self.limits[axis] || from.at() >= self.limits[1 - axis] {
                return None;
            }
            let x = &x[from.at() * n..(from.at() + 1) * n];
            let out = &mut out[(to.at() - first) * n..][..n];
            out.iter_mut().zip(x).for_each(|(out, x)| *out = out.plus(a.times(*x)));
        }
        Some(())
    }

    /// `out[e] = Σ x[rows[e], j]·y[columns[e], j]`
    pub(crate) fn sample<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        dense: [&[T]; 2],
        out: &mut [T],
    ) -> Result<()> {
        let n = sizes.n;
        let ranges = even(self.entries(), tasks(self.entries().saturating_mul(n)));
        let lens: Vec<usize> = ranges.iter().map(Range::len).collect();
        for_each_part(context, sizes.batches, &lens, out, |batch, part, out| {
            let [x, y] = [0, 1].map(|axis| entry(dense[axis], batch, self.limits[axis] * n));
            let range = ranges[part].clone();
            let done = vectorized!(T, I, self.sample_entries(range.clone(), x, y, n, out, sizes.add));
            done.ok_or_else(|| self.error(range))
        })
    }

    /// Returns `None` if an index is out of range.
    #[inline(always)]
    fn sample_entries<T: Scalar>(
        &self,
        entries: Range<usize>,
        x: &[T],
        y: &[T],
        n: usize,
        out: &mut [T],
        add: bool,
    ) -> Option<()> {
        let [rows, columns] = [0, 1].map(|axis| &self.indices[axis][entries.clone()]);
        for ((out, row), column) in out.iter_mut().zip(rows).zip(columns) {
            if row.at() >= self.limits[0] || column.at() >= self.limits[1] {
                return None;
            }
            let sum = inner(&x[row.at() * n..(row.at() + 1) * n], &y[column.at() * n..(column.at() + 1) * n]);
            *out = if add { out.plus(sum) } else { sum };
        }
        Some(())
    }
}
