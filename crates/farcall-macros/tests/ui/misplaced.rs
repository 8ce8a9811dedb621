#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[signature((x: f32[*]) -> (y: f32[*]))]
#[handler(name = "a")]
fn above(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[nondiff(x)]
fn no_handler(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
