//! `if` and `case` in regions that are applied to elements: all branches are computed, and selects choose the
//! results.

use super::{MAX_INSTRUCTIONS, applies_to_elements, is_plain, number};
use crate::literal::Literal;
use crate::middle::passes::{each_inst, licm, regions_inside_out};
use crate::module::{Func, Inst, InstId, Region, RegionId, Rewriter, ValueId, ValueMap};
use crate::op::{Compare, ComparisonDirection, Op};
use crate::scalar::Scalar;
use farcall_sig::DType;

/// Replaces the choices (`if` and `case`) in regions that are applied to elements. Returns true if the
/// function changed.
pub(super) fn run(func: &mut Func) -> bool {
    let mut changed = false;
    // Branches use no values except captured ones. An operation that cannot fail can therefore be hoisted out
    // of its branch, to before the choice.
    let mut choices: Vec<InstId> = Vec::new();
    for region in regions_inside_out(func) {
        if is_within_elements(func, region) {
            let insts = func.region(region).insts();
            choices.extend(insts.filter(|i| matches!(i.op(), Op::If | Op::Case)).map(Inst::id));
        }
    }
    for choice in choices {
        changed |= licm::hoist_all(func, choice);
    }
    // Inner choices first: their selects become part of the branch of an outer choice.
    each_inst(func, |r, region, id| {
        let inst = r.func().inst(id);
        if matches!(inst.op(), Op::If | Op::Case)
            && is_within_elements(r.func(), region)
            && is_plain_choice(inst)
        {
            choose(r, id);
            changed = true;
        }
    });
    changed
}

/// Returns true for regions that are applied to elements, and for regions nested in them.
fn is_within_elements(func: &Func, region: RegionId) -> bool {
    let mut next = func.region(region).owner();
    while let Some(owner) = next {
        if applies_to_elements(owner) {
            return true;
        }
        next = owner.parent().and_then(Region::owner);
    }
    false
}

/// Returns true if all branches consist of plain operations on scalars, and are not too large.
fn is_plain_choice(inst: Inst<'_>) -> bool {
    let body = |region: Region<'_>| region.insts().take_while(|i| *i.op() != Op::Return).all(is_plain);
    let count: usize = inst.regions().map(|region| region.insts().take(MAX_INSTRUCTIONS + 1).count()).sum();
    let is_number = |v: &ValueId| number(inst.func(), *v).is_some();
    count <= MAX_INSTRUCTIONS
        && inst.operands().iter().take(1).chain(inst.results()).all(is_number)
        && inst.regions().len() > 0
        && inst.regions().all(|region| region.terminator().is_some() && body(region))
}

fn choose(r: &mut Rewriter<'_>, id: InstId) {
    let inst = r.func().inst(id);
    let (index, captures) = (inst.operands()[0], inst.captures().to_vec());
    let is_if = *inst.op() == Op::If;
    let regions = inst.region_ids().to_vec();
    let mut branches: Vec<Vec<ValueId>> = Vec::with_capacity(regions.len());
    for region in regions {
        branches.push(inline(r, id, region, &captures));
    }
    // An index out of range chooses the last branch.
    let Some(mut values) = branches.pop() else { return };
    for (i, branch) in branches.into_iter().enumerate().rev() {
        let is_chosen = if is_if { index } else { equals(r, id, index, i) };
        for (value, chosen) in values.iter_mut().zip(branch) {
            let ty = r.func().ty(chosen).clone();
            *value = r.value_before(id, Op::Select, [is_chosen, chosen, *value], ty);
        }
    }
    r.replace(id, &values);
}

/// Copies a branch to before its instruction, and returns the values that the branch returns.
fn inline(r: &mut Rewriter<'_>, id: InstId, region: RegionId, captures: &[ValueId]) -> Vec<ValueId> {
    let view = r.func().region(region);
    let mut map: ValueMap = view.captured_args().iter().copied().zip(captures.iter().copied()).collect();
    let (insts, returned): (Vec<InstId>, Vec<ValueId>) =
        (view.insts().filter(|i| *i.op() != Op::Return).map(Inst::id).collect(), view.returned().to_vec());
    for inst in insts {
        r.copy_before(inst, id, &mut map);
    }
    returned.iter().map(|value| map.get(value).copied().unwrap_or(*value)).collect()
}

fn equals(r: &mut Rewriter<'_>, id: InstId, index: ValueId, branch: usize) -> ValueId {
    let Some(ty) = r.func().tensor(index).cloned() else { return index };
    let number = Literal::scalar(ty.dtype, Scalar::Signed(i64::try_from(branch).unwrap_or(i64::MAX)));
    let pred = ty.with_dtype(DType::Pred);
    let number = r.value_before(id, Op::Constant(number), [], ty);
    let compare = Op::Compare(Compare { direction: ComparisonDirection::Eq, kind: None });
    r.value_before(id, compare, [index, number], pred)
}
