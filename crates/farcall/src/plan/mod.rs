//! The plan: what the compiler makes from a program, and what the runtime executes.
//!
//! A [`Plan`] is a sequence of thunks over buffers whose places are known before a run: slices of one arena, of the
//! constants, of the inputs, or of the results. It is plain data: a thunk that computes has an operation, the types
//! of its buffers, and the name of a kernel, which prepares the code to run from these. The compiler and the runtime
//! both know this module, and never each other.
//!
//! **Invariants**, checked once by [`Plan::validate`], so that the runtime may rely on them: every slice is inside
//! its base; only the arena, the stack, the results and donated inputs are written to; values are never on the stack, and what is in no
//! memory is taken by kernels alone;
//! kernels serve the operations and types that they are named for; buffers overlap only where they may; each custom call
//! is made by one thunk; no thunk reads bytes, and no result has bytes, that the run may not have written before.

mod blocks;
mod display;
pub mod file;
mod origin;
mod validate;
mod work;
mod written;

use std::fmt;
use std::sync::Arc;

use farcall_ir::eval::Numerics;
use farcall_ir::op::{CustomCall, Traits};
use farcall_ir::{
    Func, FuncId, Inst, InstId, Literal, Module, Op, ProgramError, Source, Span, TensorType, Type, elided,
};
use smallvec::SmallVec;

pub use crate::kernels::{Body, BodyInst, KernelId};
pub use blocks::{BlockChoice, BlockDecision, Skipped};
pub use origin::Origin;
pub use validate::InvalidPlan;
pub use work::Work;

use crate::kernels::{InPlace, Request};
use crate::registry::Platform;

/// Alignment of every constant, and of buffers that custom calls get, in bytes.
pub const ALIGNMENT: usize = 64;

/// Alignment of every buffer in the arena, and of parts of inputs and constants in these, in bytes: enough for any element.
pub const LEAST_ALIGNMENT: usize = 16;

/// Bytes of [`Base::Stack`].
pub const STACK_SIZE: usize = 8 << 10;

/// A compiled program.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Bytes of scratch memory that one run needs.
    pub arena_size: usize,
    /// The inputs.
    pub params: Vec<Param>,
    /// The constants, each once.
    pub constants: Vec<Literal>,
    /// Constants of one element that are in no memory, each once: kernels that take them know them.
    pub numbers: Vec<Literal>,
    /// Where the results are when the last thunk has run. One that is at [`Base::Result`] of its own number has
    /// that memory; others are an input, a constant, a place in the arena, or the same as another result.
    pub results: Vec<Buffer>,
    /// In order of execution.
    pub thunks: Vec<Thunk>,
    /// The custom calls.
    pub calls: Vec<CallSpec>,
    /// The instructions that have no kernel and are evaluated.
    pub references: Vec<ReferenceSite>,
    /// What became of each block (composite) of the program, and why. Runs do not look at it.
    pub blocks: Vec<BlockDecision>,
    /// The platform of the device that it is for: whose handlers it calls.
    pub platform: Platform,
    /// How a run computes.
    pub numerics: Numerics,
    /// The text of the program that this was made from, for places in messages.
    pub source: Arc<Source>,
}

/// An input of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: TensorType,
    /// The program writes to its memory: a run has to own it.
    pub donated: bool,
    /// Its name, if the program has one for it.
    pub name: Option<String>,
    /// The elements that it must have: those that the program was compiled for.
    pub known: Option<Literal>,
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

/// A custom call of a program: all that is needed to make a call site of it.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpec {
    /// The target, and what it is passed besides buffers.
    pub call: CustomCall,
    /// Types of the operands as the program has them: with tokens and tuples.
    pub operands: Vec<Type>,
    /// Types of the results.
    pub results: Vec<Type>,
    /// `file:line:column`; for a program without text, what the call's location says. May be empty.
    pub place: Arc<str>,
    /// The place as a part of the program's text.
    pub span: Option<Span>,
}

impl ReferenceSite {
    /// The function that is evaluated.
    pub fn entry(&self) -> &Func {
        &self.program.funcs()[0]
    }

    /// The operation.
    pub fn op(&self) -> Option<&Op> {
        self.entry().body().first().map(|inst| inst.op())
    }

    /// True if it, or a call in it, has a side effect.
    pub fn has_side_effect(&self) -> bool {
        let mut found = self.calls.iter().any(|call| call.side_effect);
        self.entry().walk(&mut |inst| found |= inst.op().info().is(Traits::SIDE_EFFECT));
        found
    }

    /// The instruction that a nested call is, and how many stand before it in its function.
    pub fn call(&self, call: &NestedCall) -> Option<(usize, Inst<'_>)> {
        let (mut found, mut before) = (None, 0);
        self.program.get(call.func)?.walk(&mut |inst| {
            if inst.id() == call.inst {
                found = Some((before, inst));
            }
            before += 1;
        });
        found
    }
}

