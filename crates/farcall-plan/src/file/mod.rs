//! The file format of plans.
//!
//! ```text
//!  magic │ format │ writer │ sources │ types │ operations │ constants' types │ plan │ constants' elements
//! ```
//!
//! Numbers are little-endian. A section is a tag of four bytes, its length and its contents. Types and
//! operations are StableHLO text. Each is stored once; everything else refers to it by number. An instruction
//! that the evaluator runs is stored as a module in text form, with the span of each of the module's
//! instructions in the program's text. The elements of constants come last, in their in-memory form, so that
//! they are read directly into their final place.
//!
//! **Invariants.** A file is not trusted: whatever its bytes, reading returns a valid plan
//! ([`Plan::validate`]) or an error with a description, a section and an offset. Lengths are compared with
//! the remaining bytes before anything is allocated, memory for constants is reserved through
//! [`memory`](farcall_ir::memory), and nesting is bounded. A plan that would not read back as an equal plan
//! is not written.

mod read;
mod write;

use std::io::{self, Read, Write};

use farcall_ir::memory::OutOfMemory;
use farcall_ir::stack;

use super::{InvalidPlan, Plan, ValidPlan};
use farcall_host::{CodedError, ErrorCode};

/// First bytes of a plan file. No text starts with byte 0x89.
pub const MAGIC: [u8; 8] = *b"\x89FCPLAN\n";

/// Version of the format that this build writes, and the only one that it reads.
pub const FORMAT: u32 = 11;

/// Maximum length, in bytes, of the text in a file's header that gives the version of farcall that wrote the
/// file.
const MAX_WRITER_BYTES: usize = 64;

/// Maximum nesting depth of plans. A custom call that the evaluator reaches in a region has a plan of its
/// own, which may contain such calls.
const MAX_PLAN_NESTING: usize = 4;

const SOURCES: &[u8; 4] = b"SRCS";
const TYPES: &[u8; 4] = b"TYPE";
const OPERATIONS: &[u8; 4] = b"OPER";
const LITERALS: &[u8; 4] = b"LITS";
const PLAN: &[u8; 4] = b"PLAN";
const DATA: &[u8; 4] = b"DATA";

/// A file that cannot be read as a plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not start with [`MAGIC`].
    #[error("this is not a plan: the file does not begin with the magic bytes of a plan")]
    NotAPlan,
    /// The file has another version of the format.
    #[error(
        "the plan has format {found} (written by farcall {writer}), but farcall {} reads format {FORMAT}; compile the \
         program again",
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// Format version of the file.
        found: u32,
        /// Version of the farcall that wrote the file.
        writer: String,
    },
    /// The file ends too early.
    #[error("the plan is incomplete: it ends at byte {at}, in its {section}")]
    Truncated {
        /// The section that is incomplete.
        section: &'static str,
        /// Number of bytes that could be read.
        at: u64,
    },
    /// The file contains something invalid.
    #[error("the plan is damaged: {message} ({section}, byte {at})")]
    Damaged {
        /// The section that contains the error.
        section: &'static str,
        /// Offset of the error in the file.
        at: u64,
        /// Description of the error.
        message: String,
    },
    /// The file was read, but its plan violates an invariant that the runtime relies on.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
    /// The plan needs more memory than is available.
    #[error("{what}: {error}")]
    Memory {
        /// Purpose of the memory.
        what: String,
        /// The number of bytes, and why they are not available.
        error: OutOfMemory,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CodedError for FileError {
    fn code(&self) -> ErrorCode {
        match self {
            FileError::NotAPlan
            | FileError::Version { .. }
            | FileError::Truncated { .. }
            | FileError::Damaged { .. }
            | FileError::Plan(_) => ErrorCode::InvalidPlan,
            FileError::Memory { .. } => ErrorCode::OutOfMemory,
            FileError::Io(_) => ErrorCode::UnreadableFile,
        }
    }
}

impl Plan {
    /// Returns the plan as bytes, which [`Plan::from_bytes`] reads as an equal plan.
    ///
    /// # Errors
    /// Same errors as [`Plan::write_to`].
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Writes the plan to `out`.
    ///
    /// ```
    /// use farcall::ir::{Source, text};
    /// use farcall::{CompileOptions, Executable, Plan, Registry};
    ///
    /// let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ///   %0 = stablehlo.add %x, %x : tensor<2xf32>
    ///   return %0 : tensor<2xf32>
    /// }";
    /// let module = text::parse(&Source::new("double.mlir", program))?;
    /// let compiled = Executable::compile(&module, &Registry::new(), &CompileOptions::new())?;
    ///
    /// let mut file = Vec::new();
    /// compiled.plan().write_to(&mut file)?;
    /// let plan = Plan::from_bytes(&file)?;
    /// assert_eq!(*plan, *compiled.plan());
    /// let executable = Executable::from_plan(plan, &Registry::new())?;
    /// # let _ = executable;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If writing to `out` fails; [`io::ErrorKind::InvalidInput`] if the plan holds something without a
    /// textual form, such as instructions nested deeper than the parser reads.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        stack::with_room(|| write::plan(self, out))
    }

    /// Reads a plan from bytes, and checks it as [`Plan::validate`] does.
    ///
    /// # Errors
    /// If the bytes are not a valid plan.
    pub fn from_bytes(bytes: &[u8]) -> Result<ValidPlan, FileError> {
        stack::with_room(|| read::plan(&mut &*bytes, Some(bytes.len() as u64)))
    }

    /// Reads a plan from a reader, to the reader's end. `length` is the number of bytes that the reader
    /// gives, if this number is known: a section that claims to be longer than the remaining bytes is then
    /// rejected before memory is allocated for it.
    ///
    /// # Errors
    /// If the bytes are not a valid plan, or the reader fails.
    pub fn read_from(from: &mut dyn Read, length: Option<u64>) -> Result<ValidPlan, FileError> {
        stack::with_room(|| read::plan(from, length))
    }
}
