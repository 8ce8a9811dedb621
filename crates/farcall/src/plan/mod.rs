//! The plan: what the compiler makes of a program and what the runtime walks.
//!
//! A [`Plan`] is a sequence of thunks over buffers whose places are known before a run: slices of
//! one arena, of the constants, or of the inputs. It is plain data. The compiler and the runtime
//! both know this module and never each other.
//!
//! **Invariants**, checked once by [`Plan::validate`], so that the runtime may rely on them:
//! every slice lies inside its base; nothing is written but the arena and inputs that are donated; the sizes and element types
//! of a thunk's buffers are those that its operation needs, and no strided copy leaves its buffers.

mod display;
mod movement;
pub mod support;
mod validate;

use std::fmt;
use std::sync::Arc;

use farcall_ir::eval::Numerics;
use farcall_ir::op::{Binary, Compare, Unary};
use farcall_ir::{Func, FuncId, InstId, Literal, Module, Source, Span, TensorType};

pub use movement::{Axis, Movement};
pub use validate::InvalidPlan;

use crate::custom_call::CallSite;

/// Alignment of every buffer in the arena and among the constants, in bytes.
pub const ALIGNMENT: usize = 64;

/// A compiled program.
#[derive(Debug)]
pub struct Plan {
    /// Bytes of scratch memory that one run needs.
    pub arena_size: usize,
    /// The inputs.
    pub params: Vec<Param>,
    /// The constants, each once.
    pub constants: Vec<Literal>,
    /// Where the results are when the last thunk has run.
    pub results: Vec<Buffer>,
    /// In order of execution.
    pub thunks: Vec<Thunk>,
    /// The custom calls.
    pub calls: Vec<Arc<CallSite>>,
    /// The instructions that have no kernel and are evaluated.
    pub references: Vec<ReferenceSite>,
    /// How a run computes.
    pub numerics: Numerics,
    /// The text of the program that this was made from, for places in messages.
    pub source: Arc<Source>,
}

/// An input of a plan.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its type.
    pub ty: TensorType,
    /// The program writes to its memory: a run has to own it.
    pub donated: bool,
}

/// An instruction that the evaluator runs.
#[derive(Clone, Debug)]
pub struct ReferenceSite {
    /// A program that is this instruction: its first function takes the thunk's inputs and returns its
    /// outputs.
    pub program: Arc<Module>,
    /// The custom calls that it holds.
    pub calls: Vec<NestedCall>,
}

impl ReferenceSite {
    /// The function that is evaluated.
    pub fn entry(&self) -> &Func {
        &self.program.funcs()[0]
    }

    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        self.entry().body().first().map_or("nothing", |inst| inst.op().name())
    }

    /// True if a call of it has a side effect.
    pub fn has_side_effect(&self) -> bool {
        self.calls.iter().any(|call| call.side_effect)
    }
}

/// A custom call that the evaluator reaches while it applies a region.
#[derive(Clone, Debug)]
pub struct NestedCall {
    /// The function of [`ReferenceSite::program`] that it lies in.
    pub func: FuncId,
    /// Which instruction of it.
    pub inst: InstId,
    /// It has a side effect.
    pub side_effect: bool,
    /// A program of this call alone.
    pub plan: Arc<Plan>,
}

/// The memory that a slice is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    /// Scratch memory of the run.
    Arena,
    /// A constant.
    Constant(ConstantId),
    /// An input.
    Param(ParamId),
}

/// A range of bytes whose place is known before a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// What it is a part of.
    pub base: Base,
    /// First byte.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
}

impl Slice {
    /// True if they have bytes in common.
    pub fn overlaps(&self, other: &Slice) -> bool {
        self.base == other.base
            && self.offset < other.offset + other.size
            && other.offset < self.offset + self.size
    }
}

/// A slice that holds a tensor, row-major.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Where.
    pub slice: Slice,
    /// What.
    pub ty: TensorType,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(u32);

        impl $name {
            /// The id of number `index`.
            ///
            /// # Panics
            /// At 2³² and more.
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 of a kind"))
            }

            /// The position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A constant of a plan.
    ConstantId;
    /// An input of a plan.
    ParamId;
    /// A custom call of a plan.
    CallId;
    /// An evaluated instruction of a plan.
    ReferenceId;
}

/// One step of a run. `B` is how it refers to buffers: in a plan a [`Buffer`]; the compiler uses
/// values that have no place yet.
#[derive(Clone, Debug)]
pub struct Thunk<B = Buffer> {
    /// What is done.
    pub op: ThunkOp,
    /// What is read.
    pub inputs: Vec<B>,
    /// What is written.
    pub outputs: Vec<B>,
    /// Nested sequences: condition and body of a loop, branches.
    pub bodies: Vec<Vec<Thunk<B>>>,
    /// Place in the program.
    pub span: Span,
}

/// What a thunk does.
#[derive(Clone, PartialEq, Debug)]
pub enum ThunkOp {
    /// One input, one output of the same dimensions.
    Unary(Unary),
    /// Two inputs of one type.
    Binary(Binary),
    /// Two inputs of one type to `pred`.
    Compare(Compare),
    /// Predicate (of one element, or as many as the others), value if true, value if false.
    Select,
    /// Lower bound, value, upper bound; bounds may have one element.
    Clamp,
    /// To the output's element type.
    Convert,
    /// The input's bytes.
    Copy,
    /// Elements to other places; elements that are not named stay as they are.
    Move(Movement),
    /// Counts along a dimension of the output.
    Iota {
        /// Which.
        dim: usize,
    },
    /// Operand, init.
    Reduce(Reduce),
    /// Left and right operand.
    Dot(Dot),
    /// Operand, then one start index per entry of the window.
    DynamicSlice(Window),
    /// Update, then one start index per entry of the window. The output holds the operand already.
    DynamicUpdateSlice(Window),
    /// Bodies: condition, loop body. Input: the condition's result.
    While,
    /// Bodies: branches. Input: the index of one of them; the last one if it is out of range. A
    /// `pred` input chooses the first branch when it is true.
    Case,
    /// Inputs and outputs are those of the call, tokens left out.
    CustomCall(Call),
    /// An operation without a kernel, run by the reference evaluator.
    Reference(ReferenceId),
}

