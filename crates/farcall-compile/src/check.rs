//! Checks the places of values in debug builds: every value that an instruction reads must still be in its
//! place.
//!
//! One walk over the program tracks the contents of each piece of memory. A loop is walked once: values that
//! it reads, but that were written before it, must still exist when its body ends, since the next iteration
//! reads them again.

use std::collections::BTreeMap;

use farcall_ir::{Func, Inst, Op, ValueId};
use rustc_hash::FxHashSet;

use super::assign::Places;
use super::choices::{Choice, Choices};
use super::order::{self, Event};
use super::storage::{Home, PieceId};
use farcall_plan::Base;

/// Checks the places of a program.
///
/// # Errors
/// The first value that is read when its place holds another value.
pub(super) fn check(
    func: &Func,
    events: &[Event<'_>],
    choices: &Choices,
    places: &Places<'_>,
) -> Result<(), String> {
    let pieces = places.storage.pieces.len();
    let mut c = Check {
        choices,
        places,
        same: same_values(func, choices),
        state: MemoryState { holds: vec![None; pieces], written: vec![0; pieces], held: BTreeMap::new() },
        loops: Vec::new(),
        branches: Vec::new(),
    };
    func.params().iter().for_each(|p| c.write(places.storage.of(*p), Some(c.same[p.index()]), 0));
    for (at, event) in (1..).zip(events) {
        c.event(*event, at).map_err(|value| c.complaint(func, *event, value))?;
    }
    match func.body().returned().iter().find(|r| c.read(**r).is_err()) {
        Some(r) => Err(format!("{} does not hold its result at the end of the program", places.of(*r))),
        None => Ok(()),
    }
}

/// The state of memory at a position.
#[derive(Clone)]
struct MemoryState {
    /// Contents of each piece of memory: the number of a value in [`Check::same`].
    holds: Vec<Option<u32>>,
    /// Position at which each piece was last written.
    written: Vec<u32>,
    /// The pieces with known contents, by base and offset of the first byte. Each has the offset of its end.
    held: BTreeMap<(Base, usize), (usize, PieceId)>,
}

struct Check<'a> {
    choices: &'a Choices,
    places: &'a Places<'a>,
    /// Numbers of values. Aliases have the same number.
    same: Vec<u32>,
    state: MemoryState,
    /// The loops that enclose the position: where each begins, and the values that were written before the
    /// loop and are read in it.
    loops: Vec<(u32, FxHashSet<ValueId>)>,
    /// The conditionals that enclose the position: the state where each begins, and the merged state after
    /// all its branches so far.
    branches: Vec<(MemoryState, Option<MemoryState>)>,
}

/// The error is the value that is not in its place.
type Checked = Result<(), ValueId>;

