//! Explains the compiler's decisions to people: how each operation runs, which operations were fused, and
//! where and for how long each value is stored. No decision of the compiler depends on this module.

use std::collections::BTreeMap;

use farcall_ir::middle::passes::{PassOptions, fuse};
use farcall_ir::{Func, Inst, InstId, Module, Op, TensorType};
use rustc_hash::FxHashMap;

use super::assign::Places;
use super::choices::{Choice, Choices};
use super::live::Lives;
use super::lower::has_thunk;
use super::order::{self, Event};
use super::storage::{Home, PieceId};
use farcall_kernels::short_name;
use farcall_plan::{Base, BufferSlice, Origin};

/// The result of a compilation, with reasons. Steps are the plan's thunks, in the order in which
/// [`Plan::walk`](farcall_plan::Plan::walk) visits them.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The steps.
    pub steps: Vec<Step>,
    /// The elementwise operations that are in no fusion, each with the reason.
    pub unfused: Vec<Unfused>,
    /// The boundaries of the fusions, each with the reason.
    pub fusion_boundaries: Vec<FusionBoundary>,
    /// Live ranges of the values that the program writes, scratch memory included, sorted by their places in
    /// memory.
    pub live_ranges: Vec<LiveRange>,
    /// Maximum number of bytes of the arena that are in use at one time, without gaps between values.
    pub peak: usize,
    /// The step at which the arena use is at its peak.
    pub peak_step: usize,
}

/// A step of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Origin of the step in the program.
    pub origin: Origin,
    /// The operations that the step consists of, if there are several.
    pub members: Vec<Member>,
}

/// An operation that runs as part of another one.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// The operation.
    pub op: &'static str,
    /// Type of its result.
    pub ty: Option<TensorType>,
    /// Origin of the operation in the program.
    pub origin: Origin,
}

/// An elementwise operation that is in no fusion.
#[derive(Clone, PartialEq, Debug)]
pub struct Unfused {
    /// The operation.
    pub member: Member,
    /// Reason why it is not fused.
    pub reason: fuse::UnfusedReason,
    /// The other operation that the reason refers to.
    pub beside: Option<Member>,
}

/// A boundary of a fusion: the fusion and another step that exchange a value.
#[derive(Clone, PartialEq, Debug)]
pub struct FusionBoundary {
    /// The producer of the value: the number of its step, and the operation. If the step is a fusion, this is
    /// the operation inside the fusion that produces the value.
    pub from: (usize, Member),
    /// The consumer of the value.
    pub to: (usize, Member),
    /// Reason why the two steps are not one fusion.
    pub reason: fuse::UnfusedReason,
}

/// Live range of a value, and the memory that holds it.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveRange {
    /// Memory of the value.
    pub slice: BufferSlice,
    /// The operation that has the value as its result or scratch memory.
    pub value: Option<Member>,
    /// True if the value is scratch memory.
    pub scratch: bool,
    /// The first step that writes the value; `None` if it exists from the beginning.
    pub first: Option<usize>,
    /// The last step that reads the value; `None` if it is read when the program ends.
    pub last: Option<usize>,
}

/// State of the compiler after values have been assigned places in memory.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) places: &'a Places<'a>,
    pub(super) events: &'a [Event<'a>],
    pub(super) choices: &'a Choices,
    /// The options that the passes were given.
    pub(super) cx: &'a PassOptions,
}

/// Explains a program whose values have been assigned memory.
pub(super) fn explain(form: &Module, placed: &Placed<'_>) -> Explanation {
    let func = &form.funcs()[0];
    let e = Explainer { form, func, placed, numbers: numbers(placed) };
    let pieces = e.live_ranges();
    let (peak, at) = e.peak(&pieces);
    let mut live_ranges: Vec<LiveRange> = pieces.into_iter().map(|live| e.life(live)).collect();
    live_ranges.sort_by_key(|life| (life.slice.base, life.slice.offset, life.first));
    let unfused = fuse::unfused(func, placed.cx).into_iter();
    // A value that is never materialized needs no fusion.
    let made = unfused.filter(|u| !matches!(placed.choices.of(u.inst), Choice::Iota(_)));
    let unfused = made.map(|u| Unfused {
        member: e.member(func.inst(u.inst)),
        reason: u.reason,
        beside: u.beside.map(|inst| e.member(func.inst(inst))),
    });
    Explanation {
        steps: e.steps(),
        unfused: unfused.collect(),
        fusion_boundaries: e.fusion_boundaries(),
        live_ranges,
        peak,
        peak_step: e.step(at).unwrap_or(0),
    }
}

/// Returns, for each position, the number of steps that have begun; none have begun at position 0.
fn numbers(placed: &Placed<'_>) -> Vec<usize> {
    let mut begun = 0;
    let after = placed.events.iter().map(|event| {
        begun += usize::from(begins(*event, placed));
        begun
    });
    std::iter::once(0).chain(after).collect()
}

/// Returns true if a step begins at this event.
fn begins(event: Event<'_>, placed: &Placed<'_>) -> bool {
    match event {
        Event::Do(inst) => has_thunk(inst, placed.choices, placed.places),
        Event::Begin(_) => true,
        Event::Next(..) | Event::End(_) => false,
    }
}

/// A piece of memory that the program writes.
#[derive(Clone, Copy)]
struct LivePiece {
    slice: BufferSlice,
    first: u32,
    last: u32,
    /// The owner of the memory: an instruction, with the index of one of its results. The index is `None` for
    /// scratch memory.
    of: Option<(InstId, Option<usize>)>,
}

