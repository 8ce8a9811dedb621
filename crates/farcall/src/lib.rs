//! The engine: registry, compiler, runtime.
//!
//! ```text
//! Module ──verify──▶ compile ──▶ Plan ──▶ runtime ──▶ results
//!                       ▲                    └─▶ custom_call ──▶ handler
//!                    registry ◀── libraries
//! ```
//!
//! - [`build`]: programs written in Rust.
//! - [`Executable`]: a compiled program, the type that most users hold.
//! - [`Polymorphic`]: a program with dynamic sizes, compiled for each list of types that it is called with.
//! - [`device`]: the devices and streams on which executables run, and the memories and buffers that hold
//!   their inputs and results.
//! - [`op_program`], [`call_program`]: programs that consist of one call, of an op or of any target, to run
//!   the call on arrays.
//! - [`Linear`]: the derivative of such a call, and the calls of derivative ops.
//! - [`registry`]: the targets that custom calls can name, and the loading of libraries that contain targets.
//! - [`plan`]: the compiled program. `compile` makes it and `runtime` runs it; neither depends on the other.
//! - `kernels`: the loops that compute operations, in one table, which `plan`, `compile` and `runtime` use.
//! - `host`: the host side of XLA's C interface.
//! - [`custom_call`]: a program's calls through that interface.
//! - [`profile`]: time profiles of runs.
//! - [`promises`]: tests whether ops keep the promises of their declarations.
//! - [`machine`]: measured limits of the machine, to compare runs with.
//! - [`ErrorCode`]: the kind of an error.
//! - [`eval_host`]: custom calls for the reference evaluator.
//!
//! A program that embeds the engine needs no other crate: [`ir`] is the program representation
//! (`farcall-ir`), [`sig`] has signatures, element types and attribute values (`farcall-sig`), [`ffi`] has
//! the C interface and the SDK (`farcall-ffi`). A library of ops needs only `farcall-ffi`.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod arguments;
mod attributes;
pub mod build;
mod cache;
mod compile;
pub mod custom_call;
pub mod device;
mod error_code;
pub mod eval_host;
mod executable;
mod float_control;
mod host;
mod kernels;
mod linear;
pub mod machine;
mod op_program;
pub mod plan;
mod platform;
mod polymorphic;
pub mod profile;
pub mod promises;
pub mod registry;
mod runtime;
mod transfers;

/// Reasons behind a plan: fusions, their boundaries, operations outside of fusions, and live ranges.
pub mod explain {
    pub use crate::compile::{Explanation, FusionBoundary, LiveRange, Member, Step, Unfused};
}

pub use arguments::{ArgumentError, Arguments, bind};
pub use attributes::value as attribute_value;
pub use compile::{MEMORY_PASSES, MemoryPass, NoKernel, Stage};
pub use error_code::ErrorCode;
pub use executable::{CompileError, CompileOptions, CompileStats, Executable, refine_for_inputs};
pub use farcall_ffi as ffi;
pub use farcall_ir as ir;
pub use farcall_ir::interrupt::{self, Interrupt};
pub use farcall_ir::{iterations, memory};
pub use farcall_sig as sig;
pub use linear::{Argument, DerivativeCall, DerivativeError, Linear, LinearBatch, OpCall, Saved};
pub use op_program::{OpError, call_program, op_program};
pub use plan::Plan;
pub use polymorphic::{Polymorphic, PolymorphicError};
pub use profile::Profile;
pub use registry::Registry;
pub use runtime::RunError;
pub use transfers::Transfers;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
