//! Writes the plan, once everything else has been decided.
//!
//! The program is walked once, in order. An instruction becomes a thunk, according to its [`Choice`], over
//! buffers at the [`Places`] of its values. Copies whose source and destination are the same slice are left
//! out. Unfinished sequences are kept in a list, so deep nesting cannot overflow the stack.

use std::sync::Arc;

use farcall_ir::op::collective::Grid;
use farcall_ir::{DType, Inst, Module, Op, TensorType, ValueId};

use super::assign::Places;
use super::choices::{Choice, Choices};
use super::compiled::Compiled;
use super::order::Event;
use super::resolve;
use crate::options::Options;
use farcall_kernels::{KernelId, PreparedKernel};
use farcall_plan::{
    BufferSlice, CallId, CallSpec, CallThunk, Collective, Compute, ParamId, ParamSpec, PlanParts,
    TensorSlice, Thunk, ThunkOp,
};

/// Writes the plan of a program, with the prepared kernels of its thunks. `names` are the names of its
/// inputs.
pub(super) fn lower(
    form: &Module,
    events: &[Event<'_>],
    choices: Choices,
    places: &Places<'_>,
    names: &[Option<String>],
    options: &Options<'_>,
) -> Compiled {
    let func = &form.funcs()[0];
    let open = vec![OpenSequence::default()];
    let mut l = PlanWriter { form, choices, places, calls: Vec::new(), prepared: Vec::new(), open };
    events.iter().for_each(|event| l.event(*event));
    let results = l.buffers(func.body().returned());
    let thunks = l.open.pop().map(|body| body.thunks).unwrap_or_default();
    let donated = places.donated();
    let params = func.params().iter().enumerate().map(|(i, value)| ParamSpec {
        ty: l.buffer(*value).ty,
        donated: donated.contains(&ParamId::new(i)),
        name: names.get(i).cloned().flatten(),
        known: None,
    });
    let params = params.collect();
    let PlanWriter { choices: Choices { constants, references, .. }, calls, prepared, .. } = l;
    let mut plan = PlanParts::new(Arc::clone(&form.source), options.platform.clone(), options.numerics);
    plan.grid = Grid::of(&form.attrs);
    (plan.constants, plan.numbers) = places.constants.split(constants);
    plan.arena_size = places.arena_size;
    plan.params = params;
    plan.results = results;
    plan.thunks = thunks;
    plan.calls = calls;
    plan.references = references;
    Compiled { plan, prepared }
}

/// A sequence under construction, and the complete sequences before it in the same instruction.
#[derive(Default)]
struct OpenSequence {
    thunks: Vec<Thunk>,
    before: Vec<Vec<Thunk>>,
}

struct PlanWriter<'a> {
    form: &'a Module,
    choices: Choices,
    places: &'a Places<'a>,
    calls: Vec<CallSpec>,
    /// The prepared kernels of the compute thunks, in the order of the plan's text.
    prepared: Vec<(KernelId, PreparedKernel)>,
    open: Vec<OpenSequence>,
}

