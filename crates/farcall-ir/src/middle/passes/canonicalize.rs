//! Canonicalization: constants move to the right, operations that change nothing are dropped, and values that
//! a loop never changes are captured instead of carried.

use super::{Pass, PassOptions, each_inst};
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, Compare, Op, Traits};

/// The canonicalization pass.
pub static PASS: Pass = Pass {
    name: "canonicalize",
    about: "moves constants to the right, drops operations that change nothing",
    run,
};

fn run(func: &mut Func, _: &PassOptions) {
    each_inst(func, |r, _, id| {
        constants_right(r, id);
        if let Some(same) = unchanged(r.func().inst(id)) {
            r.replace(id, &[same]);
        } else if *r.func().inst(id).op() == Op::While {
            carried_to_captured(r, id);
        }
    });
}

/// Rewrites `c + x` to `x + c`, and `c < x` to `x > c`.
fn constants_right(r: &mut Rewriter<'_>, id: InstId) {
    let inst = r.func().inst(id);
    let [a, b] = inst.operands() else { return };
    if !is_constant(inst, *a) || is_constant(inst, *b) {
        return;
    }
    let swapped = vec![*b, *a];
    match inst.op() {
        Op::Compare(c) => {
            let op = Op::Compare(Compare { direction: c.direction.mirrored(), ..*c });
            r.set_operands(id, swapped);
            r.set_op(id, op);
        }
        op if op.info().is(Traits::COMMUTATIVE)
            && matches!(op, Op::Binary(_))
            && inst.captures().is_empty()
            && !chooses_complex(inst) =>
        {
            r.set_operands(id, swapped);
        }
        _ => {}
    }
}

/// Returns true for the maximum or minimum of complex numbers: if the operands are equal except for signs of
/// zeros, their order decides which operand is returned.
fn chooses_complex(inst: Inst<'_>) -> bool {
    let complex = |v: &ValueId| inst.func().tensor(*v).is_some_and(|t| t.dtype.is_complex());
    matches!(inst.op(), Op::Binary(Binary::Maximum | Binary::Minimum)) && inst.operands().iter().any(complex)
}

fn is_constant(inst: Inst<'_>, value: ValueId) -> bool {
    matches!(inst.func().defining_inst(value).map(Inst::op), Some(Op::Constant(_)))
}

/// The operand that equals the result of an instruction which changes nothing.
fn unchanged(inst: Inst<'_>) -> Option<ValueId> {
    let (Some(first), [result]) = (inst.operands().first().copied(), inst.results()) else { return None };
    let func = inst.func();
    let (from, to) = (func.tensor(first)?, func.tensor(*result)?);
    if from != to || to.quant.is_some() {
        return None;
    }
    let same = match inst.op() {
        Op::Convert | Op::BitcastConvert | Op::Reshape => true,
        Op::BroadcastInDim { dims } => dims.iter().copied().eq(0..to.rank()),
        Op::Transpose { permutation } => permutation.iter().copied().eq(0..to.rank()),
        // The shapes are equal, so the slice covers the whole operand.
        Op::Slice(s) => s.start.iter().all(|i| *i == 0) && s.strides.iter().all(|n| *n == 1),
        Op::Pad(p) => p.low.iter().chain(&p.high).chain(&p.interior).all(|n| *n == 0),
        Op::Concatenate { .. } => inst.operands().len() == 1,
        Op::Reverse { dims } => dims.iter().all(|d| to.sizes()[*d] <= 1),
        Op::DynamicSlice { .. } => true,
        _ => false,
    };
    same.then_some(first)
}

/// Turns carried values that always equal their initial values into captures: values that the loop body
/// returns unchanged, and values for which the body returns the same constant that they start with. A loop
/// whose results are all such values is dead code, even if it never ends.
pub(super) fn carried_to_captured(r: &mut Rewriter<'_>, id: InstId) {
    let inst = r.func().inst(id);
    let (Some(_), Some(body)) = (inst.region(0), inst.region(1)) else { return };
    let (initial, returned) = (inst.own_operands(), body.returned());
    let constant = |value: ValueId| match inst.func().defining_inst(value).map(Inst::op) {
        Some(Op::Constant(literal)) => Some(literal),
        _ => None,
    };
    // The index of the carried value that the body returns in position `i`.
    let source = |i: usize| body.own_args().iter().position(|arg| returned.get(i) == Some(arg));
    let is_fixed = |i: usize| {
        source(i) == Some(i)
            || returned.get(i).is_some_and(|v| constant(*v).is_some_and(|c| constant(initial[i]) == Some(c)))
    };
    let fixed: Vec<bool> = (0..initial.len()).map(is_fixed).collect();
    let is_copy = |i: usize| source(i).is_some_and(|from| fixed[from] && initial[from] == initial[i]);
    let unchanged: Vec<usize> = (0..initial.len()).filter(|i| fixed[*i] || is_copy(*i)).collect();
    if !unchanged.is_empty() {
        r.capture_carried(id, &unchanged);
    }
}
