//! Errors of refinement.

use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, ProgramError, Source};

/// Reason why a program cannot be specialized to its inputs.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RefineError {
    /// A shape does not follow from the types of the inputs and the elements that are known. It may follow
    /// from elements of further inputs.
    #[error(transparent)]
    UnknownShape(ProgramError),
    /// The inputs do not match the parameters, or the program is invalid for these inputs.
    #[error(transparent)]
    Invalid(ProgramError),
}

impl From<RefineError> for ProgramError {
    fn from(error: RefineError) -> ProgramError {
        match error {
            RefineError::UnknownShape(error) | RefineError::Invalid(error) => error,
        }
    }
}

/// Reason why the walk ends early.
pub(super) enum Stop {
    /// A shape does not follow from the known types and elements.
    UnknownShape(Diagnostic),
    /// With the sizes that are known, an operation violates constraints.
    Violations(Vec<Diagnostic>),
    /// An assertion of the program fails, or a limit is exceeded.
    Refused(Diagnostic),
}

impl Stop {
    /// Returns true if specialization may succeed with bounds in place of the exact sizes.
    pub(super) fn may_have_bounds(&self) -> bool {
        matches!(self, Stop::UnknownShape(_) | Stop::Violations(_))
    }

    /// Returns the error for a program in `source`.
    pub(super) fn into_error(self, source: &Arc<Source>) -> RefineError {
        let at = |diagnostics: Vec<Diagnostic>| {
            diagnostics.into_iter().collect::<Diagnostics>().into_error(source)
        };
        match self {
            Stop::UnknownShape(diagnostic) => RefineError::UnknownShape(at(vec![diagnostic])),
            Stop::Violations(diagnostics) => RefineError::Invalid(at(diagnostics)),
            Stop::Refused(diagnostic) => RefineError::Invalid(at(vec![diagnostic])),
        }
    }
}
