//! Collectives. The specification compares groups with the number of processes, which an instruction does not
//! know. Instead, groups are checked for consistency: together, the groups must contain each number from 0 to
//! `n - 1` exactly once.

use farcall_sig::DType;
use smallvec::smallvec;

use crate::infer::cx::Cx;
use crate::infer::reduction::reducer;
use crate::infer::shape::{narrow, wide};
use crate::literal::Literal;
use crate::op::Class;
use crate::op::{AllGather, AllToAll, CollectiveBroadcast, CollectivePermute, Groups, ReduceScatter};
use crate::types::{Dim, TensorType, Type, TypeList};

/// The specification's names for the constraints on groups.
struct GroupCodes {
    /// The groups are a matrix of 64-bit integers.
    matrix: &'static str,
    unique: &'static str,
    range: &'static str,
}

/// Process numbers that may occur in groups. `n` is the number of entries of all groups together, without
/// padding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedIds {
    /// Every number from 0 to `n - 1`.
    All,
    /// Every number from 0 to `n - 1`; -1 pads shorter groups.
    AllPadded,
    /// Any distinct numbers.
    Distinct,
}

/// Checks a matrix of process numbers. Returns the number of columns, if there are rows.
fn matrix(
    cx: &mut Cx<'_>,
    codes: &GroupCodes,
    name: &str,
    ids: &Literal,
    numbers: AllowedIds,
) -> Option<usize> {
    cx.check(ids.dims().len() == 2 && ids.dtype() == DType::S64, codes.matrix, || {
        format!("{name} must be a 2-dimensional tensor of i64, found {}", ids.ty())
    });
    let mut sorted: Vec<i64> = ids.iter().map(|s| s.as_i64()).collect();
    if numbers == AllowedIds::AllPadded {
        sorted.retain(|id| *id != -1);
    }
    sorted.sort_unstable();
    let count = i64::try_from(sorted.len()).unwrap_or(i64::MAX);
    let limit = if numbers == AllowedIds::Distinct { i64::MAX } else { count };
    let bad = sorted.iter().find(|id| !(0..limit).contains(*id));
    cx.check(bad.is_none(), codes.range, || {
        let range = if numbers == AllowedIds::Distinct {
            "at least 0".to_owned()
        } else {
            format!("in [0, {count})")
        };
        format!("{name} must be {range}, found {}", bad.map_or_else(String::new, ToString::to_string))
    });
    let twice = sorted.windows(2).find(|w| w[0] == w[1]);
    cx.check(twice.is_none(), codes.unique, || {
        format!("{name} must be unique, found {} twice", twice.map_or(0, |w| w[0]))
    });
    let [rows, columns] = *ids.dims() else { return None };
    // A matrix without rows stands for one group of all processes. In a matrix with rows, XLA rejects an
    // empty group.
    let members: Vec<bool> = ids.iter().map(|id| id.as_i64() != -1).collect();
    let empty = match columns {
        0 => (rows > 0).then_some(0),
        _ => members.chunks(columns).position(|group| !group.contains(&true)),
    };
    cx.check(empty.is_none(), codes.matrix, || {
        format!("{name} must have no empty group, but group {} of {} is", empty.unwrap_or(0), ids.ty())
    });
    (rows > 0).then_some(columns)
}

/// Checks that global device numbers are used only with a channel and with explicit groups.
fn global_ids(cx: &mut Cx<'_>, code: &'static str, groups: &Groups) {
    cx.check(!groups.global_ids || groups.channel_id() > 0, code, || {
        format!("use_global_device_ids needs a channel above 0, found {}", groups.channel_id())
    });
    cx.check(!groups.global_ids || !groups.ids.is_empty(), code, || {
        "use_global_device_ids needs replica_groups, found none".to_owned()
    });
}

/// Returns the number of processes in a group, if the instruction determines it.
fn group_size(groups: &Groups, columns: Option<usize>) -> Option<usize> {
    // If there is a channel and the groups list replicas, all partitions of these replicas take part. The
    // number of columns then does not determine the number of processes.
    let partitions_too = groups.channel_id() > 0 && !groups.global_ids;
    columns.filter(|_| !partitions_too)
}

