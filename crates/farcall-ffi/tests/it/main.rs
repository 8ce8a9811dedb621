//! Tests of handlers and of the C interface, without an engine. (`self_registration.rs` has a process of its own:
//! it counts the hosts in it.)

mod abi_layout;
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
