//! The shared library of `ops.rs`.

mod ops;

use ops::{count, panics, scale};

farcall_ffi::library!("host_test_ops", [scale, panics, count]);
