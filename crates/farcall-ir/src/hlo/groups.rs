//! Reads and writes attributes of collectives: `replica_groups={{0,1},{2,3}}` or `[2,4]<=[8]`, channels,
//! pairs.

use farcall_sig::DType;

use super::attribute_fields::{AttrReader, AttrWriter, Hook, braced};
use super::cursor::{Cursor, Expected, Read};
use super::hooks::hook;
use crate::diag::Span;
use crate::literal::Literal;
use crate::op::{
    AllGather, AllToAll, Channel, CollectiveBroadcast, CollectivePermute, Groups, Op, ReduceScatter,
};

hook!(ALL_GATHER, Op::AllGather(op) => op,
    |g| Ok(Op::AllGather(Box::new(AllGather { dim: dimension(g)?, groups: read_groups(g)? }))),
    |op: &AllGather, out: &mut AttrWriter| {
        write_groups(&op.groups, out);
        out.list("dimensions", &[op.dim]);
    }
);
hook!(ALL_REDUCE, Op::AllReduce(op) => op, |g| Ok(Op::AllReduce(Box::new(read_groups(g)?))), write_groups);
hook!(REDUCE_SCATTER, Op::ReduceScatter(op) => op,
    |g| Ok(Op::ReduceScatter(Box::new(ReduceScatter { dim: dimension(g)?, groups: read_groups(g)? }))),
    |op: &ReduceScatter, out: &mut AttrWriter| {
        write_groups(&op.groups, out);
        out.list("dimensions", &[op.dim]);
    }
);
hook!(ALL_TO_ALL, Op::AllToAll(op) => op, read_all_to_all, |op: &AllToAll, out: &mut AttrWriter| {
    write_groups(&op.groups, out);
    out.list("dimensions", &[op.split_dim]);
});
hook!(COLLECTIVE_BROADCAST, Op::CollectiveBroadcast(op) => op,
    |g| Ok(Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups: read_groups(g)?, dynamic_root: false }))),
    |op: &CollectiveBroadcast, out: &mut AttrWriter| write_groups(&op.groups, out)
);
hook!(COLLECTIVE_PERMUTE, Op::CollectivePermute(op) => op, read_permute, |op: &CollectivePermute, out: &mut AttrWriter| {
    write_channel(op.channel, out);
    out.put("source_target_pairs", rows(&op.pairs));
});

fn dimension(g: &mut AttrReader<'_, '_>) -> Read<usize> {
    match g.usizes("dimensions")?.as_slice() {
        [dim] => Ok(*dim),
        other => g.fail(format!("{}: `dimensions` must have one number, not {}", g.opcode, other.len())),
    }
}

/// Reads an all-to-all that splits its operand along a dimension and concatenates the received parts along
/// the same dimension.
fn read_all_to_all(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    if !g.attrs.iter().any(|a| a.key == "dimensions") {
        return g.fail("an all-to-all without `dimensions` (one operand for each device) is not supported");
    }
    let dim = dimension(g)?;
    let groups = read_groups(g)?;
    // Without groups, all replicas take part, or all partitions if there is a channel.
    let all = g.participants[usize::from(groups.channel.is_some())];
    let split_count = groups.ids.dims().last().copied().filter(|_| !groups.ids.is_empty()).unwrap_or(all);
    Ok(Op::AllToAll(Box::new(AllToAll { split_dim: dim, concat_dim: dim, split_count, groups })))
}

fn read_permute(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let pairs = match g.read("source_target_pairs", |c| c.braced(Cursor::ints))? {
        Some(pairs) => pairs,
        None => return g.fail("collective-permute has no attribute `source_target_pairs`"),
    };
    if pairs.iter().any(|pair| pair.len() != 2) {
        return g.fail("collective-permute: `source_target_pairs` must be a list of pairs");
    }
    let flat: Vec<i64> = pairs.concat();
    let pairs = Literal::from_slice(DType::S64, [flat.len() / 2, 2], &flat);
    Ok(Op::CollectivePermute(Box::new(CollectivePermute { pairs, channel: read_channel(g)? })))
}

pub(super) fn read_groups(g: &mut AttrReader<'_, '_>) -> Read<Groups> {
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
    // Shorter groups are padded with -1.
    let row = |group: &Vec<i64>| {
        let fill = std::iter::repeat_n(-1, width - group.len());
        group.iter().copied().chain(fill).collect::<Vec<i64>>()
    };
    let flat: Vec<i64> = groups.iter().flat_map(row).collect();
    let ids = Literal::from_slice(DType::S64, [groups.len(), width], &flat);
    Ok(Groups { ids, channel, global_ids })
}

