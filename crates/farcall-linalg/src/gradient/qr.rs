//! Derivatives of QR decompositions.
//!
//! With `q` of `k` columns, `r = [u, v]` consists of a square part `u` of `k` columns and the rest `v`. For
//! the first `k` columns of `x`, the equation `dx·u⁻¹ = dq + q·(dr·u⁻¹)`, where `qᵀ·dq` is antisymmetric and
//! `dr·u⁻¹` is upper triangular, determines `dq` and `dr` (S. F. Walter, L. Lehmann, *Algorithmic
//! differentiation of linear algebra functions*, 2010). The other columns of `x` are `q·v`: J. Roberts, L.
//! Roberts, *QR and LQ decomposition matrix backpropagation algorithms for square, wide, and deep matrices*,
//! arXiv:2009.10071.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use farcall_ffi::prelude::*;

use crate::batch::{self, Entries, EntriesMut};
use crate::dense;
use crate::number::{Number, Real};

/// The cotangent of `x` for cotangents of `q` and `r`. The first `k` columns of `r` must be invertible.
#[handler(name = "qr_vjp")]
#[signature(
    (q: T[*, m, k], r: T[*, k, n], dq: T[*, m, k], dr: T[*, k, n]) -> (dx: T[*, m, n])
    where T: f16 | bf16 | f32 | f64; k <= n
)]
pub(crate) fn qr_vjp<T: Number>(
    context: &Context,
    q: &Buffer<T>,
    r: &Buffer<T>,
    dq: &Buffer<T>,
    dr: &Buffer<T>,
    dx: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n, k] = sizes(q, r, dx.dims())?;
    batch::expect_dims("dq", dq.dims(), q.dims(), &[m, k])?;
    batch::expect_dims("dr", dr.dims(), q.dims(), &[k, n])?;
    if dx.is_empty() {
        return Ok(());
    }
    let (mut qs, mut rs) = (Entries::new(q, m * k), Entries::new(r, k * n));
    let (mut dqs, mut drs) = (Entries::new(dq, m * k), Entries::new(dr, k * n));
    let mut dxs = EntriesMut::new(dx, m * n);
    let take = |size| (qs.take(size), rs.take(size), dqs.take(size), drs.take(size), dxs.take(size));
    batch::in_parallel(context, count, 8 * m * n * k, take, |size, (qs, rs, dqs, drs, mut dxs)| {
        for i in 0..size {
            let [q, dq] = [&qs, &dqs].map(|entries| dense::read(entries.get(i), m, k));
            let [r, dr] = [&rs, &drs].map(|entries| dense::read(entries.get(i), k, n));
            let dx = pull_back(&q, &r, dq, &dr);
            dense::write(dxs.get(i), n, |i, j| T::round(dx[(i, j)]));
        }
    });
    Ok(())
}

/// The tangents of `q` and `r` for a tangent of `x`. The first `k` columns of `r` must be invertible.
#[handler(name = "qr_jvp")]
#[signature(
    (q: T[*, m, k], r: T[*, k, n], dx: T[*, m, n]) -> (dq: T[*, m, k], dr: T[*, k, n])
    where T: f16 | bf16 | f32 | f64; k <= n
)]
pub(crate) fn qr_jvp<T: Number>(
    context: &Context,
    q: &Buffer<T>,
    r: &Buffer<T>,
    dx: &Buffer<T>,
    dq: &mut Buffer<T>,
    dr: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n, k] = sizes(q, r, dx.dims())?;
    batch::expect_dims("dq", dq.dims(), q.dims(), &[m, k])?;
    batch::expect_dims("dr", dr.dims(), q.dims(), &[k, n])?;
    if dq.is_empty() && dr.is_empty() {
        return Ok(());
    }
    let (mut qs, mut rs) = (Entries::new(q, m * k), Entries::new(r, k * n));
    let mut dxs = Entries::new(dx, m * n);
    let (mut dqs, mut drs) = (EntriesMut::new(dq, m * k), EntriesMut::new(dr, k * n));
    let take = |size| (qs.take(size), rs.take(size), dxs.take(size), dqs.take(size), drs.take(size));
    batch::in_parallel(context, count, 8 * m * n * k, take, |size, (qs, rs, dxs, mut dqs, mut drs)| {
        for i in 0..size {
            let (q, r) = (dense::read(qs.get(i), m, k), dense::read(rs.get(i), k, n));
            let (dq, dr) = push_forward(&q, &r, &dense::read(dxs.get(i), m, n));
            dense::write(dqs.get(i), k, |i, j| T::round(dq[(i, j)]));
            dense::write(drs.get(i), n, |i, j| T::round(dr[(i, j)]));
        }
    });
    Ok(())
}

/// Returns the number of matrices, `m`, `n` and `k`.
fn sizes<T: Number>(q: &Buffer<T>, r: &Buffer<T>, x: &[usize]) -> Result<[usize; 4]> {
    let [count, m, k] = batch::matrices("q", q.dims())?;
    let [_, _, n] = batch::matrices("r", r.dims())?;
    batch::expect_dims("r", r.dims(), q.dims(), &[k, n])?;
    batch::expect_dims("x", x, q.dims(), &[m, n])?;
    ensure!(
        k <= n,
        "q has {k} columns and x has {n}: the columns that complete q are not unique, and have no derivative"
    );
    // With m = 0 or n = 0, no operand or result has elements.
    Ok([if m == 0 || n == 0 { 0 } else { count }, m, n, k])
}

fn pull_back<R: Real>(q: &Mat<R>, r: &Mat<R>, dq: Mat<R>, dr: &Mat<R>) -> Mat<R> {
    let (k, n) = (q.ncols(), r.ncols());
    let ((u, v), (du, dv)) = (r.split_at_col(k), dr.split_at_col(k));
    // The other columns are q·v, with v = qᵀ·x.
    let dq = dq + q * v * dv.transpose();
    let m = u * du.transpose() - dq.transpose() * q;
    let symmetric = Mat::from_fn(k, k, |i, j| m[(i.max(j), i.min(j))]);
    let first = dq + q * symmetric;
    // first·u⁻ᵀ
    let mut first = first.transpose().to_owned();
    solve_upper_triangular_in_place(u, first.as_mut(), Par::Seq);
    let rest = q * dv;
    Mat::from_fn(q.nrows(), n, |i, j| if j < k { first[(j, i)] } else { rest[(i, j - k)] })
}

fn push_forward<R: Real>(q: &Mat<R>, r: &Mat<R>, dx: &Mat<R>) -> (Mat<R>, Mat<R>) {
    let (k, n) = (q.ncols(), r.ncols());
    let ((u, v), (first, rest)) = (r.split_at_col(k), dx.split_at_col(k));
    // first·u⁻¹
    let mut along = first.to_owned();
    solve_lower_triangular_in_place(u.transpose(), along.as_mut().transpose_mut(), Par::Seq);
    let inside = q.transpose() * &along;
    let antisymmetric = Mat::from_fn(k, k, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Greater => inside[(i, j)],
        std::cmp::Ordering::Equal => R::ZERO,
        std::cmp::Ordering::Less => -inside[(j, i)],
    });
    let dq = &along - q * &inside + q * &antisymmetric;
    let du = (inside - &antisymmetric) * u;
    let dv = q.transpose() * rest - antisymmetric * v;
    let entry = |i: usize, j: usize| match j < k {
        true if i <= j => du[(i, j)],
        true => R::ZERO,
        false => dv[(i, j - k)],
    };
    (dq, Mat::from_fn(k, n, entry))
}
