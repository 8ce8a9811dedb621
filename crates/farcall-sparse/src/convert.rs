//! Conversions between formats.
//!
//! The pattern of a matrix is converted once, by an op on index arrays. This op also returns the `order` in
//! which the values of the other format are those of the first: `values[i] = a[order[i]]`. The op
//! `sparse_permute` applies such an order to any number of values, and has derivatives.

use farcall_ffi::prelude::*;

use crate::compressed::Compressed;
use crate::coordinates::Coordinates;
use crate::form::for_types;
use crate::number::{Index, Scalar};
use crate::samples;

/// The pattern of a CSR matrix of `k` columns in CSC, with rows in ascending order; or of a CSC matrix of `k`
/// rows in CSR. Entries that belong to no row come last, after the last start.
#[handler(name = "csr_to_csc_pattern")]
#[signature((columns: I[e], starts: I[s], k: i64) -> (order: I[e], rows: I[e], column_starts: I[k + 1])
    where I: s32 | s64; s >= 1; k >= 0)]
#[samples(samples::csr_to_csc_pattern)]
pub(crate) fn csr_to_csc_pattern<I: Index>() -> Result<()> {
    let matrix = compressed(columns, starts, usize::try_from(k).unwrap_or(0))?;
    matrix.check()?;
    expect_len("order", order, columns.len())?;
    expect_len("rows", rows, columns.len())?;
    expect_len("column_starts", column_starts, matrix.minors + 1)?;
    expect_range::<I>(columns.len().max(matrix.majors()))?;
    let (first, last) = (starts[0].at(), starts[matrix.majors()].at());
    let own = &columns[first..last];
    let mut next = count(own.iter().map(|column| column.at()), column_starts);
    for row in 0..matrix.majors() {
        for at in starts[row].at()..starts[row + 1].at() {
            let to = &mut next[columns[at].at()];
            (order[*to], rows[*to]) = (I::of(at), I::of(row));
            *to += 1;
        }
    }
    for (to, at) in (own.len()..).zip((0..first).chain(last..columns.len())) {
        (order[to], rows[to]) = (I::of(at), I::of(0));
    }
    Ok(())
}

/// The pattern of a COO matrix of `m` rows in CSR. Entries of a row keep their order, and repeated entries
/// stay.
#[handler(name = "coo_to_csr_pattern")]
#[signature((rows: I[e], columns: I[e], m: i64) -> (order: I[e], csr_columns: I[e], starts: I[m + 1])
    where I: s32 | s64; m >= 0)]
#[samples(samples::coo_to_csr_pattern)]
pub(crate) fn coo_to_csr_pattern<I: Index>() -> Result<()> {
    expect_len("columns", columns, rows.len())?;
    let m = usize::try_from(m).unwrap_or(0);
    Coordinates { indices: [rows, columns], names: ["rows", "columns"], limits: [m, I::MAX] }.check()?;
    expect_len("order", order, rows.len())?;
    expect_len("csr_columns", csr_columns, rows.len())?;
    expect_len("starts", starts, m + 1)?;
    expect_range::<I>(rows.len())?;
    let mut next = count(rows.iter().map(|row| row.at()), starts);
    for (at, (row, column)) in rows.iter().zip(columns.iter()).enumerate() {
        let to = &mut next[row.at()];
        (order[*to], csr_columns[*to]) = (I::of(at), *column);
        *to += 1;
    }
    Ok(())
}

/// The row of each entry of a CSR matrix, so that the matrix is one in COO. Entries that belong to no row get
/// the number of rows, as in JAX's padding of COO matrices.
#[handler(name = "csr_to_coo_pattern")]
#[signature((columns: I[e], starts: I[s]) -> (rows: I[e]) where I: s32 | s64; s >= 1)]
#[samples(samples::csr_to_coo_pattern)]
pub(crate) fn csr_to_coo_pattern<I: Index>() -> Result<()> {
    let matrix = compressed(columns, starts, I::MAX)?;
    matrix.check()?;
    expect_len("rows", rows, columns.len())?;
    expect_range::<I>(matrix.majors())?;
    rows.fill(I::of(matrix.majors()));
    for row in 0..matrix.majors() {
        rows[starts[row].at()..starts[row + 1].at()].fill(I::of(row));
    }
    Ok(())
}

