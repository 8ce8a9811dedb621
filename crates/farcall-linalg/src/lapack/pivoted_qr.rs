//! QR factorizations with column pivoting: `geqp3`.
//!
//! Panels are factored as in G. Quintana-Ortí, X. Sun and C. H. Bischof, *A BLAS-3 version of the QR
//! factorization with column pivoting*, 1998: the columns right of a panel are updated once for all its
//! reflectors, and only the rows that the choice of pivots needs are updated at once. Norms of columns are
//! updated with the formula of Z. Drmač and Z. Bujanović, *On the failure of rank-revealing QR factorization
//! software*, LAPACK Working Note 176, 2008.

use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Mat, MatMut, MatRef};
use farcall_ffi::prelude::*;
use farcall_ffi::simd;

use super::block::{add_product, add_product_on, adjoint, product};
use super::qr;
use super::reflector::{self, Block};
use super::scalar::{RealScalar, Scalar, c32, c64, system_routines};
use super::vector;
use crate::batch::{self, EntriesMut};
use crate::threads::Threads;

/// Maximum number of columns of a panel.
const MAX_PANEL_COLUMNS: usize = 32;

macro_rules! geqp3 {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// QR factorizations `x·p = q·r` of matrices, with a permutation `p` of the columns that makes the
        /// diagonal of `r` decrease.
        ///
        /// `x_out` and `tau` have the form of the results of `geqrf`. Column `i` of `x·p` is column
        /// `jpvt_out[i]` of `x`, counted from 1. Columns with a nonzero entry in `jpvt` are moved to the front
        /// and are not pivoted.
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

fn factor_all<T: Scalar>(
    context: &Context,
    x: &mut Buffer<T>,
    jpvt: &mut Buffer<i32>,
    tau: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = m.min(n);
    batch::expect_dims("jpvt", jpvt.dims(), x.dims(), &[n])?;
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    if k == 0 {
        // Without rows, the columns keep their order, except that fixed ones come first.
        jpvt.as_mut_slice().chunks_exact_mut(n.max(1)).for_each(|jpvt| {
            order_fixed(jpvt, |_, _| ());
        });
        return Ok(());
    }
    let matrices = (EntriesMut::new(x, m * n), EntriesMut::new(jpvt, n), EntriesMut::new(tau, k));
    let system = system_routines::<T>()?;
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
        let mut start = fixed;
        while start < k {
            let width = MAX_PANEL_COLUMNS.min(k - start);
            start += self.panel(a.rb_mut(), start, width, jpvt, &mut tau[start..start + width]);
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
            Some(column) => {
                let (head, tail) = column.as_slice_mut()[at..].split_at_mut(1);
                simd::vectorized!(reflector::reflector(&mut head[0], tail))
            }
            None => T::zero(),
        };
        let mut v = self.v.get_mut(..m - at, ..);
        v.rb_mut().col_mut(0).copy_from(a.rb().col(at).get(at..));
        v[(0, 0)] = T::one();
        let v = v.rb();
        let (left, mut right) = a.rb_mut().split_at_col_mut(at + 1);
        product(
            self.f.get_mut(done + 1..n - start, done..done + 1),
            tau,
            adjoint(right.rb().get(at.., ..)),
            v,
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
        let (zero, one) = (T::Real::ZERO, T::Real::ONE);
        let threshold = T::Real::EPSILON.sqrt();
        for j in at + 1..a.ncols() {
            let norm = self.norms[j];
            if norm == zero {
                continue;
            }
            let ratio = a[(at, j)].modulus() / norm;
            let remaining = Float::max((one + ratio) * (one - ratio), zero);
            let loss = norm / self.computed_norms[j];
            if remaining * loss * loss <= threshold {
                lost.push(j);
            } else {
                self.norms[j] = norm * remaining.sqrt();
            }
        }
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
        Some(column) => simd::vectorized!(vector::norm(&column.as_slice()[row..])),
        None => T::Real::ZERO,
    }
}

fn exchange_columns<T: Scalar>(mut a: MatMut<'_, T>, i: usize, j: usize) {
    let (left, right) = a.rb_mut().split_at_col_mut(i.max(j));
    let (x, y) = (left.col_mut(i.min(j)), right.col_mut(0));
    x.iter_mut().zip(y.iter_mut()).for_each(|(x, y)| std::mem::swap(x, y));
}
