//! Makes copies, so that values which must share memory can ([`storage`](super::storage)).
//!
//! - What a loop carries and changes is copied before the loop; the loop owns the copy.
//! - What a body or a branch returns is copied to where it is expected, all at once: a value whose own memory is about
//!   to be overwritten is saved first.
//! - An operand that a custom call changes is copied before the call.
//!
//! Many of these copies need not be made in the end. [`coalesce`](super::coalesce) removes those that a body ends
//! with, and [`assign`](super::assign) may give a copy the place of what it is a copy of.

use std::sync::Arc;

use farcall_ir::module::{Loc, NewInst, Region};
use farcall_ir::{Func, Inst, InstId, Op, Span, ValueId};
use rustc_hash::FxHashSet;

use super::choose::{Choice, Choices};
use super::order::{self, Event};
use super::storage::{PieceId, State, Storage};

/// A copy that is to be made.
struct Copy {
    /// Before this instruction, one of whose operands, by number, it becomes.
    before: InstId,
    operand: usize,
    value: ValueId,
    /// By way of another copy, which is made before all others of the instruction.
    saved: bool,
    span: Span,
    loc: Option<Arc<Loc>>,
}

/// Puts in the copies.
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

fn insert_one(func: &mut Func, copy: &Copy, value: ValueId) -> ValueId {
    let ty = func.ty(value).clone();
    let new = NewInst::new(Op::Copy, [value]).at(copy.span, copy.loc.clone());
    let id = func.new_inst(new, [ty]);
    func.insert_before(id, copy.before);
    func.inst(id).results()[0]
}

/// The copies that a program needs. Those before one instruction stand together.
fn needed(func: &Func, choices: &Choices) -> Vec<Copy> {
    if !(choices.has_loops || choices.has_branches || choices.has_aliases) {
        return Vec::new();
    }
    let events = order::events(func, choices);
    let storage = Storage::new(func, choices, State::Apart);
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

fn operand(inst: Inst<'_>, number: usize) -> Copy {
    Copy {
        before: inst.id(),
        operand: number,
        value: inst.operands()[number],
        saved: false,
        span: inst.span(),
        loc: inst.loc().cloned(),
    }
}

/// Copies what a region returns to where it is expected.
fn hand_over(inst: Inst<'_>, region: Option<Region<'_>>, storage: &Storage, copies: &mut Vec<Copy>) {
    let Some(end) = region.and_then(|r| r.terminator()) else { return };
    let pieces = || end.operands().iter().zip(inst.results()).map(|(x, r)| (storage.of(*x), storage.of(*r)));
    let written: FxHashSet<PieceId> = pieces().filter(|(from, to)| from != to).map(|(_, to)| to).collect();
    for (i, (from, to)) in pieces().enumerate() {
        if from != to {
            let saved = written.contains(&from);
            copies.push(Copy { before: end.id(), saved, span: inst.span(), loc: None, ..operand(end, i) });
        }
    }
}
