#![allow(unused_variables, reason = "what is declared is the test, not what is computed")]
use farcall_ffi::prelude::*;

// A body that misspells what the signature gives it.
#[handler(name = "body")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
fn body<T: Float>() -> Result<()> {
    y.copy_from_slice(xx);
    Ok(())
}

fn main() {}
