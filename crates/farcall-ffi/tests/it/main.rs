//! Tests of handlers and of the C interface, without an engine. (`self_registration.rs` is a separate
//! program, because it counts the hosts of its process.)

mod abi_layout;
mod gpu;
mod handlers;
mod host_services;
mod kernels;
mod memo;
mod misaligned;
mod nd;
mod outcome;
mod parts;
mod pool;
mod proofs;
