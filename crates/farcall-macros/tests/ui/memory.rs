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

#[stage(initialize)]
pub fn start_on_host(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "started", platform = "CUDA", initialize = start_on_host)]
pub fn started(x: &GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[stage(record)]
pub fn record_on_host(x: &GpuBuffer<f32>, rest: &RestOperands) -> Result<()> {
    Ok(())
}

#[handler(name = "recorded", platform = "cuda", record = record_on_host)]
pub fn recorded(x: &GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[stage(prepare)]
pub fn prepare_on_gpu(x: &GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "prepared", platform = "cpu", prepare = prepare_on_gpu)]
pub fn prepared(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
