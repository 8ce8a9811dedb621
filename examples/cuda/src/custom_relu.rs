//! The positive part of numbers.

use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// The positive part of each element; NaN for NaN.
#[handler(name = "custom_relu")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = custom_relu_bwd)]
pub(crate) fn custom_relu(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = if *x <= 0.0 { 0.0 } else { *x });
    Ok(())
}

/// Cotangents pass where elements are positive. NaN is not positive.
#[handler(name = "custom_relu_bwd")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
pub(crate) fn custom_relu_bwd(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    ensure!(x.dims() == dy.dims() && x.dims() == dx.dims(), "x is {x:?}, dy is {dy:?}, and dx is {dx:?}");
    zip!(dx.iter_mut(), x.iter(), dy.iter()).for_each(|(dx, x, dy)| *dx = if *x > 0.0 { *dy } else { 0.0 });
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] =
    ops![custom_relu, custom_relu_bwd, cuda::custom_relu, cuda::custom_relu_bwd];
