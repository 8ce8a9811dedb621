//! A library of the ops of two crates. An op of one crate has its derivative in the other crate, and one op
//! is for two platforms.

use farcall_ffi::prelude::*;
use farcall_linked_ops::{double_bwd, double_bwd_cuda};

/// y = 2 · x
#[handler(name = "double")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = double_bwd)]
fn double(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 2.0 * x);
    Ok(())
}

/// The op for another platform.
#[handler(name = "double", platform = "CUDA")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = double_bwd_cuda)]
fn double_cuda(x: &AnyGpuBuffer, y: &mut AnyGpuBuffer) -> Result<()> {
    let _ = (x, y);
    Err(Error::unimplemented("there is no GPU here"))
}

farcall_ffi::library!("linked_test_ops", [double, double_cuda, ..farcall_linked_ops::OPS]);
