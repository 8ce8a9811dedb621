//! Which Python exception an error of the engine becomes; its message is always the engine's.
//!
//! - `ValueError`: the user's program, names or shapes are at fault.
//! - `TypeError`: too few or too many arguments, or arguments of another element type.
//! - `RuntimeError`: a handler failed, or the engine did.
//! - `FileNotFoundError`, `OSError`: a library's file is at fault.

use farcall::registry::{LoadError, RegisterError, TargetSpecError, TypeError};
use farcall::{CompileError, RunError};
use farcall_ir::ProgramError;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};

/// A program that breaks StableHLO's rules.
pub(crate) fn program(error: &ProgramError) -> PyErr {
    PyValueError::new_err(error.render(false))
}

/// A program that cannot be compiled.
pub(crate) fn compile(error: &CompileError) -> PyErr {
    match error {
        CompileError::Program(error) => program(error),
        CompileError::Plan(_) => PyRuntimeError::new_err(error.to_string()),
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
