//! Limits of work whose amount a program determines.
//!
//! - [`memory`]: memory is requested before it is allocated, and a request may be refused.
//! - [`iterations`]: the loop iterations of a run.
//! - [`interrupt`]: ends long work early.
//!
//! The limits apply to the whole process, and an interrupt applies to a scope of a thread. So this crate has
//! global state, which no other crate below the engine has.
//!
//! **Invariants.** No `unsafe`, no threads. The only I/O is in `memory/machine.rs`, which reads the sizes of
//! the machine's memory and the limits of control groups. This crate knows nothing of programs.
#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod interrupt;
pub mod iterations;
pub mod memory;
