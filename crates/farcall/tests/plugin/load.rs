//! Loads the libraries of these tests.

use std::path::Path;

use farcall::Registry;
use farcall::registry::{LoadError, LoadOptions, LoadReport, TargetSpec};

/// Loads a library, with targets for the given symbols.
pub(crate) fn load(
    registry: &Registry,
    path: impl AsRef<Path>,
    symbols: &[TargetSpec],
) -> Result<LoadReport, LoadError> {
    load_with(registry, path, &LoadOptions { targets: symbols.to_vec(), ..LoadOptions::default() })
}

/// Loads a library with these options.
pub(crate) fn load_with(
    registry: &Registry,
    path: impl AsRef<Path>,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    // SAFETY: the tests load libraries that they have built, other files, and the system's libm.
    unsafe { registry.load_with(path, options) }
}
