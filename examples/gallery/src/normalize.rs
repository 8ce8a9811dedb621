//! Vectors of length 1: residuals keep the lengths for the backward op. Where nothing is differentiated, they are dropped.

use farcall_ffi::prelude::*;

/// Divides each row by its length.
#[handler(name = "normalize")]
#[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(residuals(lengths: T[*]), backward = normalize_bwd)]
fn normalize<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>, lengths: &mut Buffer<T>) -> Result<()> {
    for (x, y, length) in zip!(x.rows(), y.rows_mut(), lengths.iter_mut()) {
        *length = x.iter().map(|&x| x * x).sum::<T>().sqrt();
        zip!(x, y).for_each(|(&x, y)| *y = x / *length);
    }
    Ok(())
}

/// `dx = (dy − y·Σ y·dy) / length`
#[handler(name = "normalize_bwd")]
#[signature((y: T[*, n], lengths: T[*], dy: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64)]
fn normalize_bwd<T: Float>(
    y: &Buffer<T>,
    lengths: &Buffer<T>,
    dy: &Buffer<T>,
    dx: &mut Buffer<T>,
) -> Result<()> {
    for (((y, &length), dy), dx) in y.rows().zip(lengths.iter()).zip(dy.rows()).zip(dx.rows_mut()) {
        let along: T = y.iter().zip(dy).map(|(&y, &dy)| y * dy).sum();
        (0..y.len()).for_each(|i| dx[i] = (dy[i] - y[i] * along) / length);
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![normalize, normalize_bwd];
