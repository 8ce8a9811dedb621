#![allow(unused_variables)]
use farcall_ffi::prelude::*;

#[stage]
fn which() -> Result<()> {
    Ok(())
}

#[stage(instantiat)]
fn typo() -> Result<()> {
    Ok(())
}

#[stage(prepare)]
fn get_ready() -> Result<()> {
    Ok(())
}

fn plain() -> Result<()> {
    Ok(())
}

#[handler(name = "a", instantiate = get_ready)]
fn a() -> Result<()> {
    Ok(())
}

#[handler(name = "b", prepare = plain)]
fn b() -> Result<()> {
    Ok(())
}

#[stage(instantiate)]
fn not_shared() -> Result<std::cell::Cell<i32>> {
    Ok(std::cell::Cell::new(0))
}

fn main() {}
