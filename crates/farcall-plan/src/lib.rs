//! The plan: a compiled program. The compiler makes a plan, and the runtime executes it.
//!
//! A [`Plan`] is a sequence of steps, the thunks, which read and write buffers. The compiler has assigned
//! memory to each buffer: a slice of the arena, of a constant, of an input, or of a result. A plan is plain
//! data: a compute thunk has an operation, the types of its buffers, and the name of a kernel. The kernel
//! prepares code from the operation and the types. The compiler and the runtime both depend on this module,
//! and never on each other.
//!
//! **Invariants** of a [`ValidPlan`], on which the runtime relies:
//!
//! - Every slice is inside its base.
//! - Only the arena, the stack, the results and donated inputs are written to.
//! - Values are never on the stack. Only kernels take operands without memory ([`Base::Iota`],
//!   [`Base::Number`]).
//! - The kernel of each compute thunk supports the thunk's operation and types.
//! - Buffers overlap only where the operation allows it.
//! - Each custom call is made by one thunk.
//! - No thunk reads memory with unspecified contents, and no result contains such memory.

mod blocks;
mod display;
mod exchange;
pub mod file;
mod origin;
mod valid;
mod validate;
mod work;
mod written;

use std::fmt;
use std::sync::Arc;

use farcall_ir::bounded::Cut;
use farcall_ir::eval::Numerics;
use farcall_ir::op::collective::Grid;
use farcall_ir::op::{CustomCall, Traits};
use farcall_ir::sharding::ProgramSharding;
use farcall_ir::{
    Func, FuncId, Inst, InstId, Literal, Module, Op, ProgramError, Source, Span, TensorType, Type, elided,
};
use smallvec::SmallVec;

pub use blocks::{BlockChoice, BlockDecision, Skipped};
pub use exchange::{Collective, Combine, DeviceNumber};
pub use farcall_kernels::{Body, BodyInst, KernelId};
pub use origin::Origin;
pub use valid::ValidPlan;
pub use validate::InvalidPlan;
pub use work::Cost;

use farcall_host::registry::Platform;
use farcall_kernels::{InPlace, Request};

/// Alignment, in bytes, of every constant and of every buffer that is passed to a custom call.
pub const ALIGNMENT: usize = Literal::ALIGNMENT;

/// Minimum alignment, in bytes, of buffers in the arena and of slices within inputs and constants. It is
/// enough for any element type.
pub const MIN_ALIGNMENT_BYTES: usize = 16;

/// Size of [`Base::Stack`], in bytes.
pub const STACK_SIZE: usize = 8 << 10;

/// A compiled program. [`Plan::validate`] makes it a plan that can run.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    parts: PlanParts,
}

/// The parts of a [`Plan`], as data that may be changed.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanParts {
    /// Bytes of scratch memory that one run needs.
    pub arena_size: usize,
    /// The inputs.
    pub params: Vec<ParamSpec>,
    /// The constants, deduplicated.
    pub constants: Vec<Literal>,
    /// Deduplicated scalar constants, passed to kernels by value instead of through memory.
    pub numbers: Vec<Literal>,
    /// Memory of the results after the last thunk has run. A result has memory of its own if its base is
    /// [`Base::Result`] with the result's own number. Any other result is an input, a constant, a slice of
    /// the arena, or an alias of another result.
    pub results: Vec<TensorSlice>,
    /// Dimensions of results that a run cuts at its end. Their sizes are the values of other results.
    pub cuts: Vec<Cut>,
    /// The thunks, in order of execution.
    pub thunks: Vec<Thunk>,
    /// The custom calls.
    pub calls: Vec<CallSpec>,
    /// The instructions without a kernel, which the reference evaluator runs.
    pub references: Vec<ReferenceSite>,
    /// The compiler's decision about each block (composite) of the program, with the reason. Runs ignore
    /// these decisions.
    pub blocks: Vec<BlockDecision>,
    /// Platform of the device that the plan is for. The plan calls handlers of this platform.
    pub platform: Platform,
    /// Numerics of a run.
    pub numerics: Numerics,
    /// The grid of devices that the plan is for. The same plan runs on each of these devices.
    pub grid: Grid,
    /// How the devices divide the inputs and results of the complete program; `None` if the program was not
    /// partitioned.
    pub sharding: Option<ProgramSharding>,
    /// Text of the program that the plan was made from, for locations in messages.
    pub source: Arc<Source>,
}

