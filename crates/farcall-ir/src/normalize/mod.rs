//! Replaces calls that are operations in disguise by what they mean.
//!
//! JAX, XLA and the StableHLO suite write some operations as custom calls, which mean the same wherever they
//! run, so that no registry needs targets for them:
//!
//! | call | means |
//! | --- | --- |
//! | `Sharding`, `SPMDFullToShardShape`, `SPMDShardToFullShape`, `LayoutConstraint`, `annotate_device_placement`, `MoveToHost`, `MoveToDevice`, `PinToDevice`, `PinToDeviceSram`, `xla.sdy.FuncResultSharding`, `xla.sdy.GlobalToLocalShape`, `xla.sdy.LocalToGlobalShape`, `sdy.sharding_constraint`, `sdy.reshard`, `sdy.propagation_barrier` | its operand: a program here runs on one device, and layouts are ours to choose (`placement`) |
//! | `sdy.sharding_group`, whose values are to be split alike | nothing (`placement`) |
//! | `mhlo.topk` of the largest; `mhlo.erf`, … without attributes | `chlo.top_k`; `chlo.erf`, … (`mhlo`) |
//! | `mhlo.topk` of the smallest | a sort of the operand and of places, of which the first are taken (`sorted`) |
//! | `AllocateBuffer`, elements of which nothing is said | a constant of zeros (`scaffolding`) |
//! | `stablehlo.shape_refinement_operand_wrapper` of a value and its shape | the value (`scaffolding`) |
//! | `control_dep`, by which JAX orders two values | nothing: what a program does here has an order already (`scaffolding`) |
//! | `ApproxTopK` and `TopK` with a comparator | a sort by the comparator, of which the first are taken: the exact answer (`sorted`) |
//! | `ragged_all_to_all` of one participant | copies of rows, each a gather and a select (`ragged`) |
//! | `Qr`, `ProductOfElementaryHouseholderReflectors`, `Eigh` of real matrices (programs exported for TPUs) | their algorithms: Householder's reflections, Jacobi's rotations (`decomposed`) |
//! | `check.expect_eq_const`, … | a constant, and the call without `_const`; tolerances become the call's dictionary (`check`) |
//!
//! Such a call in a different form (with several values, or another shape) is left unchanged.
//!
//! Readers do not normalize: they report what the text says. The verifier checks both the calls and what they mean.
//! Everything that gives a program a meaning normalizes it first, so that callers need not:
//! [`eval`](crate::eval::eval), [`refine`](crate::refine::refine) and [`middle::build`](crate::middle::build). To
//! find the custom calls for which a program needs targets, look at [`normalized`].
//!
//! A family is one file, with a function `meaning` that returns what a call stands for, if it belongs to the family.

mod check;
mod decomposed;
mod mhlo;
mod placement;
mod ragged;
mod scaffolding;
mod sorted;

pub(crate) use check::{constant, has_constant};
pub(crate) use decomposed::is_decomposition;
pub(crate) use placement::is_placement;

use std::borrow::Cow;

use crate::module::{Func, Inst, InstId, Module, Rewriter};
use crate::op::{CustomCall, Op};
use crate::stack;

/// What a custom call stands for.
enum Meaning {
    /// An operation on the same operands.
    Op(Op),
    /// An operation on the first operand.
    First(Op),
    /// An operation on the same operands; these attributes said which, and go.
    Said(Op, &'static [&'static str]),
    /// Nothing at all.
    Nothing,
    /// The first elements of tensors that are sorted together.
    Sorted(sorted::Sorted),
    /// Copies of rows from one tensor into another.
    Ragged(ragged::Copies),
    /// A check, as its target takes it.
    Check(check::Check),
    /// A decomposition of matrices.
    Decomposed(decomposed::Decomposition),
}

/// What a call means, if it stands for something else.
fn meaning(inst: Inst<'_>) -> Option<Meaning> {
    let Op::CustomCall(call) = inst.op() else { return None };
    let call: &CustomCall = call;
    placement::meaning(inst, call)
        .or_else(|| mhlo::meaning(inst, call))
        .or_else(|| scaffolding::meaning(inst, call))
        .or_else(|| sorted::meaning(inst, call))
        .or_else(|| ragged::meaning(inst, call))
        .or_else(|| check::meaning(inst, call))
        .or_else(|| decomposed::meaning(inst, call))
}

/// Rewrites every call that stands for something else. A verified module stays one: the verifier looks at what
/// calls mean, too.
pub fn run(module: &mut Module) {
    run_where(module, &|_| true);
}

/// The same for the calls that are chosen.
pub(crate) fn run_where(module: &mut Module, chosen: &dyn Fn(&CustomCall) -> bool) {
    stack::with_room(|| run_here(module, chosen))
}

fn run_here(module: &mut Module, chosen: &dyn Fn(&CustomCall) -> bool) {
    let meaning = |inst: Inst<'_>| match inst.op() {
        Op::CustomCall(call) if chosen(call) => meaning(inst),
        _ => None,
    };
    for id in module.func_ids() {
        let mut found = Vec::new();
        module[id].walk(&mut |inst| found.extend(meaning(inst).map(|meaning| (inst.id(), meaning))));
        if found.is_empty() {
            continue;
        }
        let mut rewriter = Rewriter::new(module.func_mut(id));
        for (inst, meaning) in found {
            apply(&mut rewriter, inst, meaning);
        }
    }
}

fn apply(r: &mut Rewriter<'_>, inst: InstId, meaning: Meaning) {
    match meaning {
        Meaning::Op(op) => r.set_op(inst, op),
        Meaning::First(op) => {
            let first = r.func().inst(inst).operands()[..1].to_vec();
            r.set_operands(inst, first);
            r.set_op(inst, op);
        }
        Meaning::Said(op, spent) => {
            for key in spent {
                r.attrs_mut(inst).remove(key);
            }
            r.set_op(inst, op);
        }
        Meaning::Nothing => r.erase(inst),
        Meaning::Sorted(sorted) => sorted.apply(r, inst),
        Meaning::Ragged(copies) => copies.apply(r, inst),
        Meaning::Check(check) => check.apply(r, inst),
        Meaning::Decomposed(decomposition) => decomposition.apply(r, inst),
    }
}

/// True if a call of the module stands for something else: [`run`] has something to do.
pub fn is_needed(module: &Module) -> bool {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| found = found || meaning(inst).is_some());
    }
    found
}

/// The module with every call as what it means; itself, if they are that already.
pub fn normalized(module: &Module) -> Cow<'_, Module> {
    if !is_needed(module) {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    run(&mut module);
    Cow::Owned(module)
}

/// What a function of a module is in what [`normalized`] made of it: the one of the same name.
pub(crate) fn counterpart<'m>(func: &'m Func, normalized: &'m Module) -> &'m Func {
    normalized.func(&func.name).unwrap_or(func)
}
