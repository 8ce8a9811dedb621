//! An op with handlers for the host and for CUDA, and an op with a handler for CUDA only, for the tests of the
//! program. Nothing runs the handlers for CUDA.

use farcall_ffi::prelude::*;

/// Multiplies `x` by `by`.
#[handler(name = "scaled")]
#[signature((x: f32[*], by: f32 = 2.0) -> (y: f32[*]))]
fn scaled(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) {
    zip!(y.iter_mut(), x.iter()).for_each(|(y, x)| *y = by * x);
}

#[handler(name = "scaled", platform = "CUDA", traits(command_buffer_compatible))]
fn scaled_cuda(x: &GpuBuffer<f32>, by: f32, y: &mut GpuBuffer<f32>) -> Result<()> {
    Err(Error::unimplemented(format!("no kernel multiplies {x:?} by {by} into {y:?}")))
}

/// The transpose of `x`.
#[handler(name = "flipped", platform = "CUDA")]
#[signature((x: f32[m, n]) -> (y: f32[n, m]))]
fn flipped(x: &GpuBuffer<f32, 2>, y: &mut GpuBuffer<f32, 2>) -> Result<()> {
    Err(Error::unimplemented(format!("no kernel transposes {x:?} into {y:?}")))
}

farcall_ffi::library!("cli_cuda_ops", [scaled, scaled_cuda, flipped]);
