//! What the compiler decided, and why, for people: what runs as what, what was fused, and where values lie for how
//! long. Nothing else reads it.

use std::collections::BTreeMap;

use farcall_ir::middle::passes::fuse;
use farcall_ir::{Func, Inst, InstId, Module, Op, TensorType};
use rustc_hash::FxHashMap;

use super::choose::Choice;
use super::live::Lives;
use super::lower::has_thunk;
use super::order::{self, Event};
use super::stage::Placed;
use super::storage::{Home, PieceId};
use crate::kernels::short_name;
use crate::plan::{Base, Origin, Slice};

/// What became of a program, and why. Steps are the plan's thunks, in the order in which
/// [`Plan::walk`](crate::Plan::walk) visits them.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The steps.
    pub steps: Vec<Step>,
    /// The operations on elements that are in no fusion, each with the reason.
    pub unfused: Vec<Unfused>,
    /// Where the fusions end, each with the reason.
    pub borders: Vec<Border>,
    /// The values that the program writes, scratch memory included, by place.
    pub lives: Vec<Life>,
    /// Most bytes of the arena that are in use at one time, without what lies between values.
    pub peak: usize,
    /// The step at which that is.
    pub peak_step: usize,
}

/// A step of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Where it comes from.
    pub origin: Origin,
    /// What it is made of, if that is several operations.
    pub members: Vec<Member>,
}

/// An operation that runs as a part of another one.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// The operation.
    pub op: &'static str,
    /// Type of its result.
    pub ty: Option<TensorType>,
    /// Where it comes from.
    pub origin: Origin,
}

/// An operation on elements that is in no fusion.
#[derive(Clone, PartialEq, Debug)]
pub struct Unfused {
    /// The operation.
    pub member: Member,
    /// Why.
    pub reason: fuse::Reason,
    /// What the reason speaks of.
    pub beside: Option<Member>,
}

/// A fusion and a step that it takes a value from, or gives one to.
#[derive(Clone, PartialEq, Debug)]
pub struct Border {
    /// What makes the value: number of the step, and the operation, of a fusion the one in it.
    pub from: (usize, Member),
    /// What takes it.
    pub to: (usize, Member),
    /// Why they are not one fusion.
    pub reason: fuse::Reason,
}

/// From when to when a place holds a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Life {
    /// Where.
    pub slice: Slice,
    /// The operation whose result it is, or whose scratch memory.
    pub value: Option<Member>,
    /// It is scratch memory.
    pub scratch: bool,
    /// The step that writes it first; none if it is there from the beginning.
    pub first: Option<usize>,
    /// The step that reads it last; none if it is read when the program ends.
    pub last: Option<usize>,
}

/// Explains a program whose values have places.
pub(super) fn explain(form: &Module, placed: &Placed<'_>) -> Explanation {
    let func = &form.funcs()[0];
    let e = Explaining { form, func, placed, numbers: numbers(placed) };
    let lives = e.lives();
    let (peak, at) = e.peak(&lives);
    let mut lives: Vec<Life> = lives.into_iter().map(|live| e.life(live)).collect();
    lives.sort_by_key(|life| (life.slice.base, life.slice.offset, life.first));
    let unfused = fuse::unfused(func, placed.cx).into_iter();
    // What is not made needs no fusion.
    let made = unfused.filter(|u| !matches!(placed.choices.of(u.inst), Choice::Iota(_)));
    let unfused = made.map(|u| Unfused {
        member: e.member(func.inst(u.inst)),
        reason: u.reason,
        beside: u.beside.map(|inst| e.member(func.inst(inst))),
    });
    Explanation {
        steps: e.steps(),
        unfused: unfused.collect(),
        borders: e.borders(),
        lives,
        peak,
        peak_step: e.step(at).unwrap_or(0),
    }
}

/// For each position, the number of steps that have begun; none have at position 0.
fn numbers(placed: &Placed<'_>) -> Vec<usize> {
    let mut begun = 0;
    let after = placed.events.iter().map(|event| {
        begun += usize::from(begins(*event, placed));
        begun
    });
    std::iter::once(0).chain(after).collect()
}