/// An input of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamSpec {
    /// Type of the input.
    pub ty: TensorType,
    /// True if the program writes to the input's memory, so that a run must own this memory.
    pub donated: bool,
    /// Name of the input, if the program gives one.
    pub name: Option<String>,
    /// The elements that the input must have, if the program was compiled for specific elements.
    pub known: Option<Literal>,
}

/// An instruction that the evaluator runs.
#[derive(Clone, Debug)]
pub struct ReferenceSite {
    /// A program that consists of this instruction. Its first function takes the thunk's inputs and returns
    /// its outputs.
    pub program: Arc<Module>,
    /// The custom calls nested in the instruction.
    pub calls: Vec<NestedCall>,
}

/// A custom call of a program, with everything needed to make a call site.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpec {
    /// The target, and everything that it receives besides buffers.
    pub call: CustomCall,
    /// Types of the operands in the program, tokens and tuples included.
    pub operands: Vec<Type>,
    /// Types of the results.
    pub results: Vec<Type>,
    /// Location of the call: `file:line:column` or, for a program without text, the location that the program
    /// gives for the call. May be empty.
    pub place: Arc<str>,
    /// Location of the call as a span of the program's text.
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

    /// True if the instruction, or a custom call nested in it, has a side effect.
    pub fn has_side_effect(&self) -> bool {
        let mut found = self.calls.iter().any(|call| call.side_effect);
        self.entry().walk(&mut |inst| found |= inst.op().info().is(Traits::SIDE_EFFECT));
        found
    }

    /// Returns the instruction of a nested call, and the number of instructions before it in its function.
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

/// Ignores the ids of instructions, as `==` of modules does.
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
    /// The function of [`ReferenceSite::program`] that contains the call.
    pub func: FuncId,
    /// The instruction of that function that is the call.
    pub inst: InstId,
    /// True if the call has a side effect.
    pub side_effect: bool,
    /// A plan of this call alone.
    pub plan: Arc<ValidPlan>,
}

/// The memory that contains a slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    /// The run's temporary memory.
    Arena,
    /// The stack of the thread that runs the program: scratch memory of kernels that need at most
    /// [`STACK_SIZE`] bytes.
    Stack,
    /// A constant.
    Constant(ConstantId),
    /// A virtual operand: a scalar constant that is passed to its kernel by value and has no memory.
    Number(NumberId),
    /// An input.
    Param(ParamId),
    /// A virtual operand: an iota along this dimension, which has no memory. Only kernels that compute the
    /// elements themselves accept it.
    Iota(u32),
    /// The memory of a result, returned to the caller. It may hold other values before the result is written.
    Result(ResultId),
}

/// A range of bytes, assigned when the program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BufferSlice {
    /// The memory that contains the range.
    pub base: Base,
    /// Offset of the first byte.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
}

impl BufferSlice {
    /// True if the two slices have bytes in common.
    pub fn overlaps(&self, other: &BufferSlice) -> bool {
        self.base == other.base
            && self.offset < other.offset + other.size
            && other.offset < self.offset + self.size
    }
}

/// A slice that holds a tensor, row-major.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorSlice {
    /// Memory of the tensor.
    pub slice: BufferSlice,
    /// Type of the tensor.
    pub ty: TensorType,
}

farcall_ir::ids! {
    /// A constant of a plan.
    ConstantId;
    /// A scalar constant of a plan.
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
    /// The action.
    pub op: ThunkOp,
    /// The buffers that are read.
    pub inputs: Vec<TensorSlice>,
    /// The buffers that are written. The scratch memory of a kernel comes last.
    pub outputs: Vec<TensorSlice>,
    /// Nested sequences: the condition and the body of a loop, or the branches of a choice.
    pub bodies: Vec<Vec<Thunk>>,
    /// Location in the program's text.
    pub span: Span,
    /// Location of the thunk according to the program: a name such as `jit(f)/mul`, a line of a file, or
    /// both. If the thunk computes several operations, this is the location of the last one.
    pub loc: Option<Arc<str>>,
}

