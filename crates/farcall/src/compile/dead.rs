//! Removes steps whose results nobody reads.
//!
//! A step stays if it has a side effect, if it holds one that does, or if something that stays reads
//! what it writes.

use super::lower::{Operand, Step};
use crate::plan::ThunkOp;

/// Removes dead steps; `results` are what the program returns.
pub(super) fn remove(steps: &mut Vec<Step>, results: &[Operand], values: usize) {
    let mut live = vec![false; values];
    results.iter().for_each(|r| live[r.id.index()] = true);
    sweep(steps, &mut live);
}

fn sweep(steps: &mut Vec<Step>, live: &mut [bool]) {
    let mut kept = Vec::with_capacity(steps.len());
    while let Some(mut step) = steps.pop() {
        if !has_effect(&step) && !step.outputs.iter().any(|o| live[o.id.index()]) {
            continue;
        }
        step.inputs.iter().for_each(|i| live[i.id.index()] = true);
        if step.op == ThunkOp::While {
            // Whatever is carried may be read by the next iteration.
            step.outputs.iter().for_each(|o| live[o.id.index()] = true);
        }
        for body in step.bodies.iter_mut().rev() {
            sweep(body, live);
        }
        kept.push(step);
    }
    kept.reverse();
    *steps = kept;
}

fn has_effect(step: &Step) -> bool {
    let mut found = false;
    step.walk(&mut |s| found |= matches!(&s.op, ThunkOp::CustomCall(c) if c.side_effect));
    found
}
