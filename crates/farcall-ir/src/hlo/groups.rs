//! Attributes of collectives: `replica_groups={{0,1},{2,3}}` or `[2,4]<=[8]`, channels, pairs.

use farcall_sig::DType;

use super::cursor::{Cursor, Expected, Read};
use super::given::{Given, Hook, Out, braced};
use super::hooks::hook;
use crate::diag::Span;
use crate::literal::Literal;
use crate::op::{
    AllGather, AllToAll, Channel, CollectiveBroadcast, CollectivePermute, Groups, Op, ReduceScatter,
};

hook!(ALL_GATHER, Op::AllGather(op) => op,
    |g| Ok(Op::AllGather(Box::new(AllGather { dim: dimension(g)?, groups: read_groups(g)? }))),
    |op: &AllGather, out: &mut Out| {
        write_groups(&op.groups, out);
        out.list("dimensions", &[op.dim]);
    }
);
hook!(ALL_REDUCE, Op::AllReduce(op) => op, |g| Ok(Op::AllReduce(Box::new(read_groups(g)?))), write_groups);
hook!(REDUCE_SCATTER, Op::ReduceScatter(op) => op,
    |g| Ok(Op::ReduceScatter(Box::new(ReduceScatter { dim: dimension(g)?, groups: read_groups(g)? }))),
    |op: &ReduceScatter, out: &mut Out| {
        write_groups(&op.groups, out);
        out.list("dimensions", &[op.dim]);
    }
);
hook!(ALL_TO_ALL, Op::AllToAll(op) => op, read_all_to_all, |op: &AllToAll, out: &mut Out| {
    write_groups(&op.groups, out);
    out.list("dimensions", &[op.split_dim]);
});
hook!(COLLECTIVE_BROADCAST, Op::CollectiveBroadcast(op) => op,
    |g| Ok(Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups: read_groups(g)?, dynamic_root: false }))),
    |op: &CollectiveBroadcast, out: &mut Out| write_groups(&op.groups, out)
);
hook!(COLLECTIVE_PERMUTE, Op::CollectivePermute(op) => op, read_permute, |op: &CollectivePermute, out: &mut Out| {
    write_channel(op.channel, out);
    out.put("source_target_pairs", rows(&op.pairs));
});

fn dimension(g: &mut Given<'_, '_>) -> Read<usize> {
    match g.usizes("dimensions")?.as_slice() {
        [dim] => Ok(*dim),
        other => g.fail(format!("{}: `dimensions` has one number, not {}", g.opcode, other.len())),
    }
}

/// The operand is cut along a dimension, and what comes in is joined along the same.
fn read_all_to_all(g: &mut Given<'_, '_>) -> Read<Op> {
    if !g.attrs.iter().any(|a| a.key == "dimensions") {
        return g.fail(
            "all-to-all of one operand for each device is not supported; one operand with `dimensions` is",
        );
    }
    let dim = dimension(g)?;
    let groups = read_groups(g)?;
    // Without groups, everyone takes part: all replicas, or all partitions if there is a channel.
    let everyone = g.participants[usize::from(groups.channel.is_some())];
    let split_count =
        groups.ids.dims().last().copied().filter(|_| !groups.ids.is_empty()).unwrap_or(everyone);
    Ok(Op::AllToAll(Box::new(AllToAll { split_dim: dim, concat_dim: dim, split_count, groups })))
}

fn read_permute(g: &mut Given<'_, '_>) -> Read<Op> {
    let pairs = match g.read("source_target_pairs", |c| c.braced(Cursor::ints))? {
        Some(pairs) => pairs,
        None => return g.fail("collective-permute has no attribute `source_target_pairs`"),
    };
    if pairs.iter().any(|pair| pair.len() != 2) {
        return g.fail("collective-permute: `source_target_pairs` is a list of pairs");
    }
    let flat: Vec<i64> = pairs.concat();
    let pairs = Literal::from_slice(DType::S64, [flat.len() / 2, 2], &flat);
    Ok(Op::CollectivePermute(Box::new(CollectivePermute { pairs, channel: read_channel(g)? })))
}

pub(super) fn read_groups(g: &mut Given<'_, '_>) -> Read<Groups> {
    let channel = read_channel(g)?;
    let global_ids = g.flag("use_global_device_ids")?;
    let Some(mut value) = g.take("replica_groups") else {
        return Ok(Groups { ids: Literal::zeros(DType::S64, [0, 0]), channel, global_ids });
    };
    let (groups, width) = match value.peek() {
        Some(b'[') => iota(&mut value, g)?,
        Some(b'm') => by_axes(&mut value, g)?,
        _ => {
            let groups = value.braced(Cursor::ints)?;
            let width = groups.iter().map(Vec::len).max().unwrap_or(0);
            (groups, width)
        }
    };
    value.finish()?;
    spend(g, &value, groups.len().saturating_mul(width))?;
    // Shorter groups are filled up.
    let row = |group: &Vec<i64>| {
        let fill = std::iter::repeat_n(-1, width - group.len());
        group.iter().copied().chain(fill).collect::<Vec<i64>>()
    };
    let flat: Vec<i64> = groups.iter().flat_map(row).collect();
    let ids = Literal::from_slice(DType::S64, [groups.len(), width], &flat);
    Ok(Groups { ids, channel, global_ids })
}

