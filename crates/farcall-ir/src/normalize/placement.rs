//! Placement of values: sharding among devices, and the order of elements in memory. On one device, placement
//! does not change a value.

use super::Replacement;
use crate::manual;
use crate::module::{Inst, InstId, Rewriter};
use crate::op::{CustomCall, Op};
use crate::sharding::borders;
use crate::types::Type;

/// Calls that return their operand on a single device. (`SetBound` states the largest value of an integer.)
const IDENTITIES: [&str; 15] = [
    "GlobalToLocalShape",
    "LocalToGlobalShape",
    "MoveToDevice",
    "MoveToHost",
    "PinToDevice",
    "PinToDeviceSram",
    "SetBound",
    "ShardBarrierFrom",
    "ShardBarrierTo",
    "Sharding",
    borders::FULL_TO_SHARD,
    borders::SHARD_TO_FULL,
    "LayoutConstraint",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
];

/// Calls that convert between global values and the parts of these values on one device. On a single device,
/// a value and its part are the same.
const SHAPES: [&str; 2] = [borders::GLOBAL_TO_LOCAL, borders::LOCAL_TO_GLOBAL];

/// True for calls that state placement, even if [`replacement`] leaves them unchanged.
pub(crate) fn is_placement(call: &CustomCall) -> bool {
    let target = call.target.as_str();
    IDENTITIES.contains(&target) || SHAPES.contains(&target) || target.starts_with("sdy.")
}

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let func = inst.func();
    let target = call.target.as_str();
    let same = || {
        let types = |values: &[_]| values.iter().map(|v| func.ty(*v)).collect::<Vec<_>>();
        types(inst.operands()) == types(inst.results())
    };
    match (inst.operands(), inst.results()) {
        ([_], [to]) if IDENTITIES.contains(&target) && same() => {
            Some(Replacement::Op(identity(func.ty(*to))))
        }
        ([_], [to]) if matches!(target, "sdy.sharding_constraint" | "sdy.reshard") && same() => {
            Some(Replacement::Sharded(identity(func.ty(*to))))
        }
        ([_], [to]) if target == "sdy.propagation_barrier" && same() => {
            Some(Replacement::FromAttrs(identity(func.ty(*to)), &["allowed_direction"]))
        }
        (_, [_, _, ..]) if IDENTITIES.contains(&target) && same() => {
            Some(Replacement::Op(Op::OptimizationBarrier))
        }
        ([operand], _) if IDENTITIES.contains(&target) && is_tuple_of(inst, func.ty(*operand)) => {
            Some(Replacement::Elements)
        }
        _ if SHAPES.contains(&target) && same() => Some(Replacement::Border),
        (_, []) if target == "sdy.sharding_group" => Some(Replacement::Erased),
        _ => None,
    }
}

/// Replaces a conversion between values and parts of the same types by one identity for each value, with the
/// value's own sharding, so that partitioning still sees the border.
pub(super) fn split_border(r: &mut Rewriter<'_>, inst: InstId) {
    let view = r.func().inst(inst);
    let (operands, results) = (view.operands().to_vec(), view.results().to_vec());
    let attrs = view.attrs().clone();
    let mut values = Vec::with_capacity(results.len());
    for (i, (operand, result)) in operands.into_iter().zip(results).enumerate() {
        let ty = r.func().ty(result).clone();
        let value = r.value_before(inst, identity(&ty), [operand], ty);
        if let Some(made) = r.func().defining_inst(value).map(Inst::id) {
            *r.attrs_mut(made) = manual::of_value(&attrs, i);
        }
        values.push(value);
    }
    r.replace(inst, &values);
}

/// True if the results of an instruction are the elements of a tuple of this type.
fn is_tuple_of(inst: Inst<'_>, ty: &Type) -> bool {
    let Type::Tuple(parts) = ty else { return false };
    parts.iter().eq(inst.results().iter().map(|result| inst.func().ty(*result)))
}

/// The operation that returns a value of this type unchanged.
pub(super) fn identity(ty: &Type) -> Op {
    match ty {
        Type::Tensor(t) if t.is_static() => Op::Reshape,
        _ => Op::OptimizationBarrier,
    }
}
