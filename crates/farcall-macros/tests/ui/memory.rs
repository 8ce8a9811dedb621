#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "on_gpu", platform = "CUDA")]
pub fn host_buffer(x: &Buffer<f32>, y: &mut GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "on_host")]
pub fn gpu_buffer(x: &Buffer<f32>, y: &mut AnyGpuBuffer) -> Result<()> {
    Ok(())
}

#[handler(name = "mismatch", platform = "CUDA")]
#[signature((x: f32[*, n]) -> (y: f32[*, n]))]
pub fn mismatch(x: &GpuBuffer<f64>, y: &mut GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "kept", platform = "CUDA")]
pub fn kept(x: Kept<GpuBuffer<f32>>) -> Result<()> {
    Ok(())
}

#[handler(name = "twice")]
#[signature((x: f32[*], by: f32) -> (y: f32[*]))]
fn twice(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "twice", platform = "CUDA")]
fn twice_cuda(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

farcall_ffi::library!("ops", [twice, twice_cuda]);

fn main() {}
