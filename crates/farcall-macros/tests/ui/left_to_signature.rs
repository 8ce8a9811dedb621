#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

// Names parameters, but none from the signature.
#[handler(name = "misspelt")]
#[signature((x: f32[*], scale: f32[*]) -> (y: f32[*]))]
fn misspelt(xx: &Buffer<f32>, scales: &Buffer<f32>, yy: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "other_names")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn other_names(host: &Context, input: &Buffer<f32>, output: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "no_type_parameter")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
fn no_type_parameter(host: &Context) -> Result<()> {
    y.copy_from_slice(x);
    Ok(())
}

#[handler(name = "other_type_parameter")]
#[signature((x: T[*], i: U[*]) -> (y: T[*]) where T: f32 | f64; U: s32 | s64)]
fn other_type_parameter<T: Float>() -> Result<()> {
    Ok(())
}

fn main() {}
