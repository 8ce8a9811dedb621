//! A library that `tests/self_registration.rs` loads into hosts built for this test.

use farcall_ffi::prelude::*;

/// State of a call site.
#[derive(Debug)]
pub struct Start(i64);

#[stage(instantiate)]
fn start_new(start: i64) -> Result<Start> {
    Ok(Start(start))
}

/// Writes the state.
#[handler(name = "start", instantiate = start_new)]
fn start(state: &State<Start>, y: &mut Buffer<i64, 0>) -> Result<()> {
    y[0] = state.0;
    Ok(())
}

/// Does nothing, on two platforms.
#[handler(name = "nothing", traits(command_buffer_compatible))]
fn nothing() -> Result<()> {
    Ok(())
}

#[handler(name = "nothing", platform = "CUDA")]
fn nothing_cuda() -> Result<()> {
    Ok(())
}

farcall_ffi::library!("registering", [start as the_start, nothing, nothing_cuda]);
