//! Lets the steps of a loop's body write the carried values where the next iteration reads them, and the steps of a
//! branch write the branch's results, instead of copying at the end.
//!
//! Lowering ends every body with copies `y → c`. If `c` is no longer read once the first write to `y` starts, `y` can
//! be `c`, and the copy is removed.

use super::lower::{Home, Operand, Step, VirtualId};
use super::shares;
use crate::plan::ThunkOp;
use rustc_hash::FxHashSet;

/// Removes copies at the ends of bodies where that is safe.
pub(super) fn coalesce(steps: &mut Vec<Step>, results: &mut [Operand], values: &[(Home, usize)]) {
    // Branches first: what a branch yields begins where the branch begins to write it, which the
    // loop around it has to know.
    for kind in [Kind::Branch, Kind::Loop] {
        let mut names = Names((0..values.len()).map(|_| None).collect());
        let touches = Touches::of(steps, values.len());
        find(steps, kind, &touches, values, &mut names, &mut 0);
        names.apply(steps);
        results.iter_mut().for_each(|r| r.id = names.find(r.id));
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Branch,
    Loop,
}

/// The value that a value has become.
struct Names(Vec<Option<VirtualId>>);

impl Names {
    fn find(&self, mut id: VirtualId) -> VirtualId {
        while let Some(next) = self.0[id.index()] {
            id = next;
        }
        id
    }

    fn apply(&self, steps: &mut Vec<Step>) {
        for step in steps.iter_mut() {
            step.inputs.iter_mut().chain(&mut step.outputs).for_each(|o| o.id = self.find(o.id));
            step.bodies.iter_mut().for_each(|b| self.apply(b));
        }
        steps.retain(|s| s.op != ThunkOp::Copy || s.inputs[0].id != s.outputs[0].id);
    }
}

/// Where each value is read and first written. Positions count steps in order of the text; the
/// operands of a step that has bodies count where it ends.
struct Touches<'a> {
    reads: Vec<Vec<u32>>,
    first_write: Vec<u32>,
    /// The step at each position; `None` where one that has bodies ends.
    steps: Vec<Option<&'a Step>>,
}

impl<'a> Touches<'a> {
    fn of(steps: &'a [Step], values: usize) -> Touches<'a> {
        let mut t = Touches {
            reads: vec![Vec::new(); values],
            first_write: vec![u32::MAX; values],
            steps: Vec::new(),
        };
        t.visit(steps);
        t
    }

    fn visit(&mut self, steps: &'a [Step]) {
        for step in steps {
            self.steps.push(Some(step));
            step.bodies.iter().for_each(|b| self.visit(b));
            if !step.bodies.is_empty() {
                self.steps.push(None);
            }
            let at = self.steps.len() as u32 - 1;
            step.inputs.iter().for_each(|i| self.reads[i.id.index()].push(at));
            for o in &step.outputs {
                let first = &mut self.first_write[o.id.index()];
                *first = (*first).min(at);
            }
        }
    }

    /// True if `value`, which begins to be written at this position, may lie where `other` lies, which is read
    /// there.
    fn shares(&self, at: u32, value: VirtualId, other: VirtualId) -> bool {
        let Some(step) = self.steps[at as usize] else { return false };
        let mut written = step.outputs.iter().enumerate().filter(|(_, o)| o.id == value);
        written.all(|(o, _)| shares(step, o, other))
    }
}

fn find(
    steps: &[Step],
    kind: Kind,
    touches: &Touches<'_>,
    values: &[(Home, usize)],
    names: &mut Names,
    at: &mut u32,
) {
    for step in steps {
        *at += 1;
        for body in &step.bodies {
            let begin = *at;
            find(body, kind, touches, values, names, at);
            let wanted = match step.op {
                ThunkOp::While => Kind::Loop,
                _ => Kind::Branch,
            };
            if wanted == kind {
                tail(step, body, begin..*at, touches, values, names);
            }
        }
        if !step.bodies.is_empty() {
            *at += 1;
        }
    }
}

/// Looks at the copies at the end of one body, which spans these positions.
fn tail(
    step: &Step,
    body: &[Step],
    span: std::ops::Range<u32>,
    touches: &Touches<'_>,
    values: &[(Home, usize)],
    names: &mut Names,
) {
    let outputs: FxHashSet<VirtualId> = step.outputs.iter().map(|o| o.id).collect();
    let yields = |id: VirtualId| outputs.contains(&id);
    let copies = body.iter().rev().take_while(|s| s.op == ThunkOp::Copy && yields(s.outputs[0].id)).count();
    let tail = &body[body.len() - copies..];
    let first_copy = span.end - copies as u32;
    let mut written = FxHashSet::default();
    for copy in tail {
        let (from, to) = (copy.inputs[0].id, copy.outputs[0].id);
        let same_size = values[from.index()].1 == values[to.index()].1;
        let begins = touches.first_write[from.index()];
        let local = values[from.index()].0 == Home::Temp && span.contains(&begins) && begins < first_copy;
        // A value that is handed over twice becomes the first of its places.
        let taken = names.0[from.index()].is_some() || yields(from);
        let twice = !written.insert(to);
        if !same_size || !local || taken || twice {
            continue;
        }
        let free = touches.reads[to.index()]
            .iter()
            .filter(|r| span.contains(r))
            .all(|r| *r < begins || (*r == begins && touches.shares(begins, from, to)));
        if free {
            names.0[from.index()] = Some(to);
        }
    }
}
