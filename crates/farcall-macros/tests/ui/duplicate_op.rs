#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "twice")]
fn first(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "twice")]
fn second(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

farcall_ffi::library!("ops", [first, second]);

fn main() {}
