//! Chooses, once, how each instruction of a program in the middle form runs: by a kernel, by the evaluator,
//! or not at all (for example because its results are its operands seen as other types).
//!
//! The possible places of values depend on these choices, so the choices are made before the passes that
//! assign memory. All of these passes read the same table of choices. A region that a kernel or the evaluator
//! applies to elements is a part of its instruction. In the regions of loops and conditionals, each
//! instruction has a choice of its own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Semantics;
use farcall_ir::op::collective::Grid;
use farcall_ir::op::{FormOp, Traits};
use farcall_ir::{DType, Diagnostic, Func, Inst, Literal, Module, Op, Span, TensorType, ValueId, interrupt};

use crate::choices::{Choice, Choices, internal, kernel};
use crate::options::Options;
use crate::region_calls::CompileNested;
use crate::{aliases, body, collectives, implicit_iotas, order, participants, region_calls, slice_views};
use farcall_kernels::{self as kernels, Request};
use farcall_plan::{ConstantId, DeviceNumber, ReferenceId, ReferenceSite};

/// Makes the choices for a program in the middle form that was built from `entry`. The layouts of custom
/// calls must have been assigned.
///
/// # Errors
/// The first instruction that cannot run, with the reason: a tensor without a size, a collective whose
/// participants do not exist, an impossible alias, or a nested call that `compile_nested` cannot compile.
pub(super) fn choose(
    form: &Module,
    entry: &Func,
    options: &Options<'_>,
    compile_nested: &CompileNested<'_>,
) -> Result<Choices, Diagnostics> {
    let func = &form.funcs()[0];
    let mut c = Chooser {
        form,
        func,
        options,
        compile_nested,
        grid: Grid::of(&form.attrs),
        pool: FxHashMap::default(),
        choices: Choices::new(func.inst_count()),
    };
    c.all().map_err(|d| Diagnostics::from_iter([d]))?;
    slice_views::choose(func, entry, &mut c.choices);
    Ok(c.choices)
}

struct Chooser<'m> {
    form: &'m Module,
    func: &'m Func,
    options: &'m Options<'m>,
    compile_nested: &'m CompileNested<'m>,
    grid: Grid,
    pool: FxHashMap<&'m Literal, ConstantId>,
    choices: Choices,
}

impl<'m> Chooser<'m> {
    fn all(&mut self) -> Result<(), Diagnostic> {
        self.func.params().iter().try_for_each(|p| has_size(self.ty(*p, self.func.span)?, self.func.span))?;
        let mut counting = implicit_iotas::choose(self.func);
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
            self.choices.set(inst.id(), choice);
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
            Op::Form(FormOp::Copy) => return Ok(Choice::Copy),
            Op::CustomCall(call) => return aliases::check(inst, call).map(Choice::Call),
            Op::ReplicaId => return Ok(Choice::DeviceNumber(DeviceNumber::Replica)),
            Op::PartitionId => return Ok(Choice::DeviceNumber(DeviceNumber::Partition)),
            Op::Constant(literal) if outputs.iter().all(|t| t.quant.is_none()) => {
                return Ok(Choice::Constant(self.constant(literal)));
            }
            _ => {}
        }
        if inst.op().info().is(Traits::COLLECTIVE) {
            participants::check(inst, self.grid)?;
            // A participant that is alone receives the values that it sends.
            let same = inputs.len() >= outputs.len() && inputs.iter().zip(&outputs).all(|(x, y)| x == y);
            return match same && participants::are_alone(inst.op(), self.grid) {
                true => Ok(Choice::View),
                false => {
                    collectives::choose(inst, &inputs, &outputs).map_or_else(|| self.reference(inst), Ok)
                }
            };
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
        let decided = matches!(op, Op::ReduceWindow(_)) || op.as_scatter().is_some();
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
        let calls = region_calls::calls(&program, self.compile_nested).map_err(|refused| {
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
        // A bitcast of a quantized tensor only concerns the stored elements. A bitcast between element sizes
        // is a view if the small elements lie in memory in the same order as the bytes of a large element.
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
