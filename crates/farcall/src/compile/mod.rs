//! From a module to a [`Plan`].
//!
//! ```text
//! Module ──lower──▶ steps ──dead──▶ steps ──coalesce──▶ steps ──assign──▶ places ──▶ Plan
//! ```
//!
//! Steps are thunks over values that have no place yet. `lower` inlines calls and picks kernels (by
//! `excess`, products of `bf16` stay in `f32`), `dead` drops what nobody reads, `coalesce` lets loops and
//! branches write where their results are wanted, `donate` reads which inputs the program may write to,
//! `assign` finds places in the arena and in these.
//!
//! **Invariants.** Nothing here runs anything, and nothing here knows the runtime. The module has
//! been verified and is static.

mod assign;
mod body;
mod coalesce;
mod dead;
mod declared;
mod donate;
mod excess;
mod lower;
mod lower_call;
mod lower_ops;
mod nested;

use std::collections::HashSet;
use std::sync::Arc;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Numerics;
use farcall_ir::{Func, Module};

use crate::plan::{Base, Buffer, Param, ParamId, Plan, Slice, Thunk, ThunkOp};
use crate::registry::Registry;
use donate::Wish;
use lower::{Home, Lowered, Operand, Step, VirtualId};
pub(crate) use nested::program_of;

/// Compiles the function `entry` of a verified module. (The plan is validated when it is loaded.)
pub(crate) fn compile(
    module: &Arc<Module>,
    entry: &Func,
    registry: &Registry,
    numerics: Numerics,
) -> Result<Plan, Diagnostics> {
    let mut lowered = lower::lower(module, entry, registry, numerics)?;
    dead::remove(&mut lowered);
    coalesce::coalesce(&mut lowered.steps, &mut lowered.results, &lowered.values);
    let wishes = donate::wishes(entry, &lowered.results)?;
    Ok(emit(lowered, &wishes, module, numerics))
}

/// True if this output of a step may have the place of this value, if both end and begin there: every use of the
/// value as an operand allows it.
fn shares(step: &Step, output: usize, value: VirtualId) -> bool {
    let size = step.outputs[output].ty.dtype.size();
    let mut uses = step.inputs.iter().enumerate().filter(|(_, x)| x.id == value).peekable();
    uses.peek().is_some() && uses.all(|(i, x)| step.in_place(output, i) && x.ty.dtype.size() == size)
}

/// Finds places and writes the plan.
fn emit(lowered: Lowered, wishes: &[Wish], module: &Arc<Module>, numerics: Numerics) -> Plan {
    let Lowered { values, params, constants, results, steps, calls, references } = lowered;
    let assign::Assignment { offsets, donated, arena_size } =
        assign::assign(&steps, &results, &values, wishes);
    let places = Places { values: &values, offsets: &offsets, donated: &donated };
    let results = results.iter().map(|r| places.buffer(r)).collect();
    let thunks = places.sequence(steps);
    let written: HashSet<ParamId> = donated.iter().flatten().copied().collect();
    let given = |i: usize| written.contains(&ParamId::new(i));
    Plan {
        arena_size,
        params: params.into_iter().enumerate().map(|(i, ty)| Param { ty, donated: given(i) }).collect(),
        constants,
        results,
        thunks,
        calls,
        references,
        numerics,
        module: Arc::clone(module),
    }
}

struct Places<'a> {
    values: &'a [(Home, usize)],
    offsets: &'a [usize],
    donated: &'a [Option<ParamId>],
}

impl Places<'_> {
    fn buffer(&self, x: &Operand) -> Buffer {
        let (home, size) = self.values[x.id.index()];
        let slice = match home {
            Home::Temp if let Some(id) = self.donated[x.id.index()] => {
                Slice { base: Base::Param(id), offset: 0, size }
            }
            Home::Temp => Slice { base: Base::Arena, offset: self.offsets[x.id.index()], size },
            Home::Constant(id) => Slice { base: Base::Constant(id), offset: 0, size },
            Home::Param(id) => Slice { base: Base::Param(id), offset: 0, size },
        };
        Buffer { slice, ty: x.ty.clone() }
    }

    fn sequence(&self, steps: Vec<Step>) -> Vec<Thunk> {
        let mut thunks = Vec::with_capacity(steps.len());
        for step in steps {
            let thunk = Thunk {
                op: step.op,
                inputs: step.inputs.iter().map(|x| self.buffer(x)).collect(),
                outputs: step.outputs.iter().map(|x| self.buffer(x)).collect(),
                bodies: step.bodies.into_iter().map(|b| self.sequence(b)).collect(),
                span: step.span,
            };
            let copies_itself = thunk.op == ThunkOp::Copy && thunk.inputs[0].slice == thunk.outputs[0].slice;
            let copies_nothing = thunk.op == ThunkOp::Copy && thunk.outputs[0].slice.size == 0;
            if !copies_itself && !copies_nothing {
                thunks.push(thunk);
            }
        }
        thunks
    }
}
