#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[vjp(backward = bwd)]
fn no_signature(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(forward = bwd)]
fn no_backward(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(backward = bwd)]
fn no_such_part(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: f32[*], labels: s32[*]) -> (y: f32[*]))]
#[nondiff(label)]
fn no_such_operand(x: &Buffer<f32>, labels: &Buffer<i32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d2")]
#[signature((x: f32[*], labels: s32[*]) -> (y: f32[*]))]
#[nondiff(labels)]
fn no_derivative(x: &Buffer<f32>, labels: &Buffer<i32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d3")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[nondiff(x = one)]
fn no_such_form(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d4")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[nondiff(x = zero, x)]
fn two_forms(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "e")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = not_a_handler)]
fn no_handler(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
fn bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

struct not_a_handler {}

fn main() {}
