//! Copy coalescing: removes copies at the ends of loop bodies and branches. The instructions of a loop body
//! then write the carried values directly to the memory that the next iteration reads. The instructions of a
//! branch write directly to the memory of the branch's results.
//!
//! A body ends with copies `c = copy y`. If all reads of `c`'s memory come before the first write of `y`, `y`
//! can have that memory: the copy is removed, and the body returns `y`. Writes in one branch of a conditional
//! do not affect reads in another branch.

use std::cmp::Ordering;
use std::ops::Range;

use farcall_ir::module::ValueMap;
use farcall_ir::{Func, Inst, InstId, Op};
use rustc_hash::FxHashSet;

use super::choices::{Choice, Choices};
use super::order::{self, Event};
use super::storage::{Home, PieceId, Sharing, Storage, shares};

/// Removes copies at the ends of bodies where that is safe.
pub(super) fn coalesce(func: &mut Func, choices: &Choices) {
    // Branches come first. Without its copy, a branch writes its result at an earlier position, and the pass
    // over the enclosing loop needs that position.
    for kind in [RegionKind::Branch, RegionKind::Loop] {
        let there = if kind == RegionKind::Loop { choices.has_loops } else { choices.has_branches };
        if !there {
            continue;
        }
        let removed = removed(func, kind, &order::events(func, choices), choices);
        let map: ValueMap = removed
            .iter()
            .map(|id| func.inst(*id))
            .filter_map(|i| Some((*i.results().first()?, *i.operands().first()?)))
            .collect();
        func.replace_operands(&map);
        removed.into_iter().for_each(|id| func.detach(id));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RegionKind {
    Branch,
    Loop,
}

impl RegionKind {
    fn of(inst: Inst<'_>) -> RegionKind {
        if *inst.op() == Op::While { RegionKind::Loop } else { RegionKind::Branch }
    }
}

/// Returns the redundant copies at the ends of bodies of branches or of loops.
fn removed(func: &Func, kind: RegionKind, events: &[Event<'_>], choices: &Choices) -> Vec<InstId> {
    let storage = Storage::new(func, choices, Sharing::Joined);
    let mut bodies = Bodies {
        events,
        choices,
        accesses: Accesses::of(events, choices, &storage),
        regions: Regions::of(events),
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
                if RegionKind::of(*inst) == kind {
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

/// Positions at which pieces of memory are read and written. Writes by a loop or a conditional count as
/// writes at its end.
struct Accesses {
    /// Position of the first write of each piece.
    first_write: Vec<usize>,
    /// All accesses of each piece that a loop or a conditional writes; `None` for other pieces.
    all: Vec<Option<Box<Uses>>>,
}

/// Positions at which a piece of memory is read and written, in order.
#[derive(Clone, Default)]
struct Uses {
    reads: Vec<usize>,
    writes: Vec<usize>,
}

impl Accesses {
    fn of(events: &[Event<'_>], choices: &Choices, storage: &Storage) -> Accesses {
        let pieces = storage.pieces.len();
        let mut t = Accesses { first_write: vec![usize::MAX; pieces], all: vec![None; pieces] };
        for event in events {
            if let Event::Begin(inst) = event {
                storage.outputs(*inst).for_each(|id| t.all[id.index()] = Some(Box::default()));
            }
        }
        for (at, event) in events.iter().enumerate() {
            let (reads, writes) = match event {
                Event::Do(inst) => (Some(*inst), Some(*inst)),
                Event::Begin(inst) => {
                    (Some(*inst).filter(|i| RegionKind::of(*i) == RegionKind::Branch), None)
                }
                // The result of the condition is read between condition and body.
                Event::Next(inst, _) => {
                    (Some(*inst).filter(|i| RegionKind::of(*i) == RegionKind::Loop), None)
                }
                Event::End(inst) => (None, Some(*inst)),
            };
            for x in reads.map_or(&[][..], |inst| choices.inputs(inst)) {
                if let Some(uses) = &mut t.all[storage.of(*x).index()] {
                    uses.reads.push(at);
                }
            }
            for id in writes.into_iter().flat_map(|inst| storage.outputs(inst)) {
                let first = &mut t.first_write[id.index()];
                *first = (*first).min(at);
                if let Some(uses) = &mut t.all[id.index()] {
                    uses.writes.push(at);
                }
            }
        }
        t
    }

    fn reads(&self, piece: PieceId) -> &[usize] {
        self.all[piece.index()].as_ref().map_or(&[], |uses| &uses.reads)
    }

    /// Positions at which a piece is written: all if they are known, otherwise the first.
    fn writes(&self, piece: PieceId) -> &[usize] {
        let first = std::slice::from_ref(&self.first_write[piece.index()]);
        self.all[piece.index()].as_ref().map_or(first, |uses| &uses.writes)
    }
}

/// The region that contains each event. The beginning and the end of a loop or a conditional belong to the
/// region around it.
struct Regions {
    of: Vec<usize>,
    /// The regions, by number; the body of the function is the first.
    all: Vec<RegionAt>,
}

struct RegionAt {
    parent: usize,
    depth: usize,
    /// Position of the beginning of the loop or conditional that the region belongs to.
    owner: usize,
    kind: RegionKind,
}

impl Regions {
    fn of(events: &[Event<'_>]) -> Regions {
        let body = RegionAt { parent: 0, depth: 0, owner: usize::MAX, kind: RegionKind::Loop };
        let mut regions = Regions { of: Vec::with_capacity(events.len()), all: vec![body] };
        let mut here = 0;
        for (at, event) in events.iter().enumerate() {
            let around = match event {
                Event::Do(_) | Event::Begin(_) => here,
                Event::Next(..) | Event::End(_) => regions.all[here].parent,
            };
            regions.of.push(around);
            let depth = regions.all[around].depth + 1;
            here = match event {
                Event::Do(_) | Event::End(_) => around,
                Event::Begin(inst) => {
                    regions.all.push(RegionAt {
                        parent: around,
                        depth,
                        owner: at,
                        kind: RegionKind::of(*inst),
                    });
                    regions.all.len() - 1
                }
                Event::Next(..) => {
                    let RegionAt { owner, kind, .. } = regions.all[here];
                    regions.all.push(RegionAt { parent: around, depth, owner, kind });
                    regions.all.len() - 1
                }
            };
        }
        regions
    }

    /// Returns true if two events are in different branches of one conditional, so that at most one of them
    /// happens.
    fn exclude(&self, a: usize, b: usize) -> bool {
        let (mut a, mut b) = (self.of[a], self.of[b]);
        while a != b {
            let (x, y) = (&self.all[a], &self.all[b]);
            if x.parent == y.parent && x.depth == y.depth {
                return x.owner == y.owner && x.kind == RegionKind::Branch;
            }
            match x.depth.cmp(&y.depth) {
                Ordering::Greater => a = x.parent,
                Ordering::Less => b = y.parent,
                Ordering::Equal => (a, b) = (x.parent, y.parent),
            }
        }
        false
    }
}

/// Maximum number of pairs of a read and a write that are compared for one copy.
const MAX_PAIRS: usize = 10_000;

struct Bodies<'a> {
    events: &'a [Event<'a>],
    choices: &'a Choices,
    storage: Storage,
    accesses: Accesses,
    regions: Regions,
    /// Pieces that were merged into another piece.
    taken: FxHashSet<PieceId>,
    removed: Vec<InstId>,
}

impl Bodies<'_> {
    /// Looks for redundant copies at the end of one body, which spans these positions.
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
            let begins = self.accesses.first_write[from.index()];
            let local =
                pieces[from.index()].home == Home::Open && span.contains(&begins) && begins < first_copy;
            // A value that is copied to several pieces gets the memory of the first of them.
            let taken = self.taken.contains(&from) || yielded.contains(&from);
            let twice = !written.insert(to);
            if !same_size || !local || taken || twice {
                continue;
            }
            if self.is_free(&span, from, to) {
                self.taken.insert(from);
                self.removed.push(id);
            }
        }
    }

    /// Returns true if all reads of piece `to` in a body come before piece `from` is written in its place.
    fn is_free(&self, span: &Range<usize>, from: PieceId, to: PieceId) -> bool {
        let begins = self.accesses.first_write[from.index()];
        let reads = self.accesses.reads(to);
        let reads = &reads[reads.partition_point(|r| *r < begins)..];
        let reads = &reads[..reads.partition_point(|r| *r < span.end)];
        let writes = self.accesses.writes(from);
        let few = reads.len().saturating_mul(writes.len()) <= MAX_PAIRS;
        reads.iter().all(|r| {
            let fine = |w: &usize| {
                if w == r { self.shares(*w, from, to) } else { few && self.regions.exclude(*w, *r) }
            };
            writes.iter().take_while(|w| *w <= r).all(fine)
        })
    }

    /// Returns the instruction of a copy, with the pieces that it copies from and to, if the event is a copy.
    fn copy(&self, event: &Event<'_>) -> Option<(InstId, PieceId, PieceId)> {
        let Event::Do(inst) = event else { return None };
        if !matches!(self.choices.of(inst.id()), Choice::Copy) {
            return None;
        }
        let (from, to) = (inst.operands().first()?, inst.results().first()?);
        Some((inst.id(), self.storage.of(*from), self.storage.of(*to)))
    }

    /// Returns true if `piece`, whose first write is at this position, may share memory with `other`, which
    /// is read at the same position.
    fn shares(&self, at: usize, piece: PieceId, other: PieceId) -> bool {
        let Event::Do(inst) = self.events[at] else { return false };
        let mut written = inst.results().iter().enumerate().filter(|(_, r)| self.storage.of(**r) == piece);
        written.all(|(r, _)| shares(&self.storage, self.choices, inst, r, other))
    }
}
