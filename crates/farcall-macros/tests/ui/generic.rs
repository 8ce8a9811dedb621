#![allow(unused_variables)]
use farcall_ffi::prelude::*;

// The types are not specified.
#[handler(name = "a")]
fn undeclared<T: Float>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: Elem[*]) -> () where Elem: f32 | f64; side_effect)]
fn other_name<Elm: Float>(x: &Buffer<Elm>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: T[*]) -> () where T: any; side_effect)]
fn any<T: Element>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: T[*]) -> () where T: f32 | f8e5m2; side_effect)]
fn no_rust_type<T: Element>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

// The bound is narrower than the signature.
#[handler(name = "g")]
#[signature((x: T[*]) -> () where T: f32 | s32; side_effect)]
fn narrow<T: Float>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

#[stage(prepare)]
fn stage<T: Float>() -> Result<()> {
    Ok(())
}

#[handler(name = "h")]
fn lifetime<'a>(x: &'a Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
