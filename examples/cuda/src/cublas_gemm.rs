//! Products of matrices.

use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// The product of matrices: `c = a·b`.
#[handler(name = "cublas_gemm", zeroed)]
#[signature((a: f32[*, m, k], b: f32[*, k, n]) -> (c: f32[*, m, n]))]
#[vjp(backward = cublas_gemm_bwd)]
pub(crate) fn cublas_gemm(a: &Buffer<f32>, b: &Buffer<f32>, c: &mut Buffer<f32>) -> Result<()> {
    let Shape { k, n, .. } = Shape::of(a.dims(), b.dims(), c.dims())?;
    for ((a, b), c) in a.matrices().zip(b.matrices()).zip(c.matrices_mut()) {
        for (i, a) in a.iter().enumerate() {
            add(&mut c[i / k * n..][..n], *a, &b[i % k * n..][..n]);
        }
    }
    Ok(())
}

/// `da = dc·bᵀ`, `db = aᵀ·dc`
#[handler(name = "cublas_gemm_bwd", zeroed)]
#[signature((a: f32[*, m, k], b: f32[*, k, n], dc: f32[*, m, n]) -> (da: f32[*, m, k], db: f32[*, k, n]))]
pub(crate) fn cublas_gemm_bwd() -> Result<()> {
    let Shape { k, n, .. } = Shape::of(a.dims(), b.dims(), dc.dims())?;
    ensure!(a.dims() == da.dims() && b.dims() == db.dims(), "da is {da:?}, db is {db:?}");
    let matrices = a.matrices().zip(b.matrices()).zip(dc.matrices());
    for (((a, b), dc), (da, db)) in matrices.zip(da.matrices_mut().zip(db.matrices_mut())) {
        for (i, (a, da)) in a.iter().zip(da).enumerate() {
            let (dc, l) = (&dc[i / k * n..][..n], i % k * n);
            *da = b[l..][..n].iter().zip(dc).map(|(b, dc)| b * dc).sum();
            add(&mut db[l..][..n], *a, dc);
        }
    }
    Ok(())
}

/// Computes `y += a·x`.
fn add(y: &mut [f32], a: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// Sizes of a product.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Number of products.
    batch: usize,
    m: usize,
    k: usize,
    n: usize,
}

impl Shape {
    /// Checks that `c` has the shape of `a·b`, since XLA does not.
    fn of(a: &[usize], b: &[usize], c: &[usize]) -> Result<Shape> {
        let ([batch @ .., m, k], [.., n]) = (a, b) else {
            return Err(Error::invalid_argument(format!(
                "a and b need two dimensions, found {a:?} and {b:?}"
            )));
        };
        let fits = b == [batch, &[*k, *n]].concat() && c == [batch, &[*m, *n]].concat();
        ensure!(fits, "shapes {a:?}, {b:?} and {c:?} are not [*, m, k], [*, k, n] and [*, m, n]");
        Ok(Shape { batch: batch.iter().product(), m: *m, k: *k, n: *n })
    }
}

pub(crate) const OPS: &[&OpDescriptor] =
    ops![cublas_gemm, cublas_gemm_bwd, cuda::cublas_gemm, cuda::cublas_gemm_bwd];
