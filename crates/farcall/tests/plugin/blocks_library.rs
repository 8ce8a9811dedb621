//! The ops of `blocks.rs` as a library.

#[path = "blocks.rs"]
mod ops;

farcall_ffi::library!("block_test_ops", [ops::scale_f32, ops::scale_f64, ops::twice_f32]);
