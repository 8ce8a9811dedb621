//! Slices that are not made: of an input or a constant, what lies there in one stretch is read there.
//!
//! Weights of all layers in one tensor, of which each layer takes its own, are what such slices are for. Of what a
//! program computes, a part would keep the whole alive, and from a change in place; so it would of an input that the
//! program may change.

use farcall_ir::{Func, Inst, Op, ValueId};
use rustc_hash::FxHashSet;

use super::choose::{Choice, Choices};
use super::{donate, order};
use crate::plan::LEAST_ALIGNMENT;

/// Lets such slices be parts of what they are taken of.
pub(super) fn choose(func: &Func, entry: &Func, choices: &mut Choices) {
    if !order::instructions(func).any(|inst| part(inst).is_some()) {
        return;
    }
    let whole = whole(func, choices);
    let changed = donate::asked(entry);
    let params = func.params().iter().enumerate().filter(|(i, _)| !changed.contains(i));
    // Inputs and constants, and these under other names, in whole or in part.
    let mut lasting: FxHashSet<ValueId> = params.map(|(_, value)| *value).collect();
    for inst in order::instructions(func) {
        match choices.of(inst.id()) {
            Choice::Constant(_) => lasting.extend(inst.results()),
            Choice::View => same(inst.operands(), inst.results(), &mut lasting),
            Choice::Control => {
                inst.regions().for_each(|r| same(inst.captures(), r.captured_args(), &mut lasting));
            }
            Choice::Kernel { .. } => {
                if let ([x], [result], Some(offset)) = (inst.operands(), inst.results(), part(inst))
                    && lasting.contains(x)
                    && !whole.contains(result)
                {
                    choices.set(inst.id(), Choice::Part(offset));
                    lasting.insert(*result);
                }
            }
            _ => {}
        }
    }
}

/// Where the result of a slice begins in its operand, in bytes, if it is one stretch there.
fn part(inst: Inst<'_>) -> Option<usize> {
    let (Op::Slice(slice), [x]) = (inst.op(), inst.operands()) else { return None };
    let from = inst.func().tensor(*x).filter(|t| t.quant.is_none())?;
    let is_one = |d: &usize| slice.size(*d) == 1;
    let rank = from.rank();
    // Dimensions of which it takes one index; then some indices of one; then all.
    let first = (0..rank).take_while(is_one).count();
    let some = first..rank.min(first + 1);
    let is_stretch = some.clone().all(|d| slice.strides[d] == 1 && slice.size(d) > 0)
        && (some.end..rank).all(|d| slice.size(d) == from.sizes()[d]);
    let start = from
        .sizes()
        .iter()
        .zip(&slice.start)
        .try_fold(0usize, |at, (n, start)| at.checked_mul(*n)?.checked_add(*start))?;
    let offset = start.checked_mul(from.dtype.size())?;
    (is_stretch && offset.is_multiple_of(LEAST_ALIGNMENT)).then_some(offset)
}

/// Values that are not parts of others: results of the program, what enters and leaves loops and branches, and operands of
/// calls, which may have to be aligned more, or be changed.
fn whole(func: &Func, choices: &Choices) -> FxHashSet<ValueId> {
    let mut whole = FxHashSet::default();
    let all: Vec<Inst<'_>> = order::instructions(func).collect();
    // Backwards: what is whole under another name is whole.
    for inst in all.into_iter().rev() {
        match choices.of(inst.id()) {
            Choice::Return | Choice::Call(_) => whole.extend(inst.operands()),
            Choice::View => same(inst.results(), inst.operands(), &mut whole),
            Choice::Control => {
                whole.extend(inst.own_operands());
                inst.regions().for_each(|r| same(r.captured_args(), inst.captures(), &mut whole));
            }
            _ => {}
        }
    }
    whole
}

/// Adds the values of the second list of which those in the first are in the set.
fn same(of: &[ValueId], values: &[ValueId], set: &mut FxHashSet<ValueId>) {
    for (of, value) in of.iter().zip(values) {
        if set.contains(of) {
            set.insert(*value);
        }
    }
}
