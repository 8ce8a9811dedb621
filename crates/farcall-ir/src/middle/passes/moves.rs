//! Values that are repeated and seen in other shapes on the way to where they end: broadcasts and reshapes that one another
//! take, and a concatenation that takes them, become one instruction, if the engine moves elements there at once. What is
//! between need not be made.
//!
//! ```text
//! twice = broadcast_in_dim(x);  both = concatenate(reshape(twice), y)
//!     ──▶  both = fusion(x, y) { broadcast_in_dim, reshape, concatenate }
//! ```
//!
//! It runs after [`fuse`], which has taken those that operations on elements take.

use super::{Context, Pass, each_inst, fuse, is_applied_to_elements, products};
use crate::module::{Func, InstId, RegionId, Rewriter};
use crate::op::Op;

/// Movements one after the other.
pub static PASS: Pass =
    Pass { name: "moves", about: "moves elements at once that are repeated, reshaped and concatenated", run };

fn run(func: &mut Func, cx: &Context) {
    each_inst(func, |r, region, inst| {
        let op = r.func().inst(inst).op();
        // Of others, a copy is saved only if something is repeated that is repeated again.
        let least = if let Op::Concatenate { .. } = op { 1 } else { 2 };
        if !is_move(op) || is_applied_to_elements(r.func(), region) || is_moved_on(r, region, inst) {
            return;
        }
        let chain = chain(r, region, inst);
        let is_repeat = |id: &&InstId| matches!(r.func().inst(**id).op(), Op::BroadcastInDim { .. });
        if chain.len() <= fuse::LONGEST && chain.iter().filter(is_repeat).count() >= least {
            products::join(r, &chain, cx);
        }
    });
}

fn is_move(op: &Op) -> bool {
    matches!(op, Op::BroadcastInDim { .. } | Op::Reshape | Op::Concatenate { .. })
}

/// True if nothing takes the result but another one of the region, which takes it along.
fn is_moved_on(r: &Rewriter<'_>, region: RegionId, inst: InstId) -> bool {
    let inst = r.func().inst(inst);
    let ([only], false) = (inst.results(), matches!(inst.op(), Op::Concatenate { .. })) else { return false };
    let [user] = r.users(*only) else { return false };
    let user = r.func().inst(*user);
    is_move(user.op()) && user.parent().is_some_and(|p| p.id() == region)
}

/// The broadcasts and reshapes of a region that lead to an instruction alone, and that itself.
fn chain(r: &Rewriter<'_>, region: RegionId, end: InstId) -> Vec<InstId> {
    let func = r.func();
    // Backwards: each of them has one user, which stands before it in the list.
    let mut chain = vec![end];
    let mut next = 0;
    while let Some(id) = chain.get(next).copied() {
        next += 1;
        let made = func.inst(id).operands().iter().filter(|v| r.users(**v).len() == 1);
        let made = made.filter_map(|v| func.defining_inst(*v)).filter(|made| {
            matches!(made.op(), Op::BroadcastInDim { .. } | Op::Reshape)
                && made.parent().is_some_and(|p| p.id() == region)
        });
        chain.extend(made.map(|made| made.id()));
    }
    chain.reverse();
    chain
}