pub(super) fn all_gather(cx: &mut Cx<'_>, op: &AllGather) -> Option<TypeList> {
    // all_gather_i3, all_gather_c2, all_gather_c4
    let codes = GroupCodes { matrix: "all_gather_i3", unique: "all_gather_c2", range: "all_gather_c4" };
    let columns = matrix(cx, &codes, "replica_groups", &op.groups.ids, AllowedIds::All);
    // all_gather_c5
    global_ids(cx, "all_gather_c5", &op.groups);
    let size = group_size(&op.groups, columns);
    let mut types = TypeList::new();
    for (i, operand) in cx.tensors(0..cx.operand_count()).into_iter().enumerate() {
        // all_gather_i1
        cx.class("all_gather_i1", &format!("operand {i}"), operand, Class::TENSOR);
        // all_gather_c1
        if !cx.in_range("all_gather_c1", "all_gather_dim", &[op.dim], operand.rank()) {
            return None;
        }
        // all_gather_c6
        let mut dims: Vec<Dim> = operand.dims().collect();
        dims[op.dim] = match (size, dims[op.dim].size()) {
            (Some(size), Some(part)) => Dim::Static(narrow(wide(part) * wide(size))),
            _ => gathered(cx, i, operand, op.dim),
        };
        types.push(operand.with_dims(dims).into());
    }
    Some(types)
}

/// Returns the declared size of the joined dimension, which must be a multiple of the operand's size.
fn gathered(cx: &mut Cx<'_>, i: usize, operand: &TensorType, dim: usize) -> Dim {
    let result = cx.inst.results().get(i).and_then(|r| cx.func.tensor(*r));
    let Some(found) = result.and_then(|r| r.get_dim(dim)) else { return Dim::UNBOUNDED };
    let part = operand.dim(dim);
    cx.check(divides(part, found), "all_gather_c6", || {
        format!("dimension {dim} of result {i} must be a multiple of {part}, found {found}")
    });
    found
}

/// Returns false if both sizes are known and `whole` is not a multiple of `part`.
fn divides(part: Dim, whole: Dim) -> bool {
    let (Some(part), Some(whole)) = (part.size(), whole.size()) else { return true };
    whole.checked_rem(part).unwrap_or(whole) == 0
}

pub(super) fn all_reduce(cx: &mut Cx<'_>, groups: &Groups) -> Option<TypeList> {
    // all_reduce_i2, all_reduce_c1, all_reduce_c3
    let codes = GroupCodes { matrix: "all_reduce_i2", unique: "all_reduce_c1", range: "all_reduce_c3" };
    matrix(cx, &codes, "replica_groups", &groups.ids, AllowedIds::AllPadded);
    // all_reduce_c4
    global_ids(cx, "all_reduce_c4", groups);
    let mut types = TypeList::new();
    for (i, operand) in cx.tensors(0..cx.operand_count()).into_iter().enumerate() {
        // all_reduce_i1
        cx.class("all_reduce_i1", &format!("operand {i}"), operand, Class::TENSOR);
        // all_reduce_c5, all_reduce_c6, all_reduce_c7
        types.push(reduced(cx, "all_reduce_c5", operand)?.into());
    }
    Some(types)
}

/// Returns a type with the shape of the operand and the element type of the region's accumulator
/// ([`reducer`]).
fn reduced(cx: &mut Cx<'_>, code: &'static str, operand: &TensorType) -> Option<TensorType> {
    let init = operand.with_sizes([]);
    let accumulators = reducer(cx, 0, [code; 2], &[operand], &[&init])?;
    Some(accumulators[0].with_dims_of(operand))
}

