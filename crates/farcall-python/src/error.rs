//! Conversion of the engine's errors to Python exceptions. The message is always the engine's.
//!
//! - `ValueError`: the user's program, names or shapes are invalid; its subclass `MissingTargetError`: the
//!   program calls targets that are not registered.
//! - `TypeError`: too few or too many arguments, or arguments of the wrong element type.
//! - `NotImplementedError`: an op is vmapped although it declares that it cannot be vmapped, or called with
//!   symbolic sizes that do not determine the shapes of its results.
//! - `RuntimeError`: a handler or the engine failed.
//! - `FileNotFoundError`, `OSError`: a library's file is missing or unusable.
//! - `MemoryError`: there is not enough memory.
//!
//! The engine's [`ErrorCode`] determines the exception.
//!
//! A panic is a bug in the engine. It becomes a `RuntimeError` that asks for a report, not pyo3's
//! `PanicException`, which `except Exception` does not catch.

use farcall::CodedError;
use farcall::ffi::unwind::catch;
use farcall::registry::{Remedy, advise};
use farcall::{CompileError, ErrorCode};
use farcall_ir::ProgramError;
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    farcall,
    MissingTargetError,
    PyValueError,
    "A program calls targets that are not registered."
);

/// Calls the engine and catches panics. Data that the engine shares between calls recovers from poisoned
/// locks.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch(work).unwrap_or_else(|panic| {
        let words = panic.message().unwrap_or("no words");
        Err(PyRuntimeError::new_err(format!(
            "this is a bug in farcall ({words}); please report it, with the call and the printed output"
        )))
    })
}

/// Panics, for tests of how panics are reported.
#[cfg(debug_assertions)]
#[pyfunction]
pub(crate) fn panics(words: String) -> PyResult<()> {
    guarded(|| std::panic::panic_any(words))
}

/// Returns the exception for an error code, with this message.
pub(crate) fn exception(code: ErrorCode, message: String) -> PyErr {
    match code {
        ErrorCode::ArgumentCount
        | ErrorCode::ElementType
        | ErrorCode::Attribute
        | ErrorCode::NotDifferentiable => PyTypeError::new_err(message),
        ErrorCode::InvalidProgram
        | ErrorCode::Shape
        | ErrorCode::Device
        | ErrorCode::NoSignature
        | ErrorCode::MissingSymbol
        | ErrorCode::NoTargets
        | ErrorCode::RefusedTargets
        | ErrorCode::AlreadyRegistered
        | ErrorCode::InvalidTarget
        | ErrorCode::InvalidText => PyValueError::new_err(message),
        ErrorCode::NotBatched | ErrorCode::OpenSize => PyNotImplementedError::new_err(message),
        ErrorCode::MissingTarget => MissingTargetError::new_err(message),
        ErrorCode::OutOfMemory => PyMemoryError::new_err(message),
        ErrorCode::FileNotFound => PyFileNotFoundError::new_err(message),
        ErrorCode::UnreadableFile | ErrorCode::NotALibrary | ErrorCode::Link => PyOSError::new_err(message),
        ErrorCode::Elements
        | ErrorCode::CustomCall(_)
        | ErrorCode::Operation
        | ErrorCode::Interrupted
        | ErrorCode::TooManyIterations
        | ErrorCode::InvalidPlan => PyRuntimeError::new_err(message),
        // The engine may add error codes.
        _ => PyRuntimeError::new_err(message),
    }
}

/// Returns the exception for a program that breaks StableHLO's rules.
pub(crate) fn program(error: &ProgramError) -> PyErr {
    exception(ErrorCode::InvalidProgram, error.render(false))
}

/// Returns the exception for a program that cannot be compiled.
pub(crate) fn compile(error: CompileError) -> PyErr {
    let code = match error.code() {
        ErrorCode::MissingTarget => ErrorCode::MissingTarget,
        _ => ErrorCode::InvalidProgram,
    };
    match error.into_program() {
        Ok(error) => exception(code, advise(error, advice).render(false)),
        Err(error) => exception(error.code(), error.to_string()),
    }
}

/// Phrases a remedy in terms of the Python package.
pub(crate) fn advice(remedy: &Remedy) -> String {
    match remedy {
        Remedy::LoadTarget(name) => format!(
            "load the library that has it: farcall.load(LIB); if the library does not register it, \
             Registry.load(LIB, [\"{name}=SYMBOL\"]); or register a function: \
             farcall.ffi.register_ffi_target(\"{name}\", fn); see: farcall guide python"
        ),
        Remedy::Divide => "the program computes with the parts that several devices have of a tensor: \
             farcall.compile(program, partitioned=True); see: farcall guide devices"
            .to_owned(),
        Remedy::RegisterLapack => {
            "jaxlib may have a handler of this name: `farcall.register_lapack()` registers jaxlib's LAPACK handlers, \
             all of them; pass the program's registry if it does not use the global one; \
             see: farcall guide linear-algebra"
                .to_owned()
        }
        Remedy::NameSymbols => "name its handlers: farcall.Registry.load(LIB, [\"NAME=SYMBOL\"])".to_owned(),
        Remedy::NamespaceOrReplace => "to have both, farcall.load(LIB, namespace=\"NAME\"); to replace the \
             registered ones, farcall.load(LIB, replace=True)"
            .to_owned(),
        other => other.to_string(),
    }
}
