//! Ops whose handlers for CUDA enqueue copies, which the tests compare with the handlers for the host. Some
//! of them have mistakes.

use farcall_cuda::{CudaStream, PerDevice};
use farcall_ffi::prelude::*;

/// The operand, copied through scratch memory on the GPU.
#[handler(name = "copied")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = copied_bwd)]
fn copied(x: &Buffer<f32>, y: &mut Buffer<f32>) {
    y.copy_from_slice(x);
}

/// The number of elements of a call site, and the devices that have been initialized.
struct Site(PerDevice<i32>);

#[stage(instantiate)]
fn site() -> Result<Site> {
    Ok(Site(PerDevice::new()))
}

#[stage(prepare)]
fn expect_no_stream(host: &Context) -> Result<()> {
    ensure!(host.stream().is_err(), "the prepare stage has a stream");
    Ok(())
}

#[stage(initialize)]
fn initialize(site: &State<Site>, stream: &CudaStream) -> Result<()> {
    site.0.get_or_init(stream, |stream| Ok(stream.device_ordinal())).map(drop)
}

#[handler(
    name = "copied", platform = "CUDA",
    instantiate = site, prepare = expect_no_stream, initialize = initialize
)]
fn copied_on_gpu(
    x: &GpuBuffer<f32>,
    y: &mut GpuBuffer<f32>,
    site: &State<Site>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    ensure!(*site.0.get(stream)? == stream.device_ordinal(), "another device");
    let mut scratch = host.gpu_scratch::<f32>(x.len())?;
    stream.copy(x, &mut scratch)?;
    stream.copy(&scratch, y)
}

#[handler(name = "copied", platform = "ROCM")]
fn copied_elsewhere(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>) -> Result<()> {
    Err(Error::unimplemented(format!("{x:?} {y:?}")))
}

#[handler(name = "copied_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
fn copied_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) {
    dx.copy_from_slice(dy);
}

/// Has a mistake: the gradient is zero.
#[handler(name = "copied_bwd", platform = "CUDA")]
fn copied_bwd_on_gpu(dy: &GpuBuffer<f32>, dx: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    ensure!(dy.dims() == dx.dims(), "dy is {dy:?}, but dx is {dx:?}");
    stream.zero(dx)
}

/// The transpose: in the layout of `y`, its elements have the order of those of `x`.
#[handler(name = "transposed")]
#[signature((x: f32[m, n]) -> (y: f32[n, m] column_major))]
fn transposed(x: &Buffer<f32, 2>, y: &mut Buffer<f32, 2>) {
    y.copy_from_slice(x);
}

#[handler(name = "transposed", platform = "CUDA")]
fn transposed_on_gpu(x: &GpuBuffer<f32, 2>, y: &mut GpuBuffer<f32, 2>, stream: &CudaStream) -> Result<()> {
    stream.copy(x, y)
}

/// Zeros, in the memory of the operand.
#[handler(name = "cleared")]
#[signature((x: s32[*]) -> (y: s32[*] aliases x))]
fn cleared(x: &mut InOut<Buffer<i32>>) {
    x.fill(0);
}

#[handler(name = "cleared", platform = "CUDA")]
fn cleared_on_gpu(x: &mut InOut<GpuBuffer<i32>>, stream: &CudaStream) -> Result<()> {
    stream.zero(&mut **x)
}

/// Has a mistake: on the GPU, the result is not written.
#[handler(name = "zeros")]
#[signature((x: f64[*]) -> (y: f64[*]))]
fn zeros(x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    y.fill(0.0);
    Ok(())
}

#[handler(name = "zeros", platform = "CUDA")]
fn zeros_on_gpu(x: &GpuBuffer<f64>, y: &mut GpuBuffer<f64>, stream: &CudaStream) -> Result<()> {
    ensure!(x.dims() == y.dims() && stream.device_ordinal() == 0, "x is {x:?}, but y is {y:?}");
    Ok(())
}

/// Has a mistake: on the GPU, the call fails.
#[handler(name = "failing")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn failing(x: &Buffer<f32>, y: &mut Buffer<f32>) {
    y.copy_from_slice(x);
}

#[handler(name = "failing", platform = "CUDA", initialize = fail)]
fn failing_on_gpu(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    stream.copy(x, y)
}

#[stage(initialize)]
fn fail() -> Result<()> {
    Err(Error::resource_exhausted("there is not enough of it"))
}

/// Has no handler for the host.
#[handler(name = "alone", platform = "CUDA")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn alone(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    stream.copy(x, y)
}

farcall_ffi::library!(
    "cli_gpu_ops",
    [
        copied,
        copied_on_gpu,
        copied_elsewhere,
        copied_bwd,
        copied_bwd_on_gpu,
        transposed,
        transposed_on_gpu,
        cleared,
        cleared_on_gpu,
        zeros,
        zeros_on_gpu,
        failing,
        failing_on_gpu,
        alone,
    ]
);