/// The pattern of a BSR matrix with blocks of `p×q` elements in CSR. The order refers to the elements of all
/// blocks as one array.
#[handler(name = "bsr_to_csr_pattern")]
#[signature((columns: I[e], starts: I[s], p: i64, q: i64)
    -> (order: I[e*p*q], csr_columns: I[e*p*q], csr_starts: I[(s - 1)*p + 1])
    where I: s32 | s64; s >= 1; p >= 1; q >= 1)]
#[samples(samples::bsr_to_csr_pattern)]
pub(crate) fn bsr_to_csr_pattern<I: Index>() -> Result<()> {
    let [p, q] = [p, q].map(|size| usize::try_from(size).unwrap_or(0));
    ensure!(p > 0 && q > 0, "blocks of {p}×{q} elements are empty");
    let matrix = compressed(columns, starts, I::MAX / q)?;
    matrix.check()?;
    let elements = columns.len().saturating_mul(p).saturating_mul(q);
    expect_len("order", order, elements)?;
    expect_len("csr_columns", csr_columns, elements)?;
    expect_len("csr_starts", csr_starts, matrix.majors().saturating_mul(p).saturating_add(1))?;
    expect_range::<I>(elements)?;
    let mut to = starts[0].at() * p * q;
    // Elements before the first and after the last row keep their places.
    for at in (0..to).chain(starts[matrix.majors()].at() * p * q..elements) {
        (order[at], csr_columns[at]) = (I::of(at), I::of(0));
    }
    csr_starts[0] = I::of(to);
    for row in 0..matrix.majors() * p {
        for at in starts[row / p].at()..starts[row / p + 1].at() {
            for j in 0..q {
                order[to] = I::of((at * p + row % p) * q + j);
                csr_columns[to] = I::of(columns[at].at() * q + j);
                to += 1;
            }
        }
        csr_starts[row + 1] = I::of(to);
    }
    Ok(())
}

/// The pattern of the nonzero elements of a dense matrix, which are at most `entries`. Columns after the last
/// start are 0.
#[handler(name = "dense_to_csr_pattern")]
#[signature((dense: T[m, k], entries: i64) -> (columns: s32[entries], starts: s32[m + 1])
    where T: f32 | f64 | c64 | c128; entries >= 0)]
#[samples(samples::dense_to_csr_pattern)]
pub(crate) fn dense_to_csr_pattern<T: Scalar>() -> Result<()> {
    let [m, k] = dense.shape();
    expect_len("starts", starts, m + 1)?;
    ensure!(
        i64::try_from(columns.len()) == Ok(entries),
        "columns has {} elements, not {entries}",
        columns.len()
    );
    expect_range::<i32>(columns.len().max(k))?;
    let found = dense.iter().filter(|element| **element != T::ZERO).count();
    ensure!(found <= columns.len(), "the matrix has {found} nonzero elements, but entries = {entries}");
    let mut at = 0;
    starts[0] = 0;
    for row in 0..m {
        for column in (0..k).filter(|column| dense[row * k + column] != T::ZERO) {
            columns[at] = column as i32;
            at += 1;
        }
        starts[row + 1] = at as i32;
    }
    columns[at..].fill(0);
    Ok(())
}

/// Values in another order: `values[i] = a[order[i]]`. The order is a permutation.
#[handler(name = "sparse_permute")]
#[signature((a: T[*, e], order: I[e]) -> (values: T[*, e])
    where T: f32 | f64 | c64 | c128; I: s32 | s64)]
#[transpose(sparse_unpermute)]
#[samples(samples::permute)]
pub(crate) fn sparse_permute(a: &AnyBuffer, order: &AnyBuffer, values: &mut AnyBuffer) -> Result<()> {
    for_types!(a.dtype(), order.dtype(), T, I => {
        sparse_permute_typed::<T, I>(
            a.typed()?,
            order.typed()?,
            values.typed_mut()?,
        )
    })
}

