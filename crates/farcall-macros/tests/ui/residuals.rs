#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

#[handler(name = "both")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(forward = bwd, residuals(r: f32[*]), backward = bwd)]
fn both(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "none")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(residuals(), backward = bwd)]
fn none(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "no_parameter")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(residuals(r: f32[*]), backward = bwd)]
fn no_parameter(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "unknown_dimension")]
#[signature((x: f32[*, n]) -> (y: f32[*, n]))]
#[vjp(residuals(r: f32[*, m]), backward = bwd)]
fn unknown_dimension(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "expression")]
#[signature((x: f32[*, n], xs: f32[*, n]...) -> (y: f32[*, n]))]
#[vjp(residuals(r: f32[*, len(xs)]), backward = bwd)]
fn expression(x: &Buffer<f32>, xs: &RestOperands, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "text")]
#[signature = "(x: f32[*, n]) -> (y: f32[*, n])"]
#[vjp(residuals(r: f23[*]), backward = bwd)]
fn text(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "elsewhere", platform = "CUDA")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(residuals(r: f32[*]), backward = bwd)]
fn elsewhere(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// The backward op takes a number for each row.
#[handler(name = "mismatch")]
#[signature((x: f32[*, n]) -> (y: f32[*, n]))]
#[vjp(residuals(r: f32[*, n]), backward = bwd)]
fn mismatch(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "bwd")]
#[signature((r: f32[*], dy: f32[*, n]) -> (dx: f32[*, n]))]
fn bwd(r: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
