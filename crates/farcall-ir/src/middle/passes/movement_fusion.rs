//! Fusion of data movement: connected broadcasts and reshapes, and a concatenation of their results, become
//! one instruction if the engine moves the elements in one step. The intermediate values are never
//! materialized.
//!
//! ```text
//! twice = broadcast_in_dim(x);  both = concatenate(reshape(twice), y)
//!     ──▶  both = fusion(x, y) { broadcast_in_dim, reshape, concatenate }
//! ```
//!
//! The pass runs after [`fuse`](super::fuse), which has already fused the movements that elementwise operations use.

use super::{Pass, PassOptions, each_inst, is_applied_to_elements, product_fusion};
use crate::module::{Func, InstId, RegionId, Rewriter};
use crate::op::Op;

/// The pass for chains of data movement.
pub static PASS: Pass =
    Pass { name: "movement_fusion", about: "fuses chains of broadcasts, reshapes and concatenations", run };

fn run(func: &mut Func, cx: &PassOptions) {
    each_inst(func, |r, region, inst| {
        let op = r.func().inst(inst).op();
        // Without a concatenation, a fusion saves a copy only if a repeated value is repeated again.
        let least = if let Op::Concatenate { .. } = op { 1 } else { 2 };
        if !is_move(op) || is_applied_to_elements(r.func(), region) || is_moved_on(r, region, inst) {
            return;
        }
        let chain = chain(r, region, inst);
        let is_repeat = |id: &&InstId| matches!(r.func().inst(**id).op(), Op::BroadcastInDim { .. });
        if chain.len() <= cx.fusion_limits.ops && chain.iter().filter(is_repeat).count() >= least {
            product_fusion::join(r, &chain, cx);
        }
    });
}

fn is_move(op: &Op) -> bool {
    matches!(op, Op::BroadcastInDim { .. } | Op::Reshape | Op::Concatenate { .. })
}

/// Returns true if the only user of the result is another movement in the region. The chain of that movement
/// includes this instruction.
fn is_moved_on(r: &Rewriter<'_>, region: RegionId, inst: InstId) -> bool {
    let inst = r.func().inst(inst);
    let ([only], false) = (inst.results(), matches!(inst.op(), Op::Concatenate { .. })) else { return false };
    let [user] = r.users(*only) else { return false };
    let user = r.func().inst(*user);
    is_move(user.op()) && user.parent().is_some_and(|p| p.id() == region)
}

/// The broadcasts and reshapes of a region that only the instruction `end` uses, directly or through each
/// other, followed by `end`.
fn chain(r: &Rewriter<'_>, region: RegionId, end: InstId) -> Vec<InstId> {
    let func = r.func();
    // The list is built backwards: each instruction has one user, which is already in the list.
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
