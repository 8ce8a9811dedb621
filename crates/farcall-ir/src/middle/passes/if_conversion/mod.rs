//! Simplification of regions that are applied to elements (reducers, comparators), so that fast kernels
//! support the regions.
//!
//! - `branches`: `if` and `case` become selects.
//! - Values that depend only on captured values are computed once, before the operation ([`licm`]).
//! - `bits`: a reducer that only uses the bit patterns of its arguments becomes a reducer of integers.
//! - `keys`: the keys that a comparator computes from its arguments are computed once per element, before the
//!   sort.
//!
//! Plain operations on scalars cannot fail, so a program cannot observe that all branches are computed, or
//! that values are computed before the operation.

mod bits;
mod branches;
mod keys;

use super::licm::{self, may_fail};
use super::{Pass, PassOptions, dce, each_inst, is_applied_to_elements, is_pure};
use crate::module::{Func, Inst, InstId, ValueId};
use crate::op::{FormOp, Op, Traits};
use crate::types::TensorType;

/// The pass for regions that are applied to elements.
pub static PASS: Pass = Pass {
    name: "if_conversion",
    about: "turns branches of reducers into selects, computes sort keys once",
    run,
};

/// Maximum number of instructions in a region that is rewritten.
const MAX_INSTRUCTIONS: usize = 256;

fn run(func: &mut Func, cx: &PassOptions) {
    let mut applying: Vec<InstId> = Vec::new();
    func.walk(&mut |inst| {
        if applies_to_elements(inst) {
            applying.push(inst.id());
        }
    });
    if applying.is_empty() {
        return;
    }
    let mut changed = branches::run(func);
    for inst in applying {
        changed |= licm::hoist_all(func, inst);
    }
    if changed {
        // Kernels do not recognize regions with unused captures.
        (dce::PASS.run)(func, cx);
    }
    each_inst(func, |r, region, id| {
        if !is_applied_to_elements(r.func(), region) && applies_to_elements(r.func().inst(id)) {
            let id = bits::run(r, id);
            keys::run(r, id, cx);
        }
    });
}

/// Returns true for operations with regions that are applied to elements of their operands.
pub(super) fn applies_to_elements(inst: Inst<'_>) -> bool {
    matches!(
        inst.op(),
        Op::Reduce { .. }
            | Op::ReduceWindow(_)
            | Op::SelectAndScatter(_)
            | Op::Scatter(_)
            | Op::Form(FormOp::WrappingScatter(_))
            | Op::Sort { .. }
            | Op::Form(FormOp::PartialSort { .. })
            | Op::Map { .. }
    )
}

/// Returns true for operations on scalars that have no regions and cannot fail.
fn is_plain(inst: Inst<'_>) -> bool {
    let is_number = |v: &ValueId| number(inst.func(), *v).is_some();
    inst.region_ids().is_empty()
        && is_pure(inst)
        && !may_fail(inst)
        && !matches!(inst.op(), Op::CustomCall(_))
        && !inst.op().info().is(Traits::TERMINATOR)
        && inst.operands().iter().chain(inst.results()).all(is_number)
}

/// The type of a value, if the value is a tensor of rank 0 and not quantized.
fn number(func: &Func, value: ValueId) -> Option<&TensorType> {
    func.tensor(value).filter(|ty| ty.rank() == 0 && ty.quant.is_none())
}
