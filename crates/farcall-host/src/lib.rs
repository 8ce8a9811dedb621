//! The host side of custom calls: targets, the calls to them, and the services that handlers may request.
//!
//! ```text
//! custom_call   a program's calls: call sites, call frames, stages
//!     │
//! registry      the targets that calls can name; loads the libraries that contain targets
//!     │
//! interface     the host's side of XLA's C interface: entry into foreign code, tables of functions, threads
//! ```
//!
//! Each module may use the modules below it. Beside them are [`device`] (devices with their memories, buffers
//! and streams), [`Transfers`] (the queues behind infeed and outfeed), [`processes`] (runs on several devices), [`platform`]
//! (kinds of devices) and [`ErrorCode`], the kind of an error.
//!
//! **Invariants.** This crate knows no kernels, plans or compiler. Of a program, it knows only the calls with
//! their types and attributes, tensors, and interrupts. Foreign code is entered only here. Users of the
//! engine reach this crate through `farcall`, which re-exports this crate's public modules under the same
//! names.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("farcall runs on x86-64 and aarch64: it does not know this processor's floating point mode");

pub mod attributes;
pub mod custom_call;
pub mod device;
mod error_code;
mod interface;
pub mod platform;
mod poll;
pub mod processes;
pub mod registry;
pub mod runs;
pub mod transfers;

pub use error_code::{CodedError, ErrorCode};
pub use farcall_ffi::float_control;
pub use registry::Registry;
pub use transfers::Transfers;
