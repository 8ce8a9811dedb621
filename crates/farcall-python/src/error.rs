//! Which Python exception an error of the engine becomes; its message is always the engine's.
//!
//! - `ValueError`: the user's program, names or shapes are at fault.
//! - `TypeError`: too few or too many arguments, or arguments of another element type.
//! - `RuntimeError`: a handler failed, or the engine did.
//! - `FileNotFoundError`, `OSError`: a library's file is at fault.
//!
//! A panic is a bug in the engine, and a `RuntimeError` that asks for a report: not pyo3's `PanicException`, which
//! `except Exception` lets pass.

use std::panic::{AssertUnwindSafe, catch_unwind};

use farcall::registry::{LoadError, RegisterError, TargetSpecError, TypeError};
use farcall::{CompileError, RunError};
use farcall_ir::ProgramError;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Enters the engine. A panic ends here: what the engine shares between calls recovers from poisoned locks.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().copied();
        let words =
            words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words");
        Err(PyRuntimeError::new_err(format!(
            "this is a bug in farcall ({words}); please report it, with what was called and what was printed"
        )))
    })
}

/// Panics: for tests of what becomes of it.
#[cfg(debug_assertions)]
#[pyfunction]
pub(crate) fn panics(words: String) -> PyResult<()> {
    guarded(|| std::panic::panic_any(words))
}

/// A program that breaks StableHLO's rules.
pub(crate) fn program(error: &ProgramError) -> PyErr {
    PyValueError::new_err(error.render(false))
}

/// A program that cannot be compiled.
pub(crate) fn compile(error: &CompileError) -> PyErr {
    match error {
        CompileError::Program(error) => program(error),
        CompileError::Plan(_) | CompileError::NoDevice(_) => PyRuntimeError::new_err(error.to_string()),
        CompileError::Memory { .. } => pyo3::exceptions::PyMemoryError::new_err(error.to_string()),
    }
}

/// A run that failed. `same_dtype` says whether the inputs had the right element types.
pub(crate) fn run(error: &RunError, same_dtype: bool) -> PyErr {
    let message = error.to_string();
    match error {
        RunError::InputCount { .. } => PyTypeError::new_err(message),
        RunError::Input { .. } if same_dtype => PyValueError::new_err(message),
        RunError::Input { .. } => PyTypeError::new_err(message),
        RunError::Memory { .. } => pyo3::exceptions::PyMemoryError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// A library that was not loaded.
pub(crate) fn load(error: &LoadError) -> PyErr {
    let message = error.to_string();
    match error {
        LoadError::NotFound { .. } => PyFileNotFoundError::new_err(message),
        LoadError::MissingSymbol { .. } | LoadError::Nothing { .. } | LoadError::Refused { .. } => {
            PyValueError::new_err(message)
        }
        _ => PyOSError::new_err(message),
    }
}

/// A target that was not registered.
pub(crate) fn register(error: &RegisterError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A text that names no symbols.
pub(crate) fn spec(error: &TargetSpecError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A type that was not registered.
pub(crate) fn register_type(error: &TypeError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
