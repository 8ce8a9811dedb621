//! Operations that move elements without changing them.

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
    /// That of all elements of a tensor of these sizes.
    pub fn all(sizes: &[usize]) -> Slice {
        Slice { start: vec![0; sizes.len()], limit: sizes.to_vec(), strides: vec![1; sizes.len()] }
    }

    /// How many elements of a dimension it takes.
    pub fn size(&self, d: usize) -> usize {
        self.limit[d].saturating_sub(self.start[d]).div_ceil(self.strides[d])
    }

    /// How many elements of each dimension it takes.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.start.len()).map(|d| self.size(d))
    }

    /// The last index of a dimension that it takes; of which it takes one at least.
    pub fn last(&self, d: usize) -> usize {
        self.start[d] + self.size(d).saturating_sub(1) * self.strides[d]
    }

    /// What a slice of its result takes of its operand.
    pub fn then(&self, second: &Slice) -> Slice {
        let each = |f: &dyn Fn(usize) -> usize| (0..self.start.len()).map(f).collect::<Vec<usize>>();
        let at = |d: usize, i: usize| self.start[d] + i * self.strides[d];
        // A slice of nothing may begin behind the end.
        let some = |d: usize, i: usize| if second.size(d) == 0 { 0 } else { i };
        Slice {
            start: each(&|d| some(d, at(d, second.start[d]))),
            limit: each(&|d| some(d, at(d, second.last(d)) + 1)),
            strides: each(&|d| self.strides[d] * second.strides[d]),
        }
    }
}

/// `pad`: elements of padding around and between those of the operand. `low` and `high` may be
/// negative (elements are cut off).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    /// Before the first element of each dimension.
    pub low: Vec<i64>,
    /// After the last element of each dimension.
    pub high: Vec<i64>,
    /// Between elements of each dimension, at least 0.
    pub interior: Vec<i64>,
}
