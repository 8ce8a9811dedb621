//! Padding in four modes. The op is linear, and the op and its backward op are each other's transpose.

use farcall_ffi::prelude::*;

/// Pads each row with `low` elements before it and `high` elements after it. According to `mode`, these are
/// zeros, copies of the element at the edge, the row's elements mirrored at its edges, or the row's elements
/// repeated.
#[handler(name = "pad")]
#[signature(
    (x: T[*, n], low: i64, high: i64, mode: "zero" | "edge" | "reflect" | "wrap" = "zero") -> (y: T[*, low + n + high])
    where T: f32 | f64; n >= 1; low >= 0; high >= 0
)]
#[transpose(pad_bwd)]
fn pad<T: Float>(x: &Buffer<T>, low: i64, high: i64, mode: &str, y: &mut Buffer<T>) -> Result<()> {
    let _ = high;
    for (x, y) in x.rows().zip(y.rows_mut()) {
        (0..y.len()).for_each(|i| y[i] = source(i as i64 - low, x.len(), mode).map_or(T::ZERO, |k| x[k]));
    }
    Ok(())
}

/// The sum of all copies of each element of `x`.
#[handler(name = "pad_bwd")]
#[signature(
    (y: T[*, m], low: i64, high: i64, mode: "zero" | "edge" | "reflect" | "wrap" = "zero") -> (x: T[*, m - low - high])
    where T: f32 | f64; m - low - high >= 1; low >= 0; high >= 0
)]
#[transpose(pad)]
fn pad_bwd<T: Float>(y: &Buffer<T>, low: i64, high: i64, mode: &str, x: &mut Buffer<T>) -> Result<()> {
    let _ = high;
    x.fill(T::ZERO);
    for (y, x) in y.rows().zip(x.rows_mut()) {
        for (i, &y) in y.iter().enumerate() {
            source(i as i64 - low, x.len(), mode).into_iter().for_each(|k| x[k] += y);
        }
    }
    Ok(())
}

/// Returns the index of the element that is copied to position `i`, in a row of `n` elements that begins at
/// position 0; `None` for a zero.
fn source(i: i64, n: usize, mode: &str) -> Option<usize> {
    let n = n as i64;
    let period = (2 * n - 2).max(1);
    let at = match mode {
        "edge" => i.clamp(0, n - 1),
        "reflect" => i.rem_euclid(period).min(period - i.rem_euclid(period)),
        "wrap" => i.rem_euclid(n),
        _ => i,
    };
    (0..n).contains(&at).then_some(at as usize)
}

pub(crate) const OPS: &[&OpDescriptor] = ops![pad, pad_bwd];
