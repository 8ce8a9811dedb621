//! XLA's `HloModuleProto`, the binary form of HLO. `--xla_dump_hlo_as_proto`, PyTorch and TensorFlow write
//! it, by itself or in an `HloProto`.
//!
//! ```text
//! bytes ─▶ wire ─▶ write (attributes) ─▶ HLO text, with constants beside it ─▶ parse ─▶ Module
//!                  literal ──────────────────────────────┘
//! ```
//!
//! - `wire`: messages and their fields; `write`: computations and instructions; `attributes`: attributes of
//!   instructions and of the header; `literal`: constants.
//!
//! A module is converted to the text that XLA would print for it, and the text is parsed, because both forms
//! are equivalent. The elements of constants are not part of the text. Error messages show lines of the text.

mod attributes;
mod literal;
mod wire;
mod write;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::module::Module;

/// True if `bytes` are an `HloModuleProto` or an `HloProto`. A module must begin with its name, followed by
/// the name of its entry. An `HloProto` must begin with such a module.
pub fn is_module(bytes: &[u8]) -> bool {
    let inner = || bytes.first().filter(|tag| **tag == NAME).and_then(|_| wire::length(&bytes[1..]));
    begins_module(bytes) || inner().is_some_and(|(_, width)| begins_module(&bytes[1 + width..]))
}

/// Tags of the first two fields of a module, both strings: its name and the name of its entry.
const NAME: u8 = 1 << 3 | 2;
const ENTRY_NAME: u8 = 2 << 3 | 2;

fn begins_module(bytes: &[u8]) -> bool {
    let Some((NAME, rest)) = bytes.split_first().map(|(tag, rest)| (*tag, rest)) else { return false };
    let Some((length, width)) = wire::length(rest) else { return false };
    let Some(name) = rest.get(width..width.saturating_add(length)) else { return false };
    let is_name = std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control));
    is_name && rest.get(width + length) == Some(&ENTRY_NAME)
}

/// Reads an `HloModuleProto`, by itself or in an `HloProto`. `name` is the file name for messages.
///
/// # Errors
/// Code `proto` if the file is truncated or has other content. Otherwise the errors of [`super::parse`],
/// which show lines of the module's HLO text.
pub fn read(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    let written = write::module(bytes).map_err(|e| {
        let message = format!("cannot read {name} as an HloModuleProto: {e}");
        ProgramError::new(&Source::none(), Diagnostic::global("proto", message))
    })?;
    let source = Source::new(format!("{name} as HLO text"), written.text);
    let mut module = super::parse_with(&source, &written.literals)?;
    module.name = Some(written.name);
    Ok(module)
}
