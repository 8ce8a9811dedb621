//! Placeholder for processors without code generation.

use std::sync::Arc;

use super::expression::Expr;
use super::linked::{Linked, Runner};
use super::vector::VectorLoop;

/// A compiled line, which does not exist on this processor.
pub(crate) enum Native {}

impl Native {
    pub(crate) fn new(_: &Arc<Vec<Linked>>) -> Option<Native> {
        None
    }

    /// # Safety
    /// Cannot be called, since the type has no values.
    pub(crate) unsafe fn run<R: Runner>(&self, _: &[*mut u8], _: &mut R) -> Result<(), R::Error> {
        match *self {}
    }
}

pub(crate) fn expression(_: &Expr) -> Option<VectorLoop> {
    None
}