/// Numbers of instructions do not count, as in modules.
impl PartialEq for ReferenceSite {
    fn eq(&self, other: &ReferenceSite) -> bool {
        let place = |site: &ReferenceSite, call: &NestedCall| site.call(call).map(|(place, _)| place);
        let same = |(a, b): (&NestedCall, &NestedCall)| {
            (a.func, a.side_effect, place(self, a)) == (b.func, b.side_effect, place(other, b))
                && a.plan == b.plan
        };
        self.program == other.program
            && self.calls.len() == other.calls.len()
            && self.calls.iter().zip(&other.calls).all(same)
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
#[non_exhaustive]
pub enum Base {
    /// Memory of the run.
    Arena,
    /// The stack of the thread that runs the program: what kernels have as scratch memory, if that is little.
    Stack,
    /// A constant.
    Constant(ConstantId),
    /// No memory: a number that a kernel knows, which takes it.
    Number(NumberId),
    /// An input.
    Param(ParamId),
    /// No memory: the elements of an input that count from zero along this dimension. Kernels that take such inputs know.
    Iota(u32),
    /// Memory for a result, which the caller gets. Other values may be there before the result is.
    Result(ResultId),
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

farcall_ir::ids! {
    /// A constant of a plan.
    ConstantId;
    /// A number of a plan.
    NumberId;
    /// An input of a plan.
    ParamId;
    /// A result of a plan.
    ResultId;
    /// A custom call of a plan.
    CallId;
    /// An evaluated instruction of a plan.
    ReferenceId;
}

/// One step of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Thunk {
    /// What is done.
    pub op: ThunkOp,
    /// What is read.
    pub inputs: Vec<Buffer>,
    /// What is written. A kernel's scratch memory is the last of them.
    pub outputs: Vec<Buffer>,
    /// Nested sequences: condition and body of a loop, branches.
    pub bodies: Vec<Vec<Thunk>>,
    /// Place in the program.
    pub span: Span,
    /// What the program's locations say of it, a name such as `jit(f)/mul`, a line of a file, or both; that of the last
    /// operation, if it is several.
    pub loc: Option<Arc<str>>,
}

/// What a thunk does.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ThunkOp {
    /// An operation that a kernel computes.
    Compute(Box<Compute>),
    /// The input's bytes.
    Copy,
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

/// An operation and the kernel that computes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Compute {
    /// Which kernel.
    pub kernel: KernelId,
    /// The operation with its attributes.
    pub op: Op,
    /// Its regions.
    pub bodies: Vec<Body>,
    /// The thunk's last output is scratch memory, of the size that the kernel asks for.
    pub scratch: bool,
}

/// A custom call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which call site.
    pub id: CallId,
    /// Outputs and inputs (by number among the thunk's) that share memory.
    pub aliases: Vec<(usize, usize)>,
    /// It runs even if its results are unused.
    pub side_effect: bool,
}

impl ThunkOp {
    /// True if a kernel computes it.
    pub fn is_computed(&self) -> bool {
        matches!(self, ThunkOp::Compute(_))
    }

    /// The kind, as dumps and statistics name it: for a computation, the kernel.
    pub fn kind(&self) -> &'static str {
        match self {
            ThunkOp::Compute(compute) => compute.kernel.name(),
            ThunkOp::Copy => "copy",
            ThunkOp::While => "while",
            ThunkOp::Case => "case",
            ThunkOp::CustomCall(_) => "custom_call",
            ThunkOp::Reference(_) => "reference",
        }
    }
}

impl Thunk {
    /// The outputs without scratch memory.
    pub fn results(&self) -> &[Buffer] {
        match (&self.op, self.outputs.split_last()) {
            (ThunkOp::Compute(compute), Some((_, results))) if compute.scratch => results,
            _ => &self.outputs,
        }
    }

    /// Which results may lie where inputs lie. (Custom calls that change an operand have one buffer for both.)
    pub(crate) fn in_place(&self) -> InPlace {
        match &self.op {
            ThunkOp::Compute(compute) => compute.kernel.in_place(&compute.bodies),
            ThunkOp::Copy => InPlace::Anywhere,
            ThunkOp::While | ThunkOp::Case | ThunkOp::CustomCall(_) | ThunkOp::Reference(_) => {
                InPlace::Nowhere
            }
        }
    }

    /// Calls `visit` for this thunk and every one nested in it, in order of the text.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk)) {
        if self.bodies.is_empty() {
            return visit(self);
        }
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

impl Compute {
    /// What the kernel is asked for, for buffers of these types; `outputs` without scratch memory. `iotas` are those of the
    /// inputs ([`iotas`]).
    pub(crate) fn request<'a>(
        &'a self,
        inputs: &'a [&'a TensorType],
        outputs: &'a [&'a TensorType],
        iotas: &'a [Option<usize>],
    ) -> Request<'a> {
        Request { op: &self.op, bodies: &self.bodies, inputs, outputs, iotas }
    }
}

/// For each input, the dimension along which it counts if it is in no memory; nothing if all are in memory.
fn iotas(inputs: &[Buffer]) -> SmallVec<[Option<usize>; 8]> {
    let dim = |b: &Buffer| if let Base::Iota(dim) = b.slice.base { Some(dim as usize) } else { None };
    match inputs.iter().any(|b| dim(b).is_some()) {
        true => inputs.iter().map(dim).collect(),
        false => SmallVec::new(),
    }
}

