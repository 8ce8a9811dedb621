//! Lowers collectives of several operands, which StableHLO lacks, and collectives that have another form in
//! StableHLO.

use std::sync::Arc;

use farcall_sig::DType;

use super::attribute_fields::AttrReader;
use super::groups;
use super::lowering::{Lowered, Lowering, MAX_DEVICES, wrong};
use super::shape::Shape;
use super::table;
use super::value::{At, Shaped, Val, tensors};
use crate::attr::Attribute;
use crate::literal::Literal;
use crate::op::{AllToAll, CallConfig, CustomCall, Op, Slice};
use crate::types::TensorType;

impl<'s> Lowering<'_, 's> {
    /// Lowers a collective of several operands to one collective for each operand; `None` for a single
    /// operand.
    pub(super) fn each(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        if g.attrs.iter().any(|a| a.key == "slice_sizes") {
            let message = "collective-permute into parts of a buffer (`slice_sizes`) is not supported";
            return Some(wrong("unsupported", at.inst.op_span, message));
        }
        let parts = shape.parts().filter(|parts| parts.len() == at.operands.len())?;
        let row = table::of_opcode(at.inst.opcode)?;
        let attrs = std::mem::take(&mut g.attrs);
        let mut values = Vec::new();
        for (operand, part) in at.operands.iter().zip(parts) {
            let operands = std::slice::from_ref(operand);
            let types = tensors(&self.func, operands);
            let mut given = AttrReader { attrs: attrs.clone(), operands: &types, shape: Some(part), ..*g };
            let one = At { attrs: at.attrs.clone(), loc: at.loc.clone(), operands, ..*at };
            match self.operation(row, Some(Arc::new(part.clone())), &mut given, one) {
                Ok(value) => values.push(value.val),
                Err(stop) => return Some(Err(stop)),
            }
            g.attrs = given.attrs;
        }
        Some(Ok(Val::Tuple(values.into())))
    }

    /// Lowers an all-to-all with one operand for each participant to an all-to-all of the stacked operands.
    /// `None` for the other form, which splits a single operand along a dimension.
    pub(super) fn all_to_all(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        if g.attrs.iter().any(|a| a.key == "dimensions") {
            return None;
        }
        Some(self.stacked_all_to_all(shape, g, at))
    }

    fn stacked_all_to_all(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let groups = groups::read_groups(g)?;
        let types: Option<Vec<&TensorType>> = g.operands.iter().map(Option::as_ref).collect();
        let types = types.filter(|t| t.iter().all(|ty| *ty == t[0] && ty.is_static()));
        let Some(ty) = types.as_ref().and_then(|types| types.first()) else {
            let message = "all-to-all without `dimensions` must have operands of one static type";
            return wrong("operands", at.inst.op_span, message);
        };
        let values = self.flat_operands(at)?;
        let (count, region, span) = (values.len(), at.region, at.inst.op_span);
        let stacked = |n: usize| ty.with_sizes([&[n], ty.sizes()].concat());
        let row = stacked(1);
        let rows: Vec<_> =
            values.into_iter().map(|v| self.one(Op::Reshape, [v], row.clone(), region, span)).collect();
        let all = self.one(Op::Concatenate { dim: 0 }, rows, stacked(count), region, span);
        let op = AllToAll { split_dim: 0, concat_dim: 0, split_count: count, groups };
        let id = self.func.push(region, at.op(Op::AllToAll(Box::new(op)), [all]), [stacked(count).into()]);
        let all = self.func.inst(id).results()[0];
        let mut parts = Vec::new();
        for i in 0..count {
            let slice = rows_of(&stacked(count), i);
            let row = self.one(Op::Slice(slice), [all], row.clone(), region, span);
            parts.push(Val::One(self.one(Op::Reshape, [row], (*ty).clone(), region, span)));
        }
        let value = match (shape, parts.as_slice()) {
            (Shape::Tensor(..), [one]) => one.clone(),
            _ => Val::Tuple(parts.into()),
        };
        self.check(&value, shape, at.inst.shape_span).map(|()| value)
    }

    /// Lowers `ragged-all-to-all` to StableHLO's custom call for it.
    pub(super) fn ragged_all_to_all(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        g.take("dimensions");
        let mut groups = groups::read_groups(g)?;
        if groups.ids.is_empty() {
            // Without groups, all replicas take part, or all partitions if there is a channel.
            let all = g.participants[usize::from(groups.channel.is_some())].min(MAX_DEVICES);
            let ids: Vec<i64> = (0..all).map(|i| i64::try_from(i).unwrap_or(i64::MAX)).collect();
            groups.ids = Literal::from_slice(DType::S64, [1, ids.len()], &ids);
        }
        let mut call = CustomCall::new("ragged_all_to_all".to_owned());
        call.api_version = Some(4);
        let mut config = vec![("replica_groups".to_owned(), Attribute::Dense(groups.ids))];
        if let Some(channel) = groups.channel {
            config.push(("channel_id".to_owned(), Attribute::i64(channel.handle)));
        }
        call.config = CallConfig::Dict(config.into_iter().collect());
        let values = self.flat_operands(at)?;
        self.push(at.op(Op::CustomCall(Box::new(call)), values), shape, at.region)
    }

    /// Lowers a dynamic slice or update whose start indices are a vector rather than a scalar for each
    /// dimension; `None` for others.
    pub(super) fn indexed_by_vector(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        let before = if at.inst.opcode == "dynamic-slice" { 1 } else { 2 };
        let index = g.operands.get(before)?.as_ref().filter(|ty| ty.rank() == 1 && ty.is_static())?.clone();
        let row = table::of_opcode(at.inst.opcode)?;
        let Val::One(vector) = at.operands.get(before)?.val else { return None };
        let mut operands = at.operands[..before].to_vec();
        let (one, scalar) = (index.with_sizes([1]), index.with_sizes([]));
        for i in 0..index.sizes()[0] {
            let part =
                self.one(Op::Slice(rows_of(&index, i)), [vector], one.clone(), at.region, at.inst.op_span);
            let start = self.one(Op::Reshape, [part], scalar.clone(), at.region, at.inst.op_span);
            let shape = Arc::new(Shape::Tensor(scalar.clone(), None));
            operands.push(Shaped { val: Val::One(start), shape });
        }
        let at = At { attrs: at.attrs.clone(), loc: at.loc.clone(), operands: &operands, ..*at };
        let value = self.operation(row, Some(Arc::new(shape.clone())), g, at);
        Some(value.map(|value| value.val))
    }
}

/// The slice at index `i` of the first dimension.
fn rows_of(ty: &TensorType, i: usize) -> Slice {
    let mut start = vec![0; ty.rank()];
    let mut limit = ty.sizes().to_vec();
    (start[0], limit[0]) = (i, i + 1);
    Slice { start, limit, strides: vec![1; ty.rank()] }
}
