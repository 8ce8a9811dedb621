//! Lets the instructions of a loop's body write the carried values where the next iteration reads them, and those of a
//! branch write the branch's results, instead of copying at the end.
//!
//! A body ends with copies `c = copy y`. If the memory of `c` is no longer read once the first write to `y` starts, `y`
//! can have it: the copy is removed, and the body returns `y`.

use std::ops::Range;

use farcall_ir::module::ValueMap;
use farcall_ir::{Func, Inst, InstId, Op};
use rustc_hash::FxHashSet;

use super::choose::{Choice, Choices};
use super::order::{self, Event};
use super::storage::{Home, PieceId, State, Storage, shares};

/// Removes copies at the ends of bodies where that is safe.
pub(super) fn coalesce(func: &mut Func, choices: &Choices) {
    // Branches first: what a branch yields begins where the branch begins to write it, which the
    // loop around it has to know.
    for kind in [Kind::Branch, Kind::Loop] {
        let events = order::events(func, choices);
        if !events.iter().any(|e| matches!(e, Event::Begin(inst) if Kind::of(*inst) == kind)) {
            continue;
        }
        let removed = removed(func, kind, &events, choices);
        let map: ValueMap = removed
            .iter()
            .map(|id| func.inst(*id))
            .filter_map(|i| Some((*i.results().first()?, *i.operands().first()?)))
            .collect();
        func.replace_operands(&map);
        removed.into_iter().for_each(|id| func.detach(id));
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Branch,
    Loop,
}

impl Kind {
    fn of(inst: Inst<'_>) -> Kind {
        if *inst.op() == Op::While { Kind::Loop } else { Kind::Branch }
    }
}

/// The copies at the ends of bodies of one kind that need not be made.
fn removed(func: &Func, kind: Kind, events: &[Event<'_>], choices: &Choices) -> Vec<InstId> {
    let storage = Storage::new(func, events, choices, State::Joined);
    let mut bodies = Bodies {
        events,
        choices,
        touches: Touches::of(events, choices, &storage),
        storage,
        taken: FxHashSet::default(),
        removed: Vec::new(),
    };
    let mut begins = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Do(_) => {}
            Event::Begin(_) => begins.push(at + 1),
            Event::Next(inst, _) | Event::End(inst) => {
                let begin = begins.pop().unwrap_or(0);
                if Kind::of(*inst) == kind {
                    bodies.tail(*inst, begin..at);
                }
                if let Event::Next(..) = event {
                    begins.push(at + 1);
                }
            }
        }
    }
    bodies.removed
}

/// Where each piece of memory is read and first written. What a loop or a choice reads and writes counts where it
/// ends.
struct Touches {
    /// For those that loops and choices write.
    reads: Vec<Option<Vec<usize>>>,
    first_write: Vec<usize>,
}

impl Touches {
    fn of(events: &[Event<'_>], choices: &Choices, storage: &Storage) -> Touches {
        let pieces = storage.pieces.len();
        let mut t = Touches { reads: vec![None; pieces], first_write: vec![usize::MAX; pieces] };
        for event in events {
            if let Event::Begin(inst) = event {
                storage.outputs(*inst).for_each(|id| t.reads[id.index()] = Some(Vec::new()));
            }
        }
        for (at, event) in events.iter().enumerate() {
            let (Event::Do(inst) | Event::End(inst)) = event else { continue };
            for x in choices.inputs(*inst) {
                if let Some(reads) = &mut t.reads[storage.of(*x).index()] {
                    reads.push(at);
                }
            }
            for id in storage.outputs(*inst) {
                let first = &mut t.first_write[id.index()];
                *first = (*first).min(at);
            }
        }
        t
    }
}

struct Bodies<'a> {
    events: &'a [Event<'a>],
    choices: &'a Choices,
    storage: Storage,
    touches: Touches,
    /// Pieces that have become another one.
    taken: FxHashSet<PieceId>,
    removed: Vec<InstId>,
}

impl Bodies<'_> {
    /// Looks at the copies at the end of one body, which spans these positions.
    fn tail(&mut self, owner: Inst<'_>, span: Range<usize>) {
        let yielded: FxHashSet<PieceId> = self.storage.outputs(owner).collect();
        let first_copy = self.events[span.clone()]
            .iter()
            .rposition(|e| !self.copy(e).is_some_and(|(_, _, to)| yielded.contains(&to)))
            .map_or(span.start, |last| span.start + last + 1);
        let mut written = FxHashSet::default();
        for at in first_copy..span.end {
            let Some((id, from, to)) = self.copy(&self.events[at]) else { continue };
            let pieces = &self.storage.pieces;
            let same_size = pieces[from.index()].bytes == pieces[to.index()].bytes;
            let begins = self.touches.first_write[from.index()];
            let local =
                pieces[from.index()].home == Home::Open && span.contains(&begins) && begins < first_copy;
            // A value that is handed over twice gets the first of its places.
            let taken = self.taken.contains(&from) || yielded.contains(&from);
            let twice = !written.insert(to);
            if !same_size || !local || taken || twice {
                continue;
            }
            let reads = self.touches.reads[to.index()].iter().flatten();
            let free = reads
                .filter(|r| span.contains(r))
                .all(|r| *r < begins || (*r == begins && self.shares(begins, from, to)));
            if free {
                self.taken.insert(from);
                self.removed.push(id);
            }
        }
    }

    /// The copy at a position: from which memory, and to which.
    fn copy(&self, event: &Event<'_>) -> Option<(InstId, PieceId, PieceId)> {
        let Event::Do(inst) = event else { return None };
        if !matches!(self.choices.of(inst.id()), Choice::Copy) {
            return None;
        }
        let (from, to) = (inst.operands().first()?, inst.results().first()?);
        Some((inst.id(), self.storage.of(*from), self.storage.of(*to)))
    }

    /// True if `piece`, which begins to be written at this position, may lie where `other` lies, which is read
    /// there.
    fn shares(&self, at: usize, piece: PieceId, other: PieceId) -> bool {
        let Event::Do(inst) = self.events[at] else { return false };
        let mut written = inst.results().iter().enumerate().filter(|(_, r)| self.storage.of(**r) == piece);
        written.all(|(r, _)| shares(&self.storage, self.choices, inst, r, other))
    }
}
