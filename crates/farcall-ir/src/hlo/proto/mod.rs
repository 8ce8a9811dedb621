//! XLA's `HloModuleProto`: the binary form of HLO, as `--xla_dump_hlo_as_proto`, PyTorch and TensorFlow write it, by
//! itself or in an `HloProto`.
//!
//! ```text
//! bytes ─▶ wire ─▶ write (attributes) ─▶ HLO text, with constants beside it ─▶ parse ─▶ Module
//!                  literal ──────────────────────────────┘
//! ```
//!
//! - `wire`: messages and their fields; `write`: computations and instructions; `attributes`: attributes of
//!   instructions and of the header; `literal`: constants.
//!
//! A module is written as the text that XLA prints for it, and read from that: both forms mean the same. Elements of
//! constants stay out of the text. Messages show its lines.

mod attributes;
mod literal;
mod wire;
mod write;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::module::Module;

/// True for the bytes of an `HloModuleProto` or `HloProto`: the first field is a name, or a module that begins with
/// one, and the name of the entry follows.
pub fn is_module(bytes: &[u8]) -> bool {
    let inner = || bytes.first().filter(|tag| **tag == NAME).and_then(|_| wire::length(&bytes[1..]));
    begins_module(bytes) || inner().is_some_and(|(_, width)| begins_module(&bytes[1 + width..]))
}

/// The tags of the first two fields of a module: its name and its entry's name, both strings.
const NAME: u8 = 1 << 3 | 2;
const ENTRY_NAME: u8 = 2 << 3 | 2;

fn begins_module(bytes: &[u8]) -> bool {
    let Some((NAME, rest)) = bytes.split_first().map(|(tag, rest)| (*tag, rest)) else { return false };
    let Some((length, width)) = wire::length(rest) else { return false };
    let Some(name) = rest.get(width..width.saturating_add(length)) else { return false };
    let is_name = std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control));
    is_name && rest.get(width + length) == Some(&ENTRY_NAME)
}

/// Reads an `HloModuleProto`, by itself or in an `HloProto`. `name` is the file's name, for messages.
///
/// # Errors
/// `proto` for a truncated file or one with other content; the errors of [`super::parse`], which show lines
/// of the module's HLO text.
pub fn read(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    let written = write::module(bytes).map_err(|e| {
        let message = format!("{name} is no HloModuleProto that can be read: {e}");
        ProgramError::new(&Source::none(), Diagnostic::global("proto", message))
    })?;
    let source = Source::new(format!("{name} as HLO text"), written.text);
    let mut module = super::parse_with(&source, &written.literals)?;
    module.name = Some(written.name);
    Ok(module)
}
