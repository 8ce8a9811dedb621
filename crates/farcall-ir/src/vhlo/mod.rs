//! Portable artifacts: StableHLO programs as MLIR bytecode, in the versioned dialect VHLO.
//!
//! ```text
//! bytes ─ bytecode::File ─▶ program ─▶ attributes ─▶ Module
//!                             │ ├─ table: attributes, types and locations, each decoded once
//!                             │ │    └─ dialects ─▶ builtin, attr, shardy, types, dense: decoding of their bytes
//!                             │ └─ upgrade: VHLO's attributes as StableHLO's
//!                             └─ ops: the operations of all versions
//! ```
//!
//! [`write()`] is the reverse.
//!
//! An artifact names the version of every operation (`vhlo.gather_v1`), and the meaning of a version never
//! changes. Old versions are upgraded. An unknown version or operation is an error, whose message names it.
//! StableHLO's `docs/vhlo.md` describes the dialect. Attributes and operations of other dialects (Shardy's,
//! MLIR's own) are read if the text format has them. `plain` decodes StableHLO's own attributes and types in
//! plain MLIR bytecode (`.mlirbc`), whose operations are read by the same code, without upgrades.
//!
//! **Invariants.** Nothing in an artifact is trusted. Attributes and types nest at most [`MAX_NESTING`] deep,
//! and regions as deep as in text. Attributes that an artifact shares are repeated in the module for each
//! use. Therefore uses are counted, up to [`NODES`] plus [`NODES_PER_BYTE`] for each byte, and so are copied
//! bytes, up to [`COPIED`] plus [`COPIED_PER_BYTE`] for each byte. Memory thus stays proportional to the
//! artifact: at most 64 MB, plus 2 KB for each byte of the artifact, plus a few bytes for each byte of a
//! large constant.

mod attr;
mod builtin;
mod dense;
mod dialects;
mod ops;
mod plain;
mod program;
mod shardy;
mod symbols;
mod table;
#[cfg(test)]
mod tests;
mod ty;
mod types;
mod upgrade;
mod write;

use crate::bytecode::File;
use crate::diag::ProgramError;
use crate::module::Module;
use crate::stack;

pub use write::{Artifact, write};

/// Major, minor and patch version of StableHLO.
pub type Version = crate::op::info::Release;

/// Newest version of StableHLO whose operations, attributes and types are known.
pub const NEWEST: Version = (1, 20, 0);

/// Maximum nesting depth of attributes and types.
pub const MAX_NESTING: u32 = 32;

/// Number of uses of attributes and types that any artifact may have, however small.
pub const NODES: usize = 1 << 18;

/// Number of further uses for each byte of an artifact.
pub const NODES_PER_BYTE: usize = 8;

/// Bytes of names that count as one use.
const BYTES_PER_NODE: usize = 16;

/// Bytes of names, lists and repeated elements that may be copied from any artifact, however small.
pub const COPIED: usize = 16 << 20;

/// Bytes that may additionally be copied for each byte of an artifact.
pub const COPIED_PER_BYTE: usize = 128;

/// Reads a portable artifact (see [`is_bytecode`](crate::bytecode::is_bytecode)), which errors call `name`.
///
/// # Errors
/// The problem, and the byte at which it is. Codes: `bytecode` (the container, or the encoding of an
/// attribute or a type), `unsupported` (versions that are not known), `unknown-op`, `undefined-value`,
/// `redefinition`, `type`, `type-mismatch`, `attribute`, `terminator`, `unknown-function`, `no-body`,
/// `resource`, `nesting`, `memory`, `empty`.
pub fn read(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    stack::with_room(|| read_here(bytes, name))
}

fn read_here(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    let file = File::open(bytes).map_err(|e| e.program(name))?;
    program::Reader::new(&file, name, bytes.len()).map_err(|e| e.program(name))?.read()
}
