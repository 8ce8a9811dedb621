#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "nothing")]
fn nothing(x: &Buffer<f32>) {
    x.last_dims::<1>()?;
}

#[handler(name = "number")]
fn number(x: &Buffer<f32>) -> f32 {
    0.0
}

#[stage(instantiate)]
fn new() -> u64 {
    0
}

#[stage(prepare)]
fn nothing_of_a_stage() {}

fn main() {}
