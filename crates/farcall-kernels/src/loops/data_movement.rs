//! Sequences of movements, as the pass `movement_fusion` groups them: broadcasts and reshapes, followed by a
//! concatenation of their results. Each element of an operand is moved directly to its final place.

use farcall_ir::{Op, TensorType, dims, interrupt};

use super::prepared::PreparedKernel;
use super::straight_line::{At, MAX_MOVEMENT_BYTES, StraightLine};
use super::vector::moves::Moves;
use crate::body::Body;
use crate::movement::{Movement, tasks};
use crate::view::View;

/// Returns true if a body consists only of movements.
pub(crate) fn are_all(body: &Body) -> bool {
    let is_move = |op: &Op| matches!(op, Op::BroadcastInDim { .. } | Op::Reshape | Op::Concatenate { .. });
    !body.insts.is_empty() && body.insts.iter().all(|inst| is_move(&inst.op))
}

/// Prepares a kernel for a fusion that consists only of movements.
pub(crate) fn prepare(body: &Body) -> Option<PreparedKernel> {
    let [returned] = body.returned[..] else { return None };
    let (last, before) = body.insts.split_last()?;
    let mut views: Vec<View> = body.args.iter().enumerate().map(|(i, ty)| View::whole(i, ty)).collect();
    for inst in before {
        let [x] = inst.operands[..] else { return None };
        let view = views[x].changed(&inst.op, body.ty(x)?, &inst.ty)?;
        views.push(view);
    }
    (returned == views.len()).then_some(())?;
    if let Op::Concatenate { dim } = last.op {
        return concatenated(last.operands.iter().map(|x| &views[*x]), dim, &body.args, &last.ty);
    }
    let [x] = last.operands[..] else { return None };
    let view = views[x].changed(&last.op, body.ty(x)?, &last.ty)?;
    moved([(view.input(), view.movement(&body.args[view.input()], &last.ty, 0)?)], &last.ty)
}

/// Prepares a kernel that concatenates views of these operands along a dimension.
pub(crate) fn concatenated<'v>(
    views: impl Iterator<Item = &'v View>,
    dim: usize,
    operands: &[impl std::borrow::Borrow<TensorType>],
    to: &TensorType,
) -> Option<PreparedKernel> {
    let stride = *dims::strides(to.sizes()).get(dim)?;
    let (mut parts, mut at) = (Vec::new(), 0usize);
    for view in views {
        // Along all other dimensions, each view must have the size of the result.
        let fits = |d: usize| d == dim || view.size(d) == Some(to.sizes()[d]);
        (0..to.rank()).all(fits).then_some(())?;
        let movement = view.movement(operands[view.input()].borrow(), to, at.checked_mul(stride)?)?;
        parts.push((view.input(), movement));
        at = at.checked_add(view.size(dim)?)?;
    }
    (at == to.sizes()[dim]).then_some(())?;
    moved(parts, to)
}

/// Prepares a kernel that moves elements of inputs to its only output, of type `to`, with one movement per
/// input.
pub(crate) fn moved(
    all: impl IntoIterator<Item = (usize, Movement)>,
    to: &TensorType,
) -> Option<PreparedKernel> {
    let bytes = to.bytes()?;
    if bytes <= MAX_MOVEMENT_BYTES {
        return movements(all);
    }
    let parts =
        |(input, movement): (usize, Movement)| movement.parts().into_iter().map(move |part| (input, part));
    let parts: Vec<(usize, Movement)> = all.into_iter().flat_map(parts).collect();
    let share = parts.len().div_ceil(tasks(bytes)).max(1);
    Some(PreparedKernel::in_tasks(parts.len().div_ceil(share), move |args, task| {
        for (i, (input, part)) in parts.iter().skip(task * share).take(share).enumerate() {
            if i > 0 && interrupt::is_due() {
                return;
            }
            // SAFETY: the tensors have the types that the movement was created for, and are disjoint; tasks
            // have different parts.
            unsafe { part.run(args.input_ptr(*input), args.output_ptr(0)) };
        }
    }))
}

/// Prepares a kernel that moves the elements of inputs, one after another, to its only output.
pub(crate) fn movements(all: impl IntoIterator<Item = (usize, Movement)>) -> Option<PreparedKernel> {
    let all = all.into_iter().map(|(input, movement)| Some((At::Input(input), Moves::new(movement)?)));
    let mut all = all.collect::<Option<Vec<(At, Moves)>>>()?.into_iter();
    let mut line = StraightLine::default();
    while !all.as_slice().is_empty() {
        // A step has at most three operands, and so at most three movements.
        let (from, moves): (Vec<At>, Vec<Moves>) = all.by_ref().take(3).unzip();
        line.moves(moves, &from, At::Output(0));
    }
    Some(PreparedKernel::straight(line))
}
