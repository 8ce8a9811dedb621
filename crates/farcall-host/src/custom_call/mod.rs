//! Custom calls: from a call site of a program to the handler's function and back.
//!
//! ```text
//! load      CallSite::new   decides typed or untyped, encodes attributes, runs `instantiate`
//! context   CallFrame::new  the structs of the C interface, built once per run context
//! run       CallFrame::prepare, initialize    where the target has these stages
//!           CallFrame::execute                patches data pointers that change, calls the handler
//! ```
//!
//! While a handler runs, it calls back through the host's table of functions ([`host_api`]), which finds the
//! run by the context pointer in the call frame. These functions, and everything else that foreign code
//! interacts with, are in `interface`. The mapping from calls to functions is in `registry`.
//!
//! Operands and results are passed as XLA:CPU passes them. Tuples are passed as their leaves in order, and a
//! token as a buffer of type `TOKEN` and rank 0. Functions of the untyped API get arrays of pointers:
//!
//! | `api_version` | parameters |
//! | --- | --- |
//! | absent, 0, 1 | `(void* out, const void** ins)` |
//! | 2 | `(void* out, const void** ins, XlaCustomCallStatus* status)` |
//! | 3 | `(void* out, const void** ins, const char* opaque, size_t opaque_len, XlaCustomCallStatus* status)` |
//!
//! `out` is the result itself if there is a single result that is not a tuple, otherwise an array of
//! pointers.
//!
//! # Invariants
//!
//! - [`CallFrame::execute`] does not allocate, lock or hash. Host functions that a handler calls may do so.
//! - A frame's memo records the checks that its handler has made. The memo is discarded before a call if a
//!   data pointer or a dimension has changed since the previous call (`typed.rs`).
//! - Foreign code is not trusted: every entry point checks null and `struct_size`, and catches panics. Errors
//!   and futures are passed as handles that are looked up, never as addresses.
//! - Every misbehavior of a handler, short of corrupting memory or ending the process, becomes a
//!   [`CallError`]. So does a C++ exception with the feature `cxx-exceptions`; without the feature, the
//!   exception ends the process.
//! - An error ends the call. A future returned with the error is dropped, and an object passed to a
//!   `State_Set` that failed still belongs to the handler.
//! - A call whose future is never completed never ends: there is no timeout.

mod error;
mod frame;
mod instantiate;
mod leaf;
mod site;
mod typed;
mod untyped;

pub use error::CallError;
pub use frame::{CallFrame, PendingCall};
pub use leaf::Leaf;
pub use site::CallSite;

pub use crate::interface::api::API_VERSION;
pub use crate::interface::attrs::{AttrError, EncodedAttrs};
pub use crate::interface::context::RunContext;
pub use crate::interface::crash::report_crashes;
pub use crate::interface::kept_memory::Keeper;
pub use crate::interface::pool::ThreadPool;
pub use crate::interface::services::DeviceServices;
pub use crate::interface::watch::{ExitWatch, exit_at_once};
pub use crate::registry::exports::{HOST_SYMBOLS, XLA_FFI_GetApi, get_xla_ffi_api, host_api};
