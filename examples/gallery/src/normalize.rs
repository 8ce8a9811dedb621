//! Vectors of length 1: a forward op keeps the lengths for the backward op.

use farcall_ffi::prelude::*;

/// Divides each row by its length.
#[handler(name = "normalize")]
#[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(forward = normalize_fwd, backward = normalize_bwd)]
fn normalize<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    for (x, y) in x.rows().zip(y.rows_mut()) {
        let length = length(x);
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x / length);
    }
    Ok(())
}

/// `normalize`, and the length of each row.
#[handler(name = "normalize_fwd")]
#[signature((x: T[*, n]) -> (y: T[*, n], lengths: T[*]) where T: f32 | f64)]
fn normalize_fwd<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>, lengths: &mut Buffer<T>) -> Result<()> {
    lengths.iter_mut().zip(x.rows()).for_each(|(l, x)| *l = length(x));
    normalize(x, y)
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

fn length<T: Float>(x: &[T]) -> T {
    x.iter().map(|&x| x * x).sum::<T>().sqrt()
}

pub(crate) const OPS: &[&OpDescriptor] = ops![normalize, normalize_fwd, normalize_bwd];
