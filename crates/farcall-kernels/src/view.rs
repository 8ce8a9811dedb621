//! Views of tensors: operations that only change where elements are read.

use farcall_ir::{Op, TensorType};
use smallvec::{SmallVec, smallvec};

use super::movement::{Axis, Movement, row_major};

/// Returns the movement of an operation's elements from its operand to its result.
pub(super) fn movement(op: &Op, from: &TensorType, to: &TensorType) -> Option<Movement> {
    View::whole(0, from).changed(op, from, to)?.movement(from, to, 0)
}

/// A tensor consisting of elements of an operand.
#[derive(Clone)]
pub(crate) struct View {
    input: usize,
    /// Number of the operand's element that comes first in the view.
    first: usize,
    dims: Vec<Axes>,
}

/// The axes that a dimension traverses, from outer to inner: size, and stride in the operand.
type Axes = SmallVec<[(usize, isize); 2]>;

impl View {
    /// Creates the view of an unchanged operand.
    pub(crate) fn whole(input: usize, ty: &TensorType) -> View {
        let axes = ty.sizes().iter().copied().zip(row_major(ty.sizes()));
        View { input, first: 0, dims: axes.map(|axis| smallvec![axis]).collect() }
    }

    /// Number of the operand.
    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// Returns the view of the result of an operation on this view. `from` is the type of the operation's
    /// operand, `to` the type of its result. `None` if the operation does more than change where elements are
    /// read.
    pub(crate) fn changed(&self, op: &Op, from: &TensorType, to: &TensorType) -> Option<View> {
        (from.dtype == to.dtype && from.rank() == self.dims.len()).then_some(())?;
        let mut first = self.first;
        let dims: Vec<Axes> = match op {
            Op::Reshape => self.reshaped(to.sizes())?,
            Op::BroadcastInDim { dims } if dims.len() == from.rank() => {
                let is_repeated = |i: usize| dims[..i].contains(&dims[i]);
                if (0..dims.len()).any(|i| dims[i] >= to.rank() || is_repeated(i)) {
                    return None;
                }
                let dim = |(d, size): (usize, &usize)| match dims.iter().position(|x| *x == d) {
                    Some(i) if from.sizes()[i] == *size => Some(self.dims[i].clone()),
                    Some(i) if from.sizes()[i] != 1 => None,
                    _ => Some(smallvec![(*size, 0)]),
                };
                to.sizes().iter().enumerate().map(dim).collect::<Option<_>>()?
            }
            Op::Transpose { permutation } => {
                permutation.iter().map(|d| self.dims.get(*d).cloned()).collect::<Option<_>>()?
            }
            Op::Slice(s) if [s.start.len(), s.strides.len(), to.rank()] == [from.rank(); 3] => {
                let slice = |(d, axes): (usize, &Axes)| {
                    let [(_, stride)] = axes[..] else { return None };
                    let size = to.sizes()[d];
                    let last = size.saturating_sub(1).checked_mul(s.strides[d])?.checked_add(s.start[d])?;
                    (size == 0 || last < from.sizes()[d]).then_some(())?;
                    first = first.checked_add(s.start[d].checked_mul(usize::try_from(stride).ok()?)?)?;
                    let step = isize::try_from(s.strides[d]).unwrap_or(isize::MAX);
                    Some(smallvec![(size, stride.saturating_mul(step))])
                };
                self.dims.iter().enumerate().map(slice).collect::<Option<_>>()?
            }
            Op::Reverse { dims } => {
                let reverse = |(d, axes): (usize, &Axes)| {
                    let [(size, stride)] = axes[..] else { return None };
                    if !dims.contains(&d) {
                        return Some(axes.clone());
                    }
                    let last = size.saturating_sub(1).checked_mul(usize::try_from(stride).ok()?)?;
                    first = first.checked_add(last)?;
                    Some(smallvec![(size, -stride)])
                };
                self.dims.iter().enumerate().map(reverse).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let view = View { input: self.input, first, dims };
        (0..view.dims.len()).map(|d| view.size(d)).eq(to.sizes().iter().copied().map(Some)).then_some(view)
    }

    /// Regroups the axes into dimensions of these sizes, and splits axes where necessary. `None` if an axis
    /// would have to be split unevenly.
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
    pub(crate) fn size(&self, dim: usize) -> Option<usize> {
        self.dims.get(dim)?.iter().try_fold(1usize, |n, (size, _)| n.checked_mul(*size))
    }

    /// Returns the movement of the view's elements into a tensor, starting at element `at`.
    pub(crate) fn movement(&self, from: &TensorType, to: &TensorType, at: usize) -> Option<Movement> {
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
        Movement::new([from, to], axes, [self.first, at])
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
