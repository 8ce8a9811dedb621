#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[signature((x: f32[..]) -> (y: f32[..], n: s32[]))]
fn no_shape(x: &Buffer<f32>, y: &mut Buffer<f32>, n: &mut Buffer<i32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: f32[..]) -> (y: f32[..] aliases x))]
#[shape(same)]
fn nothing_to_say(x: &mut InOut<Buffer<f32>>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[shape(same)]
fn no_signature(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: f32[.., n]) -> (y: f32[..]))]
#[shape(same)]
fn not_alone(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "e")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape = same]
fn not_a_list(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "f")]
#[signature((x: f32[..]) -> (y: f32[..]))]
#[shape(same)]
fn rank(x: &Buffer<f32, 2>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "g")]
#[batch(none)]
fn never_vmapped(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[shape(same)]
fn no_handler() {}

fn same(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    Ok(call.operand("x")?.dims.to_vec())
}

fn main() {}
