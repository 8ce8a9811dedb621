#![allow(unused_variables)]
use farcall_ffi::prelude::*;

// The signature's `scale` is `scales` here.
#[handler(name = "a")]
#[signature((x: f32[*, n], scale: f32[n]) -> (y: f32[*, n]))]
fn misnamed(x: &Buffer<f32>, scales: &Buffer<f32, 1>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// No parameter takes `z`.
#[handler(name = "b")]
#[signature((x: f32[*, n]) -> (y: f32[*, n], z: f32[*]))]
fn missing(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: f32[*, n], scale: f32[n]) -> (y: f32[*, n]))]
fn disorder(scale: &Buffer<f32, 1>, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
