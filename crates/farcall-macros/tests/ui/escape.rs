#![allow(unused_variables)]
use farcall_ffi::prelude::*;

use std::cell::RefCell;

thread_local! {
    static KEPT: RefCell<Option<&'static Buffer<f32>>> = const { RefCell::new(None) };
}

#[handler(name = "keeps")]
fn keeps(x: &Buffer<f32>) -> Result<()> {
    KEPT.with(|kept| *kept.borrow_mut() = Some(x));
    Ok(())
}

#[handler(name = "swaps")]
fn swaps(x: &mut Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    std::mem::swap(x, y);
    Ok(())
}

fn main() {}
