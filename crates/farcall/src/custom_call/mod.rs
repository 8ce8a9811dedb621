//! Custom calls: from a call site of a program to the handler's function and back.
//!
//! ```text
//! compile   CallSite::new   decides typed or untyped, encodes attributes, runs `instantiate`
//! context   CallFrame::new  the structs of the C interface, built once per run context
//! run       CallFrame::prepare, initialize    where the target has these stages
//!           CallFrame::execute                patches data pointers, calls the handler
//! ```
//!
//! While a handler runs it talks back through the host's table of functions ([`host_api`]), which
//! finds the run by the context pointer in the call frame. These functions, and all else that foreign
//! code meets, are in `host`; which function a call means is asked of `registry`.
//!
//! Operands and results are passed as XLA:CPU passes them: tuples as their leaves in order, a token
//! as a buffer of type `TOKEN` and rank 0. Functions of the untyped API get arrays of pointers:
//!
//! | `api_version` | parameters |
//! | --- | --- |
//! | absent, 0, 1 | `(void* out, const void** ins)` |
//! | 2 | `(void* out, const void** ins, XlaCustomCallStatus* status)` |
//! | 3 | `(void* out, const void** ins, const char* opaque, size_t opaque_len, XlaCustomCallStatus* status)` |
//!
//! `out` is the result itself if there is one that is no tuple, else an array of pointers.
//!
//! # Invariants
//!
//! - [`CallFrame::execute`] does not allocate, lock or hash; what a handler asks the host for may.
//! - The other side is assumed wrong: every entry point checks null and `struct_size`, and catches
//!   panics. Errors and futures cross the border as handles that are looked up, never as addresses.
//! - A handler is a guest: whatever it does short of corrupting memory and ending the process becomes a [`CallError`]; a C++
//!   exception does with the feature `cxx-exceptions`, and ends the process without.
//! - Whoever returns an error is done: a future returned beside it is given up, and what a handler
//!   passed to a refused `State_Set` is still the handler's.
//! - A call whose future is never completed never ends: there is no time after which it cannot be.

mod error;
mod frame;
mod site;
mod untyped;

pub use error::CallError;
pub use frame::{CallFrame, Pending};
pub use site::{CallSite, Leaf};

pub use crate::host::api::API_VERSION;
pub use crate::host::attrs::{AttrError, EncodedAttrs};
pub use crate::host::context::RunContext;
pub use crate::host::exit::ExitWatch;
pub use crate::host::pool::ThreadPool;
pub use crate::registry::exports::{HOST_SYMBOLS, XLA_FFI_GetApi, get_xla_ffi_api, host_api};
