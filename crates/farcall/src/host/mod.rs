//! The host's side of the C interface: entering foreign code, and what it may request meanwhile.
//!
//! ```text
//! enters     guard      the only way into foreign code; ends exceptions
//!            exit, crash    whose code a thread is in, should it end the process, or crash
//!            metadata   asks a handler what it is
//!            rule       asks an op's rules by hand
//!            lowering   asks a library's lowerings
//! offers     api        the functions of the C interface, in a table
//!            context    the run behind a handler's context pointer, with state and scratch memory
//!            pool, future   threads for tasks; calls that complete later
//!            keeper     the memory of calls whose views are still in use
//!            status     what functions of the untyped API report to
//! passes     attrs      attributes in the form of the C interface
//!            error, handles, types   errors, and what else crosses the border as a number
//! ```
//!
//! This module does not know which targets exist (`registry`) or where a program calls them (`custom_call`): both are
//! built on it. The table of functions lacks the one that registers handlers; `registry` adds it.

pub(crate) mod api;
pub(crate) mod attrs;
pub(crate) mod context;
pub(crate) mod crash;
pub(crate) mod error;
pub(crate) mod exit;
mod float_mode;
pub(crate) mod future;
pub(crate) mod guard;
mod handles;
pub(crate) mod keeper;
pub(crate) mod lowering;
pub(crate) mod metadata;
pub(crate) mod pool;
pub(crate) mod rule;
pub(crate) mod samples;
mod seat;
pub(crate) mod status;
pub(crate) mod trial;
pub(crate) mod types;
