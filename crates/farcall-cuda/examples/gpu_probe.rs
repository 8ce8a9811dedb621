//! A library for the checks of `cargo xtask gpu`: a handler that only launches a kernel, whose time is
//! compared with the same handler in C++, and handlers with mistakes that the driver must refuse.

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::prelude::*;

kernels! {
    /// Kernels of `gpu_probe.ptx`.
    struct ProbeKernels = include_bytes!("gpu_probe.ptx");
    unsafe fn scale(x: *const f32, y: *mut f32, by: f32, n: u32);
}

kernels! {
    /// A module that the driver refuses.
    struct Malformed = b".version 7.0\n.target sm_80\n.address_size 64\nno_such_directive\n\0";
    unsafe fn nothing();
}

static KERNELS: PerDevice<ProbeKernels> = PerDevice::new();

static MALFORMED: PerDevice<Malformed> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, ProbeKernels::load).map(drop)
}

#[stage(initialize)]
fn load_malformed(stream: &CudaStream) -> Result<()> {
    MALFORMED.get_or_init(stream, Malformed::load).map(drop)
}

/// Multiplies each element by a number.
#[handler(name = "probe_scale")]
#[signature((x: f32[*], by: f32) -> (y: f32[*]))]
fn scale(x: &Buffer<f32>, y: &mut Buffer<f32>, by: f32) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = by * x);
    Ok(())
}

/// Multiplies each element by a number. The handler in `xtask/gpu/twins/launch.cc` has the same statements;
/// the checks compare the times of the two handlers.
#[handler(name = "probe_scale", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((x: f32[*], by: f32) -> (y: f32[*]))]
fn scale_on_gpu(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, by: f32, stream: &CudaStream) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    let n = u32::try_from(x.len())?;
    // SAFETY: x and y have n elements.
    unsafe { launch!(KERNELS.get(stream)?.scale, stream, grid: n.div_ceil(256), block: 256, (x, y, by, n)) }
}

/// Launches with more threads in a block than any device has, which is an error of the driver.
#[handler(name = "probe_bad_launch", platform = "CUDA", initialize = load)]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn bad_launch(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    let n = u32::try_from(x.len())?;
    // SAFETY: x and y have n elements.
    unsafe { launch!(KERNELS.get(stream)?.scale, stream, grid: 1, block: 4096, (x, y, 1.0, n)) }
}

/// Loads a module that the driver refuses.
#[handler(name = "probe_bad_module", platform = "CUDA", initialize = load_malformed)]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn bad_module(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    // SAFETY: the kernel has no parameters, and the module does not load.
    unsafe { launch!(MALFORMED.get(stream)?.nothing, stream, grid: 1, block: 1, ()) }
}

farcall_ffi::library!("gpu_probe", [scale, scale_on_gpu, bad_launch, bad_module]);
