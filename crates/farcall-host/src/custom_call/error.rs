//! Errors of custom calls.

use crate::CodedError;
use std::sync::Arc;

use farcall_ffi::abi::{ErrorCode, Stage};
use farcall_ir::{Diagnostic, Span};

/// A custom call that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("custom call `{target}`{} failed in its {} stage: {code:?}: {message}", at(place), stage.name())]
pub struct CallError {
    /// Target of the call.
    pub target: Arc<str>,
    /// Location of the call in the program; empty if unknown.
    pub place: Arc<str>,
    /// Span of the call in the program's text.
    pub span: Option<Span>,
    /// Stage that failed.
    pub stage: Stage,
    /// XLA's error code.
    pub code: ErrorCode,
    /// The handler's message, or the host's if the handler was not reached.
    pub message: String,
}

impl CallError {
    /// Converts the error to a diagnostic at the location in the program, if known.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let nowhere = CallError { place: "".into(), ..self.clone() };
        self.span.map(|span| Diagnostic::new("custom_call", span, nowhere.to_string()))
    }
}

impl CodedError for CallError {
    fn code(&self) -> crate::ErrorCode {
        crate::ErrorCode::CustomCall(farcall_ffi::StatusCode::from(self.code))
    }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at {place}") }
}
