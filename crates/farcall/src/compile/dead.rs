//! Removes steps whose results nobody reads, and the call sites that they leave behind.
//!
//! A step stays if it has a side effect, if it holds one that does, or if something that stays reads
//! what it writes.

use super::lower::{Lowered, Step};
use crate::plan::{CallId, ReferenceId, ReferenceSite, ThunkOp};

/// Removes dead steps.
pub(super) fn remove(lowered: &mut Lowered) {
    let mut live = vec![false; lowered.values.len()];
    lowered.results.iter().for_each(|r| live[r.id.index()] = true);
    sweep(&mut lowered.steps, &lowered.references, &mut live);
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

fn sweep(steps: &mut Vec<Step>, references: &[ReferenceSite], live: &mut [bool]) {
    let mut kept = Vec::with_capacity(steps.len());
    while let Some(mut step) = steps.pop() {
        if !has_effect(&step, references) && !step.outputs.iter().any(|o| live[o.id.index()]) {
            continue;
        }
        step.inputs.iter().for_each(|i| live[i.id.index()] = true);
        if step.op == ThunkOp::While {
            // Whatever is carried may be read by the next iteration.
            step.outputs.iter().for_each(|o| live[o.id.index()] = true);
        }
        for body in step.bodies.iter_mut().rev() {
            sweep(body, references, live);
        }
        kept.push(step);
    }
    kept.reverse();
    *steps = kept;
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
