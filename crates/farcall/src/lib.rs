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
//! - [`devices`]: programs that run on several devices at once.
//! - [`op_program`], [`call_program`]: programs of a single call, for running an op or any target on arrays.
//! - [`Linear`]: the derivative of such a call, and the calls of derivative ops.
//! - [`registry`]: the targets that custom calls can name, and the loading of libraries that contain targets.
//! - [`plan`]: the compiled program. `compile` makes it and `runtime` runs it; neither depends on the other.
//! - `kernels`: the loops that compute operations, in one table, which `plan`, `compile` and `runtime` use.
//! - `host`: the host side of XLA's C interface.
//! - [`custom_call`]: a program's calls through that interface.
//! - [`profile`]: time profiles of runs.
//! - [`ErrorCode`]: the kind of an error ([`CodedError::code`]).
//! - [`eval_host`]: custom calls for the reference evaluator.
//! - [`interpreter`]: the targets of StableHLO's interpreter.
//! - [`pjrt`]: programs on the devices of other compilers, which PJRT plugins provide.
//!
//! A program that embeds the engine needs no other crate: [`ir`] is the program representation
//! (`farcall-ir`), [`sig`] has signatures, element types and attribute values (`farcall-sig`), [`ffi`] has
//! the C interface and the SDK (`farcall-ffi`). A library of ops needs only `farcall-ffi`.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod arguments;
pub mod build;
pub mod devices;
pub mod eval_host;
mod executable;
pub mod interpreter;
mod linear;
mod op_program;
mod parts;
pub mod pjrt;
mod polymorphic;

/// Programs for several devices: shardings, partitioning.
pub mod partition {
    pub use farcall_compile::partition_module;
    pub use farcall_partition::Partitioned;
    pub use farcall_partition::grid::{DeviceGrid, SubAxis};
    pub use farcall_partition::partitioner::{
        DividedCall, Partitioner, ShardedCall, ShardedTensor, register as register_partitioner,
    };
    pub use farcall_partition::report::{Movement, Report, ShardedValue, ShardingSource};
    pub use farcall_partition::tiling::Tiling;
}

/// Reasons behind a plan: fusions, their boundaries, operations outside of fusions, steps without a kernel,
/// and live ranges.
pub mod explain {
    pub use farcall_compile::{
        Explanation, FusionBoundary, LiveRange, Member, NoKernel, Step, Unfused, no_kernel,
    };
}

pub use arguments::{ArgumentError, Arguments, bind};
pub use executable::{CompileStats, Executable, RunOptions};
pub use farcall_compile::{
    CompileError, CompileOptions, MEMORY_PASSES, MemoryPass, Stage, compile_plan, compile_static, specialize,
};
pub use farcall_ffi as ffi;
pub use farcall_host::attributes::value as attribute_value;
pub use farcall_host::{
    CodedError, ErrorCode, Registry, Transfers, custom_call, device, registry, watch_exits,
};
pub use farcall_ir as ir;
pub use farcall_ir::interrupt::{self, Interrupt};
pub use farcall_ir::{iterations, memory};
/// LAPACK libraries whose routines replace farcall's own on request.
#[cfg(feature = "linalg")]
pub use farcall_lapack as lapack;
pub use farcall_plan::{self as plan, Plan, ValidPlan};
pub use farcall_runtime::RunError;
pub use farcall_runtime::profile::{self, Profile};
pub use farcall_sig as sig;
pub use linear::{Argument, DerivativeCall, DerivativeError, Linear, LinearBatch, OpCall, Saved};
pub use op_program::{OpError, call_program, declared_call, op_program};
pub use polymorphic::{Polymorphic, PolymorphicError};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
