//! Limits of all runs in the process.

use farcall::{iterations, memory};
use pyo3::prelude::*;

/// Sets the memory limit in bytes; `None` removes the limit.
#[pyfunction]
pub(crate) fn set_memory_limit(bytes: Option<usize>) {
    memory::set_limit(bytes.unwrap_or(usize::MAX));
}

/// Sets the limit on the loop iterations of a run; `None` removes the limit.
#[pyfunction]
pub(crate) fn set_iteration_limit(iterations: Option<u64>) {
    iterations::set_limit(iterations.unwrap_or(u64::MAX));
}
