#![allow(unused_variables, reason = "the test is about declarations")]
#![warn(dead_code)]
//! An unlisted op, beside ops that are used.
use farcall_ffi::prelude::*;

#[handler(name = "norm")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = norm_bwd)]
fn norm(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    helper(x)
}

#[handler(name = "norm_bwd")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
fn norm_bwd(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// Only its derivative is listed.
#[handler(name = "forgotten")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
#[vjp(backward = twice)]
pub(crate) fn forgotten<T: Float>() -> Result<()> {
    forgotten_helper(x)
}

#[handler(name = "twice", prepare = ready)]
#[signature((dy: T[*]) -> (dx: T[*]) where T: f32 | f64)]
fn twice<T: Float>() -> Result<()> {
    Ok(())
}

#[stage(prepare)]
fn ready() -> Result<()> {
    Ok(())
}

#[stage(prepare)]
fn forgotten_stage() -> Result<()> {
    Ok(())
}

// An op for later use.
#[handler(name = "later")]
#[allow(dead_code, reason = "not yet")]
fn later(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

// Readers of this crate may list this op.
#[handler(name = "exported")]
pub fn exported(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

fn helper(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

fn forgotten_helper<T: Float>(x: &Buffer<T>) -> Result<()> {
    Ok(())
}

mod others {
    use super::*;

    #[handler(name = "tabled")]
    fn tabled(x: &Buffer<f32>) -> Result<()> {
        Ok(())
    }

    pub(super) const OPS: &[&OpDescriptor] = ops![tabled];
}

farcall_ffi::library!("ops", [norm, norm_bwd, twice, ..others::OPS]);

fn main() {}
