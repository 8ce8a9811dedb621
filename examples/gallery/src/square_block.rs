//! A block of the square of a matrix. The same dimension occurs twice in one tensor: in the operand, in the
//! result and in the residual.

use farcall_ffi::prelude::*;

/// The first `k` rows and columns of `x·x`.
#[handler(name = "square_block")]
#[signature((x: T[*, n, n], k: i64) -> (y: T[*, k, k]) where T: f32 | f64; k >= 1; k <= n)]
#[vjp(residuals(transposed: T[*, n, n]), backward = square_block_bwd)]
#[rustfmt::skip]
fn square_block<T: Float>(
    x: &Buffer<T>, k: i64, y: &mut Buffer<T>, transposed: &mut Buffer<T>,
) -> Result<()> {
    let ([_, n], k) = (x.last_dims()?, k as usize);
    for (x, y, transposed) in zip!(x.matrices(), y.matrices_mut(), transposed.matrices_mut()) {
        for (i, j) in pairs(n) {
            transposed[j * n + i] = x[i * n + j];
        }
        for (i, j) in pairs(k) {
            y[i * k + j] = (0..n).map(|l| x[i * n + l] * x[l * n + j]).sum();
        }
    }
    Ok(())
}

/// `dx = dy·xᵀ + xᵀ·dy`, where `dy` is 0 beyond its rows and columns.
#[handler(name = "square_block_bwd")]
#[signature((transposed: T[*, n, n], dy: T[*, k, k]) -> (dx: T[*, n, n]) where T: f32 | f64; k <= n)]
fn square_block_bwd<T: Float>(transposed: &Buffer<T>, dy: &Buffer<T>, dx: &mut Buffer<T>) -> Result<()> {
    let ([_, n], [_, k]) = (transposed.last_dims()?, dy.last_dims()?);
    for (xt, dy, dx) in zip!(transposed.matrices(), dy.matrices(), dx.matrices_mut()) {
        let dy = |i: usize, j: usize| if i < k && j < k { dy[i * k + j] } else { T::ZERO };
        for (i, j) in pairs(n) {
            dx[i * n + j] = (0..k).map(|l| dy(i, l) * xt[l * n + j] + xt[i * n + l] * dy(l, j)).sum();
        }
    }
    Ok(())
}

/// Returns the row and the column of each entry of a matrix with `n` rows and columns.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (0..n).map(move |j| (i, j)))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![square_block, square_block_bwd];
