//! Loads the libraries of these tests.

use std::path::Path;

use farcall::Registry;
use farcall::registry::{LoadError, LoadReport, TargetSpec};

/// Loads a library, with targets made of its symbols.
pub(crate) fn load(
    registry: &Registry,
    path: impl AsRef<Path>,
    symbols: &[TargetSpec],
) -> Result<LoadReport, LoadError> {
    // SAFETY: the tests load libraries that they have built, files that are no libraries, and the system's libm.
    unsafe { registry.load_symbols(path, symbols) }
}