/// The action of a thunk.
#[derive(Clone, PartialEq, Debug)]
pub enum ThunkOp {
    /// An operation that a kernel computes.
    Compute(Box<Compute>),
    /// Copies the bytes of the input.
    Copy,
    /// A loop. Bodies: condition, loop body. Input: the result of the condition.
    While,
    /// A choice between branches. Bodies: the branches. Input: the index of the branch to run, or a `pred`.
    /// If the index is out of range, the last branch runs. If the `pred` is true, the first branch runs, else
    /// the second.
    Case,
    /// A custom call. The inputs and outputs are the operands and results of the call, without tokens.
    CustomCall(CallThunk),
    /// An operation without a kernel, run by the reference evaluator.
    Reference(ReferenceId),
    /// A collective operation of several devices.
    Collective(Box<Collective>),
    /// A number of the device: an integer of type `u32`.
    DeviceNumber(DeviceNumber),
}

/// An operation and the kernel that computes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Compute {
    /// The kernel.
    pub kernel: KernelId,
    /// The operation with its attributes.
    pub op: Op,
    /// The regions of the operation.
    pub bodies: Vec<Body>,
    /// True if the thunk's last output is scratch memory of the size that the kernel asks for.
    pub scratch: bool,
}

/// A custom call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallThunk {
    /// The call site.
    pub id: CallId,
    /// Pairs of outputs and inputs that share memory, by their indices in the thunk.
    pub aliases: Vec<(usize, usize)>,
    /// True if the call must run even if its results are unused.
    pub side_effect: bool,
}

impl PlanParts {
    /// Creates the parts of a plan for one device, without inputs, thunks and results.
    pub fn new(source: Arc<Source>, platform: Platform, numerics: Numerics) -> PlanParts {
        PlanParts {
            arena_size: 0,
            params: Vec::new(),
            constants: Vec::new(),
            numbers: Vec::new(),
            results: Vec::new(),
            cuts: Vec::new(),
            thunks: Vec::new(),
            calls: Vec::new(),
            references: Vec::new(),
            blocks: Vec::new(),
            platform,
            numerics,
            grid: Grid::ONE,
            sharding: None,
            source,
        }
    }
}

impl From<PlanParts> for Plan {
    fn from(parts: PlanParts) -> Plan {
        Plan { parts }
    }
}

impl Plan {
    /// Returns the parts of the plan.
    pub fn into_parts(self) -> PlanParts {
        self.parts
    }

    /// Bytes of scratch memory that one run needs.
    pub fn arena_size(&self) -> usize {
        self.parts.arena_size
    }

    /// The inputs.
    pub fn params(&self) -> &[ParamSpec] {
        &self.parts.params
    }

    /// The constants, deduplicated.
    pub fn constants(&self) -> &[Literal] {
        &self.parts.constants
    }

    /// Memory of the results after the last thunk has run ([`PlanParts::results`]).
    pub fn results(&self) -> &[TensorSlice] {
        &self.parts.results
    }

    /// Dimensions of results that are cut after a run, to sizes that other results hold.
    pub fn cuts(&self) -> &[Cut] {
        &self.parts.cuts
    }

    /// The thunks, in order of execution.
    pub fn thunks(&self) -> &[Thunk] {
        &self.parts.thunks
    }

    /// The custom calls.
    pub fn calls(&self) -> &[CallSpec] {
        &self.parts.calls
    }

    /// The instructions without a kernel, which the reference evaluator runs.
    pub fn references(&self) -> &[ReferenceSite] {
        &self.parts.references
    }

    /// Decision about each block (composite) of the program, and its reason.
    pub fn blocks(&self) -> &[BlockDecision] {
        &self.parts.blocks
    }

    /// Platform of the device that the plan is for.
    pub fn platform(&self) -> &Platform {
        &self.parts.platform
    }

    /// Numerics of a run.
    pub fn numerics(&self) -> Numerics {
        self.parts.numerics
    }

    /// The grid of devices that the plan is for.
    pub fn grid(&self) -> Grid {
        self.parts.grid
    }