impl PlanWriter<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Do(inst) => {
                if let Some(thunk) = self.thunk(inst) {
                    self.push(thunk);
                }
            }
            Event::Begin(_) => self.open.push(OpenSequence::default()),
            Event::Next(..) => {
                if let Some(top) = self.open.last_mut() {
                    top.before.push(std::mem::take(&mut top.thunks));
                }
            }
            Event::End(inst) => {
                let Some(OpenSequence { thunks, before: mut bodies }) = self.open.pop() else { return };
                bodies.push(thunks);
                let op = if *inst.op() == Op::While { ThunkOp::While } else { ThunkOp::Case };
                let inputs = self.buffers(self.choices.inputs(inst));
                let written = inst.results().iter().filter(|r| self.places.is_written(**r));
                let outputs = written.map(|r| self.buffer(*r)).collect();
                self.push(Thunk { op, inputs, outputs, bodies, span: inst.span(), loc: loc(inst) });
            }
        }
    }

    fn push(&mut self, thunk: Thunk) {
        if let Some(top) = self.open.last_mut() {
            top.thunks.push(thunk);
        }
    }

    /// Returns the thunk of an instruction without regions of control flow; `None` for a copy that is not
    /// needed.
    fn thunk(&mut self, inst: Inst<'_>) -> Option<Thunk> {
        if !has_thunk(inst, &self.choices, self.places) {
            return None;
        }
        let inputs = self.buffers(self.choices.inputs(inst));
        let mut outputs = self.buffers(inst.results());
        let (bodies, prepared) = self.choices.take_kernel(inst.id());
        let combine = self.choices.take_combine(inst.id());
        let op = match self.choices.of(inst.id()) {
            Choice::Copy => ThunkOp::Copy,
            Choice::Fill { kernel, op, .. } => {
                self.prepared.extend(prepared.map(|prepared| (*kernel, prepared)));
                let (kernel, op) = (*kernel, op.clone());
                ThunkOp::Compute(Box::new(Compute { kernel, op, bodies: Vec::new(), scratch: false }))
            }
            Choice::Kernel { kernel, .. } => {
                self.prepared.extend(prepared.map(|prepared| (*kernel, prepared)));
                let scratch = self.places.scratch(inst.id());
                outputs.extend(scratch.map(scratch_buffer));
                let (kernel, op, scratch) = (*kernel, inst.op().clone(), scratch.is_some());
                ThunkOp::Compute(Box::new(Compute { kernel, op, bodies, scratch }))
            }
            Choice::Reference(id) => ThunkOp::Reference(*id),
            Choice::Collective(_) => {
                let combine = combine.map(|(combine, prepared)| {
                    self.prepared.extend(prepared.map(|prepared| (combine.compute.kernel, prepared)));
                    combine
                });
                ThunkOp::Collective(Box::new(Collective { op: inst.op().clone(), combine }))
            }
            Choice::DeviceNumber(number) => ThunkOp::DeviceNumber(*number),
            Choice::Call(aliases) => {
                let aliases = aliases.clone();
                ThunkOp::CustomCall(self.call(inst, aliases)?)
            }
            Choice::View
            | Choice::Part(_)
            | Choice::Constant(_)
            | Choice::Iota(_)
            | Choice::Control
            | Choice::Return => return None,
        };
        Some(Thunk { op, inputs, outputs, bodies: Vec::new(), span: inst.span(), loc: loc(inst) })
    }

    fn call(&mut self, inst: Inst<'_>, aliases: Vec<(usize, usize)>) -> Option<CallThunk> {
        let Op::CustomCall(call) = inst.op() else { return None };
        let (operands, results) = resolve::types(inst, call);
        let id = CallId::new(self.calls.len());
        // A call without results is only useful for its side effect.
        let side_effect = call.has_side_effect || inst.results().is_empty();
        self.calls.push(CallSpec {
            call: (**call).clone(),
            operands,
            results,
            place: inst.place(&self.form.source).into(),
            span: Some(inst.span()),
        });
        Some(CallThunk { id, aliases, side_effect })
    }

    fn buffers(&self, values: &[ValueId]) -> Vec<TensorSlice> {
        values.iter().map(|v| self.buffer(*v)).collect()
    }

    fn buffer(&self, value: ValueId) -> TensorSlice {
        // Kernels have been chosen, so every value is a tensor.
        let ty = self.form.funcs()[0].tensor(value).cloned();
        TensorSlice {
            slice: self.places.of(value),
            ty: ty.unwrap_or_else(|| TensorType::scalar(DType::Pred)),
        }
    }
}

/// Returns true if an instruction that needs code becomes a thunk. Copies of no bytes, and copies whose
/// source and destination are the same slice, do not become thunks.
pub(super) fn has_thunk(inst: Inst<'_>, choices: &Choices, places: &Places<'_>) -> bool {
    match (choices.of(inst.id()), inst.operands(), inst.results()) {
        (Choice::Copy, [from, ..], [to, ..]) => {
            let (from, to) = (places.of(*from), places.of(*to));
            from != to && to.size > 0
        }
        _ => true,
    }
}

/// Returns the location of an instruction in readable form.
fn loc(inst: Inst<'_>) -> Option<Arc<str>> {
    inst.loc()?.place().map(Arc::from)
}

fn scratch_buffer(slice: BufferSlice) -> TensorSlice {
    TensorSlice { slice, ty: TensorType::new(DType::U8, [slice.size]) }
}
