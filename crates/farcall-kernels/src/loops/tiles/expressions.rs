//! Merging of steps into expressions. An expression is one loop, in which intermediate results stay in
//! processor registers.
//!
//! ```text
//! x ─┬─ · ─ · ─ + ─ · ──▶ sine ──▶ + ─ · ─ · ──▶  Functions such as the sine have a loop of their own;
//!    ╰──────────╯                         ╰── x       the operations around them form expressions.
//! ```

use std::collections::BinaryHeap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::super::capability::{ExprKind, Lane, machine_code};
use super::super::expression::{Expr, Leaf, MAX_OPERANDS, Node, ScalarOp};
use super::super::ir::{Level, LoopOp, Slot};
use super::super::native;
use super::SsaLoop;

/// Maximum number of operations in an expression, to bound compile time and register pressure.
const MAX_EXPR_OPS: usize = 24;

/// Forms expressions, starting from the last step. Each expression is as long as possible.
pub(crate) fn expressions(steps: &mut [SsaLoop], uses: &mut [usize]) {
    for last in (0..steps.len()).rev() {
        if uses[last] > 0 && steps[last].level == Level::Full {
            let _installed = Group::of(steps, uses, last).and_then(|group| group.install(steps, uses));
        }
    }
}

/// Returns the operation of a step if it can be in an expression over elements of `size` bytes.
fn scalar_op(step: &SsaLoop, size: usize) -> Option<ScalarOp> {
    let op = step.op.scalar_op().filter(|_| step.level == Level::Full)?;
    let operands = machine_code(op, ExprKind::Loop)?.operands;
    operands.iter().all(|lane| matches!(lane, Lane::Pred) || *lane == Lane::Elements(size)).then_some(op)
}

/// Returns the bytes of the element if `slot` is a constant.
fn constant(steps: &[SsaLoop], slot: Slot) -> Option<[u8; 8]> {
    let Slot::Loop(s) = slot else { return None };
    match &*steps[s].op {
        LoopOp::Constant(bytes) if matches!(steps[s].bytes, 4 | 8) => bytes[..8].try_into().ok(),
        _ => None,
    }
}

/// A group of steps. Only the result of the last step is used outside of the group.
struct Group {
    /// The steps, in order.
    members: Vec<usize>,
    /// Operands from outside of the group, without constants.
    operands: SmallVec<[Slot; MAX_OPERANDS + 1]>,
    /// Size of an element in bytes.
    size: usize,
}

impl Group {
    fn of(steps: &[SsaLoop], uses: &[usize], last: usize) -> Option<Group> {
        let Lane::Elements(size) = machine_code(steps[last].op.scalar_op()?, ExprKind::Loop)?.result else {
            return None;
        };
        scalar_op(&steps[last], size)?;
        let mut group = Group { members: vec![last], operands: SmallVec::new(), size };
        let mut taken: BinaryHeap<usize> = BinaryHeap::new();
        group.takes(steps, last, &mut taken);
        (group.operands.len() <= MAX_OPERANDS).then_some(())?;
        // Later steps come first. When a step is considered, all members that use its result are therefore
        // known.
        while let Some(s) = taken.pop() {
            let mut count = 1;
            while taken.peek() == Some(&s) {
                taken.pop();
                count += 1;
            }
            if group.members.len() == MAX_EXPR_OPS || count < uses[s] || scalar_op(&steps[s], size).is_none()
            {
                continue;
            }
            let (operands, before) = (group.operands.clone(), taken.clone());
            group.operands.retain(|slot| *slot != Slot::Loop(s));
            group.takes(steps, s, &mut taken);
            if group.operands.len() <= MAX_OPERANDS {
                group.members.push(s);
            } else {
                (group.operands, taken) = (operands, before);
            }
        }
        group.members.reverse();
        (group.members.len() > 1).then_some(group)
    }

    /// Records the operands of a member.
    fn takes(&mut self, steps: &[SsaLoop], member: usize, taken: &mut BinaryHeap<usize>) {
        for slot in &steps[member].operands {
            if constant(steps, *slot).is_some() {
                continue;
            }
            if let Slot::Loop(s) = *slot {
                taken.push(s);
            }
            if !self.operands.contains(slot) {
                self.operands.push(*slot);
            }
        }
    }

    /// Replaces the last step of the group by the expression.
    fn install(self, steps: &mut [SsaLoop], uses: &mut [usize]) -> Option<()> {
        let Group { members, operands, size } = self;
        let mut expr = Expr { nodes: SmallVec::with_capacity(members.len()) };
        for s in &members {
            let op = scalar_op(&steps[*s], size)?;
            let source = |slot: &Slot| {
                if let Some(bytes) = constant(steps, *slot) {
                    return Some(Leaf::Constant(bytes));
                }
                let member = members.iter().position(|member| Slot::Loop(*member) == *slot);
                let operand = || operands.iter().position(|operand| operand == slot);
                member.map(Leaf::Node).or_else(|| operand().map(Leaf::Operand))
            };
            let operands = steps[*s].operands.iter().map(source).collect::<Option<_>>()?;
            expr.nodes.push(Node { op, operands });
        }
        let work = native::expression(&expr)?;
        let (last, before) = members.split_last()?;
        for slot in members.iter().flat_map(|s| &steps[*s].operands) {
            if let Slot::Loop(s) = *slot {
                uses[s] -= 1;
            }
        }
        for slot in &operands {
            if let Slot::Loop(s) = *slot {
                uses[s] += 1;
            }
        }
        debug_assert!(before.iter().all(|s| uses[*s] == 0), "a step outside of the group uses a member");
        let cost = before.iter().map(|s| steps[*s].cost).sum::<usize>();
        let step = &mut steps[*last];
        step.operands = operands.into_iter().collect();
        step.op = Arc::new(LoopOp::Compute(work, Some(expr)));
        step.cost += cost;
        Some(())
    }
}
