//! Kernels with mistakes. If compute-sanitizer does not report them, its silence about other kernels means
//! nothing. The tests are ignored: `cargo xtask gpu` runs them under compute-sanitizer.

use std::mem::ManuallyDrop;

use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

use super::device::{Array, on_device, set_up};

/// Number of elements of the arrays, and of threads.
const LEN: usize = 64;

kernels! {
    struct PlantedKernels = include_bytes!("planted.ptx");
    unsafe fn write_past_end(y: *mut u32, n: u32);
    unsafe fn race_in_shared_memory(y: *mut u32);
}

static KERNELS: PerDevice<PlantedKernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, PlantedKernels::load).map(drop)
}

/// Writes elements past the end of `y`, which `compute-sanitizer --tool memcheck` reports.
#[handler(name = "planted_write", platform = "CUDA", initialize = load)]
fn planted_write(y: &mut GpuBuffer<u32>, stream: &CudaStream) -> Result<()> {
    // SAFETY: none. The kernel writes past the end, under a tool that reports it.
    unsafe {
        launch!(KERNELS.get(stream)?.write_past_end, stream, grid: 1, block: LEN as u32, (y, LEN as u32))
    }
}

/// Reads shared memory that other threads write at the same time, which `compute-sanitizer --tool racecheck`
/// reports.
#[handler(name = "planted_race", platform = "CUDA", initialize = load)]
fn planted_race(y: &mut GpuBuffer<u32>, stream: &CudaStream) -> Result<()> {
    // SAFETY: `y` has an element for each thread. The race is in shared memory, so any number can be read.
    unsafe { launch!(KERNELS.get(stream)?.race_in_shared_memory, stream, grid: 1, block: LEN as u32, (y)) }
}

#[test]
#[ignore = "has a mistake that compute-sanitizer must report"]
fn write_past_end() {
    set_up();
    // After an invalid access, the device refuses to free memory.
    let y = ManuallyDrop::new(Array::new(&[0u32; LEN]));
    on_device(Call::to::<planted_write>().gpu_result::<u32>(y.address(), &[LEN])).unwrap();
}

#[test]
#[ignore = "has a mistake that compute-sanitizer must report"]
fn race_in_shared_memory() {
    set_up();
    let y = Array::new(&[0u32; LEN]);
    on_device(Call::to::<planted_race>().gpu_result::<u32>(y.address(), &[LEN])).unwrap();
}
