//! `chlo.ragged_dot`, as one product in which the elements that do not belong to a group are zero.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::derived::Ragged;
use crate::op::{Direction, DotGeneral, Op, RaggedDot};
use crate::types::TensorType;

impl Builder<'_> {
    pub(super) fn ragged_dot(
        &mut self,
        dot: &RaggedDot,
        lhs: ValueId,
        rhs: ValueId,
        sizes: ValueId,
        result: &TensorType,
    ) -> Option<ValueId> {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        let ragged = *dot.lhs_ragged.first()?;
        let groups = *self.ty(sizes).sizes().last()?;
        let prefix = dot.prefix(left.rank());
        let (starts, ends) = self.limits(sizes)?;
        // Which elements of an operand belong to which group: a dimension of groups before the others.
        let members = |b: &mut Self, dims: &[usize], along: usize, prefix: &[usize]| -> Option<ValueId> {
            let all = [&[groups][..], dims].concat();
            let index = b.iota(b.ty(starts).dtype, &all, along + 1);
            let shared = b.ty(starts).rank() == 1;
            let mut places: Vec<usize> = if shared { vec![] } else { prefix.iter().map(|d| d + 1).collect() };
            places.push(0);
            let [start, end] = [starts, ends].map(|limit| b.in_order(limit, &places, &all));
            let (after, before) = (b.is(Direction::Ge, index, start), b.is(Direction::Lt, index, end));
            b.binary(crate::op::Binary::And, after, before)
        };
        let shifted = |list: &[usize]| -> Vec<usize> { list.iter().map(|d| d + 1).collect() };
        let [lb, lc] = [&dot.lhs_batch, &dot.lhs_contract].map(|l| shifted(l));
        let masked = |b: &mut Self, x: ValueId, mask: ValueId| {
            let (dtype, all) = (b.ty(x).dtype, b.ty(mask));
            let spread = b.broadcast(x, &(1..all.rank()).collect::<Vec<_>>(), all.sizes());
            let zero = b.splat(0.0, dtype, all.sizes());
            b.select(mask, spread, zero)
        };
        let mask = members(self, left.sizes(), ragged, &prefix)?;
        let general = |lhs_batch, rhs_batch, lhs_contract, rhs_contract| {
            let (precision, algorithm) = (dot.precision.clone(), None);
            Op::DotGeneral(DotGeneral {
                lhs_batch,
                rhs_batch,
                lhs_contract,
                rhs_contract,
                precision,
                algorithm,
            })
        };
        match dot.ragged() {
            Ragged::Free => {
                let lhs = masked(self, lhs, mask);
                let group = *dot.rhs_group.first()?;
                let contract = |list: Vec<usize>, group: usize| [list, vec![group]].concat();
                let op = general(
                    lb,
                    dot.rhs_batch.clone(),
                    contract(lc, 0),
                    contract(dot.rhs_contract.clone(), group),
                );
                Some(self.emit(op, &[lhs, rhs], result.clone()))
            }
            Ragged::Contracting => {
                let place = dot.lhs_contract.iter().position(|d| *d == ragged)?;
                // The same mask for rhs, so that nothing outside of a group is multiplied by zero.
                let twin = |d: &usize| {
                    let of = |from: &[usize], to: &[usize]| Some(to[from.iter().position(|x| x == d)?]);
                    of(&dot.lhs_batch, &dot.rhs_batch).or_else(|| of(&dot.lhs_contract, &dot.rhs_contract))
                };
                let twins = prefix.iter().map(twin).collect::<Option<Vec<usize>>>()?;
                let right_mask = members(self, right.sizes(), *dot.rhs_contract.get(place)?, &twins)?;
                let (lhs, rhs) = (masked(self, lhs, mask), masked(self, rhs, right_mask));
                let [rb, rc] = [&dot.rhs_batch, &dot.rhs_contract].map(|l| shifted(l));
                let first = |list: Vec<usize>| [vec![0], list].concat();
                let op = general(first(lb), first(rb), lc, rc);
                Some(self.emit(op, &[lhs, rhs], result.clone()))
            }
            Ragged::Batch => {
                let op = general(
                    dot.lhs_batch.clone(),
                    dot.rhs_batch.clone(),
                    dot.lhs_contract.clone(),
                    dot.rhs_contract.clone(),
                );
                let product = self.emit(op, &[lhs, rhs], result.clone());
                // Zeros where no group is: batching dimensions are the first of the result.
                let along = dot.lhs_batch.iter().position(|d| *d == ragged)?;
                let before: Vec<usize> = (0..along).collect();
                let mask = members(self, result.static_sizes()?, along, &before)?;
                let any = masked(self, product, mask);
                Some(self.sum(any, &[0]))
            }
        }
    }

    /// Where each group begins and ends.
    fn limits(&mut self, sizes: ValueId) -> Option<(ValueId, ValueId)> {
        let ty = self.ty(sizes);
        let groups = *ty.sizes().last()?;
        let all = [ty.sizes(), &[groups]].concat();
        let rank = ty.rank();
        // Element [i, j] is the size of group i if that is not behind group j.
        let spread = self.broadcast(sizes, &(0..rank).collect::<Vec<_>>(), &all);
        let (i, j) = (self.iota(ty.dtype, &all, rank - 1), self.iota(ty.dtype, &all, rank));
        let counts = self.is(Direction::Le, i, j);
        let zero = self.splat(0.0, ty.dtype, &all);
        let counted = self.select(counts, spread, zero);
        let ends = self.sum(counted, &[rank - 1]);
        Some((self.binary(crate::op::Binary::Subtract, ends, sizes)?, ends))
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
