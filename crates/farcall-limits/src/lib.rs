//! Limits of work that a program determines.
//!
//! - [`memory`]: memory is requested before it is allocated, and a request may be refused.
//! - [`iterations`]: the loop iterations of a run.
//! - [`interrupt`]: ends long work early.
//!
//! The limits apply to the whole process, and interrupts to a scope of a thread, so this crate has the only
//! global state below the engine.
//!
//! **Invariants.** No `unsafe`, no threads. The only I/O is reading the machine's memory and control groups,
//! in `memory/machine.rs`. This crate knows nothing of programs.
#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod interrupt;
pub mod iterations;
pub mod memory;
