//! Common subexpression elimination: within a region, an operation is replaced by an earlier equal operation
//! on equal operands.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::{Pass, PassOptions, each_inst, is_pure};
use crate::module::{Func, Inst, InstId, RegionId, ValueId};
use crate::op::{CustomCall, Op};
use crate::types::Type;

/// The common subexpression elimination pass.
pub static PASS: Pass = Pass { name: "cse", about: "merges equal operations on equal operands", run };

fn run(func: &mut Func, _: &PassOptions) {
    // Instructions of a region by their hash. Of several instructions with the same hash, only the last is
    // kept: a collision merely costs a missed merge.
    let mut seen: FxHashMap<(RegionId, u64), InstId> = FxHashMap::default();
    seen.reserve(func.inst_count());
    each_inst(func, |r, region, id| {
        let inst = r.func().inst(id);
        if !is_mergeable(inst) {
            return;
        }
        let key = (region, hash(inst));
        match seen.insert(key, id) {
            Some(first) if are_equal(r.func().inst(first), inst) => {
                seen.insert(key, first);
                let values = SmallVec::<[ValueId; 2]>::from(r.func().inst(first).results());
                r.replace(id, &values);
            }
            _ => {}
        }
    });
}

/// Maximum number of elements of a constant that is compared; plans store equal constants once anyway.
const MAX_CONSTANT_ELEMENTS: usize = 1024;

/// Returns true for instructions that can be merged with an equal instruction. Custom calls qualify if they
/// have no side effects and are not ordered by tokens. Instructions with regions do not qualify, since
/// regions are not compared.
fn is_mergeable(inst: Inst<'_>) -> bool {
    let comparable = match inst.op() {
        Op::CustomCall(call) if is_ordered(call) => false,
        // Constants with unknown elements may differ.
        Op::Elided(_) => false,
        Op::Constant(literal) => literal.is_splat() || literal.len() <= MAX_CONSTANT_ELEMENTS,
        _ => inst.region_ids().is_empty() && !inst.results().is_empty(),
    };
    comparable && is_pure(inst)
}

/// Returns true if a call originally had tokens, which the middle form drops.
fn is_ordered(call: &CustomCall) -> bool {
    let mut types: Vec<&Type> = call.types.iter().flat_map(|t| t.params.iter().chain(&t.results)).collect();
    while let Some(ty) = types.pop() {
        match ty {
            Type::Token => return true,
            Type::Tuple(parts) | Type::Future(parts) => types.extend(&**parts),
            _ => {}
        }
    }
    false
}

fn hash(inst: Inst<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    inst.op().hash(&mut hasher);
    inst.operands().hash(&mut hasher);
    inst.results().first().map(|v| inst.func().ty(*v)).hash(&mut hasher);
    hasher.finish()
}

fn are_equal(a: Inst<'_>, b: Inst<'_>) -> bool {
    let func = a.func();
    let types = a.results().iter().map(|v| func.ty(*v)).eq(b.results().iter().map(|v| func.ty(*v)));
    types && a.operands() == b.operands() && a.op() == b.op() && a.attrs() == b.attrs()
}
