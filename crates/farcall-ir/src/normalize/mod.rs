//! Replaces custom calls that stand for an operation by that operation.
//!
//! JAX, XLA and the StableHLO suite write some operations as custom calls. Such calls have the same meaning
//! wherever they run, so no registry needs targets for them. The replacements are:
//!
//! - The operand, or all operands (some of these calls may have several), for `Sharding`, `ShardBarrierFrom`,
//!   `ShardBarrierTo`, `SPMDFullToShardShape`, `SPMDShardToFullShape`, `LayoutConstraint`,
//!   `annotate_device_placement`, `MoveToHost`, `MoveToDevice`, `PinToDevice`, `PinToDeviceSram`, `SetBound`,
//!   `xla.sdy.FuncResultSharding`, `xla.sdy.GlobalToLocalShape`, `xla.sdy.LocalToGlobalShape`,
//!   `sdy.sharding_constraint`, `sdy.reshard` and `sdy.propagation_barrier`; the elements of the operand, if
//!   the operand is a tuple whose elements are the results. Programs run on one device, and the engine
//!   chooses layouts (`placement`).
//! - Nothing, for `sdy.sharding_group`, whose values are to be sharded alike (`placement`).
//! - `chlo.top_k` for `mhlo.topk` of the largest elements, and `chlo.erf`, … for `mhlo.erf`, … without
//!   attributes (`mhlo`).
//! - A sort of the operand together with the elements' indices, followed by slices of the first elements, for
//!   `mhlo.topk` of the smallest elements (`top_k`).
//! - A constant of zeros, for `AllocateBuffer`, whose elements are unspecified (`compiler_hints`).
//! - The value, for `stablehlo.shape_refinement_operand_wrapper` of a value and its shape (`compiler_hints`).
//! - Nothing, for `control_dep`, by which JAX orders two values: farcall runs instructions in order anyway
//!   (`compiler_hints`).
//! - A sort by the comparator, followed by slices of the first elements, for `ApproxTopK` and `TopK` with a
//!   comparator. The answer is exact (`top_k`).
//! - Copies of rows, each a gather and a select, for `ragged_all_to_all` of one participant (`ragged`).
//! - A composite whose decomposition is the algorithm (Householder reflections, Jacobi rotations), for `Qr`,
//!   `ProductOfElementaryHouseholderReflectors` and `Eigh`, as in programs exported for TPUs. The compiler
//!   calls a registered target of this name instead, if there is one (`decompositions`).
//! - A constant and the call without `_const`, for `check.expect_eq_const`, …; tolerances move to the call's
//!   dictionary (`check`).
//!
//! A call in any other form (with other numbers of operands, for example, or other shapes) is left unchanged.
//!
//! The readers of programs do not normalize: they preserve a program as it is written. The verifier checks
//! the calls, replaces them, and checks the replacements: a [`Verified`](crate::verify::Verified) module is
//! normalized. So are all programs that are refined, evaluated or compiled, since they are verified. To find
//! the custom calls for which a program needs targets, look at the verified module.
//!
//! Each family is one file with a function `replacement`, which returns the replacement of a call that
//! belongs to the family.

mod check;
mod compiler_hints;
mod decompositions;
mod mhlo;
mod placement;
mod ragged;
mod top_k;

pub(crate) use check::{constant, has_constant};
pub use decompositions::custom_call;
pub(crate) use decompositions::is_decomposition;
pub(crate) use placement::is_placement;

use crate::attr::Attribute;
use crate::module::{Inst, InstId, Module, Rewriter};
use crate::op::{CustomCall, Op};
use crate::sharding::Sharding;
use crate::stack;

/// The replacement of a custom call.
enum Replacement {
    /// An operation on the same operands.
    Op(Op),
    /// The elements of the only operand, a tuple.
    Elements,
    /// An operation on the first operand.
    First(Op),
    /// An operation on the same operands. The listed attributes determined the operation and are removed.
    FromAttrs(Op, &'static [&'static str]),
    /// An operation on the same operand, whose result has the sharding in the attribute `sharding`.
    Sharded(Op),
    /// Identities that keep the shardings of a border between values and parts.
    Border,
    /// Nothing: the call is erased.
    Erased,
    /// The first elements of tensors that are sorted together.
    Sorted(top_k::Sorted),
    /// Copies of rows from one tensor into another.
    Ragged(ragged::Copies),
    /// A check in the form that its target takes.
    Check(check::Check),
    /// A matrix decomposition.
    Decomposed(decompositions::Decomposition),
}

