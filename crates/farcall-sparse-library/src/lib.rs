//! The ops of the crate `farcall-sparse` as a shared library, for XLA and other hosts.
//!
//! farcall's engine includes these ops and does not need the library. The ops are in another crate,
//! because the functions that a library exports must not be linked into programs.

farcall_ffi::library!("farcall_sparse", [..ops::OPS]);
