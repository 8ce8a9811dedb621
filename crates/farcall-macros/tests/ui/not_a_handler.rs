#![allow(unused_variables)]
use farcall_ffi::prelude::*;

fn plain() -> Result<()> {
    Ok(())
}

#[stage(prepare)]
fn get_ready() -> Result<()> {
    Ok(())
}

farcall_ffi::library!("ops", [get_ready]);

fn main() {}
