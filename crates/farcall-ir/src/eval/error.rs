//! Errors of the evaluator.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::diag::{Diagnostic, Span};
use crate::interrupt::Interrupted;
use crate::iterations::TooMany;
use crate::memory::OutOfMemory;
use crate::module::{Inst, Module};

/// The reason why a program could not be evaluated.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{}{message}", .place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default(), .op.map(|op| format!("{op}: ")).unwrap_or_default())]
pub struct EvalError {
    /// Description of the error.
    pub message: String,
    /// The kind of error, for callers that distinguish kinds.
    pub cause: Cause,
    /// Name of the operation that failed, if any.
    pub op: Option<&'static str>,
    /// Location of the operation in the source.
    pub span: Option<Span>,
    /// The location as `file:line:column`.
    pub place: Option<String>,
}

/// The kinds of errors of the evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A fault in the program or its inputs: an operation is not defined for its operands.
    Operation,
    /// Not enough memory.
    Memory(OutOfMemory),
    /// Loops exceeded the limit on iterations.
    Iterations(TooMany),
    /// An [interrupt](crate::interrupt) ended the evaluation.
    Interrupted,
    /// The host failed: a custom call, or a transfer.
    Host(HostError),
}

/// An error of a [`Host`](super::EvalHost): any error type, or a message.
///
/// ```
/// use farcall_ir::eval::HostError;
///
/// let error: HostError = "no such device".into();
/// assert_eq!(error.to_string(), "no such device");
/// let error = HostError::from("x".parse::<i32>().unwrap_err());
/// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct HostError(Arc<dyn Error + Send + Sync>);

impl HostError {
    /// The underlying error, if it has this type.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `HostError` cannot implement `Error`: this conversion would then overlap with the standard library's
/// conversion of a type to itself.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for HostError {
    fn from(error: E) -> HostError {
        HostError(error.into().into())
    }
}

impl EvalError {
    /// An error without an operation, which [`at`](EvalError::at) adds.
    pub(crate) fn new(message: impl Into<String>) -> EvalError {
        EvalError { message: message.into(), cause: Cause::Operation, op: None, span: None, place: None }
    }

    /// An error of the host. `what` describes the request and begins the message.
    pub(super) fn host(what: &str, error: HostError) -> EvalError {
        EvalError { cause: Cause::Host(error.clone()), ..EvalError::new(format!("{what}{error}")) }
    }

    /// The error as a diagnostic, if its location is known.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let nowhere = EvalError { place: None, ..self.clone() };
        self.span.map(|span| Diagnostic::new("run", span, nowhere.to_string()))
    }

    /// Adds the operation, unless an inner operation has been added already.
    pub(super) fn at(mut self, module: &Module, inst: Inst<'_>) -> EvalError {
        if self.op.is_none() {
            self.op = Some(inst.op().name());
            self.span = Some(inst.span());
            self.place = Some(module.source.place(inst.span()));
        }
        self
    }
}

impl From<HostError> for EvalError {
    fn from(error: HostError) -> EvalError {
        EvalError::host("", error)
    }
}

impl From<OutOfMemory> for EvalError {
    fn from(error: OutOfMemory) -> EvalError {
        EvalError { cause: Cause::Memory(error), ..EvalError::new(error.to_string()) }
    }
}

impl From<Interrupted> for EvalError {
    fn from(_: Interrupted) -> EvalError {
        EvalError { cause: Cause::Interrupted, ..EvalError::new("the run was interrupted") }
    }
}

impl From<TooMany> for EvalError {
    fn from(error: TooMany) -> EvalError {
        EvalError { cause: Cause::Iterations(error), ..EvalError::new(error.to_string()) }
    }
}
