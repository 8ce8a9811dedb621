//! Handlers written with `farcall-ffi`. `library.rs` makes them a library, which `host_descriptor.rs` loads.

use std::sync::atomic::{AtomicI64, Ordering};

use farcall_ffi::prelude::*;

/// y = factor · x
#[handler(name = "scale", traits(command_buffer_compatible))]
pub(crate) fn scale(x: &Buffer<f32>, factor: f32, y: &mut Buffer<f32>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    for (x, y) in x.iter().zip(y.iter_mut()) {
        *y = factor * x;
    }
    Ok(())
}

/// Always panics.
#[handler(name = "panics")]
pub(crate) fn panics() -> Result<()> {
    let nothing = std::env::var_os("FARCALL_TEST_NOTHING");
    ensure!(nothing.expect("there was nothing").is_empty(), "there was something");
    Ok(())
}

/// Counter of a call site.
#[derive(Debug)]
pub(crate) struct Count(AtomicI64);

/// Starts counting at `start`.
#[stage(instantiate)]
pub(crate) fn count_new(start: i64) -> Result<Count> {
    ensure!(start >= 0, "start is {start}");
    Ok(Count(AtomicI64::new(start)))
}

/// Returns the number of previous runs of this call site.
#[handler(name = "count", instantiate = count_new)]
pub(crate) fn count(state: &State<Count>, y: &mut Buffer<i64>) -> Result<()> {
    let n = state.0.fetch_add(1, Ordering::Relaxed);
    y.iter_mut().for_each(|y| *y = n);
    Ok(())
}
