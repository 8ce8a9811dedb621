//! Slices that are not copied: a slice that is one contiguous range of an input or a constant is read in
//! place.
//!
//! A typical case is one tensor with the weights of all layers, of which each layer takes its own slice.
//! Slices of computed values are copied: reading them in place would keep the whole value alive and prevent
//! its in-place update. Slices of an input that the program may change are copied for the same reason.

use farcall_ir::{Func, Inst, Op, ValueId};
use rustc_hash::FxHashSet;

use super::choices::{Choice, Choices};
use super::{donate, order};
use farcall_plan::MIN_ALIGNMENT_BYTES;

/// Turns slices that need no copy into parts of their operands ([`Choice::Part`]).
pub(super) fn choose(func: &Func, entry: &Func, choices: &mut Choices) {
    if !order::instructions(func).any(|inst| part(inst).is_some()) {
        return;
    }
    let whole = whole(func, choices);
    let changed = donate::asked(entry);
    let params = func.params().iter().enumerate().filter(|(i, _)| !changed.contains(i));
    // Inputs and constants, with their aliases and parts.
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

/// Returns the offset, in bytes, of a slice in its operand, if the slice is one contiguous range.
fn part(inst: Inst<'_>) -> Option<usize> {
    let (Op::Slice(slice), [x]) = (inst.op(), inst.operands()) else { return None };
    let from = inst.func().tensor(*x).filter(|t| t.quant.is_none())?;
    let is_one = |d: &usize| slice.size(*d) == 1;
    let rank = from.rank();
    // A contiguous slice takes one index of each of the first dimensions, then a range of one dimension, then
    // all indices of the remaining dimensions.
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
    (is_stretch && offset.is_multiple_of(MIN_ALIGNMENT_BYTES)).then_some(offset)
}

/// Returns the values that cannot be parts of other values: results of the program, values that enter or
/// leave loops and branches, and operands of calls. (A call may need a stricter alignment, or change its
/// operands.)
fn whole(func: &Func, choices: &Choices) -> FxHashSet<ValueId> {
    let mut whole = FxHashSet::default();
    let all: Vec<Inst<'_>> = order::instructions(func).collect();
    // Backwards: if an alias of a value cannot be a part, the value cannot be a part, either.
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

/// Adds to the set each value of `values` whose counterpart in `of` is in the set.
fn same(of: &[ValueId], values: &[ValueId], set: &mut FxHashSet<ValueId>) {
    for (of, value) in of.iter().zip(values) {
        if set.contains(of) {
            set.insert(*value);
        }
    }
}
