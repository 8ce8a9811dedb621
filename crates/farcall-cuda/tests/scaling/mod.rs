//! A handler that launches a kernel: its cost is tested and measured.

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::prelude::*;

const PTX: &str =
    ".visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 by, .param .u32 n) { ret; }";

kernels! {
    struct Kernels = PTX.as_bytes();
    unsafe fn scale(x: *const f32, y: *mut f32, by: f32, n: u32);
}

static KERNELS: PerDevice<Kernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, Kernels::load).map(drop)
}

#[handler(name = "scale", platform = "CUDA", initialize = load)]
pub(crate) fn scale(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, by: f32, stream: &CudaStream) -> Result<()> {
    let n = u32::try_from(x.len())?;
    // SAFETY: the stand-in runs no kernels.
    unsafe { launch!(KERNELS.get(stream)?.scale, stream, grid: n.div_ceil(256), block: 256, (x, y, by, n)) }
}
