#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[handler(name = "nothing")]
fn nothing(x: &Buffer<f32>) {}

#[handler(name = "number")]
fn number(x: &Buffer<f32>) -> f32 {
    0.0
}

#[stage(instantiate)]
fn new() -> u64 {
    0
}

fn main() {}
