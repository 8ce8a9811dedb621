#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "a")]
#[lowers("my.a")]
fn without_a_signature(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "b")]
#[lowers("b", with = lower)]
fn without_a_namespace(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "c")]
#[lowers(with = lower)]
fn without_a_tag(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "d")]
#[lowers("my.d", by = lower)]
fn another_option(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[handler(name = "e")]
#[lowers("my.e", with = returns_unit)]
fn another_function(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    Ok(())
}

#[lowers("my.f")]
fn no_handler() {}

fn lower(_: &Block<'_>) -> Result<Lowered> {
    Ok(Lowered::skip("never"))
}

fn returns_unit(_: &Block<'_>) -> Result<()> {
    Ok(())
}

fn main() {}
