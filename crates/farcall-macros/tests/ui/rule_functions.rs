#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape(dims)]
fn takes_dims(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape(one_size)]
fn gives_a_size(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape(same)]
#[batch(same)]
fn shape_as_batch(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape(sane)]
fn no_such_function(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

fn same(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    Ok(call.operand("x")?.dims.to_vec())
}

fn dims(x: &[i64]) -> Vec<i64> {
    x.to_vec()
}

fn one_size(call: &ShapeCall<'_>) -> Result<i64> {
    Ok(1)
}

fn main() {}
