//! Sums of CSR matrices, and the patterns of sums and products.
//!
//! The number of entries of a sum or product depends on the patterns of the operands, but sizes in a program
//! are fixed. Hence one op computes the pattern in arrays of a given size, and other ops compute values for a
//! known pattern.

use farcall_ffi::prelude::*;

use crate::compressed::{Compressed, entry};
use crate::form::for_types;
use crate::number::{Index, Scalar};
use crate::samples;

/// The sum of two CSR matrices of `k` columns, at the entries of a pattern that has all of their entries. If
/// an entry occurs several times in the pattern, the first has the sum, and the others are 0.
#[handler(name = "csr_add", zeroed)]
#[signature((a: T[*, e], a_columns: I[e], a_starts: I[s], b: T[*, f], b_columns: I[f], b_starts: I[s],
    columns: I[g], starts: I[s], k: i64) -> (c: T[*, g])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; k >= 0)]
#[transpose(csr_add_transpose)]
#[samples(samples::csr_add)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_add(
    a: &AnyBuffer,
    a_columns: &AnyBuffer,
    a_starts: &AnyBuffer,
    b: &AnyBuffer,
    b_columns: &AnyBuffer,
    b_starts: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    k: i64,
    c: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), a_columns.dtype(), T, I => {
        csr_add_typed::<T, I>(
            a.typed()?,
            a_columns.typed()?,
            a_starts.typed()?,
            b.typed()?,
            b_columns.typed()?,
            b_starts.typed()?,
            columns.typed()?,
            starts.typed()?,
            k,
            c.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_add_typed<T: Scalar, I: Index>(
    a: &Buffer<T>,
    a_columns: &Buffer<I, 1>,
    a_starts: &Buffer<I, 1>,
    b: &Buffer<T>,
    b_columns: &Buffer<I, 1>,
    b_starts: &Buffer<I, 1>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    k: i64,
    c: &mut Buffer<T>,
) -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    let pattern = matrix(["starts", "columns"], starts, columns, k)?;
    let terms = [
        (matrix(["a_starts", "a_columns"], a_starts, a_columns, k)?, &a[..]),
        (matrix(["b_starts", "b_columns"], b_starts, b_columns, k)?, &b[..]),
    ];
    for (term, values) in terms {
        let places = places(&pattern, &term)?;
        let batches = batches(&places, values.len(), c.len(), columns.len())?;
        for batch in 0..batches {
            let values = entry(values, batch, places.len());
            let c = &mut c[batch * columns.len()..(batch + 1) * columns.len()];
            for (value, place) in values.iter().zip(&places).filter(|(_, place)| **place != NOWHERE) {
                c[*place] = c[*place].plus(*value);
            }
        }
    }
    Ok(())
}

/// The transpose of `csr_add`: the values that the entries of both matrices have in the sum.
#[handler(name = "csr_add_transpose", zeroed)]
#[signature((c: T[*, g], a_columns: I[e], a_starts: I[s], b_columns: I[f], b_starts: I[s], columns: I[g],
    starts: I[s], k: i64) -> (a: T[*, e], b: T[*, f])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; k >= 0)]
