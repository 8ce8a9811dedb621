//! Matrix products. A call may be split along rows and columns into calls on parts. It may also be split
//! along the summed dimension; the partial results are then added.

use farcall_ffi::prelude::*;

type Mat<T> = Buffer<T>;

/// The product of matrices: `c = a·b`.
#[handler(name = "gemm")]
#[signature((a: T[*, m, k], b: T[*, k, n]) -> (c: T[*, m, n]) where T: f32 | f64; m, n: map; k: sum)]
#[vjp(backward = gemm_bwd)]
fn gemm<T: Float>(a: &Mat<T>, b: &Mat<T>, c: &mut Mat<T>) -> Result<()> {
    c.fill(T::ZERO);
    terms(a, b)?.for_each(|(i, j, k)| c[k] += a[i] * b[j]);
    Ok(())
}

/// `da = dc·bᵀ` is a sum over `n`, `db = aᵀ·dc` a sum over `m`.
#[handler(name = "gemm_bwd")]
#[signature(
    (a: T[*, m, k], b: T[*, k, n], dc: T[*, m, n]) -> (da: T[*, m, k], db: T[*, k, n])
    where T: f32 | f64; m, n: sum; k: map
)]
fn gemm_bwd<T: Float>(a: &Mat<T>, b: &Mat<T>, dc: &Mat<T>, da: &mut Mat<T>, db: &mut Mat<T>) -> Result<()> {
    da.fill(T::ZERO);
    db.fill(T::ZERO);
    for (i, j, k) in terms(a, b)? {
        da[i] += dc[k] * b[j];
        db[j] += a[i] * dc[k];
    }
    Ok(())
}

/// Returns `(i, j, k)` for each term `a[i]·b[j]` of the products; the term contributes to `c[k]`.
fn terms<T: Float>(a: &Mat<T>, b: &Mat<T>) -> Result<impl Iterator<Item = (usize, usize, usize)>> {
    let ([m, k], [_, n]) = (a.last_dims()?, b.last_dims()?);
    let row = move |i: usize, l: usize| (0..n).map(move |j| (i * k + l, (i / m * k + l) * n + j, i * n + j));
    Ok((0..a.matrices().len() * m).flat_map(move |i| (0..k).flat_map(move |l| row(i, l))))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![gemm, gemm_bwd];
