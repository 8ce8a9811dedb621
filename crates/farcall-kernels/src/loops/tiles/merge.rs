//! Merging of steps into one: two operations, if only the second uses the result of the first; two shifts
//! that form a rotation; the rounds of a hash; the operations of an expression.

use std::sync::Arc;

use farcall_ir::DType;
use farcall_ir::op::Binary;

use super::super::expression::{Expr, ScalarOp};
use super::super::ir::{Level, LoopOp, Slot};
use super::super::vector::{map2, superinstructions};
use super::expressions::expressions;
use super::rounds::rounds;
use super::{MIN_ROUNDS_ELEMENTS, SsaLoop, word};

/// Minimum number of elements for which generating code pays off.
const MIN_GENERATED_ELEMENTS: usize = 1 << 13;

/// Merges steps of a program of `n` elements where possible (rounds only if not `by_rows`), and removes steps
/// without uses. `roots` are the values used outside of the steps; merging updates them to the numbers of the
/// remaining steps.
pub(crate) fn merge<'a>(
    steps: &mut Vec<SsaLoop>,
    n: usize,
    by_rows: bool,
    roots: impl Iterator<Item = &'a mut Slot>,
) {
    let roots: Vec<&mut Slot> = roots.collect();
    let mut uses = vec![0usize; steps.len()];
    for slot in steps.iter().flat_map(|s| &s.operands).chain(roots.iter().map(|slot| &**slot)) {
        if let Slot::Loop(s) = *slot {
            uses[s] += 1;
        }
    }
    // A step without uses does not count as a user of its operands.
    for s in (0..steps.len()).rev().filter(|s| uses[*s] == 0).collect::<Vec<_>>() {
        release(steps, s, &mut uses);
    }
    for s in 0..steps.len() {
        if uses[s] > 0 && steps[s].level != Level::Uniform {
            rotation(steps, s, &mut uses);
        }
    }
    if !by_rows && n >= MIN_ROUNDS_ELEMENTS {
        rounds(steps, &mut uses);
    }
    if n >= MIN_GENERATED_ELEMENTS {
        expressions(steps, &mut uses);
    }
    for s in 0..steps.len() {
        if uses[s] > 0 && steps[s].level != Level::Uniform {
            pair(steps, s, &mut uses);
        }
    }
    // The number of each remaining step among the remaining steps.
    let mut left = 0;
    let numbers: Vec<usize> = uses
        .iter()
        .map(|uses| {
            left += usize::from(*uses > 0);
            left.wrapping_sub(1)
        })
        .collect();
    let mut taken = uses.iter().map(|uses| *uses > 0);
    steps.retain(|_| taken.next() == Some(true));
    for slot in steps.iter_mut().flat_map(|s| &mut s.operands).chain(roots) {
        if let Slot::Loop(s) = slot {
            *s = numbers[*s];
        }
    }
}

/// Subtracts the uses by a step that has no uses itself. Operands that then have no uses are treated in the
/// same way.
fn release(steps: &[SsaLoop], s: usize, uses: &mut [usize]) {
    let mut stack = vec![s];
    while let Some(s) = stack.pop() {
        for slot in &steps[s].operands {
            if let Slot::Loop(x) = *slot {
                uses[x] -= 1;
                if uses[x] == 0 {
                    stack.push(x);
                }
            }
        }
    }
}

/// Returns the step that produces an operand, if nothing else uses its result and the result has this level.
fn only(steps: &[SsaLoop], slot: Slot, level: Level, uses: &[usize]) -> Option<usize> {
    match slot {
        Slot::Loop(s) if uses[s] == 1 && steps[s].level == level => Some(s),
        _ => None,
    }
}

/// Merges the shifts and the `or` of `(x << a) | (x >> (32 - a))` into a rotation.
fn rotation(steps: &mut [SsaLoop], s: usize, uses: &mut [usize]) -> Option<()> {
    let Some(ScalarOp::Binary(Binary::Or | Binary::Xor | Binary::Add, DType::U32 | DType::S32)) =
        steps[s].op.scalar_op()
    else {
        return None;
    };
    let &[x, y] = &steps[s].operands[..] else { return None };
    let (x, y) = (only(steps, x, steps[s].level, uses)?, only(steps, y, steps[s].level, uses)?);
    let shift = |s: usize| match steps[s].op.scalar_op()? {
        ScalarOp::Binary(op, _) => Some((op, steps[s].operands[0], steps[s].operands[1])),
        _ => None,
    };
    let (left, right) = match (shift(x)?, shift(y)?) {
        (x @ (Binary::ShiftLeft, ..), y @ (Binary::ShiftRightLogical, ..)) => (x, y),
        (x @ (Binary::ShiftRightLogical, ..), y @ (Binary::ShiftLeft, ..)) => (y, x),
        _ => return None,
    };
    let by = word(steps, left.2).filter(|by| (1..32).contains(by))?;
    (left.1 == right.1 && word(steps, right.2)?.checked_add(by) == Some(32)).then_some(())?;
    for shift in [x, y] {
        uses[shift] = 0;
    }
    for slot in [right.1, right.2] {
        if let Slot::Loop(x) = slot {
            uses[x] -= 1;
        }
    }
    let step = &mut steps[s];
    let code = map2::<u32, u32, u32>(u32::rotate_left);
    step.op = Arc::new(LoopOp::Compute(code, Some(Expr::single(ScalarOp::RotateLeft))));
    step.operands = [left.1, left.2].into_iter().collect();
    Some(())
}

/// Merges the two operations of `g(f(a, b), c)` into one step.
fn pair(steps: &mut [SsaLoop], s: usize, uses: &mut [usize]) -> Option<()> {
    let (step, second) = (&steps[s], steps[s].op.scalar_op()?);
    let found = step.operands.iter().enumerate().find_map(|(i, slot)| {
        let first = only(steps, *slot, step.level, uses)?;
        let expr = Expr::pair(steps[first].op.scalar_op()?, second, i == 1)?;
        Some((i, first, superinstructions::of(&expr)?, expr))
    });
    let (i, first, work, expr) = found?;
    let mut from = steps[first].operands.clone();
    from.extend(step.operands.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, slot)| *slot));
    uses[first] = 0;
    let cost = steps[first].cost;
    let step = &mut steps[s];
    (step.op, step.operands) = (Arc::new(LoopOp::Compute(work, Some(expr))), from);
    step.cost += cost;
    Some(())
}
