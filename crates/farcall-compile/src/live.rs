//! Live ranges: the positions between which each piece of memory holds data that is read.
//!
//! A piece lives from the first position that writes it to the last position that reads it. A piece that a
//! loop uses, but that was written before the loop, lives until the loop ends.

use farcall_ir::{Func, Inst, Op};
use rustc_hash::FxHashMap;

use super::choices::Choices;
use super::order::Event;
use super::storage::{Home, PieceId, Storage, sharing};

/// Live ranges of all pieces of memory. Inputs exist at position 0; events have the positions from 1 on.
pub(super) struct Lives {
    pub(super) first: Vec<u32>,
    pub(super) last: Vec<u32>,
    /// For each result of the program, the pieces that it can replace in place.
    pub(super) sources: FxHashMap<PieceId, Vec<PieceId>>,
    /// Loops that enclose the current position: for each, its index in `ends`, and the position at which it
    /// begins.
    enclosing: Vec<(usize, u32)>,
    ends: Vec<u32>,
    /// Pieces whose life is extended to the end of a loop, with the loop's index in `ends`.
    extended: Vec<(PieceId, usize)>,
}

impl Lives {
    pub(super) fn new(func: &Func, events: &[Event<'_>], choices: &Choices, storage: &Storage) -> Lives {
        let given = |home: Home| if matches!(home, Home::Param(_)) { 0 } else { u32::MAX };
        let results = || func.body().returned().iter().map(|r| storage.of(*r));
        let mut lives = Lives {
            first: storage.pieces.iter().map(|p| given(p.home)).collect(),
            last: vec![0; storage.pieces.len()],
            sources: results().map(|r| (r, Vec::new())).collect(),
            enclosing: Vec::new(),
            ends: Vec::new(),
            extended: Vec::new(),
        };
        for (at, event) in (1..).zip(events) {
            lives.event(*event, at, choices, storage);
        }
        let end = events.len() as u32 + 1;
        results().for_each(|r| lives.touch(r, end));
        for (piece, number) in &lives.extended {
            let last = &mut lives.last[piece.index()];
            *last = (*last).max(lives.ends[*number]);
        }
        lives
    }

    fn event(&mut self, event: Event<'_>, at: u32, choices: &Choices, storage: &Storage) {
        let is_loop = |inst: Inst<'_>| *inst.op() == Op::While;
        match event {
            Event::Do(inst) => {
                self.reads(inst, at, choices, storage);
                self.note_sources(inst, choices, storage);
                storage.outputs(inst).for_each(|id| self.touch(id, at));
            }
            Event::Begin(inst) if is_loop(inst) => {
                self.enclosing.push((self.ends.len(), at));
                self.ends.push(0);
            }
            Event::Begin(inst) => self.reads(inst, at, choices, storage),
            // The result of the condition is read between condition and body.
            Event::Next(inst, _) if is_loop(inst) => self.reads(inst, at, choices, storage),
            Event::Next(..) => {}
            Event::End(inst) => {
                // This includes values that a loop passes through without writing them.
                inst.results().iter().for_each(|r| self.touch(storage.of(*r), at));
                if is_loop(inst)
                    && let Some((number, _)) = self.enclosing.pop()
                {
                    self.ends[number] = at;
                }
            }
        }
    }

    fn reads(&mut self, inst: Inst<'_>, at: u32, choices: &Choices, storage: &Storage) {
        choices.inputs(inst).iter().for_each(|x| self.touch(storage.of(*x), at));
    }

    fn touch(&mut self, piece: PieceId, at: u32) {
        let i = piece.index();
        self.first[i] = self.first[i].min(at);
        self.last[i] = self.last[i].max(at);
        // The outermost loop that began after the piece was written repeats all of the piece's reads.
        if let Some((number, _)) = self.enclosing.iter().find(|(_, begin)| *begin > self.first[i]) {
            self.extended.push((piece, *number));
        }
    }

    /// Records the operands that results of the program can replace in place, if this instruction is the
    /// first to write such a result.
    fn note_sources(&mut self, inst: Inst<'_>, choices: &Choices, storage: &Storage) {
        for (r, result) in inst.results().iter().enumerate() {
            let piece = storage.of(*result);
            if self.first[piece.index()] != u32::MAX || !self.sources.contains_key(&piece) {
                continue;
            }
            self.sources.entry(piece).or_default().extend(sharing(storage, choices, inst, r));
        }
    }

    /// Returns true if the life of the piece ends before the life of the result begins. The end and the
    /// beginning may be at the same position if the result can be written in place of the piece.
    pub(super) fn comes_before(&self, piece: PieceId, result: PieceId) -> bool {
        let (last, first) = (self.last[piece.index()], self.first[result.index()]);
        let in_place = || self.sources.get(&result).is_some_and(|sources| sources.contains(&piece));
        last < first || (last == first && in_place())
    }
}
