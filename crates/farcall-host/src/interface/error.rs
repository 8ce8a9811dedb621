//! Errors on their way between handler and host.

use std::ffi::CString;

use farcall_ffi::abi::{Error, ErrorCode};

use super::handles::Handles;

/// An error on its way between handler and host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
}

/// Prints a failure to stderr when there is no longer a call that could report it.
#[cold]
pub(crate) fn report_lost(doing: &str, failure: &Failure) {
    eprintln!("farcall: {doing} failed: {:?}: {}", failure.code, failure.message);
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(ErrorCode::INVALID_ARGUMENT, message)
    }
}

/// Message for an error object that was not created by this host.
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

/// Errors that were passed to foreign code and not yet returned or destroyed.
pub(super) static ERRORS: Handles<HostError> = Handles::new();

/// Creates an error object, to be passed to a handler or to [`take_error`].
pub(crate) fn new_error(failure: Failure) -> *mut Error {
    let mut bytes = failure.message.into_bytes();
    bytes.retain(|b| *b != 0);
    let message = CString::new(bytes).unwrap_or_default();
    ERRORS.insert(HostError { code: failure.code, message })
}
