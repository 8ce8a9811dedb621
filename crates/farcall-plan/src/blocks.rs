//! Decisions about the blocks of a program, with reasons. A block is a composite, which a lowering may
//! replace by a custom call.

use std::sync::Arc;

use farcall_ir::{Span, Type};

use farcall_host::registry::Rank;

/// The compiler's decision about a block (a composite) of the program, and the reason for the decision.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockDecision {
    /// The operation that the block stands for: the name of the composite.
    pub tag: String,
    /// Version of the composite.
    pub version: i64,
    /// Types of the inputs.
    pub operands: Vec<Type>,
    /// Types of the outputs.
    pub results: Vec<Type>,
    /// Location of the block: `file:line:column`. For a program without text, the location that the program
    /// gives for the block (`jit(f)/norm at model.py:3:9`). If the program gives none, the block's function,
    /// and the number of the block in the function.
    pub place: Arc<str>,
    /// Location of the block as a span of the program's text.
    pub span: Option<Span>,
    /// The lowerings that skipped the block, with their reasons, in the order in which they were called. If a
    /// lowering chose a custom call, this lowering is not included.
    pub skipped: Vec<Skipped>,
    /// The choice.
    pub choice: BlockChoice,
}

/// A lowering that skipped a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Rank of the lowering.
    pub rank: Rank,
    /// Origin of the lowering: a library's file, or this program.
    pub origin: String,
    /// Reason for skipping the block.
    pub reason: String,
}

/// The replacement of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockChoice {
    /// The default body of the block was compiled.
    DefaultBody {
        /// Reason why no lowering applied, for example because none is registered.
        reason: String,
    },
    /// A custom call replaced the block.
    Call {
        /// Rank of the lowering that chose the call.
        rank: Rank,
        /// Origin of that lowering.
        origin: String,
        /// The target of the call.
        target: String,
        /// Origin of the target.
        library: String,
        /// Version of XLA's FFI that the target's handlers were built for, as (major, minor); `None` if the
        /// target is untyped.
        api_version: Option<(i32, i32)>,
    },
}