/// True if a step begins here.
fn begins(event: Event<'_>, placed: &Placed<'_>) -> bool {
    match event {
        Event::Do(inst) => has_thunk(inst, placed.choices, placed.places),
        Event::Begin(_) => true,
        Event::Next(..) | Event::End(_) => false,
    }
}

/// A piece of memory that the program writes.
#[derive(Clone, Copy)]
struct Live {
    slice: Slice,
    first: u32,
    last: u32,
    /// Whose memory it is: that of this result, or scratch memory.
    of: Option<(InstId, Option<usize>)>,
}

struct Explaining<'a> {
    form: &'a Module,
    func: &'a Func,
    placed: &'a Placed<'a>,
    numbers: Vec<usize>,
}

impl Explaining<'_> {
    /// The instructions that are steps, in their order.
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

    fn borders(&self) -> Vec<Border> {
        let numbers: FxHashMap<InstId, usize> =
            self.insts().enumerate().map(|(i, inst)| (inst.id(), i)).collect();
        let step = |id: InstId| Some((*numbers.get(&id)?, self.result(self.func.inst(id), Some(0))));
        let borders = fuse::borders(self.func, self.placed.cx).into_iter();
        borders
            .filter_map(|b| Some(Border { from: step(b.from)?, to: step(b.to)?, reason: b.reason }))
            .collect()
    }

    fn members(&self, inst: Inst<'_>) -> Vec<Member> {
        let Some(region) = inst.region(0).filter(|_| *inst.op() == Op::Fusion) else { return Vec::new() };
        region.insts().filter(|i| *i.op() != Op::Return).map(|i| self.member(i)).collect()
    }

    fn member(&self, inst: Inst<'_>) -> Member {
        let ty = inst.results().first().and_then(|v| inst.func().tensor(*v)).cloned();
        let op = short_name(inst.op());
        Member { op: op.strip_prefix("mhlo.").unwrap_or(op), ty, origin: self.origin(inst) }
    }

    /// What makes a result: of a fusion, the operation in it. Without a number, the instruction.
    fn result(&self, inst: Inst<'_>, number: Option<usize>) -> Member {
        let Some(number) = number else { return self.member(inst) };
        let inside = inst.region(0).filter(|_| *inst.op() == Op::Fusion);
        if let Some(made) = inside.and_then(|r| inst.func().defining_inst(*r.returned().get(number)?)) {
            return self.member(made);
        }
        let ty = inst.results().get(number).and_then(|v| inst.func().tensor(*v)).cloned();
        Member { ty, ..self.member(inst) }
    }

    fn origin(&self, inst: Inst<'_>) -> Origin {
        Origin::of(inst, &self.form.source)
    }

    /// The step that has begun last at a position.
    fn step(&self, position: u32) -> Option<usize> {
        self.numbers.get(position as usize)?.checked_sub(1)
    }

    fn lives(&self) -> Vec<Live> {
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
        let live = |id: PieceId| Live {
            slice: places.slice(id),
            first: lives.first[id.index()],
            last: lives.last[id.index()],
            of: of.get(&id).copied(),
        };
        pieces.map(live).collect()
    }

    fn life(&self, live: Live) -> Life {
        let ends = live.last as usize > self.placed.events.len();
        Life {
            slice: live.slice,
            value: live.of.map(|(inst, result)| self.result(self.func.inst(inst), result)),
            scratch: matches!(live.of, Some((_, None))),
            first: self.step(live.first),
            last: if ends { None } else { self.step(live.last) },
        }
    }

    /// The most bytes of the arena at one position, and which that is.
    fn peak(&self, lives: &[Live]) -> (usize, u32) {
        let arena = || lives.iter().filter(|live| live.slice.base == Base::Arena);
        // What takes over the place of a value whose life ends there is not there besides it.
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