/// The types of buffers.
fn types(buffers: &[Buffer]) -> SmallVec<[&TensorType; 8]> {
    buffers.iter().map(|b| &b.ty).collect()
}

/// A thunk of a plan with its number: that of a step, as [`Profile`](crate::Profile) and
/// [`Explanation`](crate::Explanation) count them.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'p> {
    /// Its place in the order in which [`Plan::walk`] visits thunks.
    pub number: usize,
    /// The thunk.
    pub thunk: &'p Thunk,
    /// The number of the loop or choice that it is nested in.
    pub parent: Option<usize>,
    /// In how many of them.
    pub depth: usize,
}

impl Plan {
    /// Calls `visit` for every thunk, nested ones included.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk)) {
        self.thunks.iter().for_each(|t| t.walk(visit));
    }

    /// Every thunk with its number, in that order, and what it is nested in.
    pub fn numbered(&self) -> Vec<Numbered<'_>> {
        // Sequences that are open, the innermost last, each with the number of its thunk.
        let mut open: Vec<(std::slice::Iter<'_, Thunk>, Option<usize>)> = vec![(self.thunks.iter(), None)];
        let mut all: Vec<Numbered<'_>> = Vec::new();
        while let Some((thunks, parent)) = open.last_mut() {
            let Some(thunk) = thunks.next() else {
                open.pop();
                continue;
            };
            let (number, parent) = (all.len(), *parent);
            let depth = parent.map_or(0, |i: usize| all[i].depth + 1);
            all.push(Numbered { number, thunk, parent, depth });
            open.extend(thunk.bodies.iter().rev().map(|body| (body.iter(), Some(number))));
        }
        all
    }

    /// Number of thunks by kind, in order of the kinds' names.
    pub fn thunk_counts(&self) -> std::collections::BTreeMap<&'static str, usize> {
        let mut counts = std::collections::BTreeMap::new();
        self.walk(&mut |t| *counts.entry(t.op.kind()).or_insert(0) += 1);
        counts
    }

    /// The result that has this memory.
    pub(crate) fn own_result(&self, id: ResultId) -> Option<&Buffer> {
        self.results.get(id.index()).filter(|r| r.slice.base == Base::Result(id))
    }

    /// Bytes of all constants.
    pub fn constant_bytes(&self) -> usize {
        self.constants.iter().fold(0, |sum, c| sum.saturating_add(c.byte_len()))
    }

    /// Bytes that a run needs at once: for itself, for constants, and for results.
    pub fn memory(&self) -> usize {
        let own = self.temporary_bytes().saturating_add(self.constant_bytes());
        own.saturating_add(self.new_result_bytes())
    }

    /// Bytes of the results that a run makes memory for: those that are not inputs, or the same as others.
    pub fn new_result_bytes(&self) -> usize {
        let result = |(i, r): (usize, &Buffer)| match r.slice.base {
            Base::Result(id) if id.index() == i => r.slice.size,
            // A copy.
            Base::Arena | Base::Stack | Base::Iota(_) | Base::Constant(_) | Base::Number(_) => r.slice.size,
            // The same as another one.
            Base::Param(_) | Base::Result(_) => 0,
        };
        self.results.iter().enumerate().map(result).fold(0, usize::saturating_add)
    }

    /// The error that a run would report if the program's text left out elements of constants.
    pub fn elided(&self) -> Option<ProgramError> {
        elided::refused(self.references.iter().map(|site| &*site.program))
    }

    /// Gives elements to constants whose elements the program's text left out ([`elided::fill`]). Returns the number of
    /// these constants. A run copies them; a program that is filled before it is compiled reads them in place.
    ///
    /// # Errors
    /// The first error of `elements`.
    pub fn fill_elided<E>(
        &mut self,
        mut elements: impl FnMut(&TensorType) -> Result<Literal, E>,
    ) -> Result<usize, E> {
        let mut filled = 0;
        for site in &mut self.references {
            if elided::refused([&*site.program]).is_some() {
                let mut program = Module::clone(&site.program);
                filled += elided::fill(&mut program, &mut elements)?;
                site.program = Arc::new(program);
            }
        }
        Ok(filled)
    }

    /// Bytes that a run needs for itself: the arena, and what evaluated instructions call.
    pub fn temporary_bytes(&self) -> usize {
        let nested = self.references.iter().flat_map(|site| &site.calls).map(|call| call.plan.memory());
        nested.fold(self.arena_size, usize::saturating_add)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Base::Arena => f.write_str("arena"),
            Base::Stack => f.write_str("stack"),
            Base::Iota(dim) => write!(f, "iota({dim})"),
            Base::Constant(id) => write!(f, "const{}", id.index()),
            Base::Number(id) => write!(f, "number{}", id.index()),
            Base::Param(id) => write!(f, "in{}", id.index()),
            Base::Result(id) => write!(f, "out{}", id.index()),
        }
    }
}
