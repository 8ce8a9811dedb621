//! The engine as a Python extension module, `farcall._farcall`.
//!
//! ```text
//! Python package `farcall` ──▶ this module ──▶ farcall (registry, compile, run)
//!   numbers, other arrays         bytes and shapes, or arrays of exactly the right type
//! ```
//!
//! The module needs only Python's stable interface, and only the parts of NumPy's interface that all versions
//! since 1.15 have. The package converts inputs that are not arrays of exactly the type that a program takes.
//!
//! - `registry`: registries, targets. `capsule`: handlers in capsules.
//! - `compile`: compiling programs; programs in other formats. `executable`: compiled programs.
//! - `handler`: handlers written in Python.
//! - `op`: the consequences of an op's signature, for `farcall.load` and JAX.
//! - `linear`: derivatives of calls, for JAX.
//! - `lowering`: Python functions that lower blocks. `partitioner`: functions that divide custom calls.
//! - `attributes`: conversion of attributes from and to Python.
//! - `dim`: sizes that are numbers or symbolic.
//! - `elements`: the elements of a tensor as a Python buffer.
//! - `arrays`: NumPy arrays as arguments and results.
//! - `run`: runs that Ctrl-C can end. `limits`: limits of memory and loop iterations.
//! - `error`: conversion of errors and panics to exceptions.
//!
//! The library is a PJRT plugin, too: it exports `GetPjrtApi`, so that JAX's backend `farcall` and the package
//! share one registry.
//!
//! **Invariants.** This module contains no logic that Rust users would need. The interpreter's lock is
//! released while the engine compiles, runs or opens a library. It is held while elements are copied into the
//! engine, and while handlers and lowerings written in Python run.

mod arrays;
mod attributes;
mod capsule;
mod compile;
mod dim;
mod elements;
mod error;
mod executable;
mod handler;
mod hlo;
mod limits;
mod linear;
mod lowering;
mod op;
mod partitioner;
mod profile;
mod registry;
mod run;

use pyo3::prelude::*;

/// Allocator of the module. Compiling a program makes many small allocations: with this allocator,
/// compilation takes a tenth less time than with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Returns the function table of the PJRT plugin.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const farcall_pjrt::Api {
    farcall_pjrt::api()
}

/// The engine of farcall. Use the package `farcall`, which wraps this module.
#[pymodule]
mod _farcall {
    #[pymodule_export]
    use crate::arrays::set_dtypes;
    #[pymodule_export]
    use crate::attributes::{Attributes, exact_attributes};
    #[pymodule_export]
    use crate::capsule::{capsule, handler_capsule};
    #[pymodule_export]
    use crate::compile::{compile, compile_call, convert, is_artifact, is_plan, trees};
    #[pymodule_export]
    use crate::elements::{element_types, holds};
    #[pymodule_export]
    use crate::error::MissingTargetError;
    #[cfg(debug_assertions)]
    #[pymodule_export]
    use crate::error::panics;
    #[pymodule_export]
    use crate::executable::{Executable, Polymorphic};
    #[pymodule_export]
    use crate::handler::{Handler, fail_run, forget_raised, report_crashes};
    #[pymodule_export]
    use crate::hlo::{custom_calls, entry_types, infer_root, verify_program};
    #[pymodule_export]
    use crate::limits::{set_iteration_limit, set_memory_limit};
    #[pymodule_export]
    use crate::linear::Linear;
    #[pymodule_export]
    use crate::op::{Call, Op};
    #[pymodule_export]
    use crate::partitioner::{inspect_sharding_config, register_partitioner_functions};
    #[pymodule_export]
    use crate::registry::{Registry, Scope, Target, built_in_op, open_lapack, register_type, wait_for_runs};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
