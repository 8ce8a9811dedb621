//! The choice for each instruction of a program: computed by a kernel, by the evaluator, or not at all.
//!
//! `choose` fills the table, and all passes that assign memory read it.

use farcall_ir::{Diagnostic, Inst, InstId, Literal, Op, Span, TensorType, ValueId};
use farcall_kernels::{self as kernels, InPlace, KernelId, PreparedKernel, Request};
use farcall_plan::{Body, Combine, ConstantId, DeviceNumber, ReferenceId, ReferenceSite};

use crate::body;

/// Way in which an instruction runs.
#[derive(Debug)]
pub(super) enum Choice {
    /// No thunk: each result is the operand with the same index.
    View,
    /// No thunk: the result is a part of the operand, beginning at this byte.
    Part(usize),
    /// No thunk: the result is a constant of the plan.
    Constant(ConstantId),
    /// No thunk and no memory: kernels that take the result compute an iota along this dimension.
    Iota(usize),
    /// A copy of the operand's bytes.
    Copy,
    /// A copy of a scalar constant that has no memory: a kernel fills a tensor with the number. `op` is the
    /// operation that the kernel computes. `prepared` is moved out when the thunk is made.
    Fill { kernel: KernelId, op: Op, prepared: Option<PreparedKernel> },
    /// A kernel, with the size of its scratch memory in bytes. `prepared` is moved out when the thunk is
    /// made.
    Kernel { kernel: KernelId, bodies: Vec<Body>, scratch: usize, prepared: Option<PreparedKernel> },
    /// The reference evaluator.
    Reference(ReferenceId),
    /// A custom call, with the pairs (index of a result, index of an operand) that share memory.
    Call(Vec<(usize, usize)>),
    /// A collective of several devices, with the kernel that combines contributions.
    Collective(Option<Box<CombineChoice>>),
    /// A number of the device.
    DeviceNumber(DeviceNumber),
    /// A loop or a conditional.
    Control,
    /// The end of a region.
    Return,
}

/// The kernel of a collective that reduces. `prepared` is moved out when the thunk is made.
#[derive(Debug)]
pub(super) struct CombineChoice {
    pub(super) combine: Combine,
    pub(super) prepared: Option<PreparedKernel>,
}

impl Choice {
    pub(super) fn kernel(kernel: KernelId, bodies: Vec<Body>, prepared: PreparedKernel) -> Choice {
        Choice::Kernel { kernel, bodies, scratch: prepared.scratch(), prepared: Some(prepared) }
    }
}

/// The choices for all instructions of a program.
#[derive(Debug, Default)]
pub(super) struct Choices {
    by_inst: Vec<Choice>,
    /// The constants, deduplicated.
    pub(super) constants: Vec<Literal>,
    /// The instructions that the evaluator runs.
    pub(super) references: Vec<ReferenceSite>,
    pub(super) has_loops: bool,
    /// True if the program has a conditional.
    pub(super) has_branches: bool,
    /// True if a call changes an operand.
    pub(super) has_aliases: bool,
}

impl Choices {
    /// Creates the table for a function with this number of instructions.
    pub(super) fn new(insts: usize) -> Choices {
        let mut by_inst = Vec::new();
        by_inst.resize_with(insts, || Choice::Control);
        Choices { by_inst, ..Choices::default() }
    }

    /// Returns the choice for an instruction. An instruction that is not in the table was added by a later
    /// pass, and is a copy, since later passes add only copies.
    pub(super) fn of(&self, inst: InstId) -> &Choice {
        self.by_inst.get(inst.index()).unwrap_or(&Choice::Copy)
    }

    /// Sets the choice for an instruction.
    pub(super) fn set(&mut self, inst: InstId, choice: Choice) {
        if self.by_inst.len() <= inst.index() {
            self.by_inst.resize_with(inst.index() + 1, || Choice::Copy);
        }
        self.by_inst[inst.index()] = choice;
    }

    /// Moves out the regions of a kernel and its prepared state.
    pub(super) fn take_kernel(&mut self, inst: InstId) -> (Vec<Body>, Option<PreparedKernel>) {
        match self.by_inst.get_mut(inst.index()) {
            Some(Choice::Kernel { bodies, prepared, .. }) => (std::mem::take(bodies), prepared.take()),
            Some(Choice::Fill { prepared, .. }) => (Vec::new(), prepared.take()),
            _ => (Vec::new(), None),
        }
    }

    /// Moves out the kernel of a collective.
    pub(super) fn take_combine(&mut self, inst: InstId) -> Option<(Combine, Option<PreparedKernel>)> {
        match self.by_inst.get_mut(inst.index()) {
            Some(Choice::Collective(Some(choice))) => Some((choice.combine.clone(), choice.prepared.take())),
            _ => None,
        }
    }

    /// Returns which results may share memory with which operands.
    pub(super) fn in_place(&self, inst: InstId) -> InPlace {
        match self.of(inst) {
            Choice::Kernel { kernel, bodies, .. } => kernel.in_place(bodies),
            Choice::Copy | Choice::Fill { .. } => InPlace::Anywhere,
            _ => InPlace::Nowhere,
        }
    }

    /// Returns the values that the thunk of an instruction reads.
    pub(super) fn inputs<'f>(&self, inst: Inst<'f>) -> &'f [ValueId] {
        match inst.op() {
            // A loop reads the result of its condition.
            Op::While => inst.region(0).map_or(&[][..], |r| r.returned()).get(..1).unwrap_or_default(),
            Op::If | Op::Case => inst.operands().get(..1).unwrap_or_default(),
            _ => inst.operands(),
        }
    }
}

/// Returns the kernel that computes an instruction, the instruction's regions as the kernel reads them, and
/// the kernel's prepared state. `iotas` marks the operands without memory ([`Request::iotas`]).
pub(super) fn kernel(
    inst: Inst<'_>,
    iotas: &[Option<usize>],
) -> Option<(KernelId, Vec<Body>, PreparedKernel)> {
    let types = |ids: &[ValueId]| -> Option<Vec<&TensorType>> {
        ids.iter().map(|id| inst.func().tensor(*id)).collect()
    };
    let (inputs, outputs) = (types(inst.operands())?, types(inst.results())?);
    let bodies = body::bodies(inst)?;
    let request = Request { op: inst.op(), bodies: &bodies, inputs: &inputs, outputs: &outputs, iotas };
    let (kernel, prepared) = kernels::find(&request)?;
    Some((kernel, bodies, prepared))
}

/// Returns the error for a program that is not in the middle form.
pub(super) fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; this is a bug in farcall"))
}
