//! Tests without a GPU, against stand-ins for NVIDIA's libraries (`tests/cc`). A stand-in logs the calls that
//! it receives. A test compares the log with the expected one, so the order of the calls matters, too.
//!
//! A process opens a library of NVIDIA once, so each test with a stand-in runs in a separate process.

mod absent;
mod blas;
mod errors;
mod extension;
mod extension_layout;
mod kernels;
mod nccl;
mod per_device;
mod standin;
mod stream;
