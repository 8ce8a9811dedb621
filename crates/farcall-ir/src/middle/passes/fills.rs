//! What loops, scatters and updates write to begins as a copy of its initial value. If that is a constant with one number
//! everywhere, it is filled with the number instead, and the program keeps no constant of that size. (If it is filled already,
//! but somebody else takes it, too, it is filled again, which is less work than a copy, and mostly saves one.) So is a constant
//! that only one instruction takes, which is in no loop: the memory that is filled serves others before and after.
//!
//! ```text
//! zeros = constant dense<0>;  while(sums = zeros) …
//!     ──▶  while(sums = broadcast_in_dim(constant 0)) …
//! ```
//!
//! It runs late: as constants, such values can be folded.

use super::simplify::filled_before;
use super::{Context, Pass, each_inst, erase_unused};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
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
        let found: Vec<(usize, Literal, TensorType)> = filled(r, inst, is_once)
            .filter_map(|operand| {
                let (number, ty) = number(r, r.func().inst(inst).own_operands()[operand])?;
                Some((operand, number, ty))
            })
            .collect();
        if !found.is_empty() {
            fill(r, inst, found);
        }
    });
}

/// The operands that an instruction takes filled: those that it writes to, or to copies of them, and, if it runs once, those
/// that nobody else takes.
fn filled<'r>(r: &'r Rewriter<'_>, inst: InstId, is_once: bool) -> impl Iterator<Item = usize> + use<'r> {
    let inst = r.func().inst(inst);
    let (written, once) = match inst.op() {
        Op::Fusion | Op::CustomCall(_) => (0, false),
        Op::While => (inst.own_operands().len(), false),
        Op::Scatter(_) => (inst.results().len(), is_once),
        Op::DynamicUpdateSlice => (1, is_once),
        _ => (0, is_once),
    };
    let is_filled = move |i: &usize| *i < written || once && r.users(inst.own_operands()[*i]).len() == 1;
    (0..inst.own_operands().len()).filter(is_filled)
}

/// Makes operands of their numbers, before the instruction.
fn fill(r: &mut Rewriter<'_>, inst: InstId, found: Vec<(usize, Literal, TensorType)>) {
    let mut operands = r.func().inst(inst).operands().to_vec();
    let mut replaced = Vec::with_capacity(found.len());
    for (operand, number, ty) in found {
        let all = filled_before(r, inst, number, ty);
        // It is what the constant was in the source.
        let made = |value: ValueId| r.func().defining_inst(value).map(Inst::id);
        if let (Some(all), Some(constant)) = (made(all), made(operands[operand])) {
            r.set_place(all, constant);
        }
        replaced.push(std::mem::replace(&mut operands[operand], all));
    }
    r.set_operands(inst, operands);
    replaced.into_iter().for_each(|value| {
        erase_unused(r, value, |made| matches!(made.op(), Op::Constant(_) | Op::BroadcastInDim { .. }))
    });
}

/// The only number of a large constant, or of what is filled with one and not only for this, and its type.
fn number(r: &Rewriter<'_>, value: ValueId) -> Option<(Literal, TensorType)> {
    let func = r.func();
    let ty = func.tensor(value).filter(|ty| ty.quant.is_none() && ty.bytes().is_some_and(|n| n >= KEPT))?;
    let made = func.defining_inst(value)?;
    let made = match made.op() {
        Op::BroadcastInDim { .. } if r.users(value).len() > 1 => func.defining_inst(made.operands()[0])?,
        _ => made,
    };
    match made.op() {
        Op::Constant(literal) if literal.is_splat() => {
            Some((Literal::from_bytes(ty.dtype, [], literal.element(0)).ok()?, ty.clone()))
        }
        _ => None,
    }
}
