//! Fills the buffers that loops, scatters and updates write to, instead of copying constants into them.
//!
//! An instruction that updates a buffer in place starts with a copy of the initial value. If the initial
//! value is a constant whose elements are all equal, it is replaced by a broadcast of one element, and the
//! program stores no constant of this size. (If the initial value is a broadcast with other users, the
//! broadcast is duplicated: filling a buffer costs less than a copy, and usually saves a copy.) A constant
//! whose only user is outside of loops is replaced as well: the memory of the broadcast is then free for
//! other values before and after its use.
//!
//! ```text
//! zeros = constant dense<0>;  while(sums = zeros) …
//!     ──▶  while(sums = broadcast_in_dim(constant 0)) …
//! ```
//!
//! The pass runs late, since constants can be folded and broadcasts cannot.

use super::simplify::filled_before;
use super::{Pass, PassOptions, each_inst, erase_unused};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{FormOp, Op};
use crate::types::TensorType;

/// The pass that fills buffers.
pub static PASS: Pass = Pass {
    name: "buffer_fills",
    about: "fills buffers that are written to instead of copying constants",
    run,
};

/// Minimum size in bytes of a constant that is replaced; smaller constants cost less than another
/// instruction.
const MIN_FILL_BYTES: usize = 128;

fn run(func: &mut Func, _: &PassOptions) {
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

/// Indices of the operands to fill: the operands whose buffers, or copies of these buffers, the instruction
/// writes to. If the instruction runs once, and is no fusion, custom call or loop, its operands without other
/// users are filled as well.
fn filled<'r>(r: &'r Rewriter<'_>, inst: InstId, is_once: bool) -> impl Iterator<Item = usize> + use<'r> {
    let inst = r.func().inst(inst);
    let (written, once) = match inst.op() {
        Op::Form(FormOp::Fusion) | Op::CustomCall(_) => (0, false),
        Op::While => (inst.own_operands().len(), false),
        Op::Scatter(_) | Op::Form(FormOp::WrappingScatter(_)) => (inst.results().len(), is_once),
        Op::DynamicUpdateSlice => (1, is_once),
        _ => (0, is_once),
    };
    let is_filled = move |i: &usize| *i < written || once && r.users(inst.own_operands()[*i]).len() == 1;
    (0..inst.own_operands().len()).filter(is_filled)
}

/// Replaces operands by broadcasts of one element each. The broadcasts go before the instruction.
fn fill(r: &mut Rewriter<'_>, inst: InstId, found: Vec<(usize, Literal, TensorType)>) {
    let mut operands = r.func().inst(inst).operands().to_vec();
    let mut replaced = Vec::with_capacity(found.len());
    for (operand, number, ty) in found {
        let all = filled_before(r, inst, number, ty);
        // The broadcast inherits the source location of the constant.
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

/// Returns the element and the type of a large splat constant, or of a large broadcast of such a constant, if
/// the broadcast has other users.
fn number(r: &Rewriter<'_>, value: ValueId) -> Option<(Literal, TensorType)> {
    let func = r.func();
    let ty = func
        .tensor(value)
        .filter(|ty| ty.quant.is_none() && ty.bytes().is_some_and(|n| n >= MIN_FILL_BYTES))?;
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
