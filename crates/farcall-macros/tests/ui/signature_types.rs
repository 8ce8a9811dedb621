#![allow(unused_variables)]
use farcall_ffi::prelude::*;

type Doubles = Buffer<f64>;

#[handler(name = "a")]
#[signature((x: f32[*, n]) -> (y: f32[*, n]))]
fn wrong_dtype(x: &Doubles, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[signature((x: f32[n, d]) -> (y: f32[n]))]
fn wrong_rank(x: &Buffer<f32, 2>, y: &mut Buffer<f32, 2>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[signature((x: T[*], out: T[*]) -> (y: T[*]) where T: f32 | f64)]
fn one_of_two_types(x: &AnyBuffer, out: &Buffer<f32>, y: &mut AnyBuffer) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn operand_as_result(x: &mut Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "e")]
#[signature((x: f32[*], eps: f32 = 1e-6) -> (y: f32[*]))]
fn wrong_attribute(x: &Buffer<f32>, eps: f64, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "f")]
#[signature((x: f32[*], k: i64?) -> (y: f32[*]))]
fn must_be_optional(x: &Buffer<f32>, k: i64, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "g")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn not_declared(x: &Buffer<f32>, k: i64, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "h")]
#[signature((x: f32[*], k: i64) -> (y: f32[*]))]
fn not_taken(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "i")]
#[signature((acc: f32[n]) -> (out: f32[n] aliases acc))]
fn not_in_place(acc: &Buffer<f32>, out: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

fn main() {}