/// Takes `n` of the numbers that groups may be written out as.
fn spend(g: &Given<'_, '_>, at: &Cursor<'_>, n: usize) -> Read<()> {
    match g.devices.get().checked_sub(n) {
        Some(left) => {
            g.devices.set(left);
            Ok(())
        }
        None => Err(Expected::new(at.span(), "the groups of this text have too many members together")),
    }
}

/// `mesh['x'=2,'y'=4] {'y'}`: the devices of a mesh that differ only along these axes.
fn by_axes(c: &mut Cursor<'_>, g: &Given<'_, '_>) -> Read<(Vec<Vec<i64>>, usize)> {
    let whole = c.span();
    if !c.eat_str("mesh") {
        return c.wrong("`mesh`");
    }
    let axes = c.list(b'[', b']', |c| {
        let name = quoted_axis(c)?;
        c.expect(b'=')?;
        Ok((name, c.usize()?))
    })?;
    let chosen = c.list(b'{', b'}', quoted_axis)?;
    let Some(along) = chosen
        .iter()
        .map(|name| axes.iter().position(|(axis, _)| axis == name))
        .collect::<Option<Vec<usize>>>()
    else {
        return Err(Expected::new(whole, "a group has an axis that its mesh does not have"));
    };
    let across = (0..axes.len()).filter(|d| !along.contains(d));
    let order: Vec<usize> = across.chain(along.iter().copied()).collect();
    let sizes: Vec<usize> = axes.iter().map(|(_, size)| *size).collect();
    let product = |dims: &[usize]| dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let width = product(&along.iter().map(|d| sizes[*d]).collect::<Vec<usize>>());
    let (Some(total), Some(width)) = (product(&sizes), width.filter(|n| *n > 0)) else {
        return Err(Expected::new(whole, "the axes of a mesh have at least one device each"));
    };
    numbered(whole, [total / width, width], &sizes, &order, g, c)
}

/// `'x'`
fn quoted_axis<'s>(c: &mut Cursor<'s>) -> Read<&'s str> {
    c.expect(b'\'')?;
    let name = c.word()?;
    c.expect(b'\'')?;
    Ok(name)
}

/// `[2,4]<=[8]`, `[4,2]<=[2,2,2]T(2,0,1)`: the numbers from 0 in the second shape, transposed, in the first.
fn iota(c: &mut Cursor<'_>, g: &Given<'_, '_>) -> Read<(Vec<Vec<i64>>, usize)> {
    let whole = c.span();
    let wrong = |message: &str| Err(Expected::new(whole, message));
    let to = c.list(b'[', b']', Cursor::usize)?;
    if !c.eat_str("<=") {
        return c.wrong("`<=`");
    }
    let from = c.list(b'[', b']', Cursor::usize)?;
    let order = if c.eat(b'T') { c.list(b'(', b')', Cursor::usize)? } else { (0..from.len()).collect() };
    let [groups, width] = to.as_slice() else { return wrong("groups are like [2,4]<=[8]") };
    numbered(whole, [*groups, *width], &from, &order, g, c)
}

/// Groups of equal size: the numbers from 0 in a shape, transposed, cut into groups.
fn numbered(
    whole: Span,
    [groups, width]: [usize; 2],
    from: &[usize],
    order: &[usize],
    g: &Given<'_, '_>,
    c: &Cursor<'_>,
) -> Read<(Vec<Vec<i64>>, usize)> {
    let total = from.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).unwrap_or(0);
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if total == 0 || groups.checked_mul(width) != Some(total) || !sorted.into_iter().eq(0..from.len()) {
        return Err(Expected::new(whole, "the groups do not have each of the devices once"));
    }
    spend(g, c, total)?;
    let mut strides = vec![1; from.len()];
    for d in (1..from.len()).rev() {
        strides[d - 1] = strides[d] * from[d];
    }
    // The place of device number `i` of the transposed shape.
    let device = |mut i: usize| {
        let mut at = 0;
        for d in order.iter().rev() {
            at += (i % from[*d]) * strides[*d];
            i /= from[*d];
        }
        i64::try_from(at).unwrap_or(i64::MAX)
    };
    let groups = (0..groups).map(|i| (0..width).map(|j| device(i * width + j)).collect());
    Ok((groups.collect(), width))
}

fn write_groups(groups: &Groups, out: &mut Out) {
    write_channel(groups.channel, out);
    out.put("replica_groups", rows(&groups.ids));
    out.flag("use_global_device_ids", groups.global_ids);
}

/// `{{0,1},{2}}`; -1 only fills up.
fn rows(ids: &Literal) -> String {
    let width = ids.dims().last().copied().unwrap_or(0).max(1);
    let ids: Vec<i64> = ids.iter().map(|s| s.as_i64()).collect();
    let rows: Vec<String> = ids
        .chunks(width)
        .map(|row| braced(&row.iter().copied().filter(|id| *id >= 0).collect::<Vec<i64>>()))
        .collect();
    braced(&rows)
}

/// `channel_id=1`: a channel between devices.
pub(super) fn read_channel(g: &mut Given<'_, '_>) -> Read<Option<Channel>> {
    Ok(g.read("channel_id", Cursor::int)?.map(|handle| Channel { handle, kind: 1 }))
}

pub(super) fn write_channel(channel: Option<Channel>, out: &mut Out) {
    if let Some(channel) = channel.filter(|c| c.handle > 0) {
        out.put("channel_id", channel.handle);
    }
}
