#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(nam = "rms_norm")]
fn rms_norm(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "a", shape = 3)]
fn a(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b", traits(fast))]
fn b(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c", name = "d")]
fn c(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "f", platform = "CUDA", zeroed)]
fn f(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "")]
fn e(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
