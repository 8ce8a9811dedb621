//! `custom_relu` on CUDA, with kernels in PTX.

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::GpuBuffer;
use farcall_ffi::prelude::*;

kernels! {
    /// Kernels of `custom_relu.ptx`.
    pub(crate) struct ReluKernels = include_bytes!("../../kernels/custom_relu.ptx");
    /// Writes the positive parts of `count` elements.
    unsafe fn custom_relu(x: *const f32, y: *mut f32, count: u64);
    /// Writes the cotangents of `count` elements.
    unsafe fn custom_relu_bwd(x: *const f32, dy: *const f32, dx: *mut f32, count: u64);
}

static KERNELS: PerDevice<ReluKernels> = PerDevice::new();

const THREADS: usize = 256;

/// Number of elements that a thread computes.
const ELEMENTS: usize = 4;

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, ReluKernels::load).map(drop)
}

/// The positive part of each element; NaN for NaN.
#[handler(name = "custom_relu", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
pub(crate) fn custom_relu(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    let (kernels, count) = (KERNELS.get(stream)?, x.len());
    // SAFETY: x and y have `count` elements.
    unsafe { launch!(kernels.custom_relu, stream, grid: blocks(count), block: THREADS, (x, y, count as u64)) }
}

/// Cotangents pass where elements are positive. NaN is not positive.
#[handler(name = "custom_relu_bwd", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
pub(crate) fn custom_relu_bwd(
    x: &GpuBuffer<f32>,
    dy: &GpuBuffer<f32>,
    dx: &mut GpuBuffer<f32>,
    stream: &CudaStream,
) -> Result<()> {
    ensure!(x.dims() == dy.dims() && x.dims() == dx.dims(), "x is {x:?}, dy is {dy:?}, and dx is {dx:?}");
    let (kernels, count) = (KERNELS.get(stream)?, x.len());
    // SAFETY: x, dy and dx have `count` elements.
    unsafe {
        launch!(kernels.custom_relu_bwd, stream, grid: blocks(count), block: THREADS,
            (x, dy, dx, count as u64))
    }
}

/// Returns the number of blocks that compute `count` elements.
fn blocks(count: usize) -> usize {
    count.div_ceil(THREADS * ELEMENTS)
}
