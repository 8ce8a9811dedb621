//! `chlo.ragged_dot`, as one product in which elements that belong to no group are zero. Groups of batches change nothing.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::derived::Ragged;
use crate::op::{Binary, Direction, DotGeneral, Op, RaggedDot};
use crate::types::TensorType;

/// The groups of a ragged dimension.
struct Groups {
    count: usize,
    /// Where each begins and ends.
    starts: ValueId,
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
            // Each batch has its own product, whatever group it belongs to.
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

    /// Groups of rows of lhs, each with a matrix of rhs: groups are contracted as well.
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

    /// A product for each group: groups are a batching dimension.
    fn ragged_contracting(
        &mut self,
        dot: &RaggedDot,
        groups: &Groups,
        [lhs, rhs]: [ValueId; 2],
        result: &TensorType,
    ) -> Option<ValueId> {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        let mask = self.members_of_lhs(dot, groups, lhs)?;
        let place = dot.lhs_contract.iter().position(|d| dot.lhs_ragged.first() == Some(d))?;
        // The same mask for rhs, so that nothing outside of a group is multiplied by zero.
        let twin = |d: &usize| {
            let of = |from: &[usize], to: &[usize]| Some(to[from.iter().position(|x| x == d)?]);
            of(&dot.lhs_batch, &dot.rhs_batch).or_else(|| of(&dot.lhs_contract, &dot.rhs_contract))
        };
        let twins = dot.prefix(left.rank()).iter().map(twin).collect::<Option<Vec<usize>>>()?;
        let along = *dot.rhs_contract.get(place)?;
        let right_mask = self.members(groups, right.sizes(), along, &twins)?;
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

    /// Which elements of a tensor belong to which group of its dimension `along`: a dimension of groups before
    /// the others. Groups may differ along the dimensions `prefix`.
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
        let mut places = if limit.rank() == 1 { Vec::new() } else { shifted(prefix) };
        places.push(0);
        let [start, end] = [groups.starts, groups.ends].map(|limit| self.in_order(limit, &places, &all));
        let (after, before) = (self.is(Direction::Ge, index, start), self.is(Direction::Lt, index, end));
        self.binary(Binary::And, after, before)
    }

    /// A tensor for each group, with zeros in the place of the elements that do not belong to it.
    fn masked(&mut self, x: ValueId, mask: ValueId) -> ValueId {
        let (dtype, all) = (self.ty(x).dtype, self.ty(mask));
        let spread = self.broadcast(x, &(1..all.rank()).collect::<Vec<_>>(), all.sizes());
        let zero = self.splat(0.0, dtype, all.sizes());
        self.select(mask, spread, zero)
    }

    /// Groups of these sizes, one after the other.
    fn groups(&mut self, sizes: ValueId) -> Option<Groups> {
        let ty = self.ty(sizes);
        let count = *ty.sizes().last()?;
        let all = [ty.sizes(), &[count]].concat();
        let rank = ty.rank();
        // Element [i, j] is the size of group i if that is not behind group j.
        let spread = self.broadcast(sizes, &(0..rank).collect::<Vec<_>>(), &all);
        let (i, j) = (self.iota(ty.dtype, &all, rank - 1), self.iota(ty.dtype, &all, rank));
        let counts = self.is(Direction::Le, i, j);
        let zero = self.splat(0.0, ty.dtype, &all);
        let counted = self.select(counts, spread, zero);
        let ends = self.sum(counted, &[rank - 1]);
        let starts = self.binary(Binary::Subtract, ends, sizes)?;
        Some(Groups { count, starts, ends })
    }

    /// A broadcast to dimensions that need not be in order.
    fn in_order(&mut self, x: ValueId, places: &[usize], to: &[usize]) -> ValueId {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|i| places[*i]);
        let sorted: Vec<usize> = order.iter().map(|i| places[*i]).collect();
        let x = self.transpose(x, order);
        self.broadcast(x, &sorted, to)
    }
}

/// Dimensions behind a new first one.
fn shifted(dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|d| d + 1).collect()
}

/// The product over these batching and contracting dimensions.
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
