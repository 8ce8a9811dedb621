#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "exp")]
fn exp(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

mod a {
    farcall_ffi::library!("ops", [super::exp]);
}

mod b {
    farcall_ffi::library!([super::exp]);
}

mod c {
    farcall_ffi::library!("ops", []);
}

mod d {
    farcall_ffi::library!("ops", [super::exp as my_exp], stage: [x]);
}

fn main() {}
