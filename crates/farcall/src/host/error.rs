//! Errors on their way between handler and host.

use std::ffi::CString;

use farcall_ffi::abi::{Error, ErrorCode};

use super::handles::Handles;

/// An error on its way between handler and host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// Reports a failure for which no call is left to fail.
#[cold]
pub(crate) fn report_lost(doing: &str, failure: &Failure) {
    eprintln!("farcall: {doing} failed: {:?}: {}", failure.code, failure.message);
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(ErrorCode::INVALID_ARGUMENT, message)
    }
}

/// Message for an error that this host has not created.
pub(crate) const NOT_OURS: &str = "the handler returned an error that is not this host's";

/// Takes an error that a handler returned; `None` for null.
pub(crate) fn take_error(error: *mut Error) -> Option<Failure> {
    if error.is_null() {
        return None;
    }
    let unknown = || Failure::new(ErrorCode::UNKNOWN, NOT_OURS);
    Some(match ERRORS.take(error) {
        None => unknown(),
        Some(HostError { code, message }) => {
            let known = code.is_known() && code != ErrorCode::OK;
            let code = if known { code } else { ErrorCode::UNKNOWN };
            Failure { code, message: message.to_string_lossy().into_owned() }
        }
    })
}

/// The object behind an [`Error`] of this host.
pub(super) struct HostError {
    pub(super) code: ErrorCode,
    pub(super) message: CString,
}

/// Errors that the other side holds.
pub(super) static ERRORS: Handles<HostError> = Handles::new();

/// Creates an error, for a handler or for the host itself to take.
pub(crate) fn new_error(failure: Failure) -> *mut Error {
    let mut bytes = failure.message.into_bytes();
    bytes.retain(|b| *b != 0);
    let message = CString::new(bytes).unwrap_or_default();
    ERRORS.insert(HostError { code: failure.code, message })
}
