//! Removes steps whose results nobody reads, and the call sites that they leave behind.
//!
//! A step stays if it has a side effect, if it holds one that does, or if something that stays reads
//! what it writes. Nobody reads a tensor without elements: a call all of whose other results are dead is
//! not made for the sake of one (JAX's decompositions of empty matrices rely on that).

use super::lower::{Home, Lowered, Operand, Step};
use crate::plan::{CallId, ReferenceId, ReferenceSite, ThunkOp};

/// Removes dead steps.
pub(super) fn remove(lowered: &mut Lowered) {
    let Lowered { steps, references, values, results, .. } = lowered;
    let mut sweep = Sweep { references, values, live: vec![false; values.len()] };
    sweep.read(results);
    sweep.steps(steps);
    compact(lowered);
}

/// Drops call sites and reference sites that no step names, and numbers the others anew.
fn compact(lowered: &mut Lowered) {
    let (mut calls, mut references) = (Vec::new(), Vec::new());
    for step in &lowered.steps {
        step.walk(&mut |s| match &s.op {
            ThunkOp::CustomCall(call) => calls.push(call.id.index()),
            ThunkOp::Reference(id) => references.push(id.index()),
            _ => {}
        });
    }
    keep(&mut lowered.calls, &calls);
    keep(&mut lowered.references, &references);
    let (mut call, mut reference) = (0, 0);
    renumber(&mut lowered.steps, &mut call, &mut reference);
}

/// Keeps the items at these positions, which are in order.
fn keep<T>(items: &mut Vec<T>, positions: &[usize]) {
    let mut wanted = positions.iter().peekable();
    let mut at = 0;
    items.retain(|_| {
        let keep = wanted.next_if(|w| **w == at).is_some();
        at += 1;
        keep
    });
}

/// Numbers calls and references in order of the steps, which is that in which they were made.
fn renumber(steps: &mut [Step], calls: &mut usize, references: &mut usize) {
    for step in steps {
        match &mut step.op {
            ThunkOp::CustomCall(call) => {
                call.id = CallId::new(*calls);
                *calls += 1;
            }
            ThunkOp::Reference(id) => {
                *id = ReferenceId::new(*references);
                *references += 1;
            }
            _ => {}
        }
        step.bodies.iter_mut().for_each(|body| renumber(body, calls, references));
    }
}

struct Sweep<'a> {
    references: &'a [ReferenceSite],
    /// Home and bytes of every value.
    values: &'a [(Home, usize)],
    live: Vec<bool>,
}

impl Sweep<'_> {
    /// Somebody reads these.
    fn read(&mut self, operands: &[Operand]) {
        for operand in operands {
            let at = operand.id.index();
            self.live[at] |= self.values[at].1 > 0;
        }
    }

    fn steps(&mut self, steps: &mut Vec<Step>) {
        let mut kept = Vec::with_capacity(steps.len());
        while let Some(mut step) = steps.pop() {
            let read = step.outputs.iter().any(|o| self.live[o.id.index()]);
            if !read && !has_effect(&step, self.references) {
                continue;
            }
            self.read(&step.inputs);
            if step.op == ThunkOp::While {
                // Whatever is carried may be read by the next iteration.
                self.read(&step.outputs);
            }
            for body in step.bodies.iter_mut().rev() {
                self.steps(body);
            }
            kept.push(step);
        }
        kept.reverse();
        *steps = kept;
    }
}

fn has_effect(step: &Step, references: &[ReferenceSite]) -> bool {
    let mut found = false;
    step.walk(&mut |s| {
        found |= match &s.op {
            ThunkOp::CustomCall(call) => call.side_effect,
            ThunkOp::Reference(id) => references[id.index()].has_side_effect(),
            _ => false,
        }
    });
    found
}
