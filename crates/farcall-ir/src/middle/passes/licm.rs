//! Loop-invariant code motion: computations that do not change from iteration to iteration move before the loop.
//!
//! A loop may run zero times, so only computations that cannot fail move: no calls, no loops, nothing that applies a
//! region. ([`canonicalize`](super::canonicalize) turns values that a loop carries unchanged into captures.)
//! Operations that make a large tensor from a small one (`broadcast_in_dim`, `iota`, `pad`) stay, to save memory, and
//! because they are cheap where they are used.

use super::{Context, Pass, is_pure, regions_inside_out};
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, Op, Traits};
use rustc_hash::FxHashMap;

/// Loop-invariant motion.
pub static PASS: Pass =
    Pass { name: "licm", about: "moves computations that do not change out of loops", run };

fn run(func: &mut Func, _: &Context) {
    // Inner loops first: what leaves one may leave the next.
    for region in regions_inside_out(func) {
        let loops: Vec<InstId> =
            func.region(region).insts().filter(|i| *i.op() == Op::While).map(|i| i.id()).collect();
        for while_ in loops {
            hoist(func, while_);
        }
    }
}

/// Moves what does not change out of the regions of a loop.
fn hoist(func: &mut Func, while_: InstId) {
    for which in 0..func.inst(while_).region_ids().len() {
        let region = func.inst(while_).region_ids()[which];
        // Values of the region by what they are before the loop.
        let view = func.region(region);
        let captures = func.inst(while_).captures();
        let mut outside: FxHashMap<ValueId, ValueId> =
            view.captured_args().iter().copied().zip(captures.iter().copied()).collect();
        let insts: Vec<InstId> = view.insts().map(|i| i.id()).collect();
        let mut moved = Vec::new();
        for id in insts {
            let inst = func.inst(id);
            let known = |v: &ValueId| outside.contains_key(v) || is_constant(func, *v);
            // A constant alone gains nothing by moving.
            let some = inst.operands().iter().any(|v| outside.contains_key(v));
            if some && moves(inst) && inst.operands().iter().all(known) {
                moved.push(id);
                let results = inst.results().to_vec();
                // For now they stand for themselves.
                outside.extend(results.into_iter().map(|v| (v, v)));
            }
        }
        if !moved.is_empty() {
            move_out(func, while_, which, &moved, &outside);
        }
    }
}

/// True for instructions that may run even if the loop does not, and are worth moving.
fn moves(inst: Inst<'_>) -> bool {
    is_pure(inst)
        && inst.region_ids().is_empty()
        && !may_fail(inst)
        && !matches!(
            inst.op(),
            Op::CustomCall(_)
                | Op::Return
                | Op::Constant(_)
                | Op::Elided(_)
                | Op::Iota { .. }
                | Op::BroadcastInDim { .. }
                | Op::Pad(_)
                | Op::Reshape
        )
}

/// True for instructions that may end a run: operands that say another shape than is declared, and what nobody
/// defines for every type that is allowed.
fn may_fail(inst: Inst<'_>) -> bool {
    let complex = |v: &ValueId| inst.func().tensor(*v).is_some_and(|t| t.dtype.is_complex());
    match inst.op() {
        Op::ReducePrecision { .. } | Op::Fft { .. } => true,
        Op::Binary(Binary::Remainder) => inst.operands().iter().any(complex),
        op => op.info().is(Traits::DYNAMIC),
    }
}

fn is_constant(func: &Func, value: ValueId) -> bool {
    matches!(func.defining_inst(value).map(Inst::op), Some(Op::Constant(_)))
}

fn move_out(
    func: &mut Func,
    while_: InstId,
    which: usize,
    moved: &[InstId],
    outside: &FxHashMap<ValueId, ValueId>,
) {
    let mut r = Rewriter::new(func);
    for id in moved {
        // Constants that it takes are made again before the loop.
        let operands = r.func().inst(*id).operands().to_vec();
        let mut there = Vec::with_capacity(operands.len());
        for value in operands {
            there.push(match (outside.get(&value), r.func().defining_inst(value).map(Inst::op)) {
                (Some(known), _) => *known,
                (None, Some(op @ Op::Constant(_))) => {
                    let (op, ty) = (op.clone(), r.func().ty(value).clone());
                    r.value_before(while_, op, [], ty)
                }
                (None, _) => value,
            });
        }
        r.set_operands(*id, there);
        r.move_before(*id, while_);
    }
    // What the loop still uses of them is captured.
    for id in moved {
        for value in r.func().inst(*id).results().to_vec() {
            let inside: Vec<InstId> = r
                .users(value)
                .iter()
                .copied()
                .filter(|u| {
                    r.func().inst(*u).parent().map(|p| p.id())
                        == Some(r.func().inst(while_).region_ids()[which])
                })
                .collect();
            if !inside.is_empty() {
                r.capture(while_, which, value, &inside);
            }
        }
    }
}