fn sparse_permute_typed<T: Scalar, I: Index>(
    a: &Buffer<T>,
    order: &Buffer<I, 1>,
    values: &mut Buffer<T>,
) -> Result<()> {
    check_order(order)?;
    expect_len("values", values, a.len())?;
    for (values, a) in values.chunks_mut(order.len().max(1)).zip(a.chunks(order.len().max(1))) {
        values.iter_mut().zip(order.iter()).for_each(|(value, from)| *value = a[from.at()]);
    }
    Ok(())
}

/// Values in their original order: the inverse and transpose of `sparse_permute`.
#[handler(name = "sparse_unpermute")]
#[signature((values: T[*, e], order: I[e]) -> (a: T[*, e])
    where T: f32 | f64 | c64 | c128; I: s32 | s64)]
#[transpose(sparse_permute)]
#[samples(samples::permute)]
pub(crate) fn sparse_unpermute(values: &AnyBuffer, order: &AnyBuffer, a: &mut AnyBuffer) -> Result<()> {
    for_types!(values.dtype(), order.dtype(), T, I => {
        sparse_unpermute_typed::<T, I>(
            values.typed()?,
            order.typed()?,
            a.typed_mut()?,
        )
    })
}

fn sparse_unpermute_typed<T: Scalar, I: Index>(
    values: &Buffer<T>,
    order: &Buffer<I, 1>,
    a: &mut Buffer<T>,
) -> Result<()> {
    check_order(order)?;
    expect_len("a", a, values.len())?;
    for (values, a) in values.chunks(order.len().max(1)).zip(a.chunks_mut(order.len().max(1))) {
        values.iter().zip(order.iter()).for_each(|(value, to)| a[to.at()] = *value);
    }
    Ok(())
}

fn compressed<'a, I: Index>(columns: &'a [I], starts: &'a [I], minors: usize) -> Result<Compressed<'a, I>> {
    ensure!(!starts.is_empty(), "starts is empty, but has an element more than the matrix has rows");
    Ok(Compressed { starts, indices: columns, names: ["starts", "columns"], minors })
}

/// Counts indices. Writes the start of each index's entries, and returns a copy of the starts.
fn count<I: Index>(indices: impl Iterator<Item = usize>, starts: &mut [I]) -> Vec<usize> {
    let mut counts = vec![0usize; starts.len()];
    indices.for_each(|index| counts[index + 1] += 1);
    for i in 1..counts.len() {
        counts[i] += counts[i - 1];
    }
    starts.iter_mut().zip(&counts).for_each(|(start, count)| *start = I::of(*count));
    counts
}

fn check_order<I: Index>(order: &[I]) -> Result<()> {
    let mut seen = vec![false; order.len()];
    for (i, at) in order.iter().enumerate() {
        match seen.get_mut(at.at()) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                return Err(Error::invalid_argument(format!("order[{i}] is {at}, which occurs before")));
            }
            None => {
                let message = format!("order[{i}] is {at}, but must be from 0 to below {}", order.len());
                return Err(Error::invalid_argument(message));
            }
        }
    }
    Ok(())
}

fn expect_len<T>(name: &str, array: &[T], len: usize) -> Result<()> {
    ensure!(array.len() == len, "{name} has {} elements, not {len}", array.len());
    Ok(())
}

/// Checks that a number fits the type of indices.
fn expect_range<I: Index>(number: usize) -> Result<()> {
    ensure!(number <= I::MAX, "{number} does not fit the indices' type {}", I::DTYPE);
    Ok(())
}

/// The ops of this module.
pub const OPS: &[&OpDescriptor] = ops![
    csr_to_csc_pattern,
    coo_to_csr_pattern,
    csr_to_coo_pattern,
    bsr_to_csr_pattern,
    dense_to_csr_pattern,
    sparse_permute,
    sparse_unpermute,
];