#[transpose(csr_add)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_add_transpose(
    c: &AnyBuffer,
    a_columns: &AnyBuffer,
    a_starts: &AnyBuffer,
    b_columns: &AnyBuffer,
    b_starts: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    k: i64,
    a: &mut AnyBuffer,
    b: &mut AnyBuffer,
) -> Result<()> {
    for_types!(c.dtype(), a_columns.dtype(), T, I => {
        csr_add_transpose_typed::<T, I>(
            c.typed()?,
            a_columns.typed()?,
            a_starts.typed()?,
            b_columns.typed()?,
            b_starts.typed()?,
            columns.typed()?,
            starts.typed()?,
            k,
            a.typed_mut()?,
            b.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_add_transpose_typed<T: Scalar, I: Index>(
    c: &Buffer<T>,
    a_columns: &Buffer<I, 1>,
    a_starts: &Buffer<I, 1>,
    b_columns: &Buffer<I, 1>,
    b_starts: &Buffer<I, 1>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    k: i64,
    a: &mut Buffer<T>,
    b: &mut Buffer<T>,
) -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    let pattern = matrix(["starts", "columns"], starts, columns, k)?;
    let terms = [
        (matrix(["a_starts", "a_columns"], a_starts, a_columns, k)?, &mut a[..]),
        (matrix(["b_starts", "b_columns"], b_starts, b_columns, k)?, &mut b[..]),
    ];
    for (term, values) in terms {
        let places = places(&pattern, &term)?;
        let batches = batches(&places, values.len(), c.len(), columns.len())?;
        for batch in 0..batches {
            let values = &mut values[batch * places.len()..(batch + 1) * places.len()];
            let c = entry(c, batch, columns.len());
            for (value, place) in values.iter_mut().zip(&places).filter(|(_, place)| **place != NOWHERE) {
                *value = c[*place];
            }
        }
    }
    Ok(())
}

/// The pattern of the sum of two CSR matrices of `k` columns, with columns in ascending order. It must have
/// at most `entries` entries; columns after the last start are 0.
#[handler(name = "csr_add_pattern")]
#[signature((a_columns: I[e], a_starts: I[s], b_columns: I[f], b_starts: I[s], k: i64, entries: i64)
    -> (columns: I[entries], starts: I[s]) where I: s32 | s64; s >= 1; k >= 0; entries >= 0)]
#[samples(samples::csr_add_pattern)]
pub(crate) fn csr_add_pattern<I: Index>() -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    let a = matrix(["a_starts", "a_columns"], a_starts, a_columns, k)?;
    let b = matrix(["b_starts", "b_columns"], b_starts, b_columns, k)?;
    ensure!(b.majors() == a.majors(), "a has {} rows, but b has {}", a.majors(), b.majors());
    union(columns, starts, entries, a.index_limit().max(b.index_limit()), |row, add| {
        a.row_indices(row).iter().chain(b.row_indices(row)).for_each(|column| add(column.at()));
    })
}

/// The pattern of the product of two CSR matrices, of which the second has `k` columns. Columns are in
/// ascending order. The pattern must have at most `entries` entries; columns after the last start are 0.
#[handler(name = "csr_csr_matmul_pattern")]
#[signature((a_columns: I[e], a_starts: I[s], b_columns: I[f], b_starts: I[r], k: i64, entries: i64)
    -> (columns: I[entries], starts: I[s]) where I: s32 | s64; s >= 1; r >= 1; k >= 0; entries >= 0)]
#[samples(samples::csr_csr_matmul_pattern)]
pub(crate) fn csr_csr_matmul_pattern<I: Index>() -> Result<()> {
    let k = usize::try_from(k).unwrap_or(0);
    let b = matrix(["b_starts", "b_columns"], b_starts, b_columns, k)?;
    let a = matrix(["a_starts", "a_columns"], a_starts, a_columns, b.majors())?;
    union(columns, starts, entries, b.index_limit(), |row, add| {
        let rows = a.row_indices(row).iter().map(|column| b.row_indices(column.at()));
        rows.flatten().for_each(|column| add(column.at()));
    })
}

/// Place of an entry that belongs to no row.
const NOWHERE: usize = usize::MAX;

/// Returns a matrix whose indices have been checked.
fn matrix<'a, I: Index>(
    names: [&'static str; 2],
    starts: &'a [I],
    indices: &'a [I],
    minors: usize,
) -> Result<Compressed<'a, I>> {
    ensure!(!starts.is_empty(), "{} is empty, but has an element more than the matrix has rows", names[0]);
    let matrix = Compressed { starts, indices, names, minors };
    matrix.check()?;
    Ok(matrix)
}