/// Charges `n` device numbers to the text's budget for expanded groups.
fn spend(g: &AttrReader<'_, '_>, at: &Cursor<'_>, n: usize) -> Read<()> {
    match g.devices.get().checked_sub(n) {
        Some(left) => {
            g.devices.set(left);
            Ok(())
        }
        None => Err(Expected::new(at.span(), "the groups of this text have too many members in total")),
    }
}

/// Parses `mesh['x'=2,'y'=4] {'y'}`: the devices of a group differ only along the axes in braces.
fn by_axes(c: &mut Cursor<'_>, g: &AttrReader<'_, '_>) -> Read<(Vec<Vec<i64>>, usize)> {
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
        return Err(Expected::new(whole, "unknown mesh axis in a group"));
    };
    let across = (0..axes.len()).filter(|d| !along.contains(d));
    let order: Vec<usize> = across.chain(along.iter().copied()).collect();
    let sizes: Vec<usize> = axes.iter().map(|(_, size)| *size).collect();
    let width = checked_product(along.iter().map(|d| sizes[*d]));
    let total = checked_product(sizes.iter().copied());
    let (Some(total), Some(width)) = (total, width.filter(|n| *n > 0)) else {
        return Err(Expected::new(whole, "every axis of a mesh must have at least one device"));
    };
    numbered(whole, [total / width, width], &sizes, &order, g, c)
}

/// Parses `'x'`.
fn quoted_axis<'s>(c: &mut Cursor<'s>) -> Read<&'s str> {
    c.expect(b'\'')?;
    let name = c.word()?;
    c.expect(b'\'')?;
    Ok(name)
}

/// Parses `[2,4]<=[8]` or `[4,2]<=[2,2,2]T(2,0,1)`: an iota of the second shape, transposed and reshaped to
/// the first.
fn iota(c: &mut Cursor<'_>, g: &AttrReader<'_, '_>) -> Read<(Vec<Vec<i64>>, usize)> {
    let whole = c.span();
    let wrong = |message: &str| Err(Expected::new(whole, message));
    let to = c.list(b'[', b']', Cursor::usize)?;
    if !c.eat_str("<=") {
        return c.wrong("`<=`");
    }
    let from = c.list(b'[', b']', Cursor::usize)?;
    let order = if c.eat(b'T') { c.list(b'(', b')', Cursor::usize)? } else { (0..from.len()).collect() };
    let [groups, width] = to.as_slice() else { return wrong("expected groups such as [2,4]<=[8]") };
    numbered(whole, [*groups, *width], &from, &order, g, c)
}

/// Returns the product of sizes; `None` if it overflows.
fn checked_product(mut sizes: impl Iterator<Item = usize>) -> Option<usize> {
    sizes.try_fold(1usize, usize::checked_mul)
}

/// Returns groups of equal size: an iota of the shape `from`, transposed, flattened and cut into groups.
fn numbered(
    whole: Span,
    [groups, width]: [usize; 2],
    from: &[usize],
    order: &[usize],
    g: &AttrReader<'_, '_>,
    c: &Cursor<'_>,
) -> Read<(Vec<Vec<i64>>, usize)> {
    let total = checked_product(from.iter().copied()).unwrap_or(0);
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if total == 0 || groups.checked_mul(width) != Some(total) || !sorted.into_iter().eq(0..from.len()) {
        return Err(Expected::new(whole, "the groups must contain each device exactly once"));
    }
    spend(g, c, total)?;
    let mut strides = vec![1; from.len()];
    for d in (1..from.len()).rev() {
        strides[d - 1] = strides[d] * from[d];
    }
    // The device at position `i` of the transposed iota.
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

fn write_groups(groups: &Groups, out: &mut AttrWriter) {
    write_channel(groups.channel, out);
    out.put("replica_groups", rows(&groups.ids));
    out.flag("use_global_device_ids", groups.global_ids);
}

/// Formats `{{0,1},{2}}`, without the padding of -1.
fn rows(ids: &Literal) -> String {
    let width = ids.dims().last().copied().unwrap_or(0).max(1);
    let ids: Vec<i64> = ids.iter().map(|s| s.as_i64()).collect();
    let rows: Vec<String> = ids
        .chunks(width)
        .map(|row| braced(&row.iter().copied().filter(|id| *id >= 0).collect::<Vec<i64>>()))
        .collect();
    braced(&rows)
}

/// Reads `channel_id=1`, a channel between devices.
pub(super) fn read_channel(g: &mut AttrReader<'_, '_>) -> Read<Option<Channel>> {
    Ok(g.read("channel_id", Cursor::int)?.map(|handle| Channel { handle, kind: 1 }))
}

pub(super) fn write_channel(channel: Option<Channel>, out: &mut AttrWriter) {
    if let Some(channel) = channel.filter(|c| c.handle > 0) {
        out.put("channel_id", channel.handle);
    }
}
