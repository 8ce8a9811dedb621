#![allow(unused_variables)]
use farcall_ffi::prelude::*;

// A type that no operand determines.
#[handler(name = "a")]
#[signature((x: T[*, n]) -> (y: T[*, n]))]
fn unknown_type(x: &AnyBuffer, y: &mut AnyBuffer) -> Result<()> {
    Ok(())
}

// A dimension that no operand has.
#[handler(name = "b")]
#[signature((x: f32[*, n]) -> (y: f32[*, m + 1]))]
fn unbound_dimension(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// A clause about an unknown dimension.
#[handler(name = "c")]
#[signature((x: f32[*, rows]) -> (y: f32[*, rows]) where row: map)]
fn unknown_dimension(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// A reduced dimension in a result.
#[handler(name = "d")]
#[signature((a: f32[m, k], b: f32[k, n]) -> (c: f32[m, k]) where k: sum)]
fn reduced_and_kept(a: &Buffer<f32>, b: &Buffer<f32>, c: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// Not an element type.
#[handler(name = "e")]
#[signature((x: float32[*]) -> (y: f32[*]))]
fn wrong_dtype(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// A default of another type.
#[handler(name = "f")]
#[signature((x: f32[*], k: i64 = 0.5) -> (y: f32[*]))]
fn wrong_default(x: &Buffer<f32>, k: i64, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

// In quotes.
#[handler(name = "g")]
#[signature = "(x: f32[*, n]) -> (y: f32[*, nn])"]
fn in_quotes(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "h")]
#[signature]
fn no_signature(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "i")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn twice(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "j")]
#[signature((xs: f32[*]..., ds: f32[*]...) -> (ys: f32[*]... aliases xs))]
fn variadic_in_place() -> Result<()> {
    Ok(())
}

#[handler(name = "k")]
#[signature((xs: f32[..]...) -> (ys: f32[..]...))]
fn shapes_of_several() -> Result<()> {
    Ok(())
}

fn main() {}
