//! Assigns every value a place in the arena: liveness over the steps in order, then first fit.
//!
//! A value lives from the first step that writes it to the last that reads it. A value that a loop uses, but that was
//! defined before the loop, lives until the loop ends. An output may take over the place of an input whose life ends
//! at the same step, if the operation allows that ([`Thunk::in_place`](crate::plan::Thunk::in_place)).
//!
//! A result is written to its final memory: its own, which the caller gets, or that of a donated input. Before the
//! result's life begins, that memory may be used by other values in turn, like a place in the arena, as long as their
//! lives have ended by then: values that a donated input becomes in place, and values from which the result is
//! computed in place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::donate::Wish;
use super::lower::{Home, Operand, Step};
use super::shares;
use crate::plan::{ALIGNMENT, Base, ParamId, ResultId, ThunkOp};

/// Places of all temporary values.
pub(super) struct Assignment {
    /// First byte of each value in the arena; 0 for values that are not in it.
    pub(super) offsets: Vec<usize>,
    /// The memory besides the arena that a value has: a donated input's, or a result's.
    pub(super) elsewhere: Vec<Option<Base>>,
    /// Bytes of the arena.
    pub(super) arena_size: usize,
}

/// Finds places. `results` live to the end.
pub(super) fn assign(
    steps: &[Step],
    results: &[Operand],
    values: &[(Home, usize)],
    wishes: &[Wish],
) -> Assignment {
    // Inputs are there before the first step.
    let first = values.iter().map(|(home, _)| if matches!(home, Home::Param(_)) { 0 } else { u32::MAX });
    let mut live = Liveness {
        first: first.collect(),
        last: vec![0; values.len()],
        position: 1,
        wanted: results.iter().map(|r| (r.id.index(), Vec::new())).collect(),
        ..Liveness::default()
    };
    live.visit(steps);
    let end = live.position;
    for r in results {
        live.touch(r, end);
    }
    live.extend_over_loops();
    let slots = slots(wishes, results, values, &live);
    let mut arena = Arena {
        values,
        live: &live,
        offsets: vec![usize::MAX; values.len()],
        owner_moved: vec![false; values.len()],
        free: Vec::new(),
        expiring: BinaryHeap::new(),
        size: 0,
        position: 1,
        slots,
        elsewhere: vec![None; values.len()],
    };
    arena.place(steps);
    let offsets = arena.offsets.into_iter().map(|o| if o == usize::MAX { 0 } else { o }).collect();
    Assignment { offsets, elsewhere: arena.elsewhere, arena_size: arena.size }
}

/// The memory that a result is to have in the end: of its own, or a donated input's.
struct Slot {
    base: Base,
    /// The value that has it, or had it last.
    holder: Option<usize>,
    /// The result.
    heir: usize,
}

/// Promises each donated input to one result, and memory of its own to every other.
fn slots(wishes: &[Wish], results: &[Operand], values: &[(Home, usize)], live: &Liveness) -> Slots {
    let mut inputs: FxHashMap<ParamId, usize> = FxHashMap::default();
    for (i, (home, _)) in values.iter().enumerate() {
        if let Home::Param(param) = home {
            inputs.entry(*param).or_insert(i);
        }
    }
    let mut slots = Slots::default();
    for wish in wishes {
        let Some(input) = inputs.get(&wish.param).copied() else { continue };
        let fits = |r: &usize| {
            values[*r] == (Home::Temp, values[input].1)
                && live.comes_before(input, *r)
                && !slots.by_heir.contains_key(r)
        };
        if let Some(heir) = wish.results.iter().map(|r| r.index()).find(fits) {
            slots.by_holder.insert(input, slots.all.len());
            slots.promise(Slot { base: Base::Param(wish.param), holder: Some(input), heir }, live);
        }
    }
    for (i, result) in results.iter().enumerate() {
        let heir = result.id.index();
        if values[heir].0 == Home::Temp && values[heir].1 > 0 && !slots.by_heir.contains_key(&heir) {
            slots.promise(Slot { base: Base::Result(ResultId::new(i)), holder: None, heir }, live);
        }
    }
    slots
}

/// The memory of all results.
#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    /// By the result.
    by_heir: FxHashMap<usize, usize>,
    /// By the value that has it now.
    by_holder: FxHashMap<usize, usize>,
    /// By a value in whose place the result can be written.
    by_source: FxHashMap<usize, usize>,
}

