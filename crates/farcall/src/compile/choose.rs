//! Chooses, once, how each instruction of a program in the middle form runs: by which kernel, by the evaluator, or not
//! at all, because its results are its operands seen as other types.
//!
//! Where values may lie depends on this, so it comes before the passes that decide about memory, which all ask the
//! same table. Regions that kernels and the evaluator apply to elements are parts of their instruction; those of
//! loops and branches hold instructions of their own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Semantics;
use farcall_ir::op::collective::{Grid, Role};
use farcall_ir::{
    DType, Diagnostic, Func, Inst, InstId, Literal, Module, Op, Span, TensorType, ValueId, interrupt,
};

use super::{Options, aliases, body, counting, nested, order, parts};
use crate::kernels::{self, InPlace, KernelId, Prepared, Request};
use crate::plan::{Body, ConstantId, ReferenceId, ReferenceSite};
use crate::registry::Registry;

/// How an instruction runs.
#[derive(Debug)]
pub(super) enum Choice {
    /// It has no thunk: each result is the operand of the same number.
    View,
    /// It has no thunk: its result is a part of its operand, from this byte on.
    Part(usize),
    /// It has no thunk: its result is a constant of the plan.
    Constant(ConstantId),
    /// It has no thunk: its result is in no memory, and those that take it count along this dimension.
    Iota(usize),
    /// It copies bytes.
    Copy,
    /// A kernel computes it, with so many bytes of scratch memory; what it has prepared, until the thunk has that.
    Kernel { kernel: KernelId, bodies: Vec<Body>, scratch: usize, prepared: Option<Prepared> },
    /// The evaluator runs it.
    Reference(ReferenceId),
    /// A target is called; results and operands, by number, that share memory.
    Call(Vec<(usize, usize)>),
    /// A loop or a choice among branches.
    Control,
    /// It ends a region.
    Return,
}

impl Choice {
    pub(super) fn kernel(kernel: KernelId, bodies: Vec<Body>, prepared: Prepared) -> Choice {
        Choice::Kernel { kernel, bodies, scratch: prepared.scratch(), prepared: Some(prepared) }
    }
}

/// How every instruction of a program runs.
#[derive(Debug, Default)]
pub(super) struct Choices {
    by_inst: Vec<Choice>,
    /// The constants, each once.
    pub(super) constants: Vec<Literal>,
    /// What the evaluator runs.
    pub(super) references: Vec<ReferenceSite>,
    pub(super) has_loops: bool,
    /// There is a choice among branches.
    pub(super) has_branches: bool,
    /// A call changes an operand.
    pub(super) has_aliases: bool,
}

impl Choices {
    /// How an instruction runs. The table does not list those that came later: passes add copies only.
    pub(super) fn of(&self, inst: InstId) -> &Choice {
        self.by_inst.get(inst.index()).unwrap_or(&Choice::Copy)
    }

    /// Decides otherwise.
    pub(super) fn set(&mut self, inst: InstId, choice: Choice) {
        self.by_inst[inst.index()] = choice;
    }

    /// Hands over the regions of a kernel, and what it has prepared.
    pub(super) fn take_kernel(&mut self, inst: InstId) -> (Vec<Body>, Option<Prepared>) {
        match self.by_inst.get_mut(inst.index()) {
            Some(Choice::Kernel { bodies, prepared, .. }) => (std::mem::take(bodies), prepared.take()),
            _ => (Vec::new(), None),
        }
    }

    /// Which results may lie where operands lie.
    pub(super) fn in_place(&self, inst: InstId) -> InPlace {
        match self.of(inst) {
            Choice::Kernel { kernel, bodies, .. } => kernel.in_place(bodies),
            Choice::Copy => InPlace::Anywhere,
            _ => InPlace::Nowhere,
        }
    }

    /// What the thunk of an instruction reads.
    pub(super) fn inputs<'f>(&self, inst: Inst<'f>) -> &'f [ValueId] {
        match inst.op() {
            // A loop reads what its condition returns.
            Op::While => inst.region(0).map_or(&[][..], |r| r.returned()).get(..1).unwrap_or_default(),
            Op::If | Op::Case => inst.operands().get(..1).unwrap_or_default(),
            _ => inst.operands(),
        }
    }
}

