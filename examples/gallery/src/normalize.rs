//! Vectors of length 1. Residuals keep the original lengths for the backward op. If no derivative is
//! computed, the residuals are dropped.

use farcall_ffi::prelude::*;

/// Divides each row, or each of `parts` equally long parts of a row, by its length.
#[handler(name = "normalize")]
#[signature((x: T[*, n], parts: i64 = 1) -> (y: T[*, n]) where T: f32 | f64; parts >= 1)]
#[vjp(residuals(lengths: T[*, parts]), backward = normalize_bwd)]
fn normalize<T: Float>(x: &Buffer<T>, parts: i64, y: &mut Buffer<T>, lengths: &mut Buffer<T>) -> Result<()> {
    for (x, y, lengths) in zip!(x.rows(), y.rows_mut(), lengths.rows_mut()) {
        ensure!(x.len() % lengths.len() == 0, "{} numbers have no {parts} parts of one length", x.len());
        let n = (x.len() / lengths.len()).max(1);
        for (x, y, length) in zip!(x.chunks(n), y.chunks_mut(n), lengths) {
            *length = x.iter().map(|&x| x * x).sum::<T>().sqrt();
            zip!(x, y).for_each(|(&x, y)| *y = x / *length);
        }
    }
    Ok(())
}

/// `dx = (dy − y·Σ y·dy) / length`
#[handler(name = "normalize_bwd")]
#[signature((y: T[*, n], lengths: T[*, parts], dy: T[*, n], parts: i64) -> (dx: T[*, n]) where T: f32 | f64)]
fn normalize_bwd<T: Float>(
    y: &Buffer<T>,
    lengths: &Buffer<T>,
    dy: &Buffer<T>,
    parts: i64,
    dx: &mut Buffer<T>,
) -> Result<()> {
    for (y, lengths, dy, dx) in zip!(y.rows(), lengths.rows(), dy.rows(), dx.rows_mut()) {
        ensure!(y.len() % lengths.len() == 0, "{} numbers have no {parts} parts of one length", y.len());
        let n = (y.len() / lengths.len()).max(1);
        for (y, &length, dy, dx) in zip!(y.chunks(n), lengths, dy.chunks(n), dx.chunks_mut(n)) {
            let along: T = zip!(y, dy).map(|(&y, &dy)| y * dy).sum();
            (0..y.len()).for_each(|i| dx[i] = (dy[i] - y[i] * along) / length);
        }
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![normalize, normalize_bwd];
