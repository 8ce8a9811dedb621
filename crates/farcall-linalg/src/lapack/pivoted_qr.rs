//! QR factorizations with column pivoting: `geqp3`.
//!
//! Panels are factored as in G. Quintana-Ortí, X. Sun and C. H. Bischof, *A BLAS-3 version of the QR
//! factorization with column pivoting*, 1998: the columns right of a panel are updated once for all its
//! reflectors, and only the rows that the choice of pivots needs are updated at once. Norms of columns are
//! updated with the formula of Z. Drmač and Z. Bujanović, *On the failure of rank-revealing QR factorization
//! software*, LAPACK Working Note 176, 2008.

use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::{Arch, Simd, WithSimd};
use faer::{Mat, MatMut, MatRef};
use farcall_ffi::prelude::*;

use super::block::{add_product, add_product_on, adjoint, product};
use super::interleaved::{Alone, Group, Interleave, Lanes, MAX_ORDER, MAX_WIDTH};
use super::qr;
use super::reflector::leaf::reflect;
use super::reflector::{Block, reflector};
use super::scalar::{RealScalar, Scalar, c32, c64, system_routines};
use super::vector;
use crate::batch::{self, EntriesMut};
use crate::threads::Threads;

/// Maximum number of columns of a panel.
const MAX_PANEL_COLUMNS: usize = 32;

/// Minimum number of multiplications in a part of a product with a vector. Such a product waits for memory.
const MIN_SHARED_OPERATIONS: usize = 1 << 17;

macro_rules! geqp3 {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// QR factorizations `x·p = q·r` of matrices, with a permutation `p` of the columns that makes the
        /// diagonal of `r` decrease.
        ///
        /// `x_out` and `tau` have the form of the results of `geqrf`. Column `i` of `x·p` is column
        /// `jpvt_out[i]` of `x`, counted from 1. Columns with a nonzero entry in `jpvt` are moved to the
        /// front and are not pivoted.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, m, n] column_major, jpvt: s32[*, n])
            -> (x_out: $dtype[*, m, n] column_major aliases x, jpvt_out: s32[*, n] aliases jpvt,
                tau: $dtype[*, min(m, n)])
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            jpvt: &mut InOut<Buffer<i32>>,
            tau: &mut Buffer<$ty>,
        ) -> Result<()> {
            factor_all(context, x, jpvt, tau)
        }
    )*};
}
geqp3! {
    sgeqp3, "lapack_sgeqp3_ffi", f32, f32;
    dgeqp3, "lapack_dgeqp3_ffi", f64, f64;
    cgeqp3, "lapack_cgeqp3_ffi", c32, c64;
    zgeqp3, "lapack_zgeqp3_ffi", c64, c128;
}

fn factor_all<T: Interleave>(
    context: &Context,
    x: &mut Buffer<T>,
    jpvt: &mut Buffer<i32>,
    tau: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = m.min(n);
    batch::expect_dims("jpvt", jpvt.dims(), x.dims(), &[n])?;
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    if count == 0 {
        return Ok(());
    }
    if k == 0 {
        // Without rows, the columns keep their order, except that fixed ones come first.
        jpvt.as_mut_slice().chunks_exact_mut(n.max(1)).for_each(|jpvt| {
            order_fixed(jpvt, |_, _| ());
        });
        return Ok(());
    }
    let matrices = (EntriesMut::new(x, m * n), EntriesMut::new(jpvt, n), EntriesMut::new(tau, k));
    let system = system_routines::<T>()?;
    if m.max(n) <= MAX_ORDER && system.is_none() {
        factor_groups(context, [count, m, n], matrices);
        return Ok(());
    }
    let threads = Threads::from(context);
    let workspace = || (Pivoting::new(threads, m, n), system.clone());
    batch::for_each(
        context,
        count,
        4 * m * n * k,
        matrices,
        workspace,
        |(pivoting, system), (x, jpvt, tau)| {
            if let Some(lapack) = system {
                lapack.geqp3([m, n], x, jpvt, tau);
                return;
            }
            pivoting.factor(MatMut::from_column_major_slice_mut(x, m, n), jpvt, tau);
        },
    );
    Ok(())
}

