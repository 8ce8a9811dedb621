//! What became of the blocks of a program, and why.

use std::sync::Arc;

use farcall_ir::{Span, Type};

use crate::registry::Rank;

/// What became of a block (a composite) that the compiler met, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockDecision {
    /// What the block stands for: the name of the composite.
    pub tag: String,
    /// Version of the tag's meaning.
    pub version: i64,
    /// Types of the inputs.
    pub operands: Vec<Type>,
    /// Types of the outputs.
    pub results: Vec<Type>,
    /// `file:line:column`; for a program without text, what the block's location says (`jit(f)/norm at model.py:3:9`), or
    /// else its function and its number there.
    pub place: Arc<str>,
    /// The place as a part of the program's text.
    pub span: Option<Span>,
    /// The lowerings that were asked, in this order, and why each of them skipped the block. The one that answered with
    /// a call is not among them.
    pub skipped: Vec<Skipped>,
    /// What was chosen.
    pub choice: BlockChoice,
}

/// A lowering that skipped a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Whose it is.
    pub rank: Rank,
    /// Where it comes from: a library's file, or this program.
    pub origin: String,
    /// Why.
    pub reason: String,
}

/// What a block became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockChoice {
    /// Its default body was compiled.
    DefaultBody {
        /// Why no lowering took it: none is registered, say.
        reason: String,
    },
    /// A custom call took its place.
    Call {
        /// Whose lowering said so.
        rank: Rank,
        /// Where that lowering comes from.
        origin: String,
        /// The target that is called.
        target: String,
        /// Where the target comes from.
        library: String,
        /// Version of XLA's FFI that its handlers were built for, as (major, minor); `None` if untyped.
        api_version: Option<(i32, i32)>,
    },
}
