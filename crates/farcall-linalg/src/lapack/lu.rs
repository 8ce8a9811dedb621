//! LU factorizations with partial pivoting: `getrf`, and XLA's `LuDecomposition`.
//!
//! The algorithm is recursive: S. Toledo, *Locality of reference in LU decomposition with partial pivoting*,
//! 1997. Blocks of at most [`MAX_LEAF_COLUMNS`] columns are factored column by column.

use faer::MatMut;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::{Arch, Simd, WithSimd};
use farcall_ffi::prelude::*;
use farcall_ffi::{AnyBuffer, dispatch};

use super::block::{Triangle, add_product_on};
use super::interleaved::{Group, Interleave, Lanes, MAX_ORDER, MAX_WIDTH};
use super::scalar::{Scalar, c32, c64, system_routines};
use super::vector;
use crate::batch::{self, Entries, EntriesMut};
use crate::dense::transpose;
use crate::threads::Threads;

/// Maximum number of columns that are factored without products of blocks.
const MAX_LEAF_COLUMNS: usize = 8;

/// Maximum number of rows of a matrix that is factored without products of blocks.
const MAX_SMALL_ROWS: usize = 32;

macro_rules! getrf {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// LU factorizations `x = p·l·u` of matrices, with a permutation `p` of the rows.
        ///
        /// `u` replaces the upper triangle of `x`, and `l`, without its unit diagonal, the rest. Row `i` was
        /// exchanged with row `ipiv[i]`, in ascending order of `i`; both count from 1. `info` is 0, or `k` if
        /// the `k`-th pivot is the first that is exactly zero; the factorization is complete even then.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, m, n] column_major)
            -> (x_out: $dtype[*, m, n] column_major aliases x, ipiv: s32[*, min(m, n)], info: s32[*])
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            ipiv: &mut Buffer<i32>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            factor_all(context, x, ipiv, info)
        }
    )*};
}
getrf! {
    sgetrf, "lapack_sgetrf_ffi", f32, f32;
    dgetrf, "lapack_dgetrf_ffi", f64, f64;
    cgetrf, "lapack_cgetrf_ffi", c32, c64;
    zgetrf, "lapack_zgetrf_ffi", c64, c128;
}

/// LU factorizations of row-major matrices, in programs that JAX exports for TPUs.
///
/// `lu` has both factors, as from `getrf`. Row `i` was exchanged with row `pivots[i]`, in ascending order of
/// `i`. Row `i` of the product of the factors is row `permutation[i]` of `x`. All indices count from 0.
#[handler(name = "LuDecomposition")]
#[signature(
    (x: T[*, m, n]) -> (lu: T[*, m, n], pivots: s32[*, min(m, n)], permutation: s32[*, m])
    where T: f32 | f64 | c64 | c128
)]
pub(crate) fn lu_decomposition(
    context: &Context,
    x: &AnyBuffer,
    lu: &mut AnyBuffer,
    pivots: &mut Buffer<i32>,
    permutation: &mut Buffer<i32>,
) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | c32 | c64 =>
        decompose_all::<T>(context, x.typed()?, lu.typed_mut()?, pivots, permutation))
}

/// Factors the row-major matrices of a batch. Pivots count from 0.
fn decompose_all<T: Scalar>(
    context: &Context,
    x: &Buffer<T>,
    lu: &mut Buffer<T>,
    pivots: &mut Buffer<i32>,
    permutation: &mut Buffer<i32>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = m.min(n);
    batch::expect_dims("lu", lu.dims(), x.dims(), &[m, n])?;
    batch::expect_dims("pivots", pivots.dims(), x.dims(), &[k])?;
    batch::expect_dims("permutation", permutation.dims(), x.dims(), &[m])?;
    if m == 0 || count == 0 {
        return Ok(());
    }
    let matrices = (
        Entries::new(x, m * n),
        EntriesMut::new(lu, m * n),
        EntriesMut::new(pivots, k),
        EntriesMut::new(permutation, m),
    );
    let system = system_routines::<T>()?;
    let threads = Threads::from(context);
    let workspace = || vec![T::zero(); m * n];
    batch::for_each(
        context,
        count,
        m * n * k.max(1),
        matrices,
        workspace,
        |columns, (x, lu, pivots, rows)| {
            transpose(columns, x, n);
            match &system {
                Some(lapack) if !pivots.is_empty() => {
                    lapack.getrf([m, n], columns, pivots);
                    pivots.iter_mut().for_each(|row| *row -= 1);
                }
                _ => _ = factor_matrix(threads, columns, m, pivots),
            }
            transpose(lu, columns, m);
            rows.iter_mut().zip(0..).for_each(|(row, i)| *row = i);
            pivots.iter().enumerate().for_each(|(i, row)| rows.swap(i, *row as usize));
        },
    );
    Ok(())
}