/// A reduction by one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduce {
    /// What combines two elements.
    pub op: ReduceOp,
    /// The operand's dimensions from outer to inner, neighbours of the same kind joined: size, and
    /// whether it is reduced.
    pub dims: Vec<(usize, bool)>,
}

/// An operation that reductions have fast loops for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each variant is the operation of the same name")]
pub enum ReduceOp {
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
}

/// A batch of matrix products. All strides are in elements; the output is row-major
/// `[batch…, m, n]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dot {
    /// Sizes of the batching dimensions, with the strides of both operands.
    pub batch: Vec<(usize, usize, usize)>,
    /// Rows of the left operand.
    pub m: usize,
    /// Columns of the right operand.
    pub n: usize,
    /// Length of the sums.
    pub k: usize,
    /// Strides of the left operand along `m` and `k`.
    pub lhs: (usize, usize),
    /// Strides of the right operand along `k` and `n`.
    pub rhs: (usize, usize),
}

/// A custom call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which call site.
    pub id: CallId,
    /// Outputs and inputs (by number among the thunk's) that share memory.
    pub aliases: Vec<(usize, usize)>,
    /// It runs even if nobody reads what it gives.
    pub side_effect: bool,
}

/// A movement whose one end is shifted by indices that are data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// The movement for indices that are all zero.
    pub movement: Movement,
    /// Per index: the largest value that keeps the window inside (others are clamped), and the
    /// stride in elements.
    pub steps: Vec<(usize, usize)>,
}

impl ThunkOp {
    /// The kind, as dumps and statistics name it.
    pub fn kind(&self) -> &'static str {
        match self {
            ThunkOp::Unary(_)
            | ThunkOp::Binary(_)
            | ThunkOp::Compare(_)
            | ThunkOp::Select
            | ThunkOp::Clamp
            | ThunkOp::Convert => "elementwise",
            ThunkOp::Copy => "copy",
            ThunkOp::Move(m) => m.name,
            ThunkOp::Iota { .. } => "iota",
            ThunkOp::Reduce(_) => "reduce",
            ThunkOp::Dot(_) => "dot",
            ThunkOp::DynamicSlice(_) => "dynamic_slice",
            ThunkOp::DynamicUpdateSlice(_) => "dynamic_update_slice",
            ThunkOp::While => "while",
            ThunkOp::Case => "case",
            ThunkOp::CustomCall(_) => "custom_call",
            ThunkOp::Reference(_) => "reference",
        }
    }

    /// True if input number `input` may lie where output number 0 lies, in the same place: each
    /// element of it is read before the same element of the output is written, and not later.
    pub fn in_place(&self) -> bool {
        match self {
            ThunkOp::Unary(_)
            | ThunkOp::Binary(_)
            | ThunkOp::Compare(_)
            | ThunkOp::Select
            | ThunkOp::Clamp
            | ThunkOp::Convert
            | ThunkOp::Copy => true,
            ThunkOp::Move(_)
            | ThunkOp::Iota { .. }
            | ThunkOp::Reduce(_)
            | ThunkOp::Dot(_)
            | ThunkOp::DynamicSlice(_)
            | ThunkOp::DynamicUpdateSlice(_)
            | ThunkOp::While
            | ThunkOp::Case
            | ThunkOp::CustomCall(_)
            | ThunkOp::Reference(_) => false,
        }
    }
}

impl<B> Thunk<B> {
    /// Calls `visit` for this thunk and every one nested in it, in order of the text.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk<B>)) {
        // Nesting is bounded by the parser's limit times the verifier's limit on calls, so the walk
        // keeps a stack of its own.
        let mut stack = vec![std::slice::from_ref(self).iter()];
        while let Some(top) = stack.last_mut() {
            let Some(thunk) = top.next() else {
                stack.pop();
                continue;
            };
            visit(thunk);
            for body in thunk.bodies.iter().rev() {
                stack.push(body.iter());
            }
        }
    }
}

impl Plan {
    /// Calls `visit` for every thunk, nested ones included.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk)) {
        self.thunks.iter().for_each(|t| t.walk(visit));
    }

    /// Number of thunks by kind, in order of the kinds' names.
    pub fn thunk_counts(&self) -> std::collections::BTreeMap<&'static str, usize> {
        let mut counts = std::collections::BTreeMap::new();
        self.walk(&mut |t| *counts.entry(t.op.kind()).or_insert(0) += 1);
        counts
    }

    /// Bytes of all constants.
    pub fn constant_bytes(&self) -> usize {
        self.constants.iter().fold(0, |sum, c| sum.saturating_add(c.byte_len()))
    }

    /// Bytes that a run needs at once: for itself, for constants, and for results.
    pub fn memory(&self) -> usize {
        let results = self.results.iter().fold(0usize, |sum, r| sum.saturating_add(r.slice.size));
        self.arena_size.saturating_add(self.constant_bytes()).saturating_add(results)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Base::Arena => f.write_str("arena"),
            Base::Constant(id) => write!(f, "const{}", id.index()),
            Base::Param(id) => write!(f, "in{}", id.index()),
        }
    }
}
