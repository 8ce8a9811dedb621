//! Loop-invariant code motion: computations that do not change between iterations move before the loop.
//!
//! A loop may run zero times, so only computations that cannot fail are moved: no calls, and only loops with
//! a known trip count. An operation with regions cannot fail if the operations in its regions cannot, so
//! reductions, windows, sorts and scatters move. ([`canonicalize`](super::canonicalize) turns values that a
//! loop carries unchanged into captures.)
//!
//! Operations that make a large tensor from a small one (`broadcast_in_dim`, `iota`, `pad`) stay in the loop:
//! they are cheap where they are used, and their results would take memory. Instructions that move use copies
//! of such operands. Values computed only from constants and iotas move if they are small; large values stay
//! in the loop.

use super::canonicalize::carried_to_captured;
use super::unroll::trip_count;
use super::{Pass, PassOptions, is_pure, regions_inside_out};
use crate::module::{Func, Inst, InstId, Region, Rewriter, ValueId, ValueMap};
use crate::op::{Op, Traits};
use rustc_hash::FxHashMap;

/// The loop-invariant code motion pass.
pub static PASS: Pass = Pass { name: "licm", about: "moves loop-invariant computations out of loops", run };

/// Maximum size in bytes of a moved value that depends only on constants and iotas.
const MAX_CONSTANT_BYTES: usize = 64 << 10;

fn run(func: &mut Func, _: &PassOptions) {
    // Inner loops first: instructions that leave one loop may leave the enclosing loop as well.
    for region in regions_inside_out(func) {
        let loops: Vec<InstId> =
            func.region(region).insts().filter(|i| *i.op() == Op::While).map(|i| i.id()).collect();
        for while_ in loops {
            // Simplifications of the body may have left further values unchanged.
            carried_to_captured(&mut Rewriter::new(func), while_);
            let motion = Motion { moves: is_worth_moving, is_cheap, moves_constants: true };
            hoist(func, while_, &motion);
        }
    }
}

/// Moves everything that depends only on captured values, and cannot fail, out of the regions of an
/// instruction. Returns true if anything moves.
pub(super) fn hoist_all(func: &mut Func, inst: InstId) -> bool {
    let is_constant = |inst: Inst<'_>| matches!(inst.op(), Op::Constant(_));
    hoist(func, inst, &Motion { moves: cannot_fail, is_cheap: is_constant, moves_constants: false })
}

/// Rules for the instructions that leave a region.
struct Motion {
    /// Returns true if an instruction may move once its operands are available outside of the region.
    moves: fn(Inst<'_>) -> bool,
    /// Returns true if an instruction stays, and moved instructions use a copy.
    is_cheap: fn(Inst<'_>) -> bool,
    /// True if small values that depend on no value from outside of the region move as well.
    moves_constants: bool,
}

/// Availability of a value of a region before the instruction that owns the region.
#[derive(Clone, Copy)]
enum Known {
    /// Equals this value, which is outside of the region, or is about to move out of it.
    Outside(ValueId),
    /// The result of a cheap instruction, which can be copied.
    Cheap,
}

/// Moves invariant instructions out of the regions of an instruction. Returns true if anything moves.
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
                // Until the instructions move, the results map to themselves.
                known.extend(inst.results().iter().map(|v| (*v, Known::Outside(*v))));
            } else if motion.moves_constants && inst.op().is_elementwise() && (motion.moves)(inst) {
                // A large tensor computed from constants; values computed from it may be small.
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

/// Returns true for instructions that may run even if the loop does not, and are worth moving.
fn is_worth_moving(inst: Inst<'_>) -> bool {
    cannot_fail(inst) && !is_cheap(inst)
}

/// Returns true for operations that are cheap where their results are used.
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

/// Returns true for instructions that may run any number of times without an observable difference and cannot
/// end a run, including all instructions in their regions.
fn cannot_fail(inst: Inst<'_>) -> bool {
    is_pure(inst) && *inst.op() != Op::Return && has_no_failure(inst)
}

fn has_no_failure(inst: Inst<'_>) -> bool {
    let may_fail = match inst.op() {
        Op::CustomCall(_) => true,
        Op::While => trip_count(inst).is_none(),
        _ => may_fail(inst),
    };
    !may_fail && inst.regions().all(|region: Region<'_>| region.insts().all(has_no_failure))
}

/// Returns true for instructions that may end a run with an error: operations whose operands may give a shape
/// other than the declared shape, and operations that are not implemented for every allowed type.
pub(super) fn may_fail(inst: Inst<'_>) -> bool {
    let complex = |v: &ValueId| inst.func().tensor(*v).is_some_and(|t| t.dtype.is_complex());
    let info = inst.op().info();
    info.is(Traits::MAY_FAIL) || (info.is(Traits::MAY_FAIL_ON_COMPLEX) && inst.operands().iter().any(complex))
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

/// Copies the cheap instructions that compute a value to before the owner of their region, reusing earlier
/// copies.
fn copy_before(r: &mut Rewriter<'_>, owner: InstId, value: ValueId, outside: &mut ValueMap) {
    // Chains may be long, so the walk is not recursive.
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
