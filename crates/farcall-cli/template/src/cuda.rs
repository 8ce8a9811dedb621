//! The op on a GPU: handlers that enqueue the kernels of `kernels.cu`.
//!
//! They have the names of the handlers in `lib.rs`, so they are the same ops: signature and derivatives are
//! declared there.
//! See: `farcall guide cuda`.

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::prelude::*;

/// `kernels.cu` in PTX; `build.rs` makes it.
const PTX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

kernels! {
    /// Kernels of `kernels.cu`, with the parameters that they have there.
    struct Kernels = PTX;
    unsafe fn my_op_kernel(x: *const f32, scale: *const f32, beta: f32, y: *mut f32, n: usize, count: usize);
    unsafe fn my_op_bwd_kernel(
        x: *const f32,
        scale: *const f32,
        dy: *const f32,
        beta: f32,
        dx: *mut f32,
        dscale: *mut f32,
        n: usize,
        rows: usize,
    );
}

static KERNELS: PerDevice<Kernels> = PerDevice::new();

/// Number of threads in a block.
const THREADS: usize = 256;

/// Loads the kernels before the first call on a device.
#[stage(initialize)]
fn load_kernels(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, Kernels::load).map(drop)
}

#[handler(name = "my_op", platform = "CUDA", initialize = load_kernels, traits(command_buffer_compatible))]
fn my_op(
    x: &GpuBuffer<f32>,
    scale: &GpuBuffer<f32, 1>,
    beta: f32,
    y: &mut GpuBuffer<f32>,
    stream: &CudaStream,
) -> Result<()> {
    ensure!(beta.is_finite(), "beta is {beta}");
    let (n, count) = (scale.len(), x.len());
    // XLA does not check shapes, and the kernel would access memory outside of the buffers.
    ensure!(
        x.dims() == y.dims() && x.dims().last() == Some(&n),
        "x is {x:?}, scale is {scale:?}, and y is {y:?}"
    );
    // SAFETY: x and y have `count` elements in rows of n, and scale has n elements.
    unsafe {
        launch!(
            KERNELS.get(stream)?.my_op_kernel, stream, grid: count.div_ceil(THREADS), block: THREADS,
            (x, scale, beta, y, n, count)
        )
    }
}

#[handler(name = "my_op_bwd", platform = "CUDA", initialize = load_kernels, traits(command_buffer_compatible))]
fn my_op_bwd(
    x: &GpuBuffer<f32>,
    scale: &GpuBuffer<f32, 1>,
    dy: &GpuBuffer<f32>,
    beta: f32,
    dx: &mut GpuBuffer<f32>,
    dscale: &mut GpuBuffer<f32, 1>,
    stream: &CudaStream,
) -> Result<()> {
    let n = scale.len();
    ensure!(
        x.dims() == dy.dims()
            && x.dims() == dx.dims()
            && x.dims().last() == Some(&n)
            && dscale.len() == n,
        "x is {x:?}, scale is {scale:?}, dy is {dy:?}, dx is {dx:?}, and dscale is {dscale:?}"
    );
    let rows = x.len() / n.max(1);
    // SAFETY: x, dy and dx have `rows` rows of n elements; scale and dscale have n elements.
    unsafe {
        launch!(
            KERNELS.get(stream)?.my_op_bwd_kernel, stream, grid: n.div_ceil(THREADS), block: THREADS,
            (x, scale, dy, beta, dx, dscale, n, rows)
        )
    }
}

pub(crate) const OPS: &[&OpDescriptor] = ops![my_op, my_op_bwd];

#[cfg(test)]
mod tests {
    /// Needs no GPU. When the driver loads the kernels, their parameters are compared with the prototypes.
    #[test]
    fn the_kernels_are_in_the_ptx() {
        let ptx = str::from_utf8(super::PTX).unwrap();
        for kernel in ["my_op_kernel", "my_op_bwd_kernel"] {
            assert!(ptx.contains(&format!(".entry {kernel}(")), "no {kernel}");
        }
    }
}
