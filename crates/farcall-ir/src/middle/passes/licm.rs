//! Loop-invariant code motion: computations that do not change from iteration to iteration move before the loop.
//!
//! A loop may run zero times, so only computations that cannot fail move: no calls, and only loops with
//! a known trip count. Regions of operations that cannot fail cannot fail either, so reductions, windows, sorts and
//! scatters move. ([`canonicalize`](super::canonicalize) turns values that a loop carries unchanged into captures.)
//!
//! Operations that make a large tensor from a small one (`broadcast_in_dim`, `iota`, `pad`) stay, to save memory, and
//! because they are cheap where they are used. Instructions that move take copies of such operands. Values that are
//! computed of nothing but constants and iotas move if they are small; large ones stay like those operations.

use super::unroll::iterations;
use super::{Context, Pass, is_pure, regions_inside_out};
use crate::module::{Func, Inst, InstId, Region, Rewriter, ValueId, ValueMap};
use crate::op::{Binary, Op, Traits};
use rustc_hash::FxHashMap;

/// Loop-invariant motion.
pub static PASS: Pass =
    Pass { name: "licm", about: "moves computations that do not change out of loops", run };

/// Maximum size of a value that moves although it depends on constants and iotas alone.
const MAX_CONSTANT_BYTES: usize = 64 << 10;

fn run(func: &mut Func, _: &Context) {
    // Inner loops first: what leaves one may leave the next.
    for region in regions_inside_out(func) {
        let loops: Vec<InstId> =
            func.region(region).insts().filter(|i| *i.op() == Op::While).map(|i| i.id()).collect();
        for while_ in loops {
            let motion = Motion { moves: is_worth_moving, is_cheap, moves_constants: true };
            hoist(func, while_, &motion);
        }
    }
}

/// Moves everything that depends on captured values alone, and cannot fail, out of the regions of an instruction. True if
/// anything moves.
pub(super) fn hoist_all(func: &mut Func, inst: InstId) -> bool {
    let is_constant = |inst: Inst<'_>| matches!(inst.op(), Op::Constant(_));
    hoist(func, inst, &Motion { moves: cannot_fail, is_cheap: is_constant, moves_constants: false })
}

