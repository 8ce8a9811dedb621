//! Diagonals, row sums, and dense forms of CSR matrices. All are linear in the values.

use std::ops::Range;

use farcall_ffi::prelude::*;

use crate::compressed::{Compressed, entry};
use crate::form::for_types;
use crate::malformed::Malformed;
use crate::number::{Index, Scalar};
use crate::parallel::{balanced, for_each_part, tasks};
use crate::samples;

/// The diagonal of a CSR matrix: `d[i] = A[i, i]` for each row, 0 where there is no such entry.
#[handler(name = "csr_diagonal")]
#[signature((a: T[*, e], columns: I[e], starts: I[s]) -> (d: T[*, s - 1])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1)]
#[transpose(csr_from_diagonal)]
#[samples(samples::csr_values)]
pub(crate) fn csr_diagonal(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    d: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_diagonal_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            d.typed_mut()?,
        )
    })
}

fn csr_diagonal_typed<T: Scalar, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    d: &mut Buffer<T>,
) -> Result<()> {
    let matrix = Rows::new(columns, starts, I::MAX)?;
    matrix.reduce(context, a, d, 1, |row, a, indices, d| {
        let own = a.iter().zip(indices).filter(|(_, index)| index.at() == row);
        d[0] = own.fold(T::ZERO, |sum, (a, _)| sum.plus(*a));
    })
}

/// Values of a CSR matrix that is 0 outside of its diagonal `d`: the transpose of `csr_diagonal`.
#[handler(name = "csr_from_diagonal")]
#[signature((d: T[*, s - 1], columns: I[e], starts: I[s]) -> (a: T[*, e])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1)]
#[transpose(csr_diagonal)]
#[samples(samples::csr_rows)]
pub(crate) fn csr_from_diagonal(
    context: &Context,
    d: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    a: &mut AnyBuffer,
) -> Result<()> {
    for_types!(d.dtype(), columns.dtype(), T, I => {
        csr_from_diagonal_typed::<T, I>(
            context,
            d.typed()?,
            columns.typed()?,
            starts.typed()?,
            a.typed_mut()?,
        )
    })
}

fn csr_from_diagonal_typed<T: Scalar, I: Index>(
    context: &Context,
    d: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    a: &mut Buffer<T>,
) -> Result<()> {
    let matrix = Rows::new(columns, starts, I::MAX)?;
    matrix.expand(context, d, a, 1, |row, d, indices, a| {
        a.iter_mut().zip(indices).for_each(|(a, index)| *a = if index.at() == row { d[0] } else { T::ZERO });
    })
}

/// The sum of each row of a CSR matrix.
#[handler(name = "csr_row_sums")]
#[signature((a: T[*, e], columns: I[e], starts: I[s]) -> (sums: T[*, s - 1])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1)]
#[transpose(csr_from_row_sums)]
#[samples(samples::csr_values)]
pub(crate) fn csr_row_sums(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    sums: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_row_sums_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            sums.typed_mut()?,
        )
    })
}

fn csr_row_sums_typed<T: Scalar, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    sums: &mut Buffer<T>,
) -> Result<()> {
    let matrix = Rows::new(columns, starts, I::MAX)?;
    matrix.reduce(context, a, sums, 1, |_, a, _, sum| sum[0] = a.iter().fold(T::ZERO, |sum, a| sum.plus(*a)))
}

/// Values of a CSR matrix that are the same in each row: the transpose of `csr_row_sums`.
#[handler(name = "csr_from_row_sums")]
#[signature((sums: T[*, s - 1], columns: I[e], starts: I[s]) -> (a: T[*, e])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1)]
#[transpose(csr_row_sums)]
#[samples(samples::csr_rows)]
pub(crate) fn csr_from_row_sums(
    context: &Context,
    sums: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    a: &mut AnyBuffer,
) -> Result<()> {
    for_types!(sums.dtype(), columns.dtype(), T, I => {
        csr_from_row_sums_typed::<T, I>(
            context,
            sums.typed()?,
            columns.typed()?,
            starts.typed()?,
            a.typed_mut()?,
        )
    })
}

fn csr_from_row_sums_typed<T: Scalar, I: Index>(
    context: &Context,
    sums: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    a: &mut Buffer<T>,
) -> Result<()> {
    Rows::new(columns, starts, I::MAX)?.expand(context, sums, a, 1, |_, sum, _, a| a.fill(sum[0]))
}

/// A CSR matrix of `k` columns as a dense matrix. Repeated entries add up.
#[handler(name = "csr_to_dense")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], k: i64) -> (dense: T[*, s - 1, k])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; k >= 0)]
#[transpose(csr_from_dense)]
#[samples(samples::csr_to_dense)]
pub(crate) fn csr_to_dense(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    k: i64,
    dense: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_to_dense_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            k,
            dense.typed_mut()?,
        )
    })
}

fn csr_to_dense_typed<T: Scalar, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    k: i64,
    dense: &mut Buffer<T>,
) -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    Rows::new(columns, starts, k)?.reduce(context, a, dense, k, |_, a, indices, dense| {
        dense.fill(T::ZERO);
        for (a, index) in a.iter().zip(indices) {
            dense[index.at()] = dense[index.at()].plus(*a);
        }
    })
}