/// Chooses for a program in the middle form, made of `entry`, whose custom calls have been laid out.
///
/// # Errors
/// The first instruction that cannot run: a tensor without a size, a collective of several participants, an alias
/// that cannot be, a nested call that cannot be compiled.
pub(super) fn choose(
    form: &Module,
    entry: &Func,
    registry: &Registry,
    options: &Options<'_>,
) -> Result<Choices, Diagnostics> {
    let func = &form.funcs()[0];
    let mut c = Choosing {
        form,
        func,
        registry,
        options,
        grid: Grid::of(&form.attrs),
        pool: FxHashMap::default(),
        choices: Choices::default(),
    };
    c.choices.by_inst.resize_with(func.inst_count(), || Choice::Control);
    c.all().map_err(|d| Diagnostics::from_iter([d]))?;
    parts::choose(func, entry, &mut c.choices);
    Ok(c.choices)
}

struct Choosing<'m> {
    form: &'m Module,
    func: &'m Func,
    registry: &'m Registry,
    options: &'m Options<'m>,
    grid: Grid,
    pool: FxHashMap<&'m Literal, ConstantId>,
    choices: Choices,
}

impl<'m> Choosing<'m> {
    fn all(&mut self) -> Result<(), Diagnostic> {
        self.func.params().iter().try_for_each(|p| has_size(self.ty(*p, self.func.span)?, self.func.span))?;
        let mut counting = counting::choose(self.func);
        for inst in order::instructions(self.func) {
            interrupt::check()?;
            let choice = match counting.remove(&inst.id()) {
                Some(choice) => choice,
                None => self.choice(inst)?,
            };
            match &choice {
                Choice::Control if *inst.op() == Op::While => self.choices.has_loops = true,
                Choice::Control => self.choices.has_branches = true,
                Choice::Call(aliases) => self.choices.has_aliases |= !aliases.is_empty(),
                _ => {}
            }
            self.choices.by_inst[inst.id().index()] = choice;
        }
        Ok(())
    }

    fn choice(&mut self, inst: Inst<'m>) -> Result<Choice, Diagnostic> {
        let span = inst.span();
        let types = |ids: &[ValueId]| -> Result<Vec<&'m TensorType>, Diagnostic> {
            ids.iter().map(|id| self.ty(*id, span)).collect()
        };
        let (inputs, outputs) = (types(inst.own_operands())?, types(inst.results())?);
        outputs.iter().try_for_each(|ty| has_size(ty, span))?;
        match inst.op() {
            Op::Return => return Ok(Choice::Return),
            Op::While | Op::If | Op::Case => return Ok(Choice::Control),
            Op::Copy => return Ok(Choice::Copy),
            Op::CustomCall(call) => return aliases::check(inst, call).map(Choice::Call),
            Op::Constant(literal) if outputs.iter().all(|t| t.quant.is_none()) => {
                return Ok(Choice::Constant(self.constant(literal)));
            }
            _ => {}
        }
        if let Some(role) = role(inst.op(), self.grid) {
            // A participant that is alone receives what it sends.
            let same = inputs.len() >= outputs.len() && inputs.iter().zip(&outputs).all(|(x, y)| x == y);
            match role {
                Role::Alone if same => return Ok(Choice::View),
                Role::Alone | Role::Outside => return self.reference(inst),
                Role::OneOf(n) => {
                    let message = format!(
                        "{} takes {n} participants, but a program runs on one device here",
                        inst.op().name()
                    );
                    return Err(Diagnostic::new("participants", span, message));
                }
            }
        }
        if let ([x, ..], [y]) = (inputs.as_slice(), outputs.as_slice())
            && is_view(inst.op(), x, y)
        {
            return Ok(Choice::View);
        }
        if self.is_for_kernels(inst.op())
            && let Some(bodies) = body::bodies(inst)
        {
            let (op, all) = (inst.op(), types(inst.operands())?);
            let request = Request { op, bodies: &bodies, inputs: &all, outputs: &outputs, iotas: &[] };
            if let Some((kernel, prepared)) = kernels::find(&request) {
                return Ok(Choice::kernel(kernel, bodies, prepared));
            }
        }
        self.reference(inst)
    }

    /// False for operations that kernels compute as XLA does, if the specification's results are asked for.
    fn is_for_kernels(&self, op: &Op) -> bool {
        let decided = matches!(op, Op::ReduceWindow(_) | Op::Scatter(_));
        !decided || self.options.numerics.semantics == Semantics::Xla
    }

    /// A constant; equal ones are one.
    fn constant(&mut self, literal: &'m Literal) -> ConstantId {
        *self.pool.entry(literal).or_insert_with(|| {
            let id = ConstantId::new(self.choices.constants.len());
            self.choices.constants.push(literal.clone());
            id
        })
    }

    fn reference(&mut self, inst: Inst<'m>) -> Result<Choice, Diagnostic> {
        let id = ReferenceId::new(self.choices.references.len());
        let program = Arc::new(self.form.extract(inst));
        let calls = nested::calls(&program, self.registry, self.options).map_err(|refused| {
            let first = refused.diagnostics.kept().first().cloned();
            first.unwrap_or_else(|| internal(inst.span(), "a call that cannot be compiled"))
        })?;
        self.choices.references.push(ReferenceSite { program, calls });
        Ok(Choice::Reference(id))
    }

    fn ty(&self, id: ValueId, span: Span) -> Result<&'m TensorType, Diagnostic> {
        self.func.tensor(id).ok_or_else(|| internal(span, "a value that is not a tensor"))
    }
}