/// Factors the matrices of a batch.
pub(crate) fn factor_all<T: Interleave>(
    context: &Context,
    x: &mut Buffer<T>,
    ipiv: &mut Buffer<i32>,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let pivots = m.min(n);
    batch::expect_dims("ipiv", ipiv.dims(), x.dims(), &[pivots])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    if pivots == 0 || count == 0 {
        info.fill(0);
        return Ok(());
    }
    let system = system_routines::<T>()?;
    let operations = m * n * pivots;
    let threads = Threads::from(context);
    let matrices = (EntriesMut::new(x, m * n), EntriesMut::new(ipiv, pivots), EntriesMut::new(info, 1));
    if m.max(n) <= MAX_ORDER && system.is_none() {
        factor_groups(context, [count, m, n], matrices);
        return Ok(());
    }
    batch::for_each(
        context,
        count,
        operations,
        matrices,
        || (),
        |(), (x, ipiv, info)| {
            if let Some(lapack) = &system {
                info[0] = lapack.getrf([m, n], x, ipiv);
                return;
            }
            let zero = factor_matrix(threads, x, m, ipiv);
            ipiv.iter_mut().for_each(|row| *row += 1);
            info[0] = zero.map_or(0, |column| column as i32 + 1);
        },
    );
    Ok(())
}

/// Factors small matrices of a batch, many at once.
fn factor_groups<T: Interleave>(
    context: &Context,
    [count, m, n]: [usize; 3],
    matrices: (EntriesMut<'_, T>, EntriesMut<'_, i32>, EntriesMut<'_, i32>),
) {
    let k = m.min(n);
    let workspace = || (Group::<T::Lanes>::new(m, n), vec![[0; MAX_WIDTH]; k]);
    let (width, operations) = (T::Lanes::WIDTH, m * n * k);
    batch::for_each_group(context, count, width, operations, matrices, workspace, |(group, rows), parts| {
        let (x, ipiv, info) = parts;
        let x = x.into_elements();
        let (zeros, alone) = group.lu(x, rows);
        let matrices = x.chunks_exact_mut(m * n).zip(ipiv.into_elements().chunks_exact_mut(k));
        for (lane, ((x, pivots), info)) in matrices.zip(info.into_elements()).enumerate() {
            let zero = match alone[lane] {
                true => factor_matrix(Threads::ONE, x, m, pivots),
                false => {
                    pivots.iter_mut().zip(&*rows).for_each(|(pivot, rows)| *pivot = rows[lane] as i32);
                    zeros[lane]
                }
            };
            pivots.iter_mut().for_each(|row| *row += 1);
            *info = zero.map_or(0, |column| column as i32 + 1);
        }
    });
}

/// Factors a column-major matrix with `rows` rows, like [`factor`].
fn factor_matrix<T: Scalar>(
    threads: Threads<'_>,
    a: &mut [T],
    rows: usize,
    pivots: &mut [i32],
) -> Option<usize> {
    if pivots.is_empty() {
        return None;
    }
    match rows <= MAX_SMALL_ROWS {
        true => Arch::new().dispatch(SmallMatrix { a, rows, pivots }),
        false => factor(threads, MatMut::from_column_major_slice_mut(a, rows, a.len() / rows), pivots),
    }
}

/// Factors a matrix. Row `i` is exchanged with row `pivots[i]`, in ascending order; both count from 0.
/// Returns the first column whose pivot is zero.
pub(crate) fn factor<T: Scalar>(
    threads: Threads<'_>,
    mut a: MatMut<'_, T>,
    pivots: &mut [i32],
) -> Option<usize> {
    let (m, n, k) = (a.nrows(), a.ncols(), pivots.len());
    if k <= MAX_LEAF_COLUMNS {
        let (mut leaf, right) = a.rb_mut().split_at_col_mut(k);
        let zero = factor_leaf(leaf.rb_mut(), pivots);
        finish_right(threads, leaf, right, pivots);
        return zero;
    }
    let half = (k / 2).next_multiple_of(MAX_LEAF_COLUMNS).min(k - 1);
    let (first_pivots, second_pivots) = pivots.split_at_mut(half);
    let (mut left, mut right) = a.rb_mut().split_at_col_mut(half);
    let first_zero = factor(threads, left.rb_mut(), first_pivots);
    finish_right(threads, left.rb_mut(), right.rb_mut(), first_pivots);
    let second_zero = factor(threads, right.get_mut(half..m, 0..n - half), second_pivots);
    exchange_rows(left.get_mut(half..m, 0..half), second_pivots);
    second_pivots.iter_mut().for_each(|row| *row += half as i32);
    first_zero.or(second_zero.map(|column| half + column))
}

/// Continues the factorization of columns on their left: `right` becomes the rows of `u`, above a matrix that
/// remains to be factored.
fn finish_right<T: Scalar>(threads: Threads<'_>, left: MatMut<'_, T>, right: MatMut<'_, T>, pivots: &[i32]) {
    let columns = right.ncols();
    if columns == 0 {
        return;
    }
    let (l11, l21) = left.rb().split_at_row(pivots.len());
    let l11 = Triangle::lower(l11).with_unit_diagonal();
    let operations = left.nrows() * pivots.len() * columns;
    threads.by_columns(columns, operations, right, |_, mut right, threads| {
        exchange_rows(right.rb_mut(), pivots);
        let (mut u12, a22) = right.split_at_row_mut(pivots.len());
        l11.solve_in_place(threads, u12.rb_mut());
        add_product_on(threads, a22, -T::one(), l21, u12.rb());
    });
}

/// Exchanges the rows `i` and `pivots[i]` of a matrix, in ascending order of `i`.
fn exchange_rows<T: Scalar>(mut a: MatMut<'_, T>, pivots: &[i32]) {
    for column in a.rb_mut().col_iter_mut() {
        if let Some(column) = column.try_as_col_major_mut() {
            let column = column.as_slice_mut();
            pivots.iter().enumerate().for_each(|(i, row)| column.swap(i, *row as usize));
        }
    }
}

/// Factors a matrix with as many pivots as columns.
fn factor_leaf<T: Scalar>(mut a: MatMut<'_, T>, pivots: &mut [i32]) -> Option<usize> {
    let mut columns: [&mut [T]; MAX_LEAF_COLUMNS] = Default::default();
    for (slot, column) in columns.iter_mut().zip(a.rb_mut().col_iter_mut()) {
        if let Some(column) = column.try_as_col_major_mut() {
            *slot = column.as_slice_mut();
        }
    }
    let columns = &mut columns[..pivots.len()];
    Arch::new().dispatch(Columns { columns, pivots })
}

/// A matrix with contiguous columns of `rows` entries.
struct SmallMatrix<'a, T> {
    a: &'a mut [T],
    rows: usize,
    pivots: &'a mut [i32],
}