impl Slots {
    fn promise(&mut self, slot: Slot, live: &Liveness) {
        let number = self.all.len();
        self.by_heir.insert(slot.heir, number);
        for source in live.wanted.get(&slot.heir).into_iter().flatten() {
            self.by_source.entry(*source).or_insert(number);
        }
        self.all.push(slot);
    }
}

#[derive(Default)]
struct Liveness {
    first: Vec<u32>,
    last: Vec<u32>,
    position: u32,
    /// Loops that enclose the position: number in `ends`, first position.
    enclosing: Vec<(usize, u32)>,
    ends: Vec<u32>,
    /// Value and loop until whose end it lives.
    extended: Vec<(usize, usize)>,
    /// The results, with the values in whose place they can be written.
    wanted: FxHashMap<usize, Vec<usize>>,
}

impl Liveness {
    fn visit(&mut self, steps: &[Step]) {
        for step in steps {
            let at = self.position;
            self.position += 1;
            match step.op {
                ThunkOp::While => {
                    let number = self.ends.len();
                    self.ends.push(0);
                    self.enclosing.push((number, at));
                    for (i, body) in step.bodies.iter().enumerate() {
                        self.visit(body);
                        if i == 0 {
                            // The condition's result is read between condition and body.
                            let at = self.position;
                            self.position += 1;
                            step.inputs.iter().for_each(|x| self.touch(x, at));
                        }
                    }
                    let end = self.position;
                    self.position += 1;
                    step.outputs.iter().for_each(|x| self.touch(x, end));
                    self.enclosing.pop();
                    self.ends[number] = end;
                }
                _ => {
                    step.inputs.iter().for_each(|x| self.touch(x, at));
                    self.note_heirs(step);
                    step.bodies.iter().for_each(|b| self.visit(b));
                    let end = if step.bodies.is_empty() { at } else { self.position };
                    step.outputs.iter().for_each(|x| self.touch(x, end));
                    self.position = self.position.max(end + 1);
                }
            }
        }
    }

    /// Notes the inputs in whose place a result is written for the first time.
    fn note_heirs(&mut self, step: &Step) {
        for (o, output) in step.outputs.iter().enumerate() {
            let v = output.id.index();
            if let Some(inputs) = self.wanted.get_mut(&v).filter(|_| self.first[v] == u32::MAX) {
                let same = step.inputs.iter().filter(|x| shares(step, o, x.id));
                inputs.extend(same.map(|x| x.id.index()));
            }
        }
    }

    /// True if a value has ended when a result begins, or where it does if the result can be written in its place.
    fn comes_before(&self, v: usize, result: usize) -> bool {
        let (last, first) = (self.last[v], self.first[result]);
        let in_place = || self.wanted.get(&result).is_some_and(|sources| sources.contains(&v));
        last < first || (last == first && in_place())
    }

    fn touch(&mut self, x: &Operand, at: u32) {
        let v = x.id.index();
        self.first[v] = self.first[v].min(at);
        self.last[v] = self.last[v].max(at);
        // The outermost loop that began after the value did runs through all of its reads again.
        if let Some((number, _)) = self.enclosing.iter().find(|(_, begin)| *begin > self.first[v]) {
            self.extended.push((v, *number));
        }
    }

    fn extend_over_loops(&mut self) {
        for (v, number) in &self.extended {
            self.last[*v] = self.last[*v].max(self.ends[*number]);
        }
    }
}

struct Arena<'a> {
    values: &'a [(Home, usize)],
    live: &'a Liveness,
    offsets: Vec<usize>,
    /// True if another value took over the place.
    owner_moved: Vec<bool>,
    /// Offset and size, ordered, never adjacent.
    free: Vec<(usize, usize)>,
    expiring: BinaryHeap<Reverse<(u32, usize)>>,
    size: usize,
    position: u32,
    /// Memory besides the arena.
    slots: Slots,
    /// The values that have such memory.
    elsewhere: Vec<Option<Base>>,
}

