//! What loops, scatters and updates write to begins as a copy of its initial value. If that is a constant with one number
//! everywhere, it is filled with the number instead, and the program keeps no constant of that size. So is what runs once,
//! not in a loop, and takes such a constant: the memory that is filled serves others before and after.
//!
//! ```text
//! zeros = constant dense<0>;  while(sums = zeros) …
//!     ──▶  while(sums = broadcast_in_dim(constant 0)) …
//! ```
//!
//! It runs late: as constants, such values can be folded.

use super::{Context, Pass, each_inst};
use crate::literal::Literal;
use crate::module::{Func, InstId, Rewriter, ValueId};
use crate::op::Op;
use crate::types::TensorType;

/// Numbers instead of constants.
pub static PASS: Pass =
    Pass { name: "fills", about: "fills what is written to with a number, not from a constant", run };

/// Bytes of constants that are kept: they take less than what it takes to run one more instruction.
const KEPT: usize = 128;

fn run(func: &mut Func, _: &Context) {
    each_inst(func, |r, region, inst| {
        let is_once = r.func().body().id() == region;
        for operand in 0..filled(r, inst, is_once) {
            fill(r, inst, operand);
        }
    });
}

/// How many of its first operands an instruction takes filled: those that it writes to, or to copies of them, and all
/// if it runs once.
fn filled(r: &Rewriter<'_>, inst: InstId, is_once: bool) -> usize {
    let inst = r.func().inst(inst);
    match inst.op() {
        Op::Fusion | Op::CustomCall(_) => 0,
        Op::While => inst.own_operands().len(),
        _ if is_once => inst.own_operands().len(),
        Op::Scatter(_) => inst.results().len(),
        Op::DynamicUpdateSlice => 1,
        _ => 0,
    }
}

/// Makes an operand of its number, before the instruction, if it is a large constant that has but one.
fn fill(r: &mut Rewriter<'_>, inst: InstId, operand: usize) {
    let mut operands = r.func().inst(inst).operands().to_vec();
    let value = operands[operand];
    let Some((number, ty)) = number(r.func(), value) else { return };
    let one = r.value_before(inst, Op::Constant(number), [], ty.with_sizes([]));
    operands[operand] = r.value_before(inst, Op::BroadcastInDim { dims: Vec::new() }, [one], ty);
    r.set_operands(inst, operands);
    let made = r.func().defining_inst(value).map(|made| made.id());
    if let Some(made) = made.filter(|_| !r.is_used(value)) {
        r.erase(made);
    }
}

/// The only number of a large constant, and the type of the constant.
fn number(func: &Func, value: ValueId) -> Option<(Literal, TensorType)> {
    let ty = func.tensor(value).filter(|ty| ty.quant.is_none() && ty.bytes().is_some_and(|n| n >= KEPT))?;
    match func.defining_inst(value)?.op() {
        Op::Constant(literal) if literal.is_splat() => {
            Some((Literal::from_bytes(ty.dtype, [], literal.element(0)).ok()?, ty.clone()))
        }
        _ => None,
    }
}
