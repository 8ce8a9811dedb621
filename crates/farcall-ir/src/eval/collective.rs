//! Collectives. The host passes the operands of each process of a group to all processes of the group
//! ([`EvalHost::exchange`](super::EvalHost::exchange)), and each process computes its own results from them.
//! Contributions to a reduction are combined in the order of the group.

use super::index::{known_sizes, zeros};
use super::machine::Machine;
use super::process::{in_grid, place, process};
use super::{EvalError, EvalValue, Meeting, data, elementwise, one, quantize, reduction, tensor};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::collective::{Process, ProcessRole};
use crate::op::{AllGather, AllToAll, CollectiveBroadcast, CollectivePermute, Groups, Op, ReduceScatter};
use crate::scalar::Scalar;
use crate::text;

/// `partition_id` and `replica_id`
pub(super) fn id(m: &Machine<'_>, inst: Inst<'_>) -> Result<Vec<EvalValue>, EvalError> {
    let process = process(m);
    let id = if *inst.op() == Op::ReplicaId { process.replica() } else { process.partition() };
    let ty = m.result_type(inst, 0)?;
    one(Literal::scalar(ty.dtype, Scalar::Unsigned(id as u64).round_to(ty.dtype)))
}

/// `all_gather`
pub(super) fn all_gather(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    op: &AllGather,
) -> Result<Vec<EvalValue>, EvalError> {
    match op.groups.role(process(m)) {
        ProcessRole::Alone => converted(m, inst, xs),
        ProcessRole::Outside => Err(outside(m)),
        ProcessRole::Member(group) => {
            let all = exchange(m, inst, xs, &group, op.groups.channel_id())?;
            (0..xs.len()).map(|i| joined(all.iter().map(|of| of[i].clone()), op.dim)).collect()
        }
    }
}

/// `all_reduce`
pub(super) fn all_reduce<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    groups: &Groups,
) -> Result<Vec<EvalValue>, EvalError> {
    match groups.reduction_role(process(m)) {
        ProcessRole::Alone => converted(m, inst, xs),
        ProcessRole::Outside => Err(outside(m)),
        ProcessRole::Member(group) => {
            let all = exchange(m, inst, &converted(m, inst, xs)?, &group, groups.channel_id())?;
            (0..xs.len()).map(|i| combined(m, inst, &all, i)).collect()
        }
    }
}

/// `reduce_scatter`
pub(super) fn reduce_scatter<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    op: &ReduceScatter,
) -> Result<Vec<EvalValue>, EvalError> {
    let process = process(m);
    match op.groups.role(process) {
        ProcessRole::Alone => converted(m, inst, xs),
        ProcessRole::Outside => Err(outside(m)),
        ProcessRole::Member(group) => {
            let all = exchange(m, inst, &converted(m, inst, xs)?, &group, op.groups.channel_id())?;
            let whole = combined(m, inst, &all, 0)?;
            Ok(vec![part(&whole, op.dim, group.len(), position(&group, process))?])
        }
    }
}

/// `all_to_all`
pub(super) fn all_to_all(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    op: &AllToAll,
) -> Result<Vec<EvalValue>, EvalError> {
    let process = process(m);
    match op.groups.exchange_role(process) {
        ProcessRole::Alone => converted(m, inst, xs),
        ProcessRole::Outside => nothing(m, inst),
        ProcessRole::Member(group) => {
            let all = exchange(m, inst, xs, &group, op.groups.channel_id())?;
            let own = position(&group, process);
            let result = |i: usize| {
                let parts = all.iter().map(|of| part(&of[i], op.split_dim, group.len(), own));
                joined(parts.collect::<Result<Vec<EvalValue>, EvalError>>()?.into_iter(), op.concat_dim)
            };
            (0..xs.len()).map(result).collect()
        }
    }
}

/// `collective_broadcast` and `collective_reduce`: operands and, if roots are dynamic, the position of the
/// root of each operand in the group.
pub(super) fn rooted<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    op: &CollectiveBroadcast,
) -> Result<Vec<EvalValue>, EvalError> {
    let process = process(m);
    let values = if op.dynamic_root { xs.len().saturating_sub(1) } else { xs.len() };
    let group = match op.groups.exchange_role(process) {
        ProcessRole::Alone => return converted(m, inst, &xs[..values]),
        ProcessRole::Outside => return nothing(m, inst),
        ProcessRole::Member(group) => group,
    };
    let reduces = matches!(inst.op(), Op::CollectiveReduce(_));
    let sent = if reduces { converted(m, inst, &xs[..values])? } else { xs[..values].to_vec() };
    let all = exchange(m, inst, &sent, &group, op.groups.channel_id())?;
    let roots = if op.dynamic_root { Some(tensor(xs, values)?.clone()) } else { None };
    let zeros = nothing(m, inst)?;
    (0..values)
        .map(|i| {
            let root = roots.as_ref().map_or(0, |roots| roots.get(i).as_i64());
            let root = usize::try_from(root).ok().filter(|root| *root < group.len()).ok_or_else(|| {
                EvalError::new(format!("root {root} is not a position in a group of {}", group.len()))
            })?;
            match reduces {
                false => Ok(all[root][i].clone()),
                true if group[root] == process.number => combined(m, inst, &all, i),
                true => Ok(zeros[i].clone()),
            }
        })
        .collect()
}