impl Arena<'_> {
    /// Walks the steps with the same positions as [`Liveness::visit`].
    fn place(&mut self, steps: &[Step]) {
        for step in steps {
            let at = self.position;
            self.position += 1;
            if step.op == ThunkOp::While {
                for (i, body) in step.bodies.iter().enumerate() {
                    self.place(body);
                    self.position += u32::from(i == 0);
                }
                self.outputs(step, self.position);
                self.position += 1;
                continue;
            }
            step.bodies.iter().for_each(|b| self.place(b));
            let end = if step.bodies.is_empty() { at } else { self.position };
            self.outputs(step, end);
            self.position = self.position.max(end + 1);
        }
    }

    /// Gives places to those outputs of the step at this position that begin there.
    fn outputs(&mut self, step: &Step, at: u32) {
        self.expire(at);
        let mut taken = Vec::new();
        for (o, output) in step.outputs.iter().enumerate() {
            let v = output.id.index();
            let placed = self.offsets[v] != usize::MAX || self.elsewhere[v].is_some();
            if self.values[v].0 != Home::Temp || placed || self.inherit(step, o, at) {
                continue;
            }
            let heir = step.inputs.iter().find(|input| {
                let w = input.id.index();
                shares(step, o, input.id)
                    && self.values[w] == (Home::Temp, self.values[v].1)
                    && self.live.last[w] == at
                    && self.offsets[w] != usize::MAX
                    && !self.owner_moved[w]
                    && !taken.contains(&w)
            });
            match heir {
                Some(input) => {
                    let w = input.id.index();
                    taken.push(w);
                    self.owner_moved[w] = true;
                    self.offsets[v] = self.offsets[w];
                }
                None => self.offsets[v] = self.allocate(self.values[v].1),
            }
            self.expiring.push(Reverse((self.live.last[v], v)));
        }
    }

    /// Puts an output into the memory of a result, if it may have it.
    fn inherit(&mut self, step: &Step, output: usize, at: u32) -> bool {
        let (v, live) = (step.outputs[output].id.index(), self.live);
        let values = self.values;
        // Only a slot that was promised to it or to what is made of it, or one that an input has now, can be for
        // this output.
        let slots = &mut self.slots;
        let held = step.inputs.iter().filter_map(|x| slots.by_holder.get(&x.id.index()));
        let promised = [slots.by_heir.get(&v), slots.by_source.get(&v)];
        let mut candidates: Vec<usize> = promised.into_iter().flatten().chain(held).copied().collect();
        candidates.sort_unstable();
        let found = candidates.into_iter().find(|i| {
            let Slot { holder, heir, .. } = slots.all[*i];
            let over = holder.is_none_or(|w| live.last[w] < at);
            let in_place = || {
                holder.is_some_and(|w| {
                    live.last[w] == at
                        && values[w].1 == values[v].1
                        && step.inputs.iter().any(|x| x.id.index() == w && shares(step, output, x.id))
                })
            };
            let handed_on = || values[v].1 == values[heir].1 && live.comes_before(v, heir);
            (over || in_place()) && (v == heir || handed_on())
        });
        if let Some(i) = found {
            let slot = &mut slots.all[i];
            if let Some(w) = slot.holder.replace(v) {
                slots.by_holder.remove(&w);
            }
            slots.by_holder.insert(v, i);
            self.elsewhere[v] = Some(slot.base);
            return true;
        }
        false
    }

    fn expire(&mut self, at: u32) {
        while let Some(Reverse((last, v))) = self.expiring.peek().copied() {
            if last >= at {
                break;
            }
            self.expiring.pop();
            if !self.owner_moved[v] {
                self.release(self.offsets[v], rounded(self.values[v].1));
            }
        }
    }

    fn allocate(&mut self, bytes: usize) -> usize {
        let bytes = rounded(bytes);
        if bytes == 0 {
            return 0;
        }
        if let Some(i) = self.free.iter().position(|(_, size)| *size >= bytes) {
            let (offset, size) = self.free[i];
            if size == bytes {
                self.free.remove(i);
            } else {
                self.free[i] = (offset + bytes, size - bytes);
            }
            return offset;
        }
        // A hole at the end grows with the arena.
        let offset = match self.free.last() {
            Some((offset, size)) if offset + size == self.size => {
                let offset = *offset;
                self.free.pop();
                offset
            }
            _ => self.size,
        };
        self.size = offset.saturating_add(bytes);
        offset
    }

    fn release(&mut self, offset: usize, size: usize) {
        if size == 0 {
            return;
        }
        let i = self.free.partition_point(|(o, _)| *o < offset);
        self.free.insert(i, (offset, size));
        if i + 1 < self.free.len() && offset + size == self.free[i + 1].0 {
            self.free[i].1 += self.free.remove(i + 1).1;
        }
        if i > 0 && self.free[i - 1].0 + self.free[i - 1].1 == self.free[i].0 {
            self.free[i - 1].1 += self.free.remove(i).1;
        }
    }
}

fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}
