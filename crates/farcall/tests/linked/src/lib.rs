//! Ops of a crate without `library!`. Another crate links them, and names them as derivatives of its ops.

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;

/// All ops of this crate.
pub const OPS: &[&OpDescriptor] = farcall_ffi::ops![double_bwd, double_bwd_cuda, thrice];

/// Reverse derivative of an op that this crate does not define.
#[handler(name = "double_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
pub fn double_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    dx.iter_mut().zip(dy.iter()).for_each(|(dx, dy)| *dx = 2.0 * dy);
    Ok(())
}

/// Reverse derivative for another platform.
#[handler(name = "double_bwd", platform = "CUDA")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
pub fn double_bwd_cuda(dy: &AnyGpuBuffer, dx: &mut AnyGpuBuffer) -> Result<()> {
    let _ = (dy, dx);
    Err(Error::unimplemented("there is no GPU here"))
}

/// y = 3 · x
#[handler(name = "thrice")]
#[signature((x: f32[*]) -> (y: f32[*]))]
pub fn thrice(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 3.0 * x);
    Ok(())
}
