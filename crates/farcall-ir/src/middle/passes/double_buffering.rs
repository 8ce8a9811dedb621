//! Double buffering: a loop that cannot update a large value in place runs two iterations at once.
//!
//! ```text
//! while: x = f(x)      y = f(x), copied to where x was        a copy in each iteration
//!     ──▶ x = f(f(x))  y = f(x), then f(y) where x was        none
//! ```
//!
//! `f` reads elements of `x` at positions other than the one that it writes, as a stencil step or a transpose
//! does. The trip count has to be known and even.

use rustc_hash::FxHashSet;

use super::unroll::{is_plain, trip_count};
use super::{Pass, PassOptions, regions_inside_out};
use crate::module::{Func, Inst, InstId, Region, Rewriter, ValueId, ValueMap};
use crate::op::{FormOp, Op};
use crate::types::TensorType;

/// The double buffering pass.
pub static PASS: Pass =
    Pass { name: "double_buffering", about: "runs two iterations at once to save a copy in each", run };

/// Minimum size in bytes of a value whose copy is worth saving.
const MIN_VALUE_BYTES: usize = 1 << 12;
/// Maximum number of carried values examined in a loop.
const MAX_VALUES: usize = 8;

fn run(func: &mut Func, _: &PassOptions) {
    let loops: Vec<InstId> = regions_inside_out(func)
        .into_iter()
        .flat_map(|region| func.region(region).insts().filter(|i| *i.op() == Op::While && gains(*i)))
        .map(Inst::id)
        .collect();
    if loops.is_empty() {
        return;
    }
    let mut r = Rewriter::new(func);
    for id in loops {
        double(&mut r, id);
    }
}

/// Returns true if the loop can run two iterations at once, and then copies less.
fn gains(inst: Inst<'_>) -> bool {
    let Some(body) = inst.region(1) else { return false };
    let large = |v: ValueId| inst.func().tensor(v).and_then(TensorType::bytes) >= Some(MIN_VALUE_BYTES);
    let mut values =
        body.own_args().iter().zip(body.returned()).filter(|(arg, _)| large(**arg)).take(MAX_VALUES);
    trip_count(inst).is_some_and(|count| count % 2 == 0)
        && is_plain(inst, 2)
        && values.any(|(arg, next)| needs_copy(body, *arg, *next))
}

/// Returns true if the next value cannot be written in place, since the instruction that computes it reads
/// elements of the old value in other positions. Operations that will later be fused into this instruction
/// count as part of it.
fn needs_copy(body: Region<'_>, arg: ValueId, next: ValueId) -> bool {
    let func = body.func();
    let made = |v: ValueId| func.defining_inst(v).filter(|i| i.parent().map(Region::id) == Some(body.id()));
    let Some(last) = made(next) else { return false };
    if is_alone(last.op()) {
        return last.operands().contains(&arg);
    }
    if !is_on_elements(last.op()) {
        return false;
    }
    let mut known: FxHashSet<InstId> = FxHashSet::from_iter([last.id()]);
    let mut todo: Vec<Inst<'_>> = vec![last];
    while let Some(inst) = todo.pop() {
        for v in inst.operands() {
            // Fusions do not compute the operands of operations that move elements, except for slices in a
            // concatenation.
            let is_inside = |from: Inst<'_>| match inst.op() {
                Op::Concatenate { .. } => matches!(from.op(), Op::Slice(_)),
                op => !op.moves_elements() && is_on_elements(from.op()),
            };
            match made(*v) {
                None if inst.op().moves_elements() && *v == arg => return true,
                Some(from) if is_inside(from) && known.insert(from.id()) => todo.push(from),
                _ => {}
            }
        }
    }
    false
}

/// Returns true for unfused operations that read elements at positions other than the one that they write.
fn is_alone(op: &Op) -> bool {
    matches!(
        op,
        Op::Reverse { .. }
            | Op::Transpose { .. }
            | Op::Gather(_)
            | Op::Form(FormOp::WrappingGather(_))
            | Op::DotGeneral(_)
            | Op::Convolution(_)
            | Op::ReduceWindow(_)
    )
}

/// Returns true for operations that may be fused with their users.
fn is_on_elements(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Clamp | Op::Convert | Op::Reshape
    ) || op.moves_elements()
}

/// Appends another iteration to the body.
fn double(r: &mut Rewriter<'_>, id: InstId) {
    let Some(body) = r.func().inst(id).region(1) else { return };
    let Some(end) = body.terminator().map(|inst| inst.id()) else { return };
    let returned = body.returned().to_vec();
    // Maps values of the first iteration to values of the second; all other values are the same in both.
    let mut map: ValueMap = body.own_args().iter().copied().zip(returned.iter().copied()).collect();
    let insts = body.insts().filter(|i| !matches!(i.op(), Op::Constant(_) | Op::Return)).map(Inst::id);
    for inst in insts.collect::<Vec<InstId>>() {
        r.copy_before(inst, end, &mut map);
    }
    r.set_operands(end, returned.iter().map(|v| map.get(v).copied().unwrap_or(*v)));
}
