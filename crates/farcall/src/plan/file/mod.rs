//! Plans in files.
//!
//! ```text
//! magic │ format │ who wrote it │ sources │ types │ operations │ constants' types │ plan │ constants' elements
//! ```
//!
//! Numbers are little-endian. A section is a tag of four bytes, its length and its contents. Types and operations are
//! StableHLO text, each stored once; everything else refers to them by number. Instructions for the evaluator are
//! modules as text, with a table of their places in the program. Elements of constants come last, in their in-memory
//! form, so that they are read directly to their final place.
//!
//! **Invariants.** A file is not trusted: whatever its bytes, reading returns a valid plan ([`Plan::validate`]) or an
//! error that states what is wrong and where. Lengths are compared with the remaining bytes before anything is
//! allocated, constants are admitted by [`memory`](farcall_ir::memory), and nesting is bounded. A plan that would not
//! read back as an equal one is not written.

mod read;
mod write;

use std::io::{self, Read, Write};

use farcall_ir::memory::OutOfMemory;
use farcall_ir::stack;

use super::{InvalidPlan, Plan};
use crate::ErrorCode;

/// The first bytes of a plan. (The first one is that of no text.)
pub const MAGIC: [u8; 8] = *b"\x89FCPLAN\n";

/// The format that this build writes, and the only one that it reads.
pub const FORMAT: u32 = 7;

/// Longest name of a writer, in bytes.
const MAX_WRITER: usize = 64;

/// How deeply the plans of calls in regions may nest.
const MAX_PLANS: usize = 4;

const SOURCES: &[u8; 4] = b"SRCS";
const TYPES: &[u8; 4] = b"TYPE";
const OPERATIONS: &[u8; 4] = b"OPER";
const LITERALS: &[u8; 4] = b"LITS";
const PLAN: &[u8; 4] = b"PLAN";
const DATA: &[u8; 4] = b"DATA";

/// Why a file cannot be read as a plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It does not begin as a plan does.
    #[error("this is not a plan: it does not begin with the bytes of one")]
    NotAPlan,
    /// It is of another version of the format.
    #[error(
        "the plan has format {found} (written by farcall {writer}), but farcall {} reads format {FORMAT}; compile the \
         program again",
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// The version of the file.
        found: u32,
        /// Version of the program that wrote it.
        writer: String,
    },
    /// It ends too early.
    #[error("the plan is incomplete: it ends at byte {at}, in its {section}")]
    Truncated {
        /// Which part.
        section: &'static str,
        /// Bytes that there are, as far as they were read.
        at: u64,
    },
    /// It says something that makes no sense.
    #[error("the plan is damaged: {message} ({section}, byte {at})")]
    Damaged {
        /// Which part.
        section: &'static str,
        /// Where in the file.
        at: u64,
        /// What is wrong.
        message: String,
    },
    /// What it says breaks a promise that the runtime relies on.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
    /// It needs more memory than there is.
    #[error("{what}: {error}")]
    Memory {
        /// What the memory is for.
        what: String,
        /// How much it is, and why it cannot be had.
        error: OutOfMemory,
    },
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileError {
    /// What kind of error it is.
    pub fn code(&self) -> ErrorCode {
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
    /// The plan as bytes, which [`Plan::from_bytes`] reads as an equal plan.
    ///
    /// # Errors
    /// As [`Plan::write_to`].
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Writes the plan.
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
    /// assert_eq!(&plan, compiled.plan());
    /// let executable = Executable::from_plan(plan, &Registry::new())?;
    /// # let _ = executable;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `out` cannot be written to; [`io::ErrorKind::InvalidInput`] if the plan holds something that has no text,
    /// as instructions that are nested deeper than the parser reads.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        stack::with_room(|| write::plan(self, out))
    }

    /// Reads a plan, and checks it as [`Plan::validate`] does.
    ///
    /// # Errors
    /// What is wrong with the bytes, and where.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, FileError> {
        stack::with_room(|| read::plan(&mut &*bytes, Some(bytes.len() as u64)))
    }

    /// The same from a reader, to its end. `length` is the number of bytes that it gives, if that is known: then
    /// nothing is allocated for what cannot come.
    ///
    /// # Errors
    /// What is wrong with the bytes, and where; what the reader says.
    pub fn read_from(from: &mut dyn Read, length: Option<u64>) -> Result<Plan, FileError> {
        stack::with_room(|| read::plan(from, length))
    }
}
