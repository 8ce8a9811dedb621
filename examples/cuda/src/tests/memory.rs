//! [`GpuDevice`] and [`GpuMemory`], on which tools call handlers without XLA.

use std::sync::Arc;

use farcall_cuda::{CudaStream, GpuDevice, GpuMemory};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

use super::device::set_up;

#[handler(name = "copy", platform = "CUDA")]
fn copy(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    stream.copy(x, y)
}

#[test]
fn a_handler_is_called_on_memory_of_a_device() {
    set_up();
    let gpu = Arc::new(GpuDevice::open(0).unwrap());
    assert!(gpu.ordinal() == 0 && !gpu.name().is_empty(), "{gpu:?}");
    let memory = || GpuMemory::new(Arc::clone(&gpu), 8).unwrap();
    let (x, y) = (memory(), memory());
    let bytes = [1.5f32, -2.0].map(f32::to_ne_bytes).concat();
    x.write(&bytes).unwrap();
    y.fill(0xff).unwrap();
    assert_eq!(y.read().unwrap(), [0xff; 8]);
    let call = Call::to::<copy>().gpu_operand::<f32>(x.address(), &[2]).gpu_result::<f32>(y.address(), &[2]);
    // SAFETY: the stream is one of the device, and the memory exists until `run` has waited.
    gpu.run(|| unsafe { call.on_stream(gpu.stream(), gpu.ordinal()) }.run()).unwrap().unwrap();
    assert_eq!(y.read().unwrap(), bytes);
}

#[test]
fn memory_without_bytes_and_wrong_sizes() {
    set_up();
    let gpu = GpuDevice::open(0).unwrap();
    let nothing = GpuMemory::new(&gpu, 0).unwrap();
    nothing.write(&[]).unwrap();
    nothing.fill(1).unwrap();
    assert!(nothing.address() != 0 && nothing.read().unwrap().is_empty());
    let error = nothing.write(&[1]).unwrap_err();
    assert_eq!(error.message(), "cannot copy 1 bytes to memory of 0 bytes");
}

#[test]
fn a_device_that_does_not_exist() {
    set_up();
    let error = GpuDevice::open(99).unwrap_err();
    assert_eq!(error.code(), StatusCode::InvalidArgument);
    assert_eq!(error.message(), "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal");
}
