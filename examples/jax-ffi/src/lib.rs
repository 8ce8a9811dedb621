//! The targets of JAX's own FFI example, rewritten in Rust, and other targets that use more of the interface.
//!
//! | target | demonstrates |
//! | --- | --- |
//! | `rms_norm`, `rms_norm_fwd`, `rms_norm_bwd` | several element types, and a gradient as a pair of targets |
//! | `array_attr`, `dictionary_attr` | attributes of variable size and of any name |
//! | `counter` | process-wide state |
//! | `aliasing` | an operand and a result in the same memory |
//! | `call_count` | state of a call site |
//! | `double_later` | a call that completes after its handler has returned |
//! | `sort_rows` | structs and enums as attributes, threads and scratch memory of the host |
//!
//! `cargo build -p jax-ffi-ops --release` builds `libjax_ffi_ops.so`. From Python:
//!
//! ```text
//! library = ctypes.PyDLL("target/release/libjax_ffi_ops.so")
//! library.farcall_registrations_v1.restype = ctypes.py_object
//! for name, target in library.farcall_registrations_v1(b"cpu").items():
//!     jax.ffi.register_ffi_target(name, target, platform="cpu")
//! ```

mod attributes;
mod in_place;
mod normalization;
mod services;
mod state;

pub use attributes::{array_attr, dictionary_attr};
pub use in_place::aliasing;
pub use normalization::{rms_norm, rms_norm_bwd, rms_norm_fwd};
pub use services::{Direction, Order, double_later, sort_rows};
pub use state::{call_count, call_count_new, counter};

farcall_ffi::library!(
    "jax_ffi_ops",
    [rms_norm, rms_norm_fwd, rms_norm_bwd, array_attr, dictionary_attr, counter, aliasing, call_count, double_later, sort_rows],
    stages: [call_count_new],
);
