//! The targets of JAX's own FFI example, in Rust.
//!
//! | target | shows |
//! | --- | --- |
//! | `rms_norm`, `rms_norm_fwd`, `rms_norm_bwd` | several element types, and a gradient as a pair of targets |
//! | `array_attr`, `dictionary_attr` | attributes of variable size and of any name |
//! | `counter` | state of the process |
//! | `aliasing` | an operand and a result in the same memory |
//! | `call_count` | state of a call site |
//!
//! `cargo build -p jax-ffi-ops --release` makes `libjax_ffi_ops.so`. From Python:
//!
//! ```text
//! lib = ctypes.CDLL("target/release/libjax_ffi_ops.so")
//! jax.ffi.register_ffi_target("rms_norm", jax.ffi.pycapsule(lib.rms_norm), platform="cpu")
//! ```

mod attributes;
mod in_place;
mod normalization;
mod state;

pub use attributes::{array_attr, dictionary_attr};
pub use in_place::aliasing;
pub use normalization::{rms_norm, rms_norm_bwd, rms_norm_fwd};
pub use state::{call_count, call_count_new, counter};

farcall_ffi::library!(
    "jax_ffi_ops",
    [rms_norm, rms_norm_fwd, rms_norm_bwd, array_attr, dictionary_attr, counter, aliasing, call_count],
    stages: [call_count_new],
);