/// Factors small matrices of a batch, many at once. Matrices with fixed columns are factored alone.
fn factor_groups<T: Interleave>(
    context: &Context,
    [count, m, n]: [usize; 3],
    matrices: (EntriesMut<'_, T>, EntriesMut<'_, i32>, EntriesMut<'_, T>),
) {
    let k = m.min(n);
    let workspace = || (Group::<T::Lanes>::new(m, n), vec![[0; MAX_WIDTH]; k], vec![T::Lanes::ZERO; k], None);
    let (width, operations) = (T::Lanes::WIDTH, 4 * m * n * k);
    batch::for_each_group(context, count, width, operations, matrices, workspace, |memory, parts| {
        let (group, pivots, taus, pivoting) = memory;
        let (x, jpvt, tau) = parts;
        let (x, jpvt, tau) = (x.into_elements(), jpvt.into_elements(), tau.into_elements());
        let mut has_fixed = Alone::default();
        for (jpvt, has_fixed) in jpvt.chunks_exact(n).zip(&mut has_fixed) {
            *has_fixed = jpvt.iter().any(|fixed| *fixed != 0);
        }
        let alone = group.pivoted_qr(x, has_fixed, pivots, taus);
        let matrices = x.chunks_exact_mut(m * n).zip(jpvt.chunks_exact_mut(n)).zip(tau.chunks_exact_mut(k));
        for (lane, ((x, jpvt), tau)) in matrices.enumerate() {
            if alone[lane] {
                let pivoting = pivoting.get_or_insert_with(|| Pivoting::new(Threads::ONE, m, n));
                pivoting.factor(MatMut::from_column_major_slice_mut(x, m, n), jpvt, tau);
                continue;
            }
            jpvt.iter_mut().zip(1..).for_each(|(jpvt, j)| *jpvt = j);
            pivots.iter().enumerate().for_each(|(j, pivots)| jpvt.swap(j, pivots[lane]));
            tau.iter_mut().zip(&*taus).for_each(|(tau, taus)| *tau = taus.get(lane));
        }
    });
}

/// Orders columns: those with a nonzero entry in `jpvt` come first. `jpvt` becomes the original positions,
/// counted from 1. Returns the number of these columns.
fn order_fixed(jpvt: &mut [i32], mut exchange: impl FnMut(usize, usize)) -> usize {
    let mut fixed = 0;
    for j in 0..jpvt.len() {
        let is_fixed = jpvt[j] != 0;
        jpvt[j] = j as i32 + 1;
        if is_fixed {
            if j != fixed {
                exchange(j, fixed);
                jpvt.swap(j, fixed);
            }
            fixed += 1;
        }
    }
    fixed
}

/// Memory for a factorization.
#[derive(Debug)]
struct Pivoting<'p, T: Scalar> {
    threads: Threads<'p>,
    block: Block<T>,
    /// Norms of the parts of columns that remain to be factored, updated row by row.
    norms: Vec<T::Real>,
    /// These norms when they were last computed from the entries.
    computed_norms: Vec<T::Real>,
    /// Coefficients of the panel's reflectors in the columns right of them.
    f: Mat<T>,
    products: Mat<T>,
    /// Vector of the current reflector, with its leading 1.
    v: Mat<T>,
}

impl<'p, T: Scalar> Pivoting<'p, T> {
    fn new(threads: Threads<'p>, m: usize, n: usize) -> Self {
        Pivoting {
            threads,
            block: Block::new(m, n),
            norms: vec![T::Real::ZERO; n],
            computed_norms: vec![T::Real::ZERO; n],
            f: Mat::zeros(n, MAX_PANEL_COLUMNS),
            products: Mat::zeros(MAX_PANEL_COLUMNS, 1),
            v: Mat::zeros(m, 1),
        }
    }

    fn factor(&mut self, mut a: MatMut<'_, T>, jpvt: &mut [i32], tau: &mut [T]) {
        let k = tau.len();
        let fixed = order_fixed(jpvt, |i, j| exchange_columns(a.rb_mut(), i, j)).min(k);
        if fixed > 0 {
            let (left, right) = a.rb_mut().split_at_col_mut(fixed);
            let (mut left, tau) = (left, &mut tau[..fixed]);
            qr::factor(self.threads, left.rb_mut(), tau, &mut self.block);
            qr::multiply(self.threads, left.rb(), tau, right, true, true, &mut self.block);
        }
        for j in fixed..a.ncols() {
            self.norms[j] = column_norm(a.rb(), fixed, j);
            self.computed_norms[j] = self.norms[j];
        }
        if a.nrows() * a.ncols() <= qr::MAX_SMALL_ENTRIES {
            return self.factor_small(a, fixed, jpvt, tau);
        }
        let mut start = fixed;
        while start < k {
            let width = MAX_PANEL_COLUMNS.min(k - start);
            start += self.panel(a.rb_mut(), start, width, jpvt, &mut tau[start..start + width]);
        }
    }

