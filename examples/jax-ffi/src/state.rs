//! State that outlives a call: shared by the whole process, or separate for each call site.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use farcall_ffi::prelude::*;

/// Returns the number of earlier calls with this index in this process.
#[handler(name = "counter")]
pub fn counter(index: i64, earlier: &mut Buffer<i32, 0>) -> Result<()> {
    static CALLS: LazyLock<Mutex<HashMap<i64, i32>>> = LazyLock::new(Mutex::default);
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = calls.entry(index).or_insert(0);
    earlier[0] = *calls;
    *calls = calls.wrapping_add(1);
    Ok(())
}

/// State of a call site of `call_count`.
#[derive(Debug)]
pub struct CallCount(AtomicI32);

/// Initializes the count of a call site.
#[stage(instantiate)]
pub fn call_count_new(start: i32) -> Result<CallCount> {
    ensure!(start >= 0, "start is {start}, which is negative");
    Ok(CallCount(AtomicI32::new(start)))
}

/// Returns the number of earlier calls of this call site, plus `start`.
#[handler(name = "call_count", instantiate = call_count_new)]
pub fn call_count(state: &State<CallCount>, count: &mut Buffer<i32, 0>) -> Result<()> {
    count[0] = state.0.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
