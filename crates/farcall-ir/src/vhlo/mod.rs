//! Portable artifacts: StableHLO programs as MLIR bytecode, in the versioned dialect VHLO.
//!
//! ```text
//! bytes ─ bytecode::File ─▶ program ─▶ attributes ─▶ Module
//!                             │ ├─ table: attributes, types and locations, each decoded once
//!                             │ │    └─ builtin, attr, shardy, types, dense: what their bytes mean
//!                             │ └─ upgrade: VHLO's attributes as StableHLO's
//!                             └─ ops: the operations of all versions
//! ```
//!
//! [`write()`] goes the other way.
//!
//! An artifact names the version of every operation (`vhlo.gather_v1`), and what a version means never changes. Old
//! versions are upgraded; versions and operations that are not known are errors that name them.
//! StableHLO's `docs/vhlo.md` describes the dialect. Attributes and operations of other dialects among those of VHLO
//! (Shardy's, MLIR's own) are read as far as text may have them. `plain` has StableHLO's own attributes and
//! types in plain MLIR bytecode (`.mlirbc`): its operations are read by the same code, without upgrades.
//!
//! **Invariants.** Nothing in an artifact is trusted. Attributes and types nest at most [`MAX_NESTING`] deep,
//! regions as deep as in text. What artifacts share, modules have once for each use: uses count, up to [`NODES`] and [`NODES_PER_BYTE`] for each byte; so do copies, up to [`COPIED`]
//! and [`COPIED_PER_BYTE`]. Thus memory stays in proportion to the artifact: at most 64 MB and 2 KB for each byte, and a
//! few bytes for each byte of a large constant.

mod attr;
mod builtin;
mod dense;
mod ops;
mod plain;
mod program;
mod shardy;
mod symbols;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod upgrade;
mod write;

use crate::bytecode::File;
use crate::diag::ProgramError;
use crate::module::Module;
use crate::stack;

pub use write::{Artifact, write};

/// Major, minor and patch version of StableHLO.
pub type Version = (u32, u32, u32);

/// The newest version of StableHLO whose operations, attributes and types are known.
pub const NEWEST: Version = (1, 20, 0);

/// How deeply attributes and types may nest.
pub const MAX_NESTING: u32 = 32;

/// Uses of attributes and types that any artifact may have.
pub const NODES: usize = 1 << 18;

/// Further uses for each byte of an artifact.
pub const NODES_PER_BYTE: usize = 8;

/// Bytes of names that count as a use.
const BYTES_PER_NODE: usize = 16;

/// Bytes of names, lists and repeated elements that may be copied from any artifact.
pub const COPIED: usize = 16 << 20;

/// Further bytes that may be copied for each byte of an artifact.
pub const COPIED_PER_BYTE: usize = 128;

/// Reads a portable artifact (see [`is_bytecode`](crate::bytecode::is_bytecode)), which errors call `name`.
///
/// # Errors
/// What is wrong, and at which byte. Codes: `bytecode` (the container, or the encoding of an attribute or a type),
/// `unsupported` (versions that are not known), `unknown-op`, `undefined-value`, `redefinition`, `type`,
/// `type-mismatch`, `attribute`, `terminator`, `unknown-function`, `no-body`, `resource`, `nesting`, `memory`,
/// `empty`.
pub fn read(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    stack::with_room(|| read_here(bytes, name))
}

fn read_here(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    let file = File::open(bytes).map_err(|e| e.program(name))?;
    program::Reader::new(&file, name, bytes.len()).map_err(|e| e.program(name))?.read()
}