/// Returns the replacement of an instruction; `None` unless it is a call that stands for an operation.
fn replacement(inst: Inst<'_>) -> Option<Replacement> {
    let Op::CustomCall(call) = inst.op() else { return None };
    let call: &CustomCall = call;
    placement::replacement(inst, call)
        .or_else(|| mhlo::replacement(inst, call))
        .or_else(|| compiler_hints::replacement(inst, call))
        .or_else(|| top_k::replacement(inst, call))
        .or_else(|| ragged::replacement(inst, call))
        .or_else(|| check::replacement(inst, call))
        .or_else(|| decompositions::replacement(inst, call))
}

/// Replaces every call that stands for an operation.
pub(crate) fn run(module: &mut Module) {
    run_where(module, &|_| true);
}

/// Replaces the calls for which `chosen` holds.
pub(crate) fn run_where(module: &mut Module, chosen: &dyn Fn(&CustomCall) -> bool) {
    stack::with_room(|| run_here(module, chosen))
}

fn run_here(module: &mut Module, chosen: &dyn Fn(&CustomCall) -> bool) {
    let replacement = |inst: Inst<'_>| match inst.op() {
        Op::CustomCall(call) if chosen(call) => replacement(inst),
        _ => None,
    };
    let mut programs = decompositions::Programs::default();
    for id in module.func_ids() {
        let mut found = Vec::new();
        module[id]
            .walk(&mut |inst| found.extend(replacement(inst).map(|replacement| (inst.id(), replacement))));
        if found.is_empty() {
            continue;
        }
        for (inst, replacement) in &found {
            if let Replacement::Decomposed(decomposition) = replacement {
                let at = module[id].inst(*inst).span();
                decomposition.add_program(module, at, &mut programs);
            }
        }
        let mut rewriter = Rewriter::new(module.func_mut(id));
        for (inst, replacement) in found {
            apply(&mut rewriter, inst, replacement, &programs);
        }
    }
}

fn apply(r: &mut Rewriter<'_>, inst: InstId, replacement: Replacement, programs: &decompositions::Programs) {
    match replacement {
        Replacement::Op(op) => r.set_op(inst, op),
        Replacement::Elements => {
            let view = r.func().inst(inst);
            let (tuple, results) = (view.operands()[0], view.results().to_vec());
            let mut elements = Vec::with_capacity(results.len());
            for (index, result) in results.into_iter().enumerate() {
                let ty = r.func().ty(result).clone();
                elements.push(r.value_before(inst, Op::GetTupleElement { index }, [tuple], ty));
            }
            r.replace(inst, &elements);
        }
        Replacement::First(op) => {
            let first = r.func().inst(inst).operands()[..1].to_vec();
            r.set_operands(inst, first);
            r.set_op(inst, op);
        }
        Replacement::FromAttrs(op, spent) => {
            for key in spent {
                r.attrs_mut(inst).remove(key);
            }
            r.set_op(inst, op);
        }
        Replacement::Sharded(op) => {
            let attrs = r.attrs_mut(inst);
            if let Some(Attribute::Sharding(sharding)) = attrs.remove("sharding") {
                let one = Attribute::ShardingPerValue([Sharding::clone(&sharding)].into());
                attrs.insert("sdy.sharding".to_owned(), one);
            }
            r.set_op(inst, op);
        }
        Replacement::Border => placement::split_border(r, inst),
        Replacement::Erased => r.erase(inst),
        Replacement::Sorted(sorted) => sorted.apply(r, inst),
        Replacement::Ragged(copies) => copies.apply(r, inst),
        Replacement::Check(check) => check.apply(r, inst),
        Replacement::Decomposed(decomposition) => decomposition.apply(r, inst, programs),
    }
}

/// True if the module has a call that [`run`] replaces.
pub(crate) fn is_needed(module: &Module) -> bool {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| found = found || replacement(inst).is_some());
    }
    found
}