/// `collective_permute`
pub(super) fn permute(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    op: &CollectivePermute,
) -> Result<Vec<EvalValue>, EvalError> {
    let process = process(m);
    let role = op.role(process);
    // As in XLA, a program that runs alone does not wait for the receivers of its values.
    if role.source.is_none() && m.host.process().is_none() {
        return nothing(m, inst);
    }
    if role.connected.len() == 1 {
        return if role.source.is_some() { converted(m, inst, xs) } else { nothing(m, inst) };
    }
    let channel = op.channel.map_or(0, |c| c.handle);
    let all = exchange(m, inst, xs, &role.connected, channel)?;
    match role.source.and_then(|source| role.connected.iter().position(|p| *p == source)) {
        Some(source) => Ok(all[source].clone()),
        None => nothing(m, inst),
    }
}

/// Passes the values of this process to the others of a group. Returns the values of each process of the
/// group.
fn exchange(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    group: &[usize],
    channel: i64,
) -> Result<Vec<Vec<EvalValue>>, EvalError> {
    in_grid(m, group.len())?;
    let values = (0..xs.len()).map(|i| tensor(xs, i).cloned()).collect::<Result<Vec<Literal>, _>>()?;
    let (place, signature) = (place(m, inst), text::print(&m.module.extract(inst)));
    let op = inst.op().name();
    let meeting = Meeting { op, place: &place, channel, group, signature: &signature };
    let all = m.host.exchange(&meeting, values)?;
    if all.len() != group.len() || all.iter().any(|of| of.len() != xs.len()) {
        return Err(EvalError::new("the host exchanged the wrong number of values"));
    }
    Ok(all.into_iter().map(|of| of.into_iter().map(EvalValue::Tensor).collect()).collect())
}

/// Combines the values number `i` of all processes, in the order of the group.
fn combined<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    all: &[Vec<EvalValue>],
    i: usize,
) -> Result<EvalValue, EvalError> {
    let mut sum = all[0][i].clone();
    for of in &all[1..] {
        sum = reduction::combined(m, inst, [&sum, &of[i]])?;
    }
    Ok(sum)
}

/// Joins tensors along a dimension.
fn joined(parts: impl Iterator<Item = EvalValue>, dim: usize) -> Result<EvalValue, EvalError> {
    let parts: Vec<EvalValue> = parts.collect();
    let mut joined = data::concatenate(&parts, dim)?;
    joined.pop().ok_or_else(|| EvalError::new("there are no parts to join"))
}

/// Returns a part of a tensor that is split along a dimension.
fn part(x: &EvalValue, dim: usize, count: usize, number: usize) -> Result<EvalValue, EvalError> {
    let x = x.tensor().ok_or_else(|| EvalError::new("a collective takes tensors"))?;
    let (mut start, mut limit) = (vec![0; x.dims().len()], x.dims().to_vec());
    let size = x.dims().get(dim).copied().unwrap_or(0);
    if count == 0 || !size.is_multiple_of(count) {
        return Err(EvalError::new(format!("{} cannot be split into {count} parts", x.ty())));
    }
    (start[dim], limit[dim]) = (size / count * number, size / count * (number + 1));
    Ok(EvalValue::Tensor(data::sliced(x, &start, &limit, &vec![1; limit.len()])?))
}

/// Returns the position of a process in its group.
fn position(group: &[usize], process: Process) -> usize {
    group.iter().position(|number| *number == process.number).unwrap_or(0)
}

/// The results of a process that receives nothing: zeros. Quantized tensors represent zero by their zero
/// point.
fn nothing(m: &Machine<'_>, inst: Inst<'_>) -> Result<Vec<EvalValue>, EvalError> {
    let zero = |i| {
        let ty = m.result_type(inst, i)?;
        let mut out = zeros(ty.dtype, known_sizes(&ty)?)?;
        if let Some(q) = &ty.quant {
            let zero = Scalar::Signed(q.zero_points.first().copied().unwrap_or(0));
            (0..out.len()).for_each(|i| out.set(i, zero));
        }
        Ok(EvalValue::Tensor(out))
    };
    (0..inst.results().len()).map(zero).collect()
}

/// Converts the operands to the result types, which may be wider for reductions.
fn converted(m: &Machine<'_>, inst: Inst<'_>, xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    (0..xs.len())
        .map(|i| {
            let (x, from, to) = (tensor(xs, i)?, m.operand_type(inst, i)?, m.result_type(inst, i)?);
            if from.dtype == to.dtype && from.quant == to.quant {
                return Ok(xs[i].clone());
            }
            if from.quant.is_some() || to.quant.is_some() {
                return quantize::quantized(&quantize::dequantized(x, &from)?, &to).map(EvalValue::Tensor);
            }
            let element = |i| elementwise::convert_element(m.denormals, from.dtype, to.dtype, x.get(i));
            Ok(EvalValue::Tensor(Literal::try_from_fn(to.dtype, x.dims(), element)?))
        })
        .collect()
}

/// The error of a process that the groups of a reduction or an `all_gather` leave out.
fn outside(m: &Machine<'_>) -> EvalError {
    let process = process(m);
    let (replica, partition) = (process.replica(), process.partition());
    EvalError::new(format!(
        "replica_groups must name every process of the grid ({}), but replica {replica}, partition {partition} is \
         missing",
        process.grid
    ))
}
