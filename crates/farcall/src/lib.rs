//! The engine: registry, compiler, runtime.

mod compile;
pub mod custom_call;
pub mod eval_host;
mod executable;
pub mod plan;
pub mod registry;
mod runtime;

pub use executable::{CompileError, CompileOptions, CompileStats, Executable};
pub use farcall_ir as ir;
pub use plan::Plan;
pub use registry::Registry;
pub use runtime::RunError;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