    /// How the devices divide the inputs and results of the complete program; `None` if the program was not
    /// partitioned.
    pub fn sharding(&self) -> Option<&ProgramSharding> {
        self.parts.sharding.as_ref()
    }

    /// Text of the program that the plan was made from.
    pub fn source(&self) -> &Arc<Source> {
        &self.parts.source
    }
}

impl ThunkOp {
    /// True if a kernel computes the operation.
    pub fn is_computed(&self) -> bool {
        matches!(self, ThunkOp::Compute(_))
    }

    /// True if the thunk has a prepared kernel ([`ValidPlan::kernels`]): a computation, or a collective that
    /// combines contributions.
    pub fn has_kernel(&self) -> bool {
        self.is_computed() || matches!(self, ThunkOp::Collective(c) if c.combine.is_some())
    }

    /// Kind of the action in dumps and statistics; for a computation, the kernel's name.
    pub fn kind(&self) -> &'static str {
        match self {
            ThunkOp::Compute(compute) => compute.kernel.name(),
            ThunkOp::Copy => "copy",
            ThunkOp::While => "while",
            ThunkOp::Case => "case",
            ThunkOp::CustomCall(_) => "custom_call",
            ThunkOp::Reference(_) => "reference",
            ThunkOp::Collective(_) => "collective",
            ThunkOp::DeviceNumber(_) => "device_number",
        }
    }
}

impl Thunk {
    /// The outputs without scratch memory.
    pub fn results(&self) -> &[TensorSlice] {
        match (&self.op, self.outputs.split_last()) {
            (ThunkOp::Compute(compute), Some((_, results))) if compute.scratch => results,
            _ => &self.outputs,
        }
    }

    /// Pairs of results and inputs that may share memory. (A custom call has no such pairs: if it updates an
    /// operand in place, the operand and the result are one buffer.)
    pub fn in_place(&self) -> InPlace {
        match &self.op {
            ThunkOp::Compute(compute) => compute.kernel.in_place(&compute.bodies),
            ThunkOp::Copy => InPlace::Anywhere,
            ThunkOp::While
            | ThunkOp::Case
            | ThunkOp::CustomCall(_)
            | ThunkOp::Reference(_)
            | ThunkOp::Collective(_)
            | ThunkOp::DeviceNumber(_) => InPlace::Nowhere,
        }
    }

    /// Calls `visit` for this thunk and every thunk nested in it, in the order in which dumps list them.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk)) {
        if self.bodies.is_empty() {
            return visit(self);
        }
        // Nesting may reach the parser's limit times the verifier's limit on calls, which is too deep for
        // recursion, so the walk keeps an explicit stack.
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
    /// Returns the request to a kernel for buffers of these types. `outputs` excludes scratch memory; `iotas`
    /// are the inputs' iota dimensions, as returned by the function `iotas`.
    pub fn request<'a>(
        &'a self,
        inputs: &'a [&'a TensorType],
        outputs: &'a [&'a TensorType],
        iotas: &'a [Option<usize>],
    ) -> Request<'a> {
        Request { op: &self.op, bodies: &self.bodies, inputs, outputs, iotas }
    }
}

/// Returns, for each input, its iota dimension if it is a [`Base::Iota`]; an empty list if no input is one.
fn iotas(inputs: &[TensorSlice]) -> SmallVec<[Option<usize>; 8]> {
    let dim = |b: &TensorSlice| if let Base::Iota(dim) = b.slice.base { Some(dim as usize) } else { None };
    match inputs.iter().any(|b| dim(b).is_some()) {
        true => inputs.iter().map(dim).collect(),
        false => SmallVec::new(),
    }
}

/// The types of buffers.
fn types(buffers: &[TensorSlice]) -> SmallVec<[&TensorType; 8]> {
    buffers.iter().map(|b| &b.ty).collect()
}

/// A thunk of a plan with its step number, as `Profile` and `Explanation` number steps.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'p> {
    /// Position of the thunk in the order of [`Plan::walk`].
    pub number: usize,
    /// The thunk.
    pub thunk: &'p Thunk,
    /// Number of the innermost loop or choice that contains the thunk.
    pub parent: Option<usize>,
    /// Number of loops and choices that contain the thunk.
    pub depth: usize,
}

