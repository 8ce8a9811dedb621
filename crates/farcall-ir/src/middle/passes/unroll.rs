//! Loop unrolling: a short loop whose number of iterations is known becomes its body, as often as it runs.
//!
//! What stands in the body can then be folded, and fused with what comes before and after: JAX writes the rounds of its
//! random numbers as a loop over five of them. Only bodies of plain operations are unrolled, without loops, calls or
//! anything that applies a region.

use super::{Context, Pass, is_pure, regions_inside_out};
use crate::module::{Func, Inst, InstId, Rewriter, ValueDef, ValueId};
use crate::op::{Binary, Direction, Op, Traits};
use crate::scalar::Scalar;

/// Unrolling.
pub static PASS: Pass = Pass { name: "unroll", about: "writes out loops of a few iterations", run };

/// Most iterations, and most instructions that a loop becomes.
const ITERATIONS: usize = 8;
const INSTRUCTIONS: usize = 512;

fn run(func: &mut Func, _: &Context) {
    // Inner loops first: without them, the outer one may be short.
    for region in regions_inside_out(func) {
        let loops: Vec<InstId> =
            func.region(region).insts().filter(|i| *i.op() == Op::While).map(|i| i.id()).collect();
        let short: Vec<(InstId, usize)> = loops
            .into_iter()
            .filter_map(|id| Some((id, iterations(func.inst(id))?)))
            .filter(|(id, count)| is_plain(func.inst(*id), *count))
            .collect();
        if short.is_empty() {
            continue;
        }
        let mut r = Rewriter::new(func);
        for (id, count) in short {
            unroll(&mut r, id, count);
        }
    }
}

fn unroll(r: &mut Rewriter<'_>, id: InstId, count: usize) {
    let inst = r.func().inst(id);
    let body = inst.region_ids()[1];
    let (mut carried, captures) = (inst.own_operands().to_vec(), inst.captures().to_vec());
    for _ in 0..count {
        carried = r.copy_before(body, id, &[carried, captures.clone()].concat());
    }
    r.replace(id, &carried);
}

/// True if the body is made of plain operations, few enough for so many copies.
fn is_plain(inst: Inst<'_>, count: usize) -> bool {
    let plain = |i: Inst<'_>| {
        let calls = matches!(i.op(), Op::CustomCall(_) | Op::Call { .. });
        i.region_ids().is_empty() && (i.op().info().is(Traits::TERMINATOR) || is_pure(i) && !calls)
    };
    let (Some(condition), Some(body)) = (inst.region(0), inst.region(1)) else { return false };
    condition.insts().all(plain)
        && body.insts().all(plain)
        && body.insts().count().saturating_mul(count) <= INSTRUCTIONS
}

/// How often a loop runs, if that is at least once and at most [`ITERATIONS`] times: it counts with a number that
/// starts as a constant, to which the body adds a constant, and which is compared with one.
fn iterations(inst: Inst<'_>) -> Option<usize> {
    let (condition, body) = (inst.region(0)?, inst.region(1)?);
    let func = inst.func();
    let [verdict] = condition.returned() else { return None };
    let compare = func.defining_inst(*verdict)?;
    let (Op::Compare(c), [counter, bound]) = (compare.op(), compare.operands()) else { return None };
    let which = condition.own_args().iter().position(|a| a == counter)?;
    let dtype = func.tensor(*counter)?.dtype;
    if !dtype.is_integer() || dtype.bits() < 8 {
        return None;
    }
    let next = func.defining_inst(*body.returned().get(which)?)?;
    let (Op::Binary(Binary::Add), [a, b]) = (next.op(), next.operands()) else { return None };
    let counter = body.own_args()[which];
    let step = if *a == counter { *b } else { *a };
    if step == counter || ![*a, *b].contains(&counter) {
        return None;
    }
    let [first, step, bound] = [inst.own_operands()[which], step, *bound].map(|v| constant(inst, v));
    let (mut value, step, bound) = (first?, step?, bound?);
    let holds = |value: i128| match c.direction {
        Direction::Lt => value < bound,
        Direction::Le => value <= bound,
        Direction::Gt => value > bound,
        Direction::Ge => value >= bound,
        Direction::Eq => value == bound,
        Direction::Ne => value != bound,
    };
    // Of a number that wraps around, nothing is known here.
    let limits = match dtype.is_signed_integer() {
        true => -(1i128 << (dtype.bits() - 1))..(1 << (dtype.bits() - 1)),
        false => 0..1i128 << dtype.bits(),
    };
    let mut count = 0;
    while holds(value) {
        count += 1;
        value += step;
        if count > ITERATIONS || !limits.contains(&value) {
            return None;
        }
    }
    (count > 0).then_some(count)
}

/// The value of an integer that is constant, or is captured by a loop and constant.
fn constant(while_: Inst<'_>, value: ValueId) -> Option<i128> {
    let func = while_.func();
    let captured = while_.regions().find_map(|r| r.captured_args().iter().position(|a| *a == value));
    let value = captured.map_or(value, |i| while_.captures()[i]);
    let ValueDef::Result(inst, _) = func.def(value) else { return None };
    let Op::Constant(literal) = func.inst(inst).op() else { return None };
    if literal.len() != 1 {
        return None;
    }
    match literal.get(0) {
        Scalar::Signed(x) => Some(x.into()),
        Scalar::Unsigned(x) => Some(x.into()),
        _ => None,
    }
}
