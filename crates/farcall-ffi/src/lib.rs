//! Write XLA FFI handlers (custom calls) in Rust.
//!
//! [`abi`] mirrors the C interface that handlers and hosts share.

pub mod abi;
