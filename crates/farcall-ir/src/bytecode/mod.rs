//! MLIR bytecode: the container, whatever the dialects in it.
//!
//! ```text
//! "ML\xefR" │ version │ producer │ sections: strings, dialects and names of operations, attributes and types,
//!                                  their offsets, operations (IR), resources, properties
//! ```
//!
//! `File::open` reads the tables. Attributes and types stay bytes until somebody asks for them
//! (`file::Entry`); operations are pulled one after the other (`Ir`). What the bytes of an attribute or an
//! operation mean is up to the dialect ([`crate::vhlo`]). The format is documented at
//! <https://mlir.llvm.org/docs/BytecodeFormat/>.
//!
//! **Invariants.** Bytes are not trusted: whatever they are, reading returns a value or an `Error` that states what
//! is wrong and at which byte. Numbers of things are compared with the bytes that are left before memory is taken for
//! them, so that the tables take at most [`TABLE_BYTES`] bytes for each byte of the file. Nothing here recurses.

mod cursor;
mod file;
mod ir;
mod write;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::memory::OutOfMemory;

pub(crate) use cursor::Cursor;
pub(crate) use file::{File, Resource};
pub(crate) use ir::{Arg, Head, Ir};
pub(crate) use write::{Bytes, Elements, OpHead, Tables};

/// The first bytes of a file.
pub const MAGIC: [u8; 4] = *b"ML\xefR";

/// The newest version of the container that is read. (Versions from 0 on are.)
pub const NEWEST: u64 = 6;

/// Bytes of memory that tables take for each byte of a file, at most.
pub const TABLE_BYTES: usize = 64;

/// True for the bytes of an MLIR bytecode file, whatever is in it.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// What is wrong with a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Error {
    /// The code of the diagnostic.
    pub(crate) code: &'static str,
    /// Byte of the file.
    pub(crate) at: usize,
    /// The part of the file.
    pub(crate) part: &'static str,
    /// What was expected, what was found.
    pub(crate) message: String,
}

pub(crate) type Reading<T> = Result<T, Error>;

impl Error {
    /// As a diagnostic about a file of this name.
    pub(crate) fn diagnostic(&self, name: &str) -> Diagnostic {
        let Error { code, at, part, message } = self;
        let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
        Diagnostic::global(code, format!("at byte {at}{of}, in the {part}: {message}"))
    }

    /// As an error of the program of this name.
    pub(crate) fn program(&self, name: &str) -> ProgramError {
        ProgramError::new(&Source::none(), self.diagnostic(name))
    }

    /// Memory that cannot be had.
    pub(crate) fn memory(at: usize, part: &'static str, error: OutOfMemory) -> Error {
        Error { code: "memory", at, part, message: error.to_string() }
    }
}
