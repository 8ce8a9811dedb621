//! Inserts copies where values must share memory ([`storage`](super::storage)).
//!
//! - A value that a loop carries and changes is copied before the loop; the loop owns the copy.
//! - The values that a body or a branch returns are copied to their destinations, as if all at the same time:
//!   a value whose own memory is the destination of another value is first saved by an additional copy.
//! - An operand that a custom call changes is copied before the call.
//!
//! Many of these copies turn out to be redundant. [`coalesce`](super::coalesce) removes copies at the ends of
//! bodies, and [`assign`](super::assign) may give a copy the place of the original.

use std::sync::Arc;

use farcall_ir::module::{Loc, NewInst, Region};
use farcall_ir::op::FormOp;
use farcall_ir::{Func, Inst, InstId, Op, Span, ValueId};
use rustc_hash::FxHashSet;

use super::choices::{Choice, Choices};
use super::order::{self, Event};
use super::storage::{PieceId, Sharing, Storage};

/// A copy to insert.
struct NeededCopy {
    /// The instruction before which the copy is inserted, and the index of the operand to be replaced.
    before: InstId,
    operand: usize,
    value: ValueId,
    /// True if an additional copy saves the value first. Such copies precede all others that are inserted
    /// before the same instruction.
    saved: bool,
    span: Span,
    loc: Option<Arc<Loc>>,
}

/// Inserts the copies that a program needs.
pub(super) fn insert(func: &mut Func, choices: &Choices) {
    let copies = needed(func, choices);
    for group in copies.chunk_by(|a, b| a.before == b.before) {
        let mut from: Vec<ValueId> = Vec::with_capacity(group.len());
        for copy in group {
            from.push(if copy.saved { insert_one(func, copy, copy.value) } else { copy.value });
        }
        for (copy, value) in group.iter().zip(from) {
            let new = insert_one(func, copy, value);
            func.operands_mut(copy.before)[copy.operand] = new;
        }
    }
}

fn insert_one(func: &mut Func, copy: &NeededCopy, value: ValueId) -> ValueId {
    let ty = func.ty(value).clone();
    let new = NewInst::new(FormOp::Copy.into(), [value]).at(copy.span, copy.loc.clone());
    let id = func.new_inst(new, [ty]);
    func.insert_before(id, copy.before);
    func.inst(id).results()[0]
}

/// Returns the copies that a program needs. Copies before the same instruction are adjacent.
fn needed(func: &Func, choices: &Choices) -> Vec<NeededCopy> {
    if !(choices.has_loops || choices.has_branches || choices.has_aliases) {
        return Vec::new();
    }
    let events = order::events(func, choices);
    let storage = Storage::new(func, choices, Sharing::Apart);
    let mut copies = Vec::new();
    for event in &events {
        match event {
            Event::Do(inst) => {
                if let Choice::Call(aliases) = choices.of(inst.id()) {
                    let inputs = aliases.iter().map(|(_, input)| *input);
                    copies.extend(inputs.map(|i| operand(*inst, i)));
                }
            }
            Event::Begin(inst) => {
                for (i, (x, carried)) in inst.own_operands().iter().zip(inst.results()).enumerate() {
                    if *inst.op() == Op::While && storage.of(*x) != storage.of(*carried) {
                        copies.push(operand(*inst, i));
                    }
                }
            }
            Event::Next(inst, number) => {
                if *inst.op() != Op::While {
                    hand_over(*inst, inst.region(*number), &storage, &mut copies);
                }
            }
            Event::End(inst) => hand_over(*inst, inst.regions().next_back(), &storage, &mut copies),
        }
    }
    copies
}

fn operand(inst: Inst<'_>, number: usize) -> NeededCopy {
    NeededCopy {
        before: inst.id(),
        operand: number,
        value: inst.operands()[number],
        saved: false,
        span: inst.span(),
        loc: inst.loc().cloned(),
    }
}

/// Copies the values that a region returns to the memory of the instruction's results.
fn hand_over(inst: Inst<'_>, region: Option<Region<'_>>, storage: &Storage, copies: &mut Vec<NeededCopy>) {
    let Some(end) = region.and_then(|r| r.terminator()) else { return };
    let pieces = || end.operands().iter().zip(inst.results()).map(|(x, r)| (storage.of(*x), storage.of(*r)));
    let written: FxHashSet<PieceId> = pieces().filter(|(from, to)| from != to).map(|(_, to)| to).collect();
    for (i, (from, to)) in pieces().enumerate() {
        if from != to {
            let saved = written.contains(&from);
            copies.push(NeededCopy {
                before: end.id(),
                saved,
                span: inst.span(),
                loc: None,
                ..operand(end, i)
            });
        }
    }
}
