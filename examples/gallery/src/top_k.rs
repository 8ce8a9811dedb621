//! The largest entries of each row. An attribute is the size of a dimension, and one of the results has no
//! derivative.

use farcall_ffi::prelude::*;

/// The `k` largest entries of each row, largest first, and their indices. Equal entries are in the order of
/// their indices.
#[handler(name = "top_k")]
#[signature((x: T[*, n], k: i64) -> (values: T[*, k], indices: s32[*, k]) where T: f32 | f64; 0 <= k; k <= n)]
#[vjp(backward = top_k_bwd)]
fn top_k<T: Float>(x: &Buffer<T>, k: i64, values: &mut Buffer<T>, indices: &mut Buffer<i32>) -> Result<()> {
    for ((x, values), indices) in x.rows().zip(values.rows_mut()).zip(indices.rows_mut()) {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&i, &j| x[j].total_cmp(&x[i]));
        for (rank, &i) in order.iter().take(k as usize).enumerate() {
            (values[rank], indices[rank]) = (x[i], i as i32);
        }
    }
    Ok(())
}

/// Moves the cotangents of the values back to the positions of the values.
#[handler(name = "top_k_bwd")]
#[signature((x: T[*, n], indices: s32[*, k], dvalues: T[*, k]) -> (dx: T[*, n]) where T: f32 | f64; k: sum)]
fn top_k_bwd<T: Float>(
    x: &Buffer<T>,
    indices: &Buffer<i32>,
    dvalues: &Buffer<T>,
    dx: &mut Buffer<T>,
) -> Result<()> {
    ensure!(x.dims() == dx.dims(), "x is {x:?}, but dx is {dx:?}");
    dx.fill(T::ZERO);
    for ((dx, indices), dvalues) in dx.rows_mut().zip(indices.rows()).zip(dvalues.rows()) {
        indices.iter().zip(dvalues).for_each(|(&i, &dvalue)| dx[i as usize] += dvalue);
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![top_k, top_k_bwd];
