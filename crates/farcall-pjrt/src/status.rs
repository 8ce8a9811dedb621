//! Errors of the plugin, as the interface passes them.

use farcall::ffi::StatusCode;
use farcall::registry::{Remedy, advise};
use farcall::{CodedError, CompileError};
use farcall_pjrt_abi::ErrorCode;

/// An error: a code of `absl::Status` and a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// Result of a function of the interface.
pub(crate) type Outcome<T = ()> = Result<T, Status>;

impl Status {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Status {
        Status::new(ErrorCode::INVALID_ARGUMENT, message)
    }

    pub(crate) fn unimplemented(message: impl Into<String>) -> Status {
        Status::new(ErrorCode::UNIMPLEMENTED, message)
    }

    /// Converts an error of the engine.
    pub(crate) fn of(error: &impl CodedError) -> Status {
        Status::new(code(error.code().status()), error.to_string())
    }

    /// Converts an error of the compiler, with advice.
    pub(crate) fn of_compiler(error: CompileError) -> Status {
        let code = code(error.code().status());
        match error.into_program() {
            Ok(error) => Status::new(code, advise(error, advice).to_string()),
            Err(error) => Status::new(code, error.to_string()),
        }
    }

    /// Converts a status that the caller passes; `None` for success.
    pub(crate) fn given(code: ErrorCode, message: String) -> Option<Status> {
        let code = if code.name().is_some() { code } else { ErrorCode::UNKNOWN };
        let message = if message.is_empty() { "the caller gave no message".to_owned() } else { message };
        (code != ErrorCode::OK).then(|| Status::new(code, message))
    }
}

/// Phrases a remedy for the plugin's hosts: JAX, and farcall's command.
fn advice(remedy: &Remedy) -> String {
    match remedy {
        Remedy::LoadTarget(name) => format!(
            "register it for the platform `cpu` (in JAX: jax.ffi.register_ffi_target(\"{name}\", …)), or load the \
             library that has it (in Python: farcall.load(LIB); with the command: --load LIB)"
        ),
        other => other.to_string(),
    }
}

/// Returns the number of a code, which both interfaces take from `absl::Status`.
fn code(status: StatusCode) -> ErrorCode {
    ErrorCode(farcall::ffi::abi::ErrorCode::from(status).0)
}
