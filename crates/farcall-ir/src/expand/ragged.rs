//! `chlo.ragged_dot` as a single product: an operand with a ragged dimension is copied for each group, with
//! zeros in place of elements outside of the group. Groups along a batch dimension have no effect.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::derived::Ragged;
use crate::op::{Binary, ComparisonDirection, DotGeneral, Op, RaggedDot};
use crate::types::TensorType;

/// The groups of a ragged dimension.
struct Groups {
    count: usize,
    /// First index of each group.
    starts: ValueId,
    /// End index of each group.
    ends: ValueId,
}

impl Builder<'_> {
    pub(super) fn ragged_dot(
        &mut self,
        dot: &RaggedDot,
        lhs: ValueId,
        rhs: ValueId,
        sizes: ValueId,
        result: &TensorType,
    ) -> Option<ValueId> {
        if dot.ragged() == Ragged::Batch {
            // Each batch has a separate product, whatever its group.
            let op = product(
                dot,
                [dot.lhs_batch.clone(), dot.rhs_batch.clone()],
                [dot.lhs_contract.clone(), dot.rhs_contract.clone()],
            );
            return Some(self.emit(op, &[lhs, rhs], result.clone()));
        }
        let groups = self.groups(sizes)?;
        match dot.ragged() {
            Ragged::Contracting => self.ragged_contracting(dot, &groups, [lhs, rhs], result),
            _ => self.ragged_free(dot, &groups, [lhs, rhs], result),
        }
    }

    /// Groups of rows of lhs, each multiplied by its own matrix of rhs: the group dimension is contracted as
    /// well.
    fn ragged_free(
        &mut self,
        dot: &RaggedDot,
        groups: &Groups,
        [lhs, rhs]: [ValueId; 2],
        result: &TensorType,
    ) -> Option<ValueId> {
        let mask = self.members_of_lhs(dot, groups, lhs)?;
        let lhs = self.masked(lhs, mask);
        let group = *dot.rhs_group.first()?;
        let contract = |list: &[usize], group: usize| [list, &[group]].concat();
        let op = product(
            dot,
            [shifted(&dot.lhs_batch), dot.rhs_batch.clone()],
            [contract(&shifted(&dot.lhs_contract), 0), contract(&dot.rhs_contract, group)],
        );
        Some(self.emit(op, &[lhs, rhs], result.clone()))
    }

    /// A separate product for each group: the group dimension is a batch dimension.
    fn ragged_contracting(
        &mut self,
        dot: &RaggedDot,
        groups: &Groups,
        [lhs, rhs]: [ValueId; 2],
        result: &TensorType,
    ) -> Option<ValueId> {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        let mask = self.members_of_lhs(dot, groups, lhs)?;
        let position = dot.lhs_contract.iter().position(|d| dot.lhs_ragged.first() == Some(d))?;
        // The same mask for rhs, so that elements outside of a group, which may be infinite, are not
        // multiplied by zero.
        let counterpart = |d: &usize| {
            let of = |from: &[usize], to: &[usize]| Some(to[from.iter().position(|x| x == d)?]);
            of(&dot.lhs_batch, &dot.rhs_batch).or_else(|| of(&dot.lhs_contract, &dot.rhs_contract))
        };
        let counterparts = dot.prefix(left.rank()).iter().map(counterpart).collect::<Option<Vec<usize>>>()?;
        let along = *dot.rhs_contract.get(position)?;
        let right_mask = self.members(groups, right.sizes(), along, &counterparts)?;
        let (lhs, rhs) = (self.masked(lhs, mask), self.masked(rhs, right_mask));
        let first = |list: &[usize]| [&[0], shifted(list).as_slice()].concat();
        let op = product(
            dot,
            [first(&dot.lhs_batch), first(&dot.rhs_batch)],
            [shifted(&dot.lhs_contract), shifted(&dot.rhs_contract)],
        );
        Some(self.emit(op, &[lhs, rhs], result.clone()))
    }

    fn members_of_lhs(&mut self, dot: &RaggedDot, groups: &Groups, lhs: ValueId) -> Option<ValueId> {
        let ty = self.ty(lhs);
        self.members(groups, ty.sizes(), *dot.lhs_ragged.first()?, &dot.prefix(ty.rank()))
    }

    /// A mask of the elements of a tensor that belong to each group of its dimension `along`, with the group
    /// dimension first. The sizes of groups may depend on the index in the dimensions `prefix`.
    fn members(
        &mut self,
        groups: &Groups,
        dims: &[usize],
        along: usize,
        prefix: &[usize],
    ) -> Option<ValueId> {
        let all = [&[groups.count], dims].concat();
        let limit = self.ty(groups.starts);
        let index = self.iota(limit.dtype, &all, along + 1);
        let mut positions = if limit.rank() == 1 { Vec::new() } else { shifted(prefix) };
        positions.push(0);
        let [start, end] = [groups.starts, groups.ends].map(|limit| self.in_order(limit, &positions, &all));
        let (after, before) =
            (self.is(ComparisonDirection::Ge, index, start), self.is(ComparisonDirection::Lt, index, end));
        self.binary(Binary::And, after, before)
    }

    /// A copy of a tensor for each group, with zeros in place of elements outside of the group.
    fn masked(&mut self, x: ValueId, mask: ValueId) -> ValueId {
        let (dtype, all) = (self.ty(x).dtype, self.ty(mask));
        let spread = self.broadcast(x, &(1..all.rank()).collect::<Vec<_>>(), all.sizes());
        let zero = self.splat(0.0, dtype, all.sizes());
        self.select(mask, spread, zero)
    }

    /// Consecutive groups of these sizes.
    fn groups(&mut self, sizes: ValueId) -> Option<Groups> {
        let ty = self.ty(sizes);
        let count = *ty.sizes().last()?;
        let all = [ty.sizes(), &[count]].concat();
        let rank = ty.rank();
        // Element [i, j] is the size of group i if i ≤ j.
        let spread = self.broadcast(sizes, &(0..rank).collect::<Vec<_>>(), &all);
        let (i, j) = (self.iota(ty.dtype, &all, rank - 1), self.iota(ty.dtype, &all, rank));
        let counts = self.is(ComparisonDirection::Le, i, j);
        let zero = self.splat(0.0, ty.dtype, &all);
        let counted = self.select(counts, spread, zero);
        let ends = self.sum(counted, &[rank - 1]);
        let starts = self.binary(Binary::Subtract, ends, sizes)?;
        Some(Groups { count, starts, ends })
    }

    /// Broadcasts to dimensions that need not be in ascending order.
    fn in_order(&mut self, x: ValueId, positions: &[usize], to: &[usize]) -> ValueId {
        let mut order: Vec<usize> = (0..positions.len()).collect();
        order.sort_by_key(|i| positions[*i]);
        let sorted: Vec<usize> = order.iter().map(|i| positions[*i]).collect();
        let x = self.transpose(x, order);
        self.broadcast(x, &sorted, to)
    }
}

/// Shifts dimensions by one, for a new first dimension.
fn shifted(dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|d| d + 1).collect()
}

/// A product with these batch and contracting dimensions.
fn product(
    dot: &RaggedDot,
    [lhs_batch, rhs_batch]: [Vec<usize>; 2],
    [lhs_contract, rhs_contract]: [Vec<usize>; 2],
) -> Op {
    let (precision, algorithm) = (dot.precision.clone(), None);
    Op::DotGeneral(Box::new(DotGeneral {
        lhs_batch,
        rhs_batch,
        lhs_contract,
        rhs_contract,
        precision,
        algorithm,
    }))
}
