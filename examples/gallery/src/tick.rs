//! A process-wide counter: an op with a side effect. Hosts neither drop nor repeat its calls.

use std::sync::atomic::{AtomicI32, Ordering};

use farcall_ffi::prelude::*;

static COUNT: AtomicI32 = AtomicI32::new(0);

/// Adds `by` to a counter that all programs of the process share, and returns its new value.
#[handler(name = "tick")]
#[signature((by: s32[]) -> (count: s32[]) where side_effect)]
fn tick(by: &Buffer<i32, 0>, count: &mut Buffer<i32, 0>) -> Result<()> {
    count[0] = COUNT.fetch_add(by[0], Ordering::Relaxed).wrapping_add(by[0]);
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![tick];
