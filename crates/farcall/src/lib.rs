//! The engine: registry, compiler, runtime.

pub mod custom_call;
pub mod registry;

pub use farcall_ir as ir;
pub use registry::Registry;