pub(super) fn reduce_scatter(cx: &mut Cx<'_>, op: &ReduceScatter) -> Option<TypeList> {
    let operand = cx.t(0);
    // reduce_scatter_i1
    cx.class("reduce_scatter_i1", "operand", operand, Class::TENSOR);
    // reduce_scatter_i3, reduce_scatter_c3, reduce_scatter_c5
    let codes =
        GroupCodes { matrix: "reduce_scatter_i3", unique: "reduce_scatter_c3", range: "reduce_scatter_c5" };
    let columns = matrix(cx, &codes, "replica_groups", &op.groups.ids, AllowedIds::All);
    // reduce_scatter_c6
    global_ids(cx, "reduce_scatter_c6", &op.groups);
    // reduce_scatter_c7, reduce_scatter_c9
    let whole = reduced(cx, "reduce_scatter_c7", operand)?;
    // reduce_scatter_c2
    if !cx.in_range("reduce_scatter_c2", "scatter_dimension", &[op.dim], operand.rank()) {
        return None;
    }
    let result = cx.declared(0)?;
    let (from, to) = (operand.dim(op.dim), result.get_dim(op.dim).unwrap_or(Dim::UNBOUNDED));
    // reduce_scatter_c1, reduce_scatter_c8
    let part = match (group_size(&op.groups, columns), from.size()) {
        (Some(size), Some(from)) => {
            cx.check(from.checked_rem(size) == Some(0), "reduce_scatter_c1", || {
                format!("dimension {} of {operand} must be a multiple of {size}", op.dim)
            });
            Dim::Static(from.checked_div(size).unwrap_or(0))
        }
        _ => {
            cx.check(divides(to, from), "reduce_scatter_c8", || {
                format!("dimension {} of {operand} must be a multiple of the result's, {to}", op.dim)
            });
            to
        }
    };
    let mut dims: Vec<Dim> = whole.dims().collect();
    dims[op.dim] = part;
    Some(smallvec![whole.with_dims(dims).into()])
}

pub(super) fn all_to_all(cx: &mut Cx<'_>, op: &AllToAll) -> Option<TypeList> {
    // all_to_all_i5, all_to_all_c5, all_to_all_c7
    let codes = GroupCodes { matrix: "all_to_all_i5", unique: "all_to_all_c5", range: "all_to_all_c7" };
    let columns = matrix(cx, &codes, "replica_groups", &op.groups.ids, AllowedIds::All);
    let count = op.split_count;
    // all_to_all_c4
    if !cx.positive("all_to_all_c4", "split_count", &[count]) {
        return None;
    }
    // all_to_all_c8
    cx.check(columns.is_none_or(|n| n == count), "all_to_all_c8", || {
        format!("split_count must be the size of a group, {}, found {count}", columns.unwrap_or(0))
    });
    let mut types = TypeList::new();
    for (i, operand) in cx.tensors(0..cx.operand_count()).into_iter().enumerate() {
        // all_to_all_i1
        cx.class("all_to_all_i1", &format!("operand {i}"), operand, Class::TENSOR);
        // all_to_all_c1, all_to_all_c3
        let split = cx.in_range("all_to_all_c1", "split_dimension", &[op.split_dim], operand.rank());
        if !(cx.in_range("all_to_all_c3", "concat_dimension", &[op.concat_dim], operand.rank()) && split) {
            return None;
        }
        // all_to_all_c2
        let mut dims: Vec<Dim> = operand.dims().collect();
        let from = dims[op.split_dim];
        cx.check(from.size().is_none_or(|from| from.is_multiple_of(count)), "all_to_all_c2", || {
            format!("dimension {} of {operand} must be a multiple of {count}", op.split_dim)
        });
        // all_to_all_c9
        if op.split_dim != op.concat_dim {
            dims[op.split_dim] = from.map(|n| n / count);
            dims[op.concat_dim] = dims[op.concat_dim].map(|n| narrow(wide(n) * wide(count)));
        }
        types.push(operand.with_dims(dims).into());
    }
    Some(types)
}

/// The specification's names for the constraints on operands sent to or from one process.
struct SentCodes {
    groups: GroupCodes,
    /// Type of a sent operand.
    operand: &'static str,
    /// Number of operands: the first code is for a fixed root, the second for a dynamic root.
    count: [&'static str; 2],
    /// Range of dynamic roots.
    roots: &'static str,
}

/// Checks the operands of a broadcast or reduction with a root (the process that sends or receives the data).
/// Returns the types of the sent operands.
fn sent<'a>(cx: &mut Cx<'a>, op: &CollectiveBroadcast, codes: &SentCodes) -> Option<Vec<&'a TensorType>> {
    let columns = matrix(cx, &codes.groups, "replica_groups", &op.groups.ids, AllowedIds::Distinct);
    let count = cx.operand_count();
    let (code, least) = if op.dynamic_root { (codes.count[1], 2) } else { (codes.count[0], 1) };
    if !cx.check(count >= least, code, || format!("at least {least} operands are needed, found {count}")) {
        return None;
    }
    let sent = cx.tensors(0..count - usize::from(op.dynamic_root));
    for (i, operand) in sent.iter().enumerate() {
        cx.class(codes.operand, &format!("operand {i}"), operand, Class::TENSOR);
    }
    if op.dynamic_root {
        let (found, expected) = (cx.t(count - 1), TensorType::new(DType::S32, [count - 1]));
        cx.check(*found == expected, codes.count[1], || {
            format!("the last operand must be {expected}, which names the root, found {found}")
        });
        if let (Some(roots), Some(columns)) = (cx.constant(count - 1), columns) {
            let fits = roots.iter().all(|r| usize::try_from(*r).is_ok_and(|r| r < columns));
            cx.check(fits, codes.roots, || format!("roots must be in [0, {columns}), found {roots:?}"));
        }
    }
    Some(sent)
}

