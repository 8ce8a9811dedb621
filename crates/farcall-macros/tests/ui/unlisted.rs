#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

#[handler(name = "norm")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = norm_bwd)]
fn norm(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "norm_bwd")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
fn norm_bwd(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

farcall_ffi::library!("ops", [norm]);

fn main() {}
