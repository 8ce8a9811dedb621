//! MLIR bytecode: the container format, independent of dialects.
//!
//! ```text
//! "ML\xefR" │ version │ producer │ sections: strings, dialects and names of operations, attributes and types,
//!                                  their offsets, operations (IR), resources, properties
//! ```
//!
//! `File::open` reads the tables. Attributes and types stay bytes until they are first used (`file::Entry`).
//! Operations are read one after the other (`Ir`). The meaning of the bytes of an attribute or operation is
//! up to the dialect ([`crate::vhlo`]). The format is documented at
//! <https://mlir.llvm.org/docs/BytecodeFormat/>.
//!
//! **Invariants.** Bytes are not trusted: for any input, reading returns a value or an `Error` that states
//! the problem and its position. Counts are compared with the remaining bytes before memory is allocated, so
//! the tables take at most [`TABLE_BYTES`] bytes for each byte of the file. No function of this module is
//! recursive.

mod cursor;
mod file;
mod ir;
mod write;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::memory::OutOfMemory;

pub(crate) use cursor::Cursor;
pub(crate) use file::{Entry, File, Resource};
pub(crate) use ir::{Arg, Head, Ir};
pub(crate) use write::{Bytes, Elements, OpHead, Tables};

/// First bytes of a file.
pub const MAGIC: [u8; 4] = *b"ML\xefR";

/// Newest version of the container that can be read. The oldest is 0.
pub const NEWEST: u64 = 6;

/// Maximum number of bytes of memory that tables take for each byte of a file.
pub const TABLE_BYTES: usize = 64;

/// True if `bytes` are an MLIR bytecode file of any dialect.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// An error in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Error {
    /// Code of the diagnostic.
    pub(crate) code: &'static str,
    /// Byte of the file.
    pub(crate) at: usize,
    /// Name of the part of the file.
    pub(crate) part: &'static str,
    /// Message that states what was expected and what was found.
    pub(crate) message: String,
}

pub(crate) type Reading<T> = Result<T, Error>;

impl Error {
    /// Converts the error to a diagnostic about a file called `name`.
    pub(crate) fn diagnostic(&self, name: &str) -> Diagnostic {
        let Error { code, at, part, message } = self;
        let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
        Diagnostic::global(code, format!("at byte {at}{of}, in the {part}: {message}"))
    }

    /// Converts the error to an error of a program called `name`.
    pub(crate) fn program(&self, name: &str) -> ProgramError {
        ProgramError::new(&Source::none(), self.diagnostic(name))
    }

    /// Error for failed memory allocations.
    pub(crate) fn memory(at: usize, part: &'static str, error: OutOfMemory) -> Error {
        Error { code: "memory", at, part, message: error.to_string() }
    }
}