/// True if a kernel serves an instruction in a faster way than applying its region element by element.
pub(super) fn has_kernel(inst: Inst<'_>) -> bool {
    kernel(inst, &[]).is_some_and(|(kernel, ..)| !kernel.is_by_region())
}

/// The kernel that serves an instruction, of which some operands may be in no memory ([`Request::iotas`]), with the regions
/// that it was asked for and what it has prepared.
pub(super) fn kernel(inst: Inst<'_>, iotas: &[Option<usize>]) -> Option<(KernelId, Vec<Body>, Prepared)> {
    let types = |ids: &[ValueId]| -> Option<Vec<&TensorType>> {
        ids.iter().map(|id| inst.func().tensor(*id)).collect()
    };
    let (inputs, outputs) = (types(inst.operands())?, types(inst.results())?);
    let bodies = body::bodies(inst)?;
    let request = Request { op: inst.op(), bodies: &bodies, inputs: &inputs, outputs: &outputs, iotas };
    let (kernel, prepared) = kernels::find(&request)?;
    Some((kernel, bodies, prepared))
}

/// A tensor has a size in bytes that several of them may have together.
fn has_size(ty: &TensorType, span: Span) -> Result<(), Diagnostic> {
    if ty.bytes().is_some_and(|b| b <= isize::MAX as usize / 4) {
        return Ok(());
    }
    Err(Diagnostic::new("compile-size", span, format!("{ty} has no size that fits into memory")))
}

/// True if the result is the operand's bytes.
fn is_view(op: &Op, x: &TensorType, y: &TensorType) -> bool {
    let plain = x.quant.is_none() && y.quant.is_none();
    match op {
        // Of quantized tensors, the elements as they are stored. The parts of an element are in the order of its bytes.
        Op::BitcastConvert => {
            let whole = |t: &TensorType| t.dtype.bits() >= 8;
            let parts = cfg!(target_endian = "little") && whole(x) && whole(y) && x.bytes() == y.bytes();
            x.dtype == y.dtype || (plain && (parts || reinterprets(x.dtype, y.dtype)))
        }
        Op::Reshape => plain && reinterprets(x.dtype, y.dtype),
        Op::Convert => plain && x.dtype == y.dtype,
        _ => false,
    }
}

/// True if elements of one type are elements of the other without a change.
fn reinterprets(from: DType, to: DType) -> bool {
    from == to || (from.bits() == to.bits() && from.bits() >= 8)
}

/// What the device is to a collective; `None` for other operations.
fn role(op: &Op, grid: Grid) -> Option<Role> {
    Some(match op {
        Op::AllGather(op) => op.groups.role(grid),
        Op::AllReduce(groups) => groups.reduction_role(grid),
        Op::ReduceScatter(op) => op.groups.role(grid),
        Op::AllToAll(op) => op.groups.exchange_role(grid),
        Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => op.groups.exchange_role(grid),
        Op::CollectivePermute(op) => op.role(),
        _ => return None,
    })
}

/// A program that is not in the middle form.
pub(super) fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; this is a bug in farcall"))
}
