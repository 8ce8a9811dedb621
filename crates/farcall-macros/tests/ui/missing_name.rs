#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler]
fn rms_norm(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
