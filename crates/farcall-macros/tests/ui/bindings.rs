#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp)]
fn two_meanings(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(x) = tx)]
fn no_such_parameter(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(dz) = dx)]
fn no_such_operand(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, cotangent(x) = dx)]
fn no_such_role(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "e")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(x) = dx, tangent(dy) = dx)]
fn said_twice(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "f")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = two_meanings, residual(r) = dx)]
fn no_residuals(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "g")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[transpose(op = right)]
fn no_key(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "h")]
#[transpose(right)]
fn no_signature(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "i")]
#[signature((x: f32[*], scale: f32[*]) -> (y: f32[*]))]
#[vjp(backward = right)]
fn no_cotangent(x: &Buffer<f32>, scale: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "j")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = right)]
fn no_tangent(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "k")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn no_such_tangents(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "l")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(_) = t)]
fn not_a_prefix(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "m")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = right, cotangent(_) = d_)]
fn not_of_cotangents(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "right")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
#[jvp(tangent = bwd_jvp, tangent(x) = dx)]
#[transpose(right, cotangent(dy) = dx, cotangent(dx) = dy)]
fn right(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "bwd_jvp")]
#[signature((x: f32[*], dy: f32[*], dx: f32[*], ddy: f32[*]) -> (ddx: f32[*]))]
fn bwd_jvp(
    x: &Buffer<f32>,
    dy: &Buffer<f32>,
    dx: &Buffer<f32>,
    ddy: &Buffer<f32>,
    ddx: &mut Buffer<f32>,
) -> Result<()> {
    Ok(())
}

fn main() {}
