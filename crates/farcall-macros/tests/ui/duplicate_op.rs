#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "twice")]
fn first(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "twice")]
fn second(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

mod same_platform {
    farcall_ffi::library!("ops", [super::first, super::second]);
}

#[handler(name = "thrice", platform = "CUDA")]
fn third(x: &GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "thrice", platform = "gpu")]
fn fourth(x: &GpuBuffer<f32>) -> Result<()> {
    Ok(())
}

mod same_platform_in_another_spelling {
    farcall_ffi::library!("ops", [super::third, super::fourth]);
}

fn main() {}
