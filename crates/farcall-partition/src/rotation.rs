//! Rotations: concatenations of two slices of one value that move its first elements behind its last ones, as
//! `roll` of `jax.numpy` does. Devices exchange only what crosses the borders of their parts.

use farcall_ir::module::Inst;
use farcall_ir::op::Op;
use farcall_ir::{Func, InstId, TensorType, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::rule::Rule;

/// A rotation of a value along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rotation {
    pub(crate) source: ValueId,
    pub(crate) dim: usize,
    /// Index of the source's element that comes first in the result.
    pub(crate) first: usize,
}

impl Rotation {
    /// Recognizes a rotation.
    pub(crate) fn of(inst: Inst<'_>) -> Option<Rotation> {
        let Op::Concatenate { dim } = *inst.op() else { return None };
        let [upper, lower] = *inst.operands() else { return None };
        let func = inst.func();
        let (source, upper) = range(func, upper, dim)?;
        let (other, lower) = range(func, lower, dim)?;
        let size = func.tensor(source)?.static_sizes()?[dim];
        let covers = size > 0 && lower.start == 0 && lower.end == upper.start && upper.end == size;
        (source == other && covers).then_some(Rotation { source, dim, first: upper.start })
    }

    /// Returns the rule for the source and the result, which have these sizes. Along the rotated dimension,
    /// parts have no padding.
    pub(crate) fn rule(self, sizes: &[usize]) -> Rule {
        let mut rule = Rule::identity(sizes);
        rule.is_pointwise = false;
        rule.factors[self.dim].can_be_uneven = false;
        rule
    }
}

/// Returns the value of which another one is a slice along `dim`, with the range of its elements.
fn range(func: &Func, value: ValueId, dim: usize) -> Option<(ValueId, std::ops::Range<usize>)> {
    let inst = func.defining_inst(value)?;
    let Op::Slice(slice) = inst.op() else { return None };
    let source = inst.operands()[0];
    let sizes = func.tensor(source).and_then(TensorType::static_sizes)?;
    let is_range = sizes.iter().enumerate().all(|(d, size)| {
        slice.strides[d] == 1 && (d == dim || (slice.start[d], slice.limit[d]) == (0, *size))
    });
    is_range.then_some((source, slice.start[dim]..slice.limit[dim]))
}

/// The rotations of a function along divided dimensions.
#[derive(Default)]
pub(crate) struct Rotations {
    all: FxHashMap<InstId, Rotation>,
    /// Slices that only these rotations use.
    slices: FxHashSet<InstId>,
}

impl Rotations {
    /// Returns the rotations that `is_divided` selects.
    pub(crate) fn of(func: &Func, is_divided: impl Fn(Inst<'_>, Rotation) -> bool) -> Rotations {
        let mut found = Rotations::default();
        let mut used: FxHashSet<ValueId> = FxHashSet::default();
        let mut sliced = Vec::new();
        func.walk(&mut |inst| match Rotation::of(inst).filter(|rotation| is_divided(inst, *rotation)) {
            Some(rotation) => {
                found.all.insert(inst.id(), rotation);
                sliced.extend(inst.operands());
            }
            None => used.extend(inst.operands()),
        });
        let slices = sliced.iter().filter(|value| !used.contains(value));
        found.slices = slices.filter_map(|value| Some(func.defining_inst(*value)?.id())).collect();
        found
    }

    /// Returns the rotation of an instruction, if it is one along a divided dimension.
    pub(crate) fn get(&self, inst: Inst<'_>) -> Option<Rotation> {
        self.all.get(&inst.id()).copied()
    }

    /// Returns true for a slice that only such rotations use, so that it need not be computed.
    pub(crate) fn make_unused(&self, inst: Inst<'_>) -> bool {
        self.slices.contains(&inst.id())
    }
}
