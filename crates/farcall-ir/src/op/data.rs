//! Operations that move elements without changing them.

use crate::types::TensorType;

/// `slice`: elements `start[d]`, `start[d] + strides[d]`, … below `limit[d]` of each dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// First index of each dimension.
    pub start: Vec<usize>,
    /// One past the last index of each dimension.
    pub limit: Vec<usize>,
    /// Steps, at least 1.
    pub strides: Vec<usize>,
}

impl Slice {
    /// Creates the slice of all elements of a tensor of these sizes.
    pub fn all(sizes: &[usize]) -> Slice {
        Slice { start: vec![0; sizes.len()], limit: sizes.to_vec(), strides: vec![1; sizes.len()] }
    }

    /// Returns the number of elements taken along a dimension. Strides must not be 0.
    pub fn size(&self, d: usize) -> usize {
        self.limit[d].saturating_sub(self.start[d]).div_ceil(self.strides[d])
    }

    /// Returns the number of elements taken along each dimension.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.start.len()).map(|d| self.size(d))
    }

    /// Returns the type of a slice of a tensor of type `whole`.
    pub fn of_type(&self, whole: &TensorType) -> TensorType {
        whole.with_sizes(self.sizes().collect::<Vec<usize>>())
    }

    /// Returns the last index taken along a dimension. At least one element must be taken along it.
    pub fn last(&self, d: usize) -> usize {
        self.start[d] + self.size(d).saturating_sub(1) * self.strides[d]
    }

    /// Returns the slice that has the same result as this slice followed by `second`.
    pub fn then(&self, second: &Slice) -> Slice {
        let each = |f: &dyn Fn(usize) -> usize| (0..self.start.len()).map(f).collect::<Vec<usize>>();
        let at = |d: usize, i: usize| self.start[d] + i * self.strides[d];
        // An empty slice may begin past the end.
        let some = |d: usize, i: fn(&Slice, usize) -> usize| match second.size(d) {
            0 => None,
            _ => Some(at(d, i(second, d))),
        };
        // The stride of a single element is arbitrary.
        let stride = |d: usize| if second.size(d) > 1 { self.strides[d] * second.strides[d] } else { 1 };
        Slice {
            start: each(&|d| some(d, |s, d| s.start[d]).unwrap_or(0)),
            limit: each(&|d| some(d, Slice::last).map_or(0, |last| last + 1)),
            strides: each(&stride),
        }
    }
}

/// `pad`: elements of padding around and between the operand's elements. Negative `low` and `high` cut
/// elements off.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    /// Number of elements before the first element of each dimension.
    pub low: Vec<i64>,
    /// Number of elements after the last element of each dimension.
    pub high: Vec<i64>,
    /// Number of elements between neighboring elements of each dimension, at least 0.
    pub interior: Vec<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_compose() {
        let slice =
            |start, limit, strides| Slice { start: vec![start], limit: vec![limit], strides: vec![strides] };
        assert_eq!(slice(1, 20, 3).then(&slice(2, 7, 2)), slice(7, 20, 6));
        assert_eq!(slice(1, 20, 3).then(&slice(7, 7, 1)), slice(0, 0, 1));
        assert_eq!(slice(5, 7, usize::MAX).then(&slice(0, 1, usize::MAX)), slice(5, 6, 1));
        assert_eq!((slice(1, 20, 3).size(0), slice(1, 20, 3).last(0)), (7, 19));
        assert_eq!(Slice::all(&[4, 0]).sizes().collect::<Vec<_>>(), [4, 0]);
    }
}
