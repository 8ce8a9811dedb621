//! Sequences of movements, as the pass `moves` groups them: broadcasts and reshapes, followed by a
//! concatenation of their results. Each element of an operand is moved directly to its final place.

use farcall_ir::{Op, TensorType, dims, interrupt};
use smallvec::{SmallVec, smallvec};

use super::prepared::PreparedKernel;
use super::straight_line::{At, MAX_MOVEMENT_BYTES, StraightLine};
use super::vector::moves::Moves;
use crate::body::Body;
use crate::movement::{Axis, Movement, row_major, tasks};

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
    moved([(view.input, view.movement(&body.args[view.input], &last.ty, 0)?)], &last.ty)
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
        // The views fill the result exactly.
        let fits = |d: usize| d == dim || view.size(d) == Some(to.sizes()[d]);
        (0..to.rank()).all(fits).then_some(())?;
        let movement = view.movement(operands[view.input].borrow(), to, at.checked_mul(stride)?)?;
        parts.push((view.input, movement));
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
    let (size, bytes) = (to.dtype.size(), to.bytes()?);
    if bytes <= MAX_MOVEMENT_BYTES {
        return movements(size, all);
    }
    let parts = |(input, movement): (usize, Movement)| {
        movement.parts(size).into_iter().map(move |part| (input, part))
    };
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

/// Prepares a kernel that moves the elements of inputs, one after another, to its only output. Elements have
/// `size` bytes.
pub(crate) fn movements(
    size: usize,
    all: impl IntoIterator<Item = (usize, Movement)>,
) -> Option<PreparedKernel> {
    let all = all.into_iter().map(|(input, movement)| Some((At::Input(input), Moves::new(movement, size)?)));
    let mut all = all.collect::<Option<Vec<(At, Moves)>>>()?.into_iter();
    let mut line = StraightLine::default();
    while !all.as_slice().is_empty() {
        // As many movements per step as a step has operands.
        let (from, moves): (Vec<At>, Vec<Moves>) = all.by_ref().take(3).unzip();
        line.moves(moves, &from, At::Output(0));
    }
    Some(PreparedKernel::straight(line))
}

/// A tensor consisting of elements of an operand.
#[derive(Clone)]
pub(crate) struct View {
    input: usize,
    dims: Vec<Axes>,
}

/// The axes that a dimension traverses, from outer to inner: size, and stride in the operand.
type Axes = SmallVec<[(usize, isize); 2]>;

impl View {
    /// Creates the view of an unchanged operand.
    pub(crate) fn whole(input: usize, ty: &TensorType) -> View {
        let axes = ty.sizes().iter().copied().zip(row_major(ty.sizes()));
        View { input, dims: axes.map(|axis| smallvec![axis]).collect() }
    }

    /// Returns the view after an operation from type `from` to type `to`.
    fn changed(&self, op: &Op, from: &TensorType, to: &TensorType) -> Option<View> {
        (from.dtype == to.dtype && from.rank() == self.dims.len()).then_some(())?;
        let dims = match op {
            Op::Reshape => self.reshaped(to.sizes())?,
            Op::BroadcastInDim { dims } if dims.len() == from.rank() => {
                let dim = |(d, size): (usize, &usize)| match dims.iter().position(|x| *x == d) {
                    Some(i) if from.sizes()[i] == *size => self.dims[i].clone(),
                    _ => smallvec![(*size, 0)],
                };
                to.sizes().iter().enumerate().map(dim).collect()
            }
            _ => return None,
        };
        Some(View { input: self.input, dims })
    }

    /// Regroups the axes for dimensions of other sizes. `None` if the boundaries of axes and dimensions do
    /// not fit.
    fn reshaped(&self, sizes: &[usize]) -> Option<Vec<Axes>> {
        let mut axes: Vec<(usize, isize)> =
            self.dims.iter().flatten().copied().filter(|(size, _)| *size != 1).collect();
        axes.reverse();
        let mut dims = Vec::with_capacity(sizes.len());
        for size in sizes {
            let (mut own, mut left) = (SmallVec::new(), *size);
            (left > 0).then_some(())?;
            while left > 1 {
                let (n, stride) = axes.pop().filter(|(n, _)| *n > 0)?;
                if left.is_multiple_of(n) {
                    own.push((n, stride));
                    left /= n;
                } else {
                    let inner = Some(n / left).filter(|_| n.is_multiple_of(left))?;
                    own.push((left, stride.checked_mul(isize::try_from(inner).ok()?)?));
                    axes.push((inner, stride));
                    left = 1;
                }
            }
            dims.push(own);
        }
        axes.is_empty().then_some(dims)
    }

    /// Returns the size of a dimension.
    fn size(&self, dim: usize) -> Option<usize> {
        self.dims.get(dim)?.iter().try_fold(1usize, |n, (size, _)| n.checked_mul(*size))
    }

    /// Returns the movement of the view's elements into a tensor, starting at element `at`.
    fn movement(&self, from: &TensorType, to: &TensorType, at: usize) -> Option<Movement> {
        (from.dtype == to.dtype && self.dims.len() == to.rank()).then_some(())?;
        let mut axes = Vec::new();
        for (own, stride) in self.dims.iter().zip(row_major(to.sizes())) {
            let mut dst = stride;
            let end = axes.len();
            for (size, src) in own.iter().rev() {
                axes.insert(end, Axis { size: *size, src: *src, dst });
                dst = dst.checked_mul(isize::try_from(*size).ok()?)?;
            }
        }
        Movement::new([from, to], axes, [0, at])
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::DType;

    use super::*;

    #[test]
    fn axes_are_split_and_joined() {
        let from = |sizes: &[usize]| View::whole(0, &TensorType::new(DType::F32, sizes));
        let axes = |view: &View, sizes: &[usize]| {
            view.reshaped(sizes).map(|dims| dims.iter().map(|own| own.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(axes(&from(&[4, 6]), &[24]), Some(vec![vec![(4, 6), (6, 1)]]));
        let split = vec![vec![(2, 12)], vec![(2, 6), (3, 2)], vec![], vec![(2, 1)]];
        assert_eq!(axes(&from(&[4, 6]), &[2, 6, 1, 2]), Some(split));
        assert_eq!(axes(&from(&[4, 6]), &[3, 8]), None);
        assert_eq!(axes(&from(&[4, 6]), &[4, 5]), None);
        assert_eq!(axes(&from(&[4, 6]), &[4, 12]), None);
    }
}
