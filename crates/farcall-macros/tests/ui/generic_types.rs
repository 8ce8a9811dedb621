#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[signature((x: T[n], xs: T[n]...) -> (y: complex(T)[n]) where T: f32 | f64)]
fn element_types<T: Float>(
    x: &Buffer<f32, 1>,
    xs: &RestOperands<Buffer<i32>>,
    y: &mut Buffer<T, 1>,
) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: T[n], y: acc(T)[n]) -> (z: T[n], w: s32[n]) where T: f32 | f64)]
fn ranks<T: Float>(
    x: &Buffer<T, 1>,
    y: &Buffer<T, 2>,
    z: &mut AnyBuffer,
    w: &mut Buffer<T>,
) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: T[n], u: U[n]) -> (y: T[n], v: U[n]) where T: f32 | f64; U: f32 | f64)]
fn open<T: Float>(
    x: &Buffer<T, 1>,
    u: &Buffer<T, 1>,
    y: &mut Buffer<T, 2>,
    v: &mut AnyBuffer,
) -> Result<()> {
    Ok(())
}

fn main() {}
