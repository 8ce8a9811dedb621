#![allow(unused_variables, reason = "the test is about declarations")]
//! Uses of the name of an op with an error do not cause further errors.
use farcall_ffi::prelude::*;

#[handler(name = "norm")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(forward = norm_fwd, backward = norm_bwd)]
fn norm(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    norm_bwd(x, x, y)
}

#[handler(name = "norm_fwd")]
#[signature((x: f32[*]) -> (y: f32[*], r: f32[m]))]
fn norm_fwd(x: &Buffer<f32>, y: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "norm_bwd")]
#[signature((x: f32[*], dy: float32[*]) -> (dx: f32[*]))]
pub(crate) fn norm_bwd(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// The body uses parameters from the signature.
#[handler(name = "implicit")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f46; max(1, 2) <= 2)]
fn implicit<T: Float>() -> Result<()> {
    y.copy_from_slice(x);
    Ok(())
}

// Other functions call this function with the parameters from the signature.
#[handler(name = "implicit_twice")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
fn implicit_twice<T: Float>() -> Result<()> {
    implicit(x, y)?;
    implicit(x, y)
}

// The body uses the attribute by its correct name.
#[handler(name = "scale")]
#[signature((x: T[*], factor: f64) -> (y: T[*]) where T: f32 | f64)]
fn scale<T: Float>(x: &Buffer<T>, facter: f64, y: &mut Buffer<T>) -> Result<()> {
    zip!(x.iter(), y.iter_mut()).for_each(|(&x, y)| *y = T::of(factor) * x);
    Ok(())
}

#[handler(nam = "option", crate = farcall_ffi)]
fn option(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

#[stage(prepar)]
fn ready() -> Result<()> {
    Ok(())
}

#[handler(name = "staged", prepare = ready)]
fn staged(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

farcall_ffi::library!("ops", [norm, norm_fwd, norm_bwd, implicit, implicit_twice, scale, option, staged], stages: [ready]);

fn main() {}