    /// Factors a small matrix from column `start` on.
    fn factor_small(&mut self, mut a: MatMut<'_, T>, start: usize, jpvt: &mut [i32], tau: &mut [T]) {
        for (j, tau) in tau.iter_mut().enumerate().skip(start) {
            let pivot = j + first_largest(&self.norms[j..]);
            if pivot != j {
                exchange_columns(a.rb_mut(), j, pivot);
                jpvt.swap(j, pivot);
                self.norms[pivot] = self.norms[j];
                self.computed_norms[pivot] = self.computed_norms[j];
            }
            let norms = self.norms[j + 1..].iter_mut().zip(&mut self.computed_norms[j + 1..]);
            *tau = Arch::new().dispatch(Reflection { a: a.rb_mut().get_mut(j.., j..), norms });
        }
    }

    /// Factors up to `width` columns from column `start` on. Returns their number, which is smaller if the
    /// norm of a column must be computed from its entries.
    fn panel(
        &mut self,
        mut a: MatMut<'_, T>,
        start: usize,
        width: usize,
        jpvt: &mut [i32],
        tau: &mut [T],
    ) -> usize {
        let (m, n) = (a.nrows(), a.ncols());
        self.f.fill(T::zero());
        // Columns whose norms have lost their digits.
        let mut lost = Vec::new();
        let mut done = 0;
        while done < width && lost.is_empty() {
            let at = start + done;
            let pivot = at + first_largest(&self.norms[at..]);
            if pivot != at {
                exchange_columns(a.rb_mut(), at, pivot);
                for l in 0..done {
                    let (x, y) = (self.f[(at - start, l)], self.f[(pivot - start, l)]);
                    (self.f[(at - start, l)], self.f[(pivot - start, l)]) = (y, x);
                }
                jpvt.swap(at, pivot);
                self.norms[pivot] = self.norms[at];
                self.computed_norms[pivot] = self.computed_norms[at];
            }
            tau[done] = self.column(a.rb_mut(), start, done);
            self.downdate(a.rb(), at, &mut lost);
            done += 1;
        }
        if start + done < m.min(n) {
            let (left, mut right) = a.rb_mut().split_at_col_mut(start + done);
            let vectors = left.rb().get(start + done.., start..);
            let f = adjoint(self.f.get(done..n - start, ..done));
            let rest = right.rb_mut().get_mut(start + done.., ..);
            add_product_on(self.threads, rest, -T::one(), vectors, f);
        }
        for j in lost {
            self.norms[j] = column_norm(a.rb(), start + done, j);
            self.computed_norms[j] = self.norms[j];
        }
        done
    }

    /// Computes the reflector of a panel's column, its coefficients `f`, and its row of `r`.
    fn column(&mut self, mut a: MatMut<'_, T>, start: usize, done: usize) -> T {
        let (m, n, at) = (a.nrows(), a.ncols(), start + done);
        if done > 0 {
            let (left, mut right) = a.rb_mut().split_at_col_mut(at);
            let vectors = left.rb().get(at.., start..);
            let f = self.f.get(done..done + 1, ..done);
            add_product(right.rb_mut().get_mut(at.., ..1), -T::one(), vectors, adjoint(f));
        }
        let tau = match a.rb_mut().col_mut(at).try_as_col_major_mut() {
            Some(column) => Arch::new().dispatch(Reflector(&mut column.as_slice_mut()[at..])),
            None => T::zero(),
        };
        let mut v = self.v.get_mut(..m - at, ..);
        v.rb_mut().col_mut(0).copy_from(a.rb().col(at).get(at..));
        v[(0, 0)] = T::one();
        let v = v.rb();
        let (left, mut right) = a.rb_mut().split_at_col_mut(at + 1);
        let f = self.f.get_mut(done + 1..n - start, done..done + 1).transpose_mut();
        let columns = right.rb().get(at.., ..);
        self.threads.by_columns_of(
            MIN_SHARED_OPERATIONS,
            columns.ncols(),
            (m - at) * (n - at),
            f,
            |start, f, _| {
                let columns = columns.subcols(start, f.ncols());
                product(f.transpose_mut(), tau, adjoint(columns), v);
            },
        );
        if done > 0 {
            let mut products = self.products.get_mut(..done, ..);
            product(products.rb_mut(), -tau, adjoint(left.rb().get(at.., start..at)), v);
            let (f, column) = self.f.rb_mut().split_at_col_mut(done);
            let f = f.rb().get(..n - start, ..);
            add_product(column.get_mut(..n - start, ..1), T::one(), f, products.rb());
        }
        // The row of `r` right of the diagonal. The vectors of the panel have the entry 1 in this column.
        let f = self.f.get(done + 1..n - start, ..done + 1);
        let row = right.rb_mut().get_mut(at..at + 1, ..);
        let vectors = left.rb().get(at..at + 1, start..at);
        let (f_left, f_last) = f.split_at_col(done);
        let mut row = row;
        if done > 0 {
            add_product(row.rb_mut(), -T::one(), vectors, adjoint(f_left));
        }
        for j in 0..row.ncols() {
            row[(0, j)] -= f_last[(j, 0)].conjugate();
        }
        tau
    }