struct Explainer<'a> {
    form: &'a Module,
    func: &'a Func,
    placed: &'a Placed<'a>,
    numbers: Vec<usize>,
}

impl Explainer<'_> {
    /// The instructions that are steps, in order.
    fn insts(&self) -> impl Iterator<Item = Inst<'_>> {
        let begun = self.placed.events.iter().filter(|event| begins(**event, self.placed));
        begun.filter_map(|event| match event {
            Event::Do(inst) | Event::Begin(inst) => Some(*inst),
            Event::Next(..) | Event::End(_) => None,
        })
    }

    fn steps(&self) -> Vec<Step> {
        self.insts().map(|inst| Step { origin: self.origin(inst), members: self.members(inst) }).collect()
    }

    fn fusion_boundaries(&self) -> Vec<FusionBoundary> {
        let numbers: FxHashMap<InstId, usize> =
            self.insts().enumerate().map(|(i, inst)| (inst.id(), i)).collect();
        let step = |id: InstId| Some((*numbers.get(&id)?, self.result(self.func.inst(id), Some(0))));
        let borders = fuse::fusion_edges(self.func, self.placed.cx).into_iter();
        borders
            .filter_map(|b| Some(FusionBoundary { from: step(b.from)?, to: step(b.to)?, reason: b.reason }))
            .collect()
    }

    fn members(&self, inst: Inst<'_>) -> Vec<Member> {
        let Some(region) = inst.region(0).filter(|_| inst.op().is_fusion()) else { return Vec::new() };
        region.insts().filter(|i| *i.op() != Op::Return).map(|i| self.member(i)).collect()
    }

    fn member(&self, inst: Inst<'_>) -> Member {
        let ty = inst.results().first().and_then(|v| inst.func().tensor(*v)).cloned();
        Member { op: short_name(inst.op()), ty, origin: self.origin(inst) }
    }

    /// Returns the operation that makes the result with this index; for a fusion, the operation inside it.
    /// Without an index, returns the instruction itself.
    fn result(&self, inst: Inst<'_>, number: Option<usize>) -> Member {
        let Some(number) = number else { return self.member(inst) };
        let inside = inst.region(0).filter(|_| inst.op().is_fusion());
        if let Some(made) = inside.and_then(|r| inst.func().defining_inst(*r.returned().get(number)?)) {
            return self.member(made);
        }
        let ty = inst.results().get(number).and_then(|v| inst.func().tensor(*v)).cloned();
        Member { ty, ..self.member(inst) }
    }

    fn origin(&self, inst: Inst<'_>) -> Origin {
        Origin::of(inst, &self.form.source)
    }

    /// Returns the last of the steps that have begun at a position.
    fn step(&self, position: u32) -> Option<usize> {
        self.numbers.get(position as usize)?.checked_sub(1)
    }

    fn live_ranges(&self) -> Vec<LivePiece> {
        let Placed { places, events, choices, .. } = *self.placed;
        let lives = Lives::new(self.func, events, choices, places.storage);
        let mut of: FxHashMap<PieceId, (InstId, Option<usize>)> = FxHashMap::default();
        for inst in order::instructions(self.func) {
            for (i, result) in inst.results().iter().enumerate() {
                of.entry(places.storage.of(*result)).or_insert((inst.id(), Some(i)));
            }
            if let Some(scratch) = places.storage.scratch(inst.id()) {
                of.insert(scratch, (inst.id(), None));
            }
        }
        let pieces = places.storage.ids().filter(|id| {
            let piece = places.storage.pieces[id.index()];
            matches!(piece.home, Home::Open | Home::Stack)
                && piece.bytes > 0
                && lives.first[id.index()] != u32::MAX
        });
        let live = |id: PieceId| LivePiece {
            slice: places.slice(id),
            first: lives.first[id.index()],
            last: lives.last[id.index()],
            of: of.get(&id).copied(),
        };
        pieces.map(live).collect()
    }

    fn life(&self, live: LivePiece) -> LiveRange {
        let ends = live.last as usize > self.placed.events.len();
        LiveRange {
            slice: live.slice,
            value: live.of.map(|(inst, result)| self.result(self.func.inst(inst), result)),
            scratch: matches!(live.of, Some((_, None))),
            first: self.step(live.first),
            last: if ends { None } else { self.step(live.last) },
        }
    }

    /// Returns the maximum number of arena bytes in use at one position, and that position.
    fn peak(&self, lives: &[LivePiece]) -> (usize, u32) {
        let arena = || lives.iter().filter(|live| live.slice.base == Base::Arena);
        // Where a value takes over the place of a value whose life ends at the same position, the bytes count
        // once.
        let begins: FxHashMap<(usize, u32), ()> = arena().map(|l| ((l.slice.offset, l.first), ())).collect();
        let mut changes: BTreeMap<u32, isize> = BTreeMap::new();
        for live in arena() {
            let bytes = isize::try_from(live.slice.size).unwrap_or(isize::MAX);
            let taken = live.first < live.last && begins.contains_key(&(live.slice.offset, live.last));
            *changes.entry(live.first).or_default() += bytes;
            *changes.entry(live.last + u32::from(!taken)).or_default() -= bytes;
        }
        let (mut now, mut peak) = (0isize, (0, 0));
        for (at, change) in changes {
            now += change;
            if now > peak.0 {
                peak = (now, at);
            }
        }
        (usize::try_from(peak.0).unwrap_or(0), peak.1)
    }
}