/// Values of a CSR matrix of `k` columns that has the elements of a dense matrix: the transpose of
/// `csr_to_dense`. Entries that belong to no row are 0.
#[handler(name = "csr_from_dense")]
#[signature((dense: T[*, s - 1, k], columns: I[e], starts: I[s], k: i64) -> (a: T[*, e])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; k >= 0)]
#[transpose(csr_to_dense)]
#[samples(samples::csr_from_dense)]
pub(crate) fn csr_from_dense(
    context: &Context,
    dense: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    k: i64,
    a: &mut AnyBuffer,
) -> Result<()> {
    for_types!(dense.dtype(), columns.dtype(), T, I => {
        csr_from_dense_typed::<T, I>(
            context,
            dense.typed()?,
            columns.typed()?,
            starts.typed()?,
            k,
            a.typed_mut()?,
        )
    })
}

fn csr_from_dense_typed<T: Scalar, I: Index>(
    context: &Context,
    dense: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    k: i64,
    a: &mut Buffer<T>,
) -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    Rows::new(columns, starts, k)?.expand(context, dense, a, k, |_, dense, indices, a| {
        a.iter_mut().zip(indices).for_each(|(a, index)| *a = dense[index.at()]);
    })
}

/// A CSR matrix whose rows are processed one by one.
struct Rows<'a, I>(Compressed<'a, I>);

impl<'a, I: Index> Rows<'a, I> {
    fn new(columns: &'a [I], starts: &'a [I], minors: usize) -> Result<Self> {
        ensure!(!starts.is_empty(), "starts is empty, but has an element more than the matrix has rows");
        Ok(Rows(Compressed { starts, indices: columns, names: ["starts", "columns"], minors }))
    }

    /// Checks that values have an element for each entry, and a dense tensor has `width` for each row, both
    /// in the same batch. Returns the size of the batch.
    fn batches(&self, values: usize, dense: usize, width: usize) -> Result<usize> {
        let (entries, row) = (self.0.indices.len(), self.0.majors() * width);
        let count = match (entries, row) {
            (0, 0) => 0,
            (0, row) => dense / row,
            (entries, _) => values / entries,
        };
        ensure!(
            values == count * entries && dense == count * row,
            "{values} values and {dense} dense elements do not fit {entries} entries and {} rows of {width}",
            self.0.majors()
        );
        Ok(count)
    }

    /// Calls `work(row, values, indices)` for rows in order, whose indices are checked.
    fn each<'s>(
        &'s self,
        rows: Range<usize>,
        mut work: impl FnMut(usize, Range<usize>, &'s [I]) -> Result<(), Malformed>,
    ) -> Result<()> {
        let mut at = self.0.starts[rows.start].at();
        let mut rows = rows;
        let done = rows.try_for_each(|row| {
            let (end, indices) = self.0.row(row, at)?;
            if indices.iter().any(|index| index.at() >= self.0.minors) {
                return Err(self.0.wrong_index(indices, at));
            }
            work(row, at..end, indices)?;
            at = end;
            Ok(())
        });
        done.map_err(|malformed| self.0.error(malformed))
    }

    /// Computes `width` elements from the values of each row.
    fn reduce<T: Scalar>(
        &self,
        context: &Context,
        a: &[T],
        out: &mut [T],
        width: usize,
        work: impl Fn(usize, &[T], &[I], &mut [T]) + Sync,
    ) -> Result<()> {
        let (batches, entries) = (self.batches(a.len(), out.len(), width)?, self.0.indices.len());
        let ranges = balanced(self.0.starts, tasks(entries + self.0.majors() * width));
        let lens: Vec<usize> = ranges.iter().map(|rows| rows.len() * width).collect();
        for_each_part(context, batches, &lens, out, |batch, part, out| {
            let (a, first) = (entry(a, batch, entries), ranges[part].start);
            self.each(ranges[part].clone(), |row, own, indices| {
                work(row, &a[own], indices, &mut out[(row - first) * width..][..width]);
                Ok(())
            })
        })
    }

    /// Computes the values of each row from `width` elements.
    fn expand<T: Scalar>(
        &self,
        context: &Context,
        dense: &[T],
        out: &mut [T],
        width: usize,
        work: impl Fn(usize, &[T], &[I], &mut [T]) + Sync,
    ) -> Result<()> {
        let batches = self.batches(out.len(), dense.len(), width)?;
        let majors = self.0.majors();
        let (ranges, firsts, lens) = self.0.parts(tasks(self.0.indices.len() + majors * width));
        for_each_part(context, batches, &lens, out, |batch, part, out| {
            let (dense, first) = (entry(dense, batch, majors * width), firsts[part]);
            out.fill(T::ZERO);
            self.each(ranges[part].clone(), |row, own, indices| {
                let own = own.start.wrapping_sub(first)..own.end.wrapping_sub(first);
                let out = out.get_mut(own).ok_or(Malformed::Start(row + 1))?;
                work(row, &dense[row * width..][..width], indices, out);
                Ok(())
            })
        })
    }
}

/// The ops of this module.
pub const OPS: &[&OpDescriptor] =
    ops![csr_diagonal, csr_from_diagonal, csr_row_sums, csr_from_row_sums, csr_to_dense, csr_from_dense];
