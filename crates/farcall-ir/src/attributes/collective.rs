//! Attributes of collectives.

use super::{Bad, Fields, Put, i64_attr};
use crate::attr::{Attribute, is_list};
use crate::literal::Literal;
use crate::op::collective::Channel;
use crate::op::{AllGather, AllToAll, CollectiveBroadcast, CollectivePermute, Groups, Op, ReduceScatter};

pub(crate) fn read_all_gather(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::AllGather(Box::new(AllGather { dim: f.usize("all_gather_dim")?, groups: read_groups(f)? })))
}

pub(crate) fn write_all_gather(op: &AllGather, put: &mut Put<'_>) {
    put("all_gather_dim", i64_attr(op.dim));
    write_groups(&op.groups, put);
}

pub(crate) fn read_all_reduce(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::AllReduce(Box::new(read_groups(f)?)))
}

pub(crate) fn read_reduce_scatter(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::ReduceScatter(Box::new(ReduceScatter {
        dim: f.usize("scatter_dimension")?,
        groups: read_groups(f)?,
    })))
}

pub(crate) fn write_reduce_scatter(op: &ReduceScatter, put: &mut Put<'_>) {
    put("scatter_dimension", i64_attr(op.dim));
    write_groups(&op.groups, put);
}

pub(crate) fn read_all_to_all(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::AllToAll(Box::new(AllToAll {
        split_dim: f.usize("split_dimension")?,
        concat_dim: f.usize("concat_dimension")?,
        split_count: f.usize("split_count")?,
        groups: read_groups(f)?,
    })))
}

pub(crate) fn write_all_to_all(op: &AllToAll, put: &mut Put<'_>) {
    put("split_dimension", i64_attr(op.split_dim));
    put("concat_dimension", i64_attr(op.concat_dim));
    put("split_count", i64_attr(op.split_count));
    write_groups(&op.groups, put);
}

pub(crate) fn read_collective_broadcast(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let dynamic_root = read_unit(f, "has_dynamic_root")?;
    Ok(Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups: read_groups(f)?, dynamic_root })))
}

pub(crate) fn read_collective_reduce(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let dynamic_root = read_unit(f, "has_dynamic_root")?;
    Ok(Op::CollectiveReduce(Box::new(CollectiveBroadcast { groups: read_groups(f)?, dynamic_root })))
}

pub(crate) fn write_collective_broadcast(op: &CollectiveBroadcast, put: &mut Put<'_>) {
    write_groups(&op.groups, put);
    if op.dynamic_root {
        put("has_dynamic_root", Attribute::Unit);
    }
}

pub(crate) fn read_collective_permute(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let pairs = read_table(f, "source_target_pairs")?;
    Ok(Op::CollectivePermute(Box::new(CollectivePermute { pairs, channel: read_channel(f)? })))
}

pub(crate) fn write_collective_permute(op: &CollectivePermute, put: &mut Put<'_>) {
    put("source_target_pairs", Attribute::Dense(op.pairs.clone()));
    write_channel(op.channel, put);
}

fn read_groups(f: &mut Fields<'_>) -> Result<Groups, Bad> {
    Ok(Groups {
        ids: read_table(f, "replica_groups")?,
        channel: read_channel(f)?,
        global_ids: read_unit(f, "use_global_device_ids")?,
    })
}

pub(crate) fn write_groups(groups: &Groups, put: &mut Put<'_>) {
    put("replica_groups", Attribute::Dense(groups.ids.clone()));
    write_channel(groups.channel, put);
    if groups.global_ids {
        put("use_global_device_ids", Attribute::Unit);
    }
}

/// Reads a constant of integers.
pub(super) fn read_table(f: &mut Fields<'_>, key: &str) -> Result<Literal, Bad> {
    match f.required(key)? {
        Attribute::Dense(ids) if ids.dtype().is_integer() && is_list(&ids) => Ok(ids),
        other => Err(format!("attribute `{key}` must be dense<…> of a tensor of integers, not {other}")),
    }
}

/// Reads a flag that may be present with or without a value.
fn read_unit(f: &mut Fields<'_>, key: &str) -> Result<bool, Bad> {
    if f.attrs.get(key) == Some(&Attribute::Unit) {
        f.take(key);
        return Ok(true);
    }
    f.flag(key)
}

pub(super) fn read_channel(f: &mut Fields<'_>) -> Result<Option<Channel>, Bad> {
    let key = "channel_handle";
    if !f.attrs.contains_key(key) {
        return Ok(None);
    }
    let params = f.params(key)?;
    let number = |name: &str| {
        let value = params.get(name).and_then(Attribute::as_i64);
        value.ok_or_else(|| format!("attribute `{key}` has no number `{name}`"))
    };
    Ok(Some(Channel { handle: number("handle")?, kind: number("type")? }))
}

pub(super) fn write_channel(channel: Option<Channel>, put: &mut Put<'_>) {
    if let Some(Channel { handle, kind }) = channel {
        let text = format!("handle = {handle}, type = {kind}");
        put("channel_handle", Attribute::dialect("stablehlo.channel_handle", text));
    }
}
