//! Placeholder for processors without code generation.

use std::sync::Arc;

use super::linked::{Linked, Runner};
use super::loops::expression::Expr;
use super::map::VectorLoop;

/// A compiled line, which does not exist on this processor.
pub(super) enum Native {}

impl Native {
    pub(super) fn new(_: &Arc<Vec<Linked>>) -> Option<Native> {
        None
    }

    /// # Safety
    /// Cannot be called, since the type has no values.
    pub(super) unsafe fn run<R: Runner>(&self, _: &[*mut u8], _: &mut R) -> Result<(), R::Error> {
        match *self {}
    }
}

pub(super) fn expression(_: &Expr) -> Option<VectorLoop> {
    None
}

pub(super) fn has_functions() -> bool {
    false
}
