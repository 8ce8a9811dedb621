//! Sums over the batch dimensions (`*`). Since the result has no batch dimensions, `vmap` must call the op in
//! a loop. In this gallery, the only other ops of this kind are derivatives.

use farcall_ffi::prelude::*;

/// The sum of all rows.
#[handler(name = "column_sums")]
#[signature((x: T[*, n]) -> (y: T[n]) where T: f32 | f64; n: map; *: sum)]
#[vjp(backward = column_sums_bwd)]
#[jvp(tangent = column_sums_jvp)]
fn column_sums<T: Float>(x: &Buffer<T>, y: &mut Buffer<T, 1>) -> Result<()> {
    y.fill(T::ZERO);
    x.rows().for_each(|x| y.iter_mut().zip(x).for_each(|(y, &x)| *y += x));
    Ok(())
}

/// The cotangent of the sum, repeated for every row.
#[handler(name = "column_sums_bwd")]
#[signature((x: T[*, n], dy: T[n]) -> (dx: T[*, n]) where T: f32 | f64; n: map)]
fn column_sums_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T, 1>, dx: &mut Buffer<T>) -> Result<()> {
    ensure!(x.dims() == dx.dims(), "x is {x:?}, but dx is {dx:?}");
    dx.rows_mut().for_each(|dx| dx.copy_from_slice(dy));
    Ok(())
}

/// The op itself, because it is linear.
#[handler(name = "column_sums_jvp")]
#[signature((dx: T[*, n]) -> (dy: T[n]) where T: f32 | f64; n: map; *: sum)]
fn column_sums_jvp<T: Float>(dx: &Buffer<T>, dy: &mut Buffer<T, 1>) -> Result<()> {
    column_sums(dx, dy)
}

pub(crate) const OPS: &[&OpDescriptor] = ops![column_sums, column_sums_bwd, column_sums_jvp];
