#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
async fn a(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
fn b<T: Element>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
unsafe fn c(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
extern "C" fn d(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

struct S;

impl S {
    #[handler(name = "e")]
    fn e(&self, x: &Buffer<f32>) -> Result<()> {
        Ok(())
    }
}

#[handler(name = "f")]
struct F;

fn main() {}
