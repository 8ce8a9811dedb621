//! Soft thresholding. The name of the attribute `lambda` is a keyword of Python, so `lambda_` is its name
//! there.

use farcall_ffi::prelude::*;

/// `x - lambda` above `lambda`, `x + lambda` below `-lambda`, and 0 between.
#[handler(name = "soft_shrink")]
#[signature((x: T[*], lambda: f32 = 0.5) -> (y: T[*]) where T: f64 | f32)]
#[vjp(backward = soft_shrink_bwd)]
fn soft_shrink<T: Float>(x: &Buffer<T>, lambda: f32, y: &mut Buffer<T>) -> Result<()> {
    ensure!(lambda >= 0.0, "lambda is {lambda}, but must not be negative");
    let lambda = T::of(lambda);
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = (*x - lambda).max(T::ZERO) + (*x + lambda).min(T::ZERO);
    }
    Ok(())
}

/// `dy` where the result is not 0, and 0 elsewhere.
#[handler(name = "soft_shrink_bwd")]
#[signature((x: T[*], dy: T[*], lambda: f32) -> (dx: T[*]) where T: f64 | f32)]
fn soft_shrink_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T>, lambda: f32, dx: &mut Buffer<T>) -> Result<()> {
    let lambda = T::of(lambda);
    for ((dx, x), dy) in dx.iter_mut().zip(x.iter()).zip(dy.iter()) {
        *dx = if x.abs() > lambda { *dy } else { T::ZERO };
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![soft_shrink, soft_shrink_bwd];
