//! The diagonal of a matrix. The size of the result is an expression of the sizes of the operand.

use farcall_ffi::prelude::*;

/// The entries `x[i, i]` of matrices.
#[handler(name = "diagonal")]
#[signature((x: T[*, m, n]) -> (y: T[*, min(m, n)]) where T: f32 | f64)]
#[vjp(backward = diagonal_bwd)]
#[jvp(tangent = diagonal_jvp)]
fn diagonal<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    let [_, n] = x.last_dims()?;
    for (x, y) in x.matrices().zip(y.rows_mut()) {
        y.iter_mut().zip(x.iter().step_by(n + 1)).for_each(|(y, x)| *y = *x);
    }
    Ok(())
}

/// A matrix with `dy` on its diagonal.
#[handler(name = "diagonal_bwd")]
#[signature((x: T[*, m, n], dy: T[*, min(m, n)]) -> (dx: T[*, m, n]) where T: f32 | f64)]
fn diagonal_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T>, dx: &mut Buffer<T>) -> Result<()> {
    let [_, n] = x.last_dims()?;
    dx.fill(T::ZERO);
    for (dx, dy) in dx.matrices_mut().zip(dy.rows()) {
        dx.iter_mut().step_by(n + 1).zip(dy).for_each(|(dx, dy)| *dx = *dy);
    }
    Ok(())
}

/// The op itself, because it is linear.
#[handler(name = "diagonal_jvp")]
#[signature((dx: T[*, m, n]) -> (dy: T[*, min(m, n)]) where T: f32 | f64)]
fn diagonal_jvp<T: Float>(dx: &Buffer<T>, dy: &mut Buffer<T>) -> Result<()> {
    diagonal(dx, dy)
}

pub(crate) const OPS: &[&OpDescriptor] = ops![diagonal, diagonal_bwd, diagonal_jvp];
