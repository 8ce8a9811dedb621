//! Derivatives of eigendecompositions of symmetric matrices whose eigenvalues all differ. Source: M. Giles,
//! *Collected matrix derivative results for forward and reverse mode algorithmic differentiation*, 2008.
//!
//! With `d = vᵀ·dx·v`, `dw` is the diagonal of `d`, and `dv = v·(f ∘ d)`, where `f[i, j] = 1 / (w[j] − w[i])`
//! off the diagonal, and 0 on it.

use faer::Mat;
use farcall_ffi::prelude::*;

use crate::batch::{self, Entries, EntriesMut};
use crate::dense;
use crate::number::Number;

/// The cotangent of `x` for cotangents of `w` and `v`. The result is symmetric.
#[handler(name = "eigh_vjp")]
#[signature(
    (w: T[*, n], v: T[*, n, n], dw: T[*, n], dv: T[*, n, n]) -> (dx: T[*, n, n]) where T: f32 | f64
)]
pub(crate) fn eigh_vjp<T: Number>(
    context: &Context,
    w: &Buffer<T>,
    v: &Buffer<T>,
    dw: &Buffer<T>,
    dv: &Buffer<T>,
    dx: &mut Buffer<T>,
) -> Result<()> {
    let [count, n] = sizes(w, v)?;
    batch::expect_dims("dw", dw.dims(), v.dims(), &[n])?;
    batch::expect_dims("dv", dv.dims(), v.dims(), &[n, n])?;
    batch::expect_dims("dx", dx.dims(), v.dims(), &[n, n])?;
    if dx.is_empty() {
        return Ok(());
    }
    let (mut ws, mut vs) = (Entries::new(w, n), Entries::new(v, n * n));
    let (mut dws, mut dvs) = (Entries::new(dw, n), Entries::new(dv, n * n));
    let mut dxs = EntriesMut::new(dx, n * n);
    let take = |size| (ws.take(size), vs.take(size), dws.take(size), dvs.take(size), dxs.take(size));
    batch::in_parallel(context, count, 6 * n * n * n, take, |size, (ws, vs, dws, dvs, mut dxs)| {
        for i in 0..size {
            let (v, dv) = (dense::read(vs.get(i), n, n), dense::read(dvs.get(i), n, n));
            let (w, dw) = (ws.get(i), dws.get(i));
            let inner = v.transpose() * dv;
            let inner = divided(w, |i, j| if i == j { dw[i].widen() } else { inner[(i, j)] });
            let dx = &v * inner * v.transpose();
            let half = T::Real::of(0.5);
            dense::write(dxs.get(i), n, |i, j| T::round((dx[(i, j)] + dx[(j, i)]) * half));
        }
    });
    Ok(())
}

/// The tangents of `w` and `v` for a tangent of `x`, of which only the symmetric part matters.
#[handler(name = "eigh_jvp")]
#[signature(
    (w: T[*, n], v: T[*, n, n], dx: T[*, n, n]) -> (dw: T[*, n], dv: T[*, n, n]) where T: f32 | f64
)]
pub(crate) fn eigh_jvp<T: Number>(
    context: &Context,
    w: &Buffer<T>,
    v: &Buffer<T>,
    dx: &Buffer<T>,
    dw: &mut Buffer<T>,
    dv: &mut Buffer<T>,
) -> Result<()> {
    let [count, n] = sizes(w, v)?;
    batch::expect_dims("dx", dx.dims(), v.dims(), &[n, n])?;
    batch::expect_dims("dw", dw.dims(), v.dims(), &[n])?;
    batch::expect_dims("dv", dv.dims(), v.dims(), &[n, n])?;
    if dv.is_empty() {
        return Ok(());
    }
    let (mut ws, mut vs) = (Entries::new(w, n), Entries::new(v, n * n));
    let mut dxs = Entries::new(dx, n * n);
    let (mut dws, mut dvs) = (EntriesMut::new(dw, n), EntriesMut::new(dv, n * n));
    let take = |size| (ws.take(size), vs.take(size), dxs.take(size), dws.take(size), dvs.take(size));
    batch::in_parallel(context, count, 6 * n * n * n, take, |size, (ws, vs, dxs, mut dws, mut dvs)| {
        for i in 0..size {
            let (v, dx) = (dense::read(vs.get(i), n, n), dense::read(dxs.get(i), n, n));
            let half = T::Real::of(0.5);
            let symmetric = Mat::from_fn(n, n, |i, j| (dx[(i, j)] + dx[(j, i)]) * half);
            let inner = v.transpose() * symmetric * &v;
            dws.get(i).iter_mut().enumerate().for_each(|(i, dw)| *dw = T::round(inner[(i, i)]));
            let zero = T::Real::ZERO;
            let dv = &v * divided(ws.get(i), |i, j| if i == j { zero } else { inner[(i, j)] });
            dense::write(dvs.get(i), n, |i, j| T::round(dv[(i, j)]));
        }
    });
    Ok(())
}

/// Returns the number of matrices, and `n`.
fn sizes<T: Number>(w: &Buffer<T>, v: &Buffer<T>) -> Result<[usize; 2]> {
    let [count, n, columns] = batch::matrices("v", v.dims())?;
    ensure!(n == columns, "v is {v:?}: its matrices are not square");
    batch::expect_dims("w", w.dims(), v.dims(), &[n])?;
    Ok([if n == 0 { 0 } else { count }, n])
}

/// Returns the matrix of the values of `entry`, with the values off the diagonal divided by `w[j] − w[i]`.
fn divided<T: Number>(w: &[T], entry: impl Fn(usize, usize) -> T::Real) -> Mat<T::Real> {
    let w: Vec<T::Real> = w.iter().map(|w| w.widen()).collect();
    let divided = |i: usize, j: usize| entry(i, j) / (w[j] - w[i]);
    Mat::from_fn(w.len(), w.len(), |i, j| if i == j { entry(i, j) } else { divided(i, j) })
}