impl<T: Scalar> WithSimd for SmallMatrix<'_, T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<usize> {
        let SmallMatrix { a, rows, pivots } = self;
        let mut zero = None;
        for (j, pivot) in pivots.iter_mut().enumerate() {
            let (left, right) = a.split_at_mut((j + 1) * rows);
            let (before, column) = left.split_at_mut(j * rows);
            let row = j + vector::largest(&column[j..]).0;
            *pivot = row as i32;
            if row != j {
                column.swap(j, row);
                before.chunks_exact_mut(rows).for_each(|column| column.swap(j, row));
            }
            if !divide_by_first(simd, &mut column[j..]) {
                zero = zero.or(Some(j));
            }
            for target in right.chunks_exact_mut(rows) {
                target.swap(j, row);
                let factor = T::negative(simd, T::splat(simd, target[j]));
                vector::axpy(simd, &mut target[j + 1..], factor, &column[j + 1..]);
            }
        }
        zero
    }
}

/// The factorization of a matrix that is given by its columns. Returns the first column whose pivot is zero.
struct Columns<'a, 'b, T> {
    columns: &'a mut [&'b mut [T]],
    pivots: &'a mut [i32],
}

impl<T: Scalar> WithSimd for Columns<'_, '_, T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<usize> {
        let Columns { columns, pivots } = self;
        let mut zero = None;
        for j in 0..columns.len() {
            let row = j + vector::largest(&columns[j][j..]).0;
            pivots[j] = row as i32;
            columns.iter_mut().for_each(|column| column.swap(j, row));
            let (left, right) = columns.split_at_mut(j + 1);
            let column = &mut *left[j];
            if !divide_by_first(simd, &mut column[j..]) {
                zero = zero.or(Some(j));
            }
            for target in right {
                let factor = T::negative(simd, T::splat(simd, target[j]));
                vector::axpy(simd, &mut target[j + 1..], factor, &column[j + 1..]);
            }
        }
        zero
    }
}

/// Divides a column by its first entry, the pivot, which is left unchanged. Multiplies by the reciprocal of
/// the pivot if the reciprocal does not overflow. Returns false if the pivot is zero.
#[inline(always)]
fn divide_by_first<S: Simd, T: Scalar>(simd: S, column: &mut [T]) -> bool {
    let (pivot, below) = (column[0], &mut column[1..]);
    if pivot == T::zero() {
        return false;
    }
    if pivot.is_invertible() {
        vector::scale(simd, below, T::one().over(pivot));
    } else {
        below.iter_mut().for_each(|number| *number = number.over(pivot));
    }
    true
}