    /// Updates the norms of the columns right of column `at` for the removal of row `at`. Lists the columns
    /// whose norms must be computed from the entries.
    fn downdate(&mut self, a: MatRef<'_, T>, at: usize, lost: &mut Vec<usize>) {
        for j in at + 1..a.ncols() {
            let norm = &mut self.norms[j];
            match without_entry(*norm, self.computed_norms[j], a[(at, j)]) {
                Some(remaining) => *norm = remaining,
                None => lost.push(j),
            }
        }
    }
}

/// Returns the norm of a column after the removal of `entry`, or `None` if too many digits of the norm are
/// lost. `norm` is the norm before the removal, and `computed` the norm that was last computed from the
/// entries.
#[inline(always)]
fn without_entry<T: Scalar>(norm: T::Real, computed: T::Real, entry: T) -> Option<T::Real> {
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    if norm == zero {
        return Some(norm);
    }
    let ratio = entry.modulus() / norm;
    let remaining = Float::max((one + ratio) * (one - ratio), zero);
    let loss = norm / computed;
    // NaNs remain.
    let is_lost = remaining * loss * loss <= T::Real::EPSILON.sqrt();
    (!is_lost).then(|| norm * remaining.sqrt())
}

/// The computation of a reflector from a vector.
struct Reflector<'a, T>(&'a mut [T]);

impl<T: Scalar> WithSimd for Reflector<'_, T> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T {
        let (head, tail) = self.0.split_at_mut(1);
        reflector(simd, &mut head[0], tail)
    }
}

/// The computation of the reflector of the first column, its application to the other columns, and the update
/// of their norms. Returns `tau`.
struct Reflection<'a, T, N> {
    a: MatMut<'a, T>,
    norms: N,
}

impl<'n, T: Scalar, N: Iterator<Item = (&'n mut T::Real, &'n mut T::Real)>> WithSimd
    for Reflection<'_, T, N>
{
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T {
        let (first, right) = self.a.split_at_col_mut(1);
        let Some(first) = first.col_mut(0).try_as_col_major_mut() else { return T::zero() };
        let (head, v) = first.as_slice_mut().split_at_mut(1);
        let tau = reflector(simd, &mut head[0], v);
        for (column, (norm, computed)) in right.col_iter_mut().zip(self.norms) {
            let Some(column) = column.try_as_col_major_mut() else { return T::zero() };
            let column = column.as_slice_mut();
            reflect(simd, v, tau.conjugate(), column);
            *norm = match without_entry(*norm, *computed, column[0]) {
                Some(remaining) => remaining,
                None => {
                    *computed = vector::norm(simd, &column[1..]);
                    *computed
                }
            };
        }
        tau
    }
}

/// The norm of a vector.
struct Norm<'a, T>(&'a [T]);

impl<T: Scalar> WithSimd for Norm<'_, T> {
    type Output = T::Real;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T::Real {
        vector::norm(simd, self.0)
    }
}

/// Returns the first index of the largest number. NaNs are skipped.
fn first_largest<R: RealScalar>(numbers: &[R]) -> usize {
    let mut best = 0;
    for (i, number) in numbers.iter().enumerate() {
        if *number > numbers[best] {
            best = i;
        }
    }
    best
}

/// Returns the norm of the entries of a column from `row` on.
fn column_norm<T: Scalar>(a: MatRef<'_, T>, row: usize, column: usize) -> T::Real {
    match a.col(column).try_as_col_major() {
        Some(column) => Arch::new().dispatch(Norm(&column.as_slice()[row..])),
        None => T::Real::ZERO,
    }
}

fn exchange_columns<T: Scalar>(mut a: MatMut<'_, T>, i: usize, j: usize) {
    let (left, right) = a.rb_mut().split_at_col_mut(i.max(j));
    let (x, y) = (left.col_mut(i.min(j)), right.col_mut(0));
    x.iter_mut().zip(y.iter_mut()).for_each(|(x, y)| std::mem::swap(x, y));
}
