#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
fn a((x, y): (f32, f32)) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
fn b(_: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
fn c(#[attr(nam = "x.y")] x: f32) -> Result<()> {
    Ok(())
}

fn main() {}
