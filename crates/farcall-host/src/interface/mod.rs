//! The host's side of the C interface: entry into foreign code, and the services that foreign code may
//! request.
//!
//! ```text
//! enters     guard      entry points into foreign code; catches exceptions
//!            exit, watch, crash   report foreign code that ends the process or crashes
//!            metadata   asks a handler for its metadata
//!            child_process   calls an unknown function in a child process first
//!            rule       calls an op's shape and batching functions
//!            lowering   calls a library's lowerings
//!            samples    requests an op's sample calls
//! offers     api        the functions of the C interface, in a table
//!            context    the run behind a handler's context pointer, with state and scratch memory
//!            pool, parking   threads for tasks and kernels
//!            float_mode     treatment of subnormal numbers on these threads
//!            future     calls that complete later
//!            kept_memory   the memory of calls whose views are still in use
//!            services   streams and scratch memory of other devices
//!            status     status objects of the untyped API
//! passes     attrs      attributes encoded for the C interface
//!            error, handles, types   errors, and other objects that cross the interface as numbers
//! ```
//!
//! This module does not know which targets exist (`registry`) or where a program calls them (`custom_call`).
//! Both modules are built on this one. The table of functions lacks the function that registers handlers;
//! `registry` adds it.

pub(crate) mod api;
pub(crate) mod attrs;
pub(crate) mod child_process;
pub(crate) mod context;
pub(crate) mod crash;
pub(crate) mod error;
pub(crate) mod exit;
mod float_mode;
pub(crate) mod future;
pub(crate) mod guard;
mod handles;
pub(crate) mod kept_memory;
pub(crate) mod lowering;
pub(crate) mod metadata;
mod parking;
pub(crate) mod pool;
pub(crate) mod rule;
pub(crate) mod samples;
pub(crate) mod services;
pub(crate) mod status;
pub(crate) mod types;
pub(crate) mod watch;
