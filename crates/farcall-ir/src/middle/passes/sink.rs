//! Sinking: an instruction that makes a large value from small ones moves to just before the first user of
//! the value, so that the value occupies memory for as short a time as possible.
//!
//! ```text
//! zeros = broadcast(0);  a = …;  b = f(a);  c = scatter(zeros, b)
//!     ──▶  a = …;  b = f(a);  zeros = broadcast(0);  c = scatter(zeros, b)
//! ```
//!
//! An instruction moves if its results take more memory than the operands whose live ranges grow. Reshapes
//! and bitcasts always move, since they are views of the operand's memory. Moved instructions keep their
//! relative order, so that every value is still defined before its users.

use rustc_hash::FxHashMap;

use super::{Pass, PassOptions, is_pure, running_regions};
use crate::module::{Func, Inst, InstId, RegionId, Rewriter, ValueDef, ValueId};
use crate::op::Op;
use crate::types::TensorType;

/// The sinking pass.
pub static PASS: Pass =
    Pass { name: "sink", about: "moves the creation of large values to just before their users", run };

/// Minimum size in bytes of the results of an instruction that is moved.
const MIN_SUNK_BYTES: usize = 128;

fn run(func: &mut Func, _: &PassOptions) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    for region in regions {
        if r.func().region(region).insts().any(|inst| made(inst) >= MIN_SUNK_BYTES && movable(inst)) {
            sink(&mut r, region);
        }
    }
}

fn sink(r: &mut Rewriter<'_>, region: RegionId) {
    let func = r.func();
    let insts: Vec<Inst<'_>> = func.region(region).insts().collect();
    let position: FxHashMap<InstId, usize> =
        insts.iter().enumerate().map(|(i, inst)| (inst.id(), i)).collect();
    // Position of the instruction before which each instruction goes; its own position if it stays.
    // Instructions with the same anchor keep their order.
    let mut anchors: Vec<usize> = (0..insts.len()).collect();
    // The latest use of each value among the instructions visited so far.
    let mut last: FxHashMap<ValueId, (usize, usize)> = FxHashMap::default();
    let mut moved = false;
    for (i, inst) in insts.iter().enumerate().rev() {
        // A view shares the memory of its operand.
        let is_view = matches!(inst.op(), Op::Reshape | Op::BitcastConvert);
        if movable(*inst) && (is_view || made(*inst) >= MIN_SUNK_BYTES) {
            let takers = inst.results().iter().flat_map(|v| r.users(*v));
            let first = takers.filter_map(|user| position.get(user)).map(|at| (anchors[*at], *at)).min();
            if let Some(first) = first.filter(|first| *first != (i + 1, i + 1)) {
                let stays_longer = |v: &ValueId| {
                    !is_always_there(func, *v)
                        && !sinks_with(r, *v)
                        && last.get(v).is_none_or(|at| *at < first)
                };
                let longer = inst.operands().iter().copied().filter(stays_longer);
                let kept = longer.map(|v| bytes(func, v)).fold(0, usize::saturating_add);
                if is_view || made(*inst) > kept {
                    (anchors[i], moved) = (first.0, true);
                }
            }
        }
        for v in inst.operands() {
            let at = last.entry(*v).or_default();
            *at = (*at).max((anchors[i], i));
        }
    }
    let Some(end) = insts.last().map(|inst| inst.id()).filter(|_| moved) else { return };
    let mut order: Vec<usize> = (0..insts.len() - 1).collect();
    order.sort_by_key(|i| anchors[*i]);
    let order: Vec<InstId> = order.into_iter().map(|i| insts[i].id()).collect();
    order.into_iter().for_each(|inst| r.move_before(inst, end));
}

/// Returns true for instructions that can run at another time: they have no effect, and run no other code.
fn movable(inst: Inst<'_>) -> bool {
    let runs_code =
        matches!(inst.op(), Op::Return | Op::Constant(_) | Op::While | Op::If | Op::Case | Op::CustomCall(_));
    !runs_code && is_pure(inst)
}

/// Size of an instruction's results in bytes.
fn made(inst: Inst<'_>) -> usize {
    inst.results().iter().map(|v| bytes(inst.func(), *v)).fold(0, usize::saturating_add)
}

fn bytes(func: &Func, value: ValueId) -> usize {
    func.tensor(value).and_then(TensorType::bytes).unwrap_or(0)
}

/// Returns true for a value with a single user, computed only from values that occupy memory in any case: its
/// definition moves together with the user.
fn sinks_with(r: &Rewriter<'_>, value: ValueId) -> bool {
    let made = r.func().defining_inst(value).filter(|inst| movable(*inst));
    let of_nothing = |inst: Inst<'_>| inst.operands().iter().all(|v| is_always_there(r.func(), *v));
    r.users(value).len() == 1 && made.is_some_and(of_nothing)
}

/// Returns true for values that occupy memory in any case: constants, and inputs that are not donated to
/// results.
pub(super) fn is_always_there(func: &Func, value: ValueId) -> bool {
    if let Some(made) = func.defining_inst(value) {
        return matches!(made.op(), Op::Constant(_));
    }
    let attrs = match func.def(value) {
        ValueDef::Arg(region, i) if region == func.body().id() => func.param_attrs().get(i as usize),
        _ => None,
    };
    attrs.is_some_and(|a| !["tf.aliasing_output", "jax.buffer_donor"].iter().any(|key| a.get(key).is_some()))
}
