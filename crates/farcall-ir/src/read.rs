//! Programs in any format that is read: what it is shows in its content.

use std::sync::Arc;

use crate::diag::{ProgramError, Source};
use crate::exported::{self, Exported};
use crate::module::Module;
use crate::{bytecode, hlo, text, vhlo};

/// Parses text: HLO text, which begins with `HloModule`, or StableHLO text.
///
/// # Errors
/// Those of [`hlo::parse`] or [`text::parse`].
pub fn text(source: &Arc<Source>) -> Result<Module, ProgramError> {
    if hlo::is_hlo(source.text()) { hlo::parse(source) } else { text::parse(source) }
}

/// Reads a portable artifact, or a function that `jax.export` wrote; `None` if the bytes are neither. `name` is that
/// of the file, for messages.
///
/// # Errors
/// Those of [`vhlo::read`] or [`Exported::read`].
pub fn artifact(bytes: &[u8], name: &str) -> Option<Result<Module, ProgramError>> {
    if exported::is_exported(bytes) {
        return Some(Exported::read(bytes, name).and_then(|exported| exported.module(name)));
    }
    bytecode::is_bytecode(bytes).then(|| vhlo::read(bytes, name))
}
