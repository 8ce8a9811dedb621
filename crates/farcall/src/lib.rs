//! The engine: registry, compiler, runtime.

pub use farcall_ir as ir;
