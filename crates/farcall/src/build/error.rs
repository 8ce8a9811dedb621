//! Errors of a graph, with places in the Rust source.

use std::fmt;
use std::panic::Location;

use farcall_ir::Diagnostic;
use farcall_ir::diag::Diagnostics;

/// Place in the Rust source.
pub(super) type Place = &'static Location<'static>;

/// An error of a graph, with its place.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The invalid call in the Rust source.
    pub place: Place,
    /// Description of the error. The code names a constraint of the specification (`dot_general_c10`), or is
    /// specific to the builder.
    pub diagnostic: Diagnostic,
}

/// Formats the error as the Rust compiler would: the message, with `--> file:line:column` below it.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, message, notes, .. } = &self.diagnostic;
        write!(f, "error: [{code}] {message}\n --> {}", self.place)?;
        notes.iter().try_for_each(|note| write!(f, "\n  = note: {note}"))
    }
}

/// Formats like [`Display`](fmt::Display), since `main` prints the error that it returns with `Debug`.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

/// The errors of a graph that is not a valid program, up to a limit ([`Diagnostics::MAX`]).
#[derive(Clone, PartialEq, Eq)]
pub struct BuildErrors {
    /// The errors, at least one, in the order in which they were recorded.
    pub errors: Vec<BuildError>,
    /// Number of errors beyond the limit.
    pub omitted: usize,
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            let between = if i > 0 { "\n\n" } else { "" };
            write!(f, "{between}{error}")?;
        }
        match self.omitted {
            0 => Ok(()),
            1 => f.write_str("\n\n… and 1 more error"),
            n => write!(f, "\n\n… and {n} more errors"),
        }
    }
}

/// Formats like [`Display`](fmt::Display), since `main` prints the error that it returns with `Debug`.
impl fmt::Debug for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildErrors {}

/// The errors so far, up to [`Diagnostics::MAX`]. Further errors are only counted.
#[derive(Default)]
pub(super) struct Errors {
    kept: Vec<BuildError>,
    omitted: usize,
}

impl Errors {
    pub(super) fn push(&mut self, place: Place, diagnostic: Diagnostic) {
        match self.kept.len() < Diagnostics::MAX {
            true => self.kept.push(BuildError { place, diagnostic: Diagnostic { span: None, ..diagnostic } }),
            false => self.omitted += 1,
        }
    }

    /// Returns all errors, if there are any.
    pub(super) fn into_result(self) -> Result<(), BuildErrors> {
        match self.kept.is_empty() {
            true => Ok(()),
            false => Err(BuildErrors { errors: self.kept, omitted: self.omitted }),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn count(&mut self, more: usize) {
        self.omitted += more;
    }
}
