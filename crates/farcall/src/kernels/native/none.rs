//! On other processors, no instructions are made.

use super::chain::Chain;
use super::linked::{Linked, Runner};
use super::map::Work;

/// A line that has been compiled: there is none.
pub(super) enum Native {}

impl Native {
    pub(super) fn new(_: &[Linked]) -> Option<Native> {
        None
    }

    /// # Safety
    /// Nobody can call it.
    pub(super) unsafe fn run<R: Runner>(&self, _: &[*mut u8], _: &mut R) -> Result<(), R::Error> {
        match *self {}
    }
}

pub(super) fn chain(_: &Chain) -> Option<Work> {
    None
}

pub(super) fn has_functions() -> bool {
    false
}