impl Plan {
    /// Calls `visit` for every thunk, nested thunks included.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Thunk)) {
        self.parts.thunks.iter().for_each(|t| t.walk(visit));
    }

    /// Returns every thunk in the order of [`Plan::walk`], with its number and nesting.
    pub fn numbered(&self) -> Vec<Numbered<'_>> {
        // Stack of unfinished sequences, the innermost last, each with the number of the thunk that contains
        // it.
        let mut open: Vec<(std::slice::Iter<'_, Thunk>, Option<usize>)> =
            vec![(self.parts.thunks.iter(), None)];
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

    /// Returns the number of thunks by kind, sorted by the name of the kind.
    pub fn thunk_counts(&self) -> std::collections::BTreeMap<&'static str, usize> {
        let mut counts = std::collections::BTreeMap::new();
        self.walk(&mut |t| *counts.entry(t.op.kind()).or_insert(0) += 1);
        counts
    }

    /// Returns the result with this number, if it has memory of its own.
    pub fn own_result(&self, id: ResultId) -> Option<&TensorSlice> {
        self.parts.results.get(id.index()).filter(|r| r.slice.base == Base::Result(id))
    }

    /// Bytes of all constants.
    pub fn constant_bytes(&self) -> usize {
        self.parts.constants.iter().fold(0, |sum, c| sum.saturating_add(c.byte_len()))
    }

    /// Bytes that one run needs in total: temporary memory, constants and results.
    pub fn memory(&self) -> usize {
        let own = self.temporary_bytes().saturating_add(self.constant_bytes());
        own.saturating_add(self.new_result_bytes())
    }

    /// Bytes of the results that a run allocates, which are neither inputs nor aliases of other results.
    pub fn new_result_bytes(&self) -> usize {
        let result = |(i, r): (usize, &TensorSlice)| match r.slice.base {
            Base::Result(id) if id.index() == i => r.slice.size,
            // The result is a copy.
            Base::Arena | Base::Stack | Base::Iota(_) | Base::Constant(_) | Base::Number(_) => r.slice.size,
            // The result is an alias.
            Base::Param(_) | Base::Result(_) => 0,
        };
        self.parts.results.iter().enumerate().map(result).fold(0, usize::saturating_add)
    }

    /// Returns the error that a run would report because the program's text left out elements of constants.
    /// `None` if all constants have elements.
    pub fn elided(&self) -> Option<ProgramError> {
        elided::refused(self.parts.references.iter().map(|site| &*site.program))
    }

    /// Fills the constants whose elements the program's text left out ([`elided::fill`]), and returns the
    /// number of these constants. A run copies such constants, whereas constants that were filled before
    /// compilation are read in place.
    ///
    /// # Errors
    /// The first error that `elements` returns.
    pub fn fill_elided<E>(
        &mut self,
        mut elements: impl FnMut(&TensorType) -> Result<Literal, E>,
    ) -> Result<usize, E> {
        let mut filled = 0;
        for site in &mut self.parts.references {
            if elided::refused([&*site.program]).is_some() {
                let mut program = Module::clone(&site.program);
                filled += elided::fill(&mut program, &mut elements)?;
                site.program = Arc::new(program);
            }
        }
        Ok(filled)
    }

    /// Bytes of temporary memory that one run needs: the arena, and the memory for the plans of the custom
    /// calls that evaluated instructions make.
    pub fn temporary_bytes(&self) -> usize {
        let nested = self.parts.references.iter().flat_map(|site| &site.calls).map(|call| call.plan.memory());
        nested.fold(self.parts.arena_size, usize::saturating_add)
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

#[cfg(test)]
mod tests {
    use farcall_ir::{Source, text};

    use super::Plan;

    /// Compiles a program. The compiler uses a build of this crate without tests, whose `Plan` is a different
    /// type, so the plan is converted through bytes.
    pub(crate) fn compile(program: &str) -> Plan {
        let module = text::parse(&Source::new("test.mlir", program)).unwrap();
        let options = farcall::CompileOptions::new();
        let plan = farcall::compile_plan(&module, &farcall::Registry::new(), &options).unwrap();
        Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap().into_plan()
    }
}
