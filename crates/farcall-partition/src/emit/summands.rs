//! Values that the devices along sub-axes hold as summands (*unreduced* values): the value is their sum.
//!
//! If every use of a value takes summands, the devices keep the summands that they have computed, instead of
//! adding them up.

use farcall_ir::module::Inst;
use farcall_ir::op::{Binary, Op};
use farcall_ir::{DType, ValueId};
use rustc_hash::FxHashMap;

use super::{Emitted, Emitter, Program};
use crate::grid::SubAxis;
use crate::tiling::Tiling;

/// Sub-axes along which all uses of a value take summands.
pub(super) type Wanted = FxHashMap<ValueId, Vec<SubAxis>>;

/// Returns the values of the function's body that are only used as summands.
pub(super) fn wanted(program: &Program<'_>) -> Wanted {
    let mut uses = Uses::default();
    let body = program.func.body();
    for (value, axes) in body.returned().iter().zip(program.unreduced_outputs) {
        uses.add(*value, axes);
    }
    let insts: Vec<Inst<'_>> = body.insts().collect();
    for inst in insts.into_iter().rev().filter(|inst| !matches!(inst.op(), Op::Return)) {
        let border = program.borders.get(&inst.id()).filter(|border| border.enters);
        let same = is_identity(program, inst).then(|| uses.wanted(inst.results()[0]));
        for (i, operand) in inst.operands().iter().enumerate() {
            match (border, &same) {
                (Some(border), _) => uses.add(*operand, &border.shardings[i].unreduced),
                (None, Some(axes)) => uses.add(*operand, axes),
                (None, None) => uses.add(*operand, &[]),
            }
        }
    }
    uses.0.into_iter().filter(|(_, axes)| !axes.is_empty()).collect()
}

/// Sub-axes along which the uses of each value take summands; none if the uses differ.
#[derive(Default)]
struct Uses(Wanted);

impl Uses {
    fn add(&mut self, value: ValueId, axes: &[SubAxis]) {
        let all = self.0.entry(value).or_insert_with(|| axes.to_vec());
        if *all != axes {
            all.clear();
        }
    }

    fn wanted(&self, value: ValueId) -> Vec<SubAxis> {
        self.0.get(&value).cloned().unwrap_or_default()
    }
}

/// Returns true for an operation whose result is its operand: a constraint on a sharding.
fn is_identity(program: &Program<'_>, inst: Inst<'_>) -> bool {
    matches!(inst.op(), Op::Reshape)
        && program.func.ty(inst.operands()[0]) == program.func.ty(inst.results()[0])
}

impl<'p> Emitter<'p> {
    /// Returns the sub-axes along which all uses of a value take summands.
    pub(super) fn wanted_summands(&self, value: ValueId) -> &[SubAxis] {
        self.wanted.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Keeps a part of a value as a summand, for the sub-axes along which summands are wanted.
    pub(super) fn hold_summand(&mut self, value: ValueId, tiling: Tiling, part: ValueId) {
        self.summands.insert(value, (tiling, part));
    }

    /// Keeps a value whose summands the devices along `axes` hold: as it is if it is wanted so, otherwise as the
    /// sum.
    pub(super) fn hold_sum(
        &mut self,
        value: ValueId,
        tiling: &Tiling,
        summand: ValueId,
        axes: &[SubAxis],
    ) -> Emitted<()> {
        if !axes.is_empty() && self.wanted_summands(value) == axes {
            self.hold_summand(value, tiling.clone(), summand);
            return Ok(());
        }
        let part = self.sum(summand, axes)?;
        self.hold_resharded(value, tiling, part)
    }

    /// If the operation is a constraint on a value that the devices hold as summands, keeps its result
    /// likewise, and returns true.
    pub(super) fn passes_summands(&mut self, inst: Inst<'p>) -> bool {
        if !is_identity(&self.program, inst) {
            return false;
        }
        let Some((tiling, part)) = self.summands.get(&inst.operands()[0]).cloned() else { return false };
        self.hold_summand(inst.results()[0], tiling, part);
        true
    }

    /// Returns true if the devices should keep the summands of a result that they have computed.
    pub(super) fn keeps_summands(
        &self,
        value: ValueId,
        combined: &[(Binary, Vec<SubAxis>)],
        tiling: &Tiling,
    ) -> bool {
        let wanted = self.wanted_summands(value);
        // Summands along the wanted sub-axes, in any order.
        let mut found: Vec<SubAxis> = combined.iter().flat_map(|(_, axes)| axes.iter().copied()).collect();
        let mut all = wanted.to_vec();
        found.sort_unstable();
        all.sort_unstable();
        !all.is_empty()
            && found == all
            && combined.iter().all(|(function, _)| *function == Binary::Add)
            && !tiling.dims.iter().flatten().any(|axis| wanted.contains(axis))
    }

    /// Returns a summand of a value, for the devices along `axes`; the part that a tiling gives to the device.
    /// Of devices that hold the same elements, the first one returns them, and the others return zeros.
    pub(super) fn summand_of(
        &mut self,
        value: ValueId,
        axes: &[SubAxis],
        tiling: &Tiling,
    ) -> Emitted<ValueId> {
        if axes.is_empty() {
            return self.part(value, tiling);
        }
        let ty = self.tensor(value).clone();
        if let Some((own, part)) = self.summands.get(&value).cloned() {
            return self.reshard(part, &ty, &own, tiling);
        }
        let (mut own, mut part) = self.first_part(value);
        let mut left = axes.to_vec();
        for dim in 0..ty.rank() {
            let kept = own.dims[dim].iter().take_while(|axis| !axes.contains(axis)).count();
            let inner = own.dims[dim][kept..].to_vec();
            let mut outer = own.clone();
            outer.dims[dim].truncate(kept);
            let (small, large) = (self.part_of(&ty, &own), self.part_of(&ty, &outer));
            let is_even = large.sizes()[dim] == small.sizes()[dim] * self.program.grid.parts(&inner);
            if inner.is_empty() || !is_even || !inner.iter().all(|axis| axes.contains(axis)) {
                continue;
            }
            // The device's elements stand at their place among zeros.
            let zeros = self.zeros(&large)?;
            let mut operands = vec![zeros, part];
            for d in 0..ty.rank() {
                operands.push(match d == dim {
                    true => self.offset(&inner, small.sizes()[dim], DType::S64)?,
                    false => self.number(0, DType::S64)?,
                });
            }
            part = self.at().value_of(Op::DynamicUpdateSlice, operands, large)?;
            left.retain(|axis| !inner.contains(axis));
            own = outer;
        }
        let part = self.reshard(part, &ty, &own, tiling)?;
        self.summand(part, &left)
    }
}