impl Check<'_> {
    fn event(&mut self, event: Event<'_>, at: u32) -> Checked {
        let is_loop = |inst: Inst<'_>| *inst.op() == Op::While;
        match event {
            Event::Do(inst) => {
                self.reads(self.choices.inputs(inst))?;
                self.writes(inst, at);
                Ok(())
            }
            Event::Begin(inst) if is_loop(inst) => {
                self.reads(inst.own_operands())?;
                self.rename(inst.own_operands(), inst.regions().next().map_or(&[], |r| r.own_args()), at);
                self.loops.push((at, FxHashSet::default()));
                Ok(())
            }
            Event::Begin(inst) => {
                self.reads(self.choices.inputs(inst))?;
                self.branches.push((self.state.clone(), None));
                Ok(())
            }
            Event::Next(inst, _) if is_loop(inst) => {
                self.reads(self.choices.inputs(inst))?;
                // The loop may end here.
                self.reads(inst.region(1).map_or(&[], |r| r.own_args()))
            }
            Event::End(inst) if is_loop(inst) => {
                let body = inst.region(1).map_or(&[][..], |r| r.returned());
                self.reads(body)?;
                let again = self.loops.pop().map_or(FxHashSet::default(), |(_, again)| again);
                again.into_iter().try_for_each(|value| self.read(value))?;
                self.rename(body, inst.results(), at);
                Ok(())
            }
            Event::Next(inst, number) => self.branch(inst, number, at, false),
            Event::End(inst) => self.branch(inst, inst.region_ids().len().saturating_sub(1), at, true),
        }
    }

    /// Handles the end of a branch.
    fn branch(&mut self, inst: Inst<'_>, number: usize, at: u32, last: bool) -> Checked {
        let returned = inst.region(number).map_or(&[][..], |r| r.returned());
        self.reads(returned)?;
        self.rename(returned, inst.results(), at);
        let Some((begin, merged)) = self.branches.last_mut() else { return Ok(()) };
        let here = std::mem::replace(&mut self.state, begin.clone());
        *merged = Some(match merged.take() {
            Some(other) => other.and(here),
            None => here,
        });
        if last && let Some((_, Some(merged))) = self.branches.pop() {
            self.state = merged;
        }
        Ok(())
    }

    fn reads(&mut self, values: &[ValueId]) -> Checked {
        values.iter().try_for_each(|v| self.read(*v))
    }

    fn read(&mut self, value: ValueId) -> Checked {
        let piece = self.places.storage.of(value);
        if let Home::Constant(_) | Home::Iota(_) = self.places.storage.pieces[piece.index()].home {
            return Ok(());
        }
        if self.state.holds[piece.index()] != Some(self.same[value.index()]) {
            return Err(value);
        }
        let written = self.state.written[piece.index()];
        for (begin, again) in &mut self.loops {
            if written < *begin {
                again.insert(value);
            }
        }
        Ok(())
    }

    fn writes(&mut self, inst: Inst<'_>, at: u32) {
        for r in inst.results() {
            self.write(self.places.storage.of(*r), Some(self.same[r.index()]), at);
        }
        if let Some(scratch) = self.places.storage.scratch(inst.id()) {
            self.write(scratch, None, at);
        }
    }

    fn write(&mut self, piece: PieceId, value: Option<u32>, at: u32) {
        let slice = self.places.slice(piece);
        let state = &mut self.state;
        if slice.size > 0 {
            let end = slice.offset.saturating_add(slice.size);
            // Pieces with known contents do not overlap each other, so the pieces that overlap this piece are
            // the last pieces that begin before the end of this piece.
            while let Some((key, (other_end, other))) =
                state.held.range(..(slice.base, end)).next_back().map(|(k, v)| (*k, *v))
                && key.0 == slice.base
                && other_end > slice.offset
            {
                state.held.remove(&key);
                state.holds[other.index()] = None;
            }
            state.held.insert((slice.base, slice.offset), (end, piece));
        }
        state.holds[piece.index()] = value;
        state.written[piece.index()] = at;
    }

    /// Passes the contents of values on to their aliases.
    fn rename(&mut self, from: &[ValueId], to: &[ValueId], at: u32) {
        for (from, to) in from.iter().zip(to) {
            let piece = self.places.storage.of(*to).index();
            debug_assert_eq!(piece, self.places.storage.of(*from).index(), "one piece of memory");
            if self.same[from.index()] != self.same[to.index()] {
                self.state.holds[piece] = Some(self.same[to.index()]);
                self.state.written[piece] = at;
            }
        }
    }

    fn complaint(&self, func: &Func, event: Event<'_>, value: ValueId) -> String {
        let (Event::Do(inst) | Event::Begin(inst) | Event::Next(inst, _) | Event::End(inst)) = event;
        let (name, place) = (inst.op().name(), self.places.of(value));
        format!("{name} reads a {} at {place}, which holds another value by then", func.ty(value))
    }
}

impl MemoryState {
    /// Merges two states: keeps the contents that are in both.
    fn and(mut self, other: MemoryState) -> MemoryState {
        for (i, holds) in self.holds.iter_mut().enumerate() {
            if *holds != other.holds[i] {
                *holds = None;
            }
            self.written[i] = self.written[i].min(other.written[i]);
        }
        self.held.retain(|key, value| other.held.get(key) == Some(value));
        self
    }
}

/// Numbers the values. Aliases get the same number.
fn same_values(func: &Func, choices: &Choices) -> Vec<u32> {
    let mut same: Vec<u32> = (0..func.value_count() as u32).collect();
    // Instructions are in order, so the source of an alias has its number already.
    for inst in order::instructions(func) {
        let mut alike = |from: &[ValueId], to: &[ValueId]| {
            from.iter().zip(to).for_each(|(from, to)| same[to.index()] = same[from.index()]);
        };
        match choices.of(inst.id()) {
            // The tensor that a part belongs to does not change during the part's life, so reading the part
            // counts as reading that tensor.
            Choice::View | Choice::Part(_) => alike(inst.operands(), inst.results()),
            Choice::Control => {
                inst.regions().for_each(|r| alike(inst.captures(), r.captured_args()));
                let [condition, body] = inst.region_ids() else { continue };
                if *inst.op() != Op::While {
                    continue;
                }
                let (condition, body) = (func.region(*condition), func.region(*body));
                for i in 0..inst.results().len() {
                    // A value that the body returns unchanged is the operand in every iteration.
                    if body.own_args()[i] == body.returned()[i] {
                        alike(&inst.operands()[i..=i], &condition.own_args()[i..=i]);
                        alike(&inst.operands()[i..=i], &inst.results()[i..=i]);
                    }
                    alike(&condition.own_args()[i..=i], &body.own_args()[i..=i]);
                }
            }
            _ => {}
        }
    }
    same
}
