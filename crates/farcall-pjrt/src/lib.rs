//! The engine of farcall as a PJRT plugin: a backend of JAX, and of any other host that loads such plugins.
//!
//! ```text
//! host ──GetPjrtApi──▶ Api ──▶ call::entry ──▶ Call::call of a function's arguments
//!                                                │
//!    client: devices, memories      buffer: arrays       executable: programs, runs
//!                                     value, event          program ──▶ farcall::Executable
//! ```
//!
//! The function [`api`] returns the function table. A library that exports it as `GetPjrtApi` is a plugin:
//! `farcall-pjrt-library`, and the extension module of the Python package.
//!
//! - **Arguments.** `call` copies the members that the caller's `struct_size` covers, so that a caller of
//!   another version is never read or written beyond its struct, and catches panics.
//! - **Handles.** `object` makes them. Debug builds know the live ones.
//! - **Values.** A buffer holds a tensor of the engine, or the promise of one. Tensors are never written to
//!   while they are shared, so that copies between devices and memories share them.
//! - **Runs.** A run of a small program happens in the call. Another run is started when its arguments are ready:
//!   on the device's thread or, if it calls functions of the host, on a thread of its own, because these
//!   functions may wait for other runs. An error reaches the buffers that the run should have defined.
//! - **Several devices.** A program for several replicas or partitions runs on all of its devices at once
//!   (`together`). Programs with shardings are partitioned.
//! - **Names.** The platform is called `cpu`: see `topology::PLATFORM_NAME`.

mod buffer;
mod call;
mod client;
mod compile_options;
mod cost;
mod element;
mod event;
mod executable;
mod ffi;
mod fork;
mod inspect_sharding;
mod layout;
mod layouts;
mod named_values;
mod object;
mod partitioner;
mod plugin;
mod program;
mod protobuf;
mod scope;
mod shardings;
mod status;
mod together;
mod topology;
mod transfers;
mod value;

pub use client::wait_for_runs;
pub use farcall_pjrt_abi::Api;
pub use inspect_sharding::{InspectShardingArgs, InspectShardingCallback};
pub use plugin::api;
pub use scope::{ProgramScope, SCOPE_ATTRIBUTE};