/// Instructions that leave a region.
struct Motion {
    /// May move, if its operands are known.
    moves: fn(Inst<'_>) -> bool,
    /// Stays; instructions that move take a copy.
    is_cheap: fn(Inst<'_>) -> bool,
    /// Small values that depend on no value from outside of the region move as well.
    moves_constants: bool,
}

/// A value of a region that is known before the instruction with the region.
#[derive(Clone, Copy)]
enum Known {
    /// This value, outside of the region or about to move there.
    Outside(ValueId),
    /// The result of a cheap instruction, of which there can be a copy.
    Cheap,
}

/// Moves invariant instructions out of the regions of an instruction; true if there are any.
fn hoist(func: &mut Func, owner: InstId, motion: &Motion) -> bool {
    let mut changed = false;
    for which in 0..func.inst(owner).region_ids().len() {
        let region = func.inst(owner).region_ids()[which];
        let view = func.region(region);
        let captures = func.inst(owner).captures().iter();
        let mut known: FxHashMap<ValueId, Known> =
            view.captured_args().iter().zip(captures).map(|(arg, v)| (*arg, Known::Outside(*v))).collect();
        let mut moved = Vec::new();
        for inst in view.insts() {
            if !inst.operands().iter().all(|v| known.contains_key(v)) {
                continue;
            }
            if (motion.is_cheap)(inst) {
                known.extend(inst.results().iter().map(|v| (*v, Known::Cheap)));
                continue;
            }
            let from_outside = inst.operands().iter().any(|v| matches!(known[v], Known::Outside(_)));
            let gains = from_outside || (motion.moves_constants && is_small(inst));
            if gains && (motion.moves)(inst) {
                moved.push(inst.id());
                // For now they stand for themselves.
                known.extend(inst.results().iter().map(|v| (*v, Known::Outside(*v))));
            } else if motion.moves_constants && inst.op().is_elementwise() && (motion.moves)(inst) {
                // A large tensor that is computed of constants: what is computed of it may be small.
                known.extend(inst.results().iter().map(|v| (*v, Known::Cheap)));
            }
        }
        if !moved.is_empty() {
            changed = true;
            move_out(func, owner, which, &moved, &known);
        }
    }
    changed
}

/// True for instructions that may run even if the loop does not, and are worth moving.
fn is_worth_moving(inst: Inst<'_>) -> bool {
    cannot_fail(inst) && !is_cheap(inst)
}

/// True for operations that are cheap where their results are used.
fn is_cheap(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Op::Constant(_)
            | Op::Elided(_)
            | Op::Iota { .. }
            | Op::BroadcastInDim { .. }
            | Op::Pad(_)
            | Op::Reshape
    )
}

fn is_small(inst: Inst<'_>) -> bool {
    let bytes = inst.results().iter().map(|v| inst.func().tensor(*v)?.bytes());
    bytes.sum::<Option<usize>>().is_some_and(|bytes| bytes <= MAX_CONSTANT_BYTES)
}

/// True for instructions that may run any number of times without a difference and cannot end a run,
/// including everything in them.
fn cannot_fail(inst: Inst<'_>) -> bool {
    is_pure(inst) && *inst.op() != Op::Return && has_no_failure(inst)
}

fn has_no_failure(inst: Inst<'_>) -> bool {
    let may_fail = match inst.op() {
        Op::CustomCall(_) => true,
        Op::While => iterations(inst).is_none(),
        _ => may_fail(inst),
    };
    !may_fail && inst.regions().all(|region: Region<'_>| region.insts().all(has_no_failure))
}

/// True for instructions that may end a run: operands that say another shape than is declared, and what nobody
/// defines for every type that is allowed.
pub(super) fn may_fail(inst: Inst<'_>) -> bool {
    let complex = |v: &ValueId| inst.func().tensor(*v).is_some_and(|t| t.dtype.is_complex());
    match inst.op() {
        Op::ReducePrecision { .. } | Op::Fft { .. } => true,
        Op::Binary(Binary::Remainder) => inst.operands().iter().any(complex),
        op => op.info().is(Traits::DYNAMIC),
    }
}

fn move_out(
    func: &mut Func,
    owner: InstId,
    which: usize,
    moved: &[InstId],
    known: &FxHashMap<ValueId, Known>,
) {
    let mut r = Rewriter::new(func);
    let mut outside: ValueMap = ValueMap::default();
    for (value, known) in known {
        if let Known::Outside(v) = known {
            outside.insert(*value, *v);
        }
    }
    for id in moved {
        let operands = r.func().inst(*id).operands().to_vec();
        for value in &operands {
            copy_before(&mut r, owner, *value, &mut outside);
        }
        let there: Vec<ValueId> =
            operands.iter().map(|value| outside.get(value).copied().unwrap_or(*value)).collect();
        r.set_operands(*id, there);
        r.move_before(*id, owner);
    }
    // The region captures the results that it still uses.
    for id in moved {
        for value in r.func().inst(*id).results().to_vec() {
            let inside: Vec<InstId> = r
                .users(value)
                .iter()
                .copied()
                .filter(|u| {
                    r.func().inst(*u).parent().map(|p| p.id())
                        == Some(r.func().inst(owner).region_ids()[which])
                })
                .collect();
            if !inside.is_empty() {
                r.capture(owner, which, value, &inside);
            }
        }
    }
}

/// Copies the cheap instructions that make a value to before the owner of their region, except for earlier
/// copies.
fn copy_before(r: &mut Rewriter<'_>, owner: InstId, value: ValueId, outside: &mut ValueMap) {
    // Chains may be long.
    let mut open = vec![value];
    while let Some(value) = open.last().copied() {
        let made = r.func().defining_inst(value).filter(|_| !outside.contains_key(&value));
        let Some(made) = made.map(Inst::id) else {
            open.pop();
            continue;
        };
        let missing = r.func().inst(made).operands().iter().copied().filter(|v| !outside.contains_key(v));
        let missing: Vec<ValueId> = missing.collect();
        if missing.is_empty() {
            r.copy_before(made, owner, outside);
            open.pop();
        } else {
            open.extend(missing);
        }
    }
}