pub(super) fn collective_broadcast(cx: &mut Cx<'_>, op: &CollectiveBroadcast) -> Option<TypeList> {
    let codes = SentCodes {
        groups: GroupCodes {
            matrix: "collective_broadcast_i2",
            unique: "collective_broadcast_c1",
            range: "collective_broadcast_c2",
        },
        operand: "collective_broadcast_i1",
        count: ["collective_broadcast_c3", "collective_broadcast_c4"],
        roots: "collective_broadcast_c6",
    };
    Some(sent(cx, op, &codes)?.into_iter().cloned().map(Type::from).collect())
}

pub(super) fn collective_reduce(cx: &mut Cx<'_>, op: &CollectiveBroadcast) -> Option<TypeList> {
    let codes = SentCodes {
        groups: GroupCodes {
            matrix: "collective_reduce_i2",
            unique: "collective_reduce_c1",
            range: "collective_reduce_c2",
        },
        operand: "collective_reduce_i1",
        count: ["collective_reduce_c3", "collective_reduce_c3"],
        roots: "collective_reduce_c3",
    };
    let mut types = TypeList::new();
    for operand in sent(cx, op, &codes)? {
        // collective_reduce_c4
        types.push(reduced(cx, "collective_reduce_c4", operand)?.into());
    }
    Some(types)
}

pub(super) fn collective_permute(cx: &mut Cx<'_>, op: &CollectivePermute) -> Option<TypeList> {
    let operand = cx.t(0);
    // collective_permute_i1
    cx.class("collective_permute_i1", "operand", operand, Class::TENSOR);
    let codes = PairCodes {
        matrix: "collective_permute_i2",
        width: "collective_permute_c1",
        unique: ["collective_permute_c2", "collective_permute_c3"],
        range: "collective_permute_c4",
    };
    pairs(cx, &op.pairs, &codes);
    // collective_permute_c5
    Some(smallvec![operand.clone().into()])
}

/// The specification's names for the constraints on senders and receivers.
pub(super) struct PairCodes {
    /// The pairs are a matrix of 64-bit integers.
    pub(super) matrix: &'static str,
    /// The matrix has two columns.
    pub(super) width: &'static str,
    /// Numbers in the first column are distinct, and so are the numbers in the second column.
    pub(super) unique: [&'static str; 2],
    pub(super) range: &'static str,
}

/// Checks pairs of senders and receivers.
pub(super) fn pairs(cx: &mut Cx<'_>, pairs: &Literal, codes: &PairCodes) {
    cx.check(pairs.dims().len() == 2 && pairs.dtype() == DType::S64, codes.matrix, || {
        format!("source_target_pairs must be a 2-dimensional tensor of i64, found {}", pairs.ty())
    });
    let width = pairs.dims().get(1).copied().unwrap_or(2);
    if !cx.check(width == 2 || pairs.is_empty(), codes.width, || {
        format!("source_target_pairs must have two columns, found {}", pairs.ty())
    }) {
        return;
    }
    let ids: Vec<i64> = pairs.iter().map(|s| s.as_i64()).collect();
    for (column, (name, code)) in ["sources", "targets"].into_iter().zip(codes.unique).enumerate() {
        let mut sorted: Vec<i64> = ids.iter().skip(column).step_by(2).copied().collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|w| w[0] == w[1]);
        cx.check(twice.is_none(), code, || {
            format!("{name} must be unique, found {} twice", twice.map_or(0, |w| w[0]))
        });
    }
    let bad = ids.iter().find(|id| **id < 0);
    cx.check(bad.is_none(), codes.range, || {
        let bad = bad.map_or_else(String::new, ToString::to_string);
        format!("source_target_pairs must be at least 0, found {bad}")
    });
}
