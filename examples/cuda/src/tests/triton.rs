//! A kernel that Triton has compiled.

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

use super::Numbers;
use super::device::{Array, on_device, set_up};

kernels! {
    /// `add_kernel` of `add.py`, compiled for blocks of 1024 elements. The last parameters are Triton's own.
    struct AddKernels = include_bytes!("../../kernels/triton/add.ptx");
    unsafe fn add_kernel(
        x: *const f32,
        y: *const f32,
        out: *mut f32,
        n: i32,
        global_scratch: *mut u8,
        profile_scratch: *mut u8,
    );
}

static KERNELS: PerDevice<AddKernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, AddKernels::load).map(drop)
}

#[handler(name = "triton_add", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
fn triton_add(
    x: &GpuBuffer<f32>,
    y: &GpuBuffer<f32>,
    out: &mut GpuBuffer<f32>,
    stream: &CudaStream,
) -> Result<()> {
    ensure!(x.dims() == y.dims() && x.dims() == out.dims(), "x is {x:?}, y is {y:?}, out is {out:?}");
    let (n, none) = (i32::try_from(x.len())?, std::ptr::null_mut::<u8>());
    let warps = 4; // metadata.num_warps
    // SAFETY: x, y and out have n elements. The metadata requests neither shared memory nor scratch memory.
    unsafe {
        launch!(
            KERNELS.get(stream)?.add_kernel, stream, grid: x.len().div_ceil(1024), block: 32 * warps,
            (x, y, out, n, none, none)
        )
    }
}

#[test]
fn a_kernel_of_triton_adds() {
    set_up();
    for n in [0, 1, 1023, 1024, 3000] {
        let (x, y): (Vec<f32>, Vec<f32>) = (Numbers(1).vec(n), Numbers(2).vec(n));
        let (on_x, on_y, out) = (Array::new(&x), Array::new(&y), Array::new(&vec![9f32; n]));
        let call = Call::to::<triton_add>().gpu_operand::<f32>(on_x.address(), &[n]);
        let call = call.gpu_operand::<f32>(on_y.address(), &[n]).gpu_result::<f32>(out.address(), &[n]);
        on_device(call).unwrap();
        let sums: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        assert_eq!(out.read(), sums, "{n} elements");
    }
}
