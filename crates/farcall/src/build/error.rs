//! What is wrong with a graph, with places in the Rust source.

use std::fmt;
use std::panic::Location;

use farcall_ir::Diagnostic;
use farcall_ir::diag::Diagnostics;

/// Where something was written.
pub(super) type Place = &'static Location<'static>;

/// One error: what is wrong, and where it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The call that is wrong, in the Rust source.
    pub place: Place,
    /// What is wrong with it. The code is the specification's constraint (`dot_general_c10`), or one of the builder's own.
    pub diagnostic: Diagnostic,
}

/// The error as the compiler of Rust would show it: the message, and `--> file:line:column` below it.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, message, notes, .. } = &self.diagnostic;
        write!(f, "error: [{code}] {message}\n --> {}", self.place)?;
        notes.iter().try_for_each(|note| write!(f, "\n  = note: {note}"))
    }
}

/// What [`Display`](fmt::Display) shows: `main` prints the error that it returns with `Debug`.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

/// Why a graph is no program: every error that was found, as far as they are kept.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildErrors {
    /// At least one, in the order in which they were made.
    pub errors: Vec<BuildError>,
    /// How many more there are.
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

/// What [`Display`](fmt::Display) shows: `main` prints the error that it returns with `Debug`.
impl fmt::Debug for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildErrors {}

/// The errors so far: as many as of any program, the others are counted.
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

    /// Everything that was found, if anything was.
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
