#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "vector")]
fn vector(x: Vec<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "by_value")]
fn by_value(x: &Buffer<f32>, text: String) -> Result<()> {
    Ok(())
}

#[handler(name = "boolean")]
fn boolean(x: &Buffer<bool>) -> Result<()> {
    Ok(())
}

fn main() {}