/// Returns the position in the pattern of each entry of a matrix.
fn places<I: Index>(pattern: &Compressed<'_, I>, matrix: &Compressed<'_, I>) -> Result<Vec<usize>> {
    let rows = [pattern, matrix].map(Compressed::majors);
    ensure!(rows[0] == rows[1], "{} and {} are those of {rows:?} rows", pattern.names[0], matrix.names[0]);
    let mut places = vec![NOWHERE; matrix.indices.len()];
    let mut positions = Positions::new(pattern)?;
    for row in 0..rows[0] {
        positions.enter(pattern, row);
        for at in matrix.range(row) {
            let place = positions.of(matrix.indices[at].at());
            places[at] = place.ok_or_else(|| {
                let (name, column) = (matrix.names[1], matrix.indices[at]);
                Error::invalid_argument(format!(
                    "{name}[{at}] is {column}, which row {row} of the pattern does not have"
                ))
            })?;
        }
        positions.leave(pattern, row);
    }
    Ok(places)
}

/// Checks the numbers of values, and returns the size of the batch.
fn batches(places: &[usize], values: usize, results: usize, entries: usize) -> Result<usize> {
    let count = if places.is_empty() { 0 } else { values / places.len() };
    let fits = values == count * places.len() && (places.is_empty() || results == count * entries);
    ensure!(fits, "{values} values and {results} values of the sum are those of different batches");
    Ok(count)
}

/// Writes a pattern in which row `row` has the columns that `each(row, add)` adds. All are below `limit`.
fn union<I: Index>(
    columns: &mut [I],
    starts: &mut [I],
    entries: i64,
    limit: usize,
    each: impl Fn(usize, &mut dyn FnMut(usize)),
) -> Result<()> {
    ensure!(
        i64::try_from(columns.len()) == Ok(entries),
        "columns has {} elements, but entries = {entries}",
        columns.len()
    );
    ensure!(columns.len() <= I::MAX, "{entries} does not fit the indices' type {}", I::DTYPE);
    let (mut last_row, mut row_columns, mut count) = (filled(limit)?, Vec::new(), 0);
    if let Some(start) = starts.first_mut() {
        *start = I::of(0);
    }
    for row in 0..starts.len().saturating_sub(1) {
        row_columns.clear();
        each(row, &mut |column| {
            if std::mem::replace(&mut last_row[column], row) != row {
                row_columns.push(column);
            }
        });
        row_columns.sort_unstable();
        if let Some(own) = columns.get_mut(count..count + row_columns.len()) {
            own.iter_mut().zip(&row_columns).for_each(|(to, column)| *to = I::of(*column));
        }
        count += row_columns.len();
        starts[row + 1] = I::of(count.min(columns.len()));
    }
    ensure!(count <= columns.len(), "the pattern has {count} entries, but entries = {entries}");
    columns[count..].fill(I::of(0));
    Ok(())
}

/// Returns an array of [`NOWHERE`].
fn filled(len: usize) -> Result<Vec<usize>> {
    let mut array = Vec::new();
    let too_much =
        |_| Error::resource_exhausted(format!("an array with an element for each of {len} columns"));
    array.try_reserve_exact(len).map_err(too_much)?;
    array.resize(len, NOWHERE);
    Ok(array)
}

/// Positions of the entries of one row of a pattern, by their columns.
pub(crate) struct Positions(Vec<usize>);

impl Positions {
    /// Makes positions for the columns of a pattern.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is not enough memory.
    pub(crate) fn new<I: Index>(pattern: &Compressed<'_, I>) -> Result<Self> {
        filled(pattern.index_limit()).map(Positions)
    }

    /// Enters the entries of a row. If a column occurs several times, its first entry counts.
    pub(crate) fn enter<I: Index>(&mut self, pattern: &Compressed<'_, I>, row: usize) {
        for at in pattern.range(row).rev() {
            self.0[pattern.indices[at].at()] = at;
        }
    }

    /// Removes the entries of the row that was entered.
    pub(crate) fn leave<I: Index>(&mut self, pattern: &Compressed<'_, I>, row: usize) {
        for index in pattern.row_indices(row) {
            self.0[index.at()] = NOWHERE;
        }
    }

    /// Returns the position of the entry in a column.
    #[inline(always)]
    pub(crate) fn of(&self, column: usize) -> Option<usize> {
        self.0.get(column).copied().filter(|at| *at != NOWHERE)
    }
}

/// The ops of this module.
pub const OPS: &[&OpDescriptor] = ops![csr_add, csr_add_transpose, csr_add_pattern, csr_csr_matmul_pattern];
