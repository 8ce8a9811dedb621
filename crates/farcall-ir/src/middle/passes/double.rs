//! Double buffering: a loop that cannot change a large value in place does two iterations at once.
//!
//! ```text
//! while: x = f(x)      y = f(x), copied to where x was        a copy in each iteration
//!     ──▶ x = f(f(x))  y = f(x), then f(y) where x was        none
//! ```
//!
//! `f` reads elements of `x` in other places than it writes them: a step of a stencil, a transpose. The number of iterations
//! has to be known, and even.

use rustc_hash::FxHashSet;

use super::unroll::{is_plain, iterations};
use super::{Context, Pass, regions_inside_out};
use crate::module::{Func, Inst, InstId, Region, Rewriter, ValueId, ValueMap};
use crate::op::Op;
use crate::types::TensorType;

/// Double buffering.
pub static PASS: Pass =
    Pass { name: "double", about: "does two iterations at once where that saves a copy in each", run };

/// Bytes from which on a copy is worth it.
const LARGE: usize = 1 << 12;
/// Values of a loop that are looked at, at most.
const VALUES: usize = 8;

fn run(func: &mut Func, _: &Context) {
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

/// True if the loop can do two iterations at once, and copies less then.
fn gains(inst: Inst<'_>) -> bool {
    let Some(body) = inst.region(1) else { return false };
    let large = |v: ValueId| inst.func().tensor(v).and_then(TensorType::bytes) >= Some(LARGE);
    let mut values = body.own_args().iter().zip(body.returned()).filter(|(arg, _)| large(**arg)).take(VALUES);
    iterations(inst).is_some_and(|count| count % 2 == 0)
        && is_plain(inst, 2)
        && values.any(|(arg, next)| is_apart(body, *arg, *next))
}

/// True if what comes next of a value cannot take its place: the last instruction that makes it (a fusion, later) reads
/// elements of the value in other places.
fn is_apart(body: Region<'_>, arg: ValueId, next: ValueId) -> bool {
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
            // What is moved is made before the fusion, but for slices that are put one after the other.
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

/// True for what reads other elements than those in the places that it writes, and is in no fusion.
fn is_alone(op: &Op) -> bool {
    matches!(
        op,
        Op::Reverse { .. }
            | Op::Transpose { .. }
            | Op::Gather(_)
            | Op::DotGeneral(_)
            | Op::Convolution(_)
            | Op::ReduceWindow(_)
    )
}

/// True for what may be in one fusion with what takes it.
fn is_on_elements(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Clamp | Op::Convert | Op::Reshape
    ) || op.moves_elements()
}

/// Puts another iteration behind that of the body.
fn double(r: &mut Rewriter<'_>, id: InstId) {
    let Some(body) = r.func().inst(id).region(1) else { return };
    let Some(end) = body.terminator().map(|inst| inst.id()) else { return };
    let returned = body.returned().to_vec();
    // What changes from one iteration to the next; all else stays what it is.
    let mut map: ValueMap = body.own_args().iter().copied().zip(returned.iter().copied()).collect();
    let insts = body.insts().filter(|i| !matches!(i.op(), Op::Constant(_) | Op::Return)).map(Inst::id);
    for inst in insts.collect::<Vec<InstId>>() {
        r.copy_before(inst, end, &mut map);
    }
    r.set_operands(end, returned.iter().map(|v| map.get(v).copied().unwrap_or(*v)));
}
