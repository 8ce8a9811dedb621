//! Errors of custom calls.

use std::sync::Arc;

use farcall_ffi::abi::{ErrorCode, Stage};
use farcall_ir::{Diagnostic, Span};

/// A custom call that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("custom call `{target}`{} failed in its {} stage: {code:?}: {message}", at(place), stage.name())]
pub struct CallError {
    /// The target.
    pub target: Arc<str>,
    /// Where the program calls it; empty if unknown.
    pub place: Arc<str>,
    /// The same as a span of the program's text.
    pub span: Option<Span>,
    /// What it was doing.
    pub stage: Stage,
    /// XLA's code for what happened.
    pub code: ErrorCode,
    /// The handler's own words, or the host's if the handler was not reached.
    pub message: String,
}

impl CallError {
    /// What kind of error it is.
    pub fn code(&self) -> crate::ErrorCode {
        crate::ErrorCode::CustomCall(farcall_ffi::ErrorCode::from(self.code))
    }

    /// The same as a diagnostic at a place of the program, if that is known.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let nowhere = CallError { place: "".into(), ..self.clone() };
        self.span.map(|span| Diagnostic::new("custom_call", span, nowhere.to_string()))
    }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at {place}") }
}
