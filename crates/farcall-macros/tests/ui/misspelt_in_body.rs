#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

// A body that misspells a parameter from the signature.
#[handler(name = "body")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
fn body<T: Float>() -> Result<()> {
    y.copy_from_slice(xx);
    Ok(())
}

fn main() {}
