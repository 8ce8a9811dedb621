//! Chooses, once, how each instruction of a program in the middle form runs: by a kernel, by the evaluator,
//! or not at all, because its results are its operands seen as other types.
//!
//! The possible places of values depend on these choices, so they are made before the passes that assign
//! memory. All of these passes read the same table of choices. Regions that kernels and the evaluator apply
//! to elements are parts of their instruction; regions of loops and branches hold instructions with separate
//! choices.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Semantics;
use farcall_ir::op::collective::{Grid, Role};
use farcall_ir::{
    DType, Diagnostic, Func, Inst, InstId, Literal, Module, Op, Span, TensorType, ValueId, interrupt,
};

use crate::options::Options;
use crate::{aliases, body, counting, nested, order, parts};
use farcall_host::registry::Registry;
use farcall_kernels::{self as kernels, InPlace, KernelId, Prepared, Request};
use farcall_plan::{Body, ConstantId, ReferenceId, ReferenceSite};

/// Way in which an instruction runs.
#[derive(Debug)]
pub(super) enum Choice {
    /// No thunk: each result is the operand of the same number.
    View,
    /// No thunk: the result is a part of the operand, beginning at this byte.
    Part(usize),
    /// No thunk: the result is a constant of the plan.
    Constant(ConstantId),
    /// No thunk and no memory: kernels that take the result compute an iota along this dimension.
    Iota(usize),
    /// A copy of the operand's bytes.
    Copy,
    /// A kernel, with its scratch memory in bytes. `prepared` is moved out when the thunk is made.
    Kernel { kernel: KernelId, bodies: Vec<Body>, scratch: usize, prepared: Option<Prepared> },
    /// The reference evaluator.
    Reference(ReferenceId),
    /// A custom call, with the pairs of results and operands, by number, that share memory.
    Call(Vec<(usize, usize)>),
    /// A loop or a choice among branches.
    Control,
    /// The end of a region.
    Return,
}

impl Choice {
    pub(super) fn kernel(kernel: KernelId, bodies: Vec<Body>, prepared: Prepared) -> Choice {
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
    /// True if the program has a choice among branches.
    pub(super) has_branches: bool,
    /// True if a call changes an operand.
    pub(super) has_aliases: bool,
}

impl Choices {
    /// Returns the choice for an instruction. Instructions that passes added later are not in the table;
    /// passes only add copies.
    pub(super) fn of(&self, inst: InstId) -> &Choice {
        self.by_inst.get(inst.index()).unwrap_or(&Choice::Copy)
    }

    /// Replaces the choice for an instruction.
    pub(super) fn set(&mut self, inst: InstId, choice: Choice) {
        self.by_inst[inst.index()] = choice;
    }

    /// Moves out the regions of a kernel and its prepared state.
    pub(super) fn take_kernel(&mut self, inst: InstId) -> (Vec<Body>, Option<Prepared>) {
        match self.by_inst.get_mut(inst.index()) {
            Some(Choice::Kernel { bodies, prepared, .. }) => (std::mem::take(bodies), prepared.take()),
            _ => (Vec::new(), None),
        }
    }

    /// Returns which results may share memory with which operands.
    pub(super) fn in_place(&self, inst: InstId) -> InPlace {
        match self.of(inst) {
            Choice::Kernel { kernel, bodies, .. } => kernel.in_place(bodies),
            Choice::Copy => InPlace::Anywhere,
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

/// Makes the choices for a program in the middle form, built from `entry`, after layouts of custom calls have
/// been assigned.
///
/// # Errors
/// The first instruction that cannot run: a tensor without a size, a collective of several participants, an
/// impossible alias, a nested call that cannot be compiled.
pub(super) fn choose(
    form: &Module,
    entry: &Func,
    registry: &Registry,
    options: &Options<'_>,
) -> Result<Choices, Diagnostics> {
    let func = &form.funcs()[0];
    let mut c = Chooser {
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

struct Chooser<'m> {
    form: &'m Module,
    func: &'m Func,
    registry: &'m Registry,
    options: &'m Options<'m>,
    grid: Grid,
    pool: FxHashMap<&'m Literal, ConstantId>,
    choices: Choices,
}

impl<'m> Chooser<'m> {
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
            // A participant that is alone receives the values that it sends.
            let same = inputs.len() >= outputs.len() && inputs.iter().zip(&outputs).all(|(x, y)| x == y);
            match role {
                Role::Alone if same => return Ok(Choice::View),
                Role::Alone | Role::Outside => return self.reference(inst),
                Role::OneOf(n) => {
                    let message = format!(
                        "{} takes {n} participants, but a program runs on one device here; see: farcall guide platforms-and-limits",
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

    /// Returns false for operations whose kernels follow XLA, if the program asks for the specification's
    /// results.
    fn is_for_kernels(&self, op: &Op) -> bool {
        let decided = matches!(op, Op::ReduceWindow(_) | Op::Scatter(_));
        !decided || self.options.numerics.semantics == Semantics::Xla
    }

    /// Returns the number of a constant; equal constants have one number.
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

/// Returns true if a kernel computes an instruction faster than by applying its region to one element after
/// the other.
pub(super) fn has_kernel(inst: Inst<'_>) -> bool {
    kernel(inst, &[]).is_some_and(|(kernel, ..)| !kernel.is_by_region())
}

/// Returns the kernel that computes an instruction, with the regions that it was asked for and its prepared
/// state. `iotas` marks the operands without memory ([`Request::iotas`]).
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

/// Checks that a tensor has a size in bytes, small enough that sums of several such sizes do not overflow.
fn has_size(ty: &TensorType, span: Span) -> Result<(), Diagnostic> {
    if ty.bytes().is_some_and(|b| b <= isize::MAX as usize / 4) {
        return Ok(());
    }
    Err(Diagnostic::new("compile-size", span, format!("{ty} has no size that fits into memory")))
}

/// Returns true if the result has the same bytes as the operand.
fn is_view(op: &Op, x: &TensorType, y: &TensorType) -> bool {
    let plain = x.quant.is_none() && y.quant.is_none();
    match op {
        // A bitcast of a quantized tensor only concerns the stored elements. A bitcast to elements of another
        // size is a view if the parts of an element are in the order of its bytes.
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

/// Returns true if the elements of one type are valid elements of the other type without a change.
fn reinterprets(from: DType, to: DType) -> bool {
    from == to || (from.bits() == to.bits() && from.bits() >= 8)
}

/// Returns the role of this device in a collective; `None` for other operations.
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

/// Returns the error for a program that is not in the middle form.
pub(super) fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; this is a bug in farcall"))
}
