//! Dimension numbers of `gather` and `scatter` under common names.
//!
//! Both copy *windows* between an operand and a tensor of windows: the result of a gather, the updates of a
//! scatter. An index vector gives the position of a window in the operand.
//!
//! ```text
//!                    operand               indices                    windows
//! dimensions         window dimensions     batch dimensions           window dimensions (`window_dims`)
//!                    missing dimensions    index_vector_dim           batch dimensions
//!                    batching dimensions   (batching dimensions are batch dimensions)
//! ```

use super::{others, strides};
use crate::op::{FormOp, Gather, Op, Scatter};

/// The dimension numbers of a gather or scatter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedDims<'a> {
    /// Window dimensions of the windows' tensor: `offset_dims`, `update_window_dims`.
    pub window_dims: &'a [usize],
    /// Dimensions of the operand in which windows have one element, and which the windows' tensor lacks:
    /// `collapsed_slice_dims`, `inserted_window_dims`.
    pub missing_dims: &'a [usize],
    /// Dimensions of the operand in which the position of a window is not indexed, but equals the position of
    /// its index vector in the corresponding dimension of the indices: `operand_batching_dims`,
    /// `input_batching_dims`.
    pub operand_batching_dims: &'a [usize],
    /// Dimensions of the indices, one per dimension of `operand_batching_dims`:
    /// `start_indices_batching_dims`, `scatter_indices_batching_dims`.
    pub indices_batching_dims: &'a [usize],
    /// The operand's dimension for each entry of an index vector: `start_index_map`,
    /// `scatter_dims_to_operand_dims`.
    pub indexed_dims: &'a [usize],
    /// Dimension of the indices that holds index vectors. If it equals the rank of the indices, each vector
    /// has one entry.
    pub index_vector_dim: usize,
    /// For each entry of an index vector, the number that is added to the entry if it is negative. Empty if
    /// no entry is wrapped.
    pub wrap: &'a [usize],
}

impl<'a> From<&'a Gather> for IndexedDims<'a> {
    fn from(g: &'a Gather) -> IndexedDims<'a> {
        IndexedDims {
            window_dims: &g.offset_dims,
            missing_dims: &g.collapsed_slice_dims,
            operand_batching_dims: &g.operand_batching_dims,
            indices_batching_dims: &g.start_indices_batching_dims,
            indexed_dims: &g.start_index_map,
            index_vector_dim: g.index_vector_dim,
            wrap: &[],
        }
    }
}

impl<'a> From<&'a Scatter> for IndexedDims<'a> {
    fn from(s: &'a Scatter) -> IndexedDims<'a> {
        IndexedDims {
            window_dims: &s.update_window_dims,
            missing_dims: &s.inserted_window_dims,
            operand_batching_dims: &s.input_batching_dims,
            indices_batching_dims: &s.scatter_indices_batching_dims,
            indexed_dims: &s.scatter_dims_to_operand_dims,
            index_vector_dim: s.index_vector_dim,
            wrap: &[],
        }
    }
}

impl<'a> IndexedDims<'a> {
    /// Returns the dimension numbers of a `gather` or `scatter`; `None` for other operations.
    pub fn of(op: &'a Op) -> Option<IndexedDims<'a>> {
        match op {
            Op::Gather(gather) => Some((&**gather).into()),
            Op::Scatter(scatter) => Some((&**scatter).into()),
            Op::Form(FormOp::WrappingGather(wrapping)) => {
                Some(IndexedDims { wrap: &wrapping.wrap, ..(&wrapping.op).into() })
            }
            Op::Form(FormOp::WrappingScatter(wrapping)) => {
                Some(IndexedDims { wrap: &wrapping.wrap, ..(&wrapping.op).into() })
            }
            _ => None,
        }
    }

    /// Returns true if the operation wraps negative indices.
    pub fn wraps(&self) -> bool {
        self.wrap.iter().any(|n| *n > 0)
    }

    /// Returns the window dimensions of an operand of this rank, in the order of `window_dims`.
    pub fn operand_window_dims(&self, rank: usize) -> Vec<usize> {
        others(rank, &[self.missing_dims, self.operand_batching_dims])
    }

    /// Returns the batch dimensions of indices of this rank.
    pub fn indices_batch_dims(&self, rank: usize) -> Vec<usize> {
        others(rank, &[&[self.index_vector_dim]])
    }

    /// Returns the batch dimensions of a windows' tensor of this rank, in the order of the indices' batch
    /// dimensions.
    pub fn windows_batch_dims(&self, rank: usize) -> Vec<usize> {
        others(rank, &[self.window_dims])
    }

    /// Returns the number of entries of an index vector in indices with dimensions of these sizes.
    pub fn entries(&self, indices: &[usize]) -> usize {
        indices.get(self.index_vector_dim).copied().unwrap_or(1)
    }

    /// Returns the dimension of the operand that belongs to a batch dimension of the indices. `Some(None)` if
    /// the batch dimension is not a batching dimension; `None` if the operand lacks the corresponding
    /// dimension.
    fn operand_batching_dim(&self, indices_dim: usize) -> Option<Option<usize>> {
        match self.indices_batching_dims.iter().position(|d| *d == indices_dim) {
            Some(i) => self.operand_batching_dims.get(i).map(|d| Some(*d)),
            None => Some(None),
        }
    }

    /// Returns the size of a window in each dimension of an operand of this rank, for a windows' tensor with
    /// dimensions of these sizes. `None` if the numbers do not fit the tensors.
    pub fn window_sizes(&self, rank: usize, windows: &[usize]) -> Option<Vec<usize>> {
        let dims = self.operand_window_dims(rank);
        let mut sizes = vec![1; rank];
        for (d, to) in dims.iter().zip(self.window_dims) {
            sizes[*d] = *windows.get(*to)?;
        }
        (dims.len() == self.window_dims.len()).then_some(sizes)
    }

    /// Returns true if the position in a dimension of the operand is given twice: by two entries of an index
    /// vector, or by an entry and a batching dimension.
    fn has_duplicates(&self) -> bool {
        let mut positions: Vec<usize> = [self.indexed_dims, self.operand_batching_dims].concat();
        positions.sort_unstable();
        positions.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns the places of windows in row-major tensors with dimensions of these sizes. `window` has the
    /// size of a window in each dimension of the operand. Returns `None` if the numbers do not fit the
    /// tensors, so they need not be verified beforehand.
    pub fn placement(
        &self,
        window: &[usize],
        [operand, indices, windows]: [&[usize]; 3],
    ) -> Option<Placement> {
        let [operand_strides, indices_strides, windows_strides] = [operand, indices, windows].map(strides);
        let is_ascending = self.window_dims.is_sorted_by(|a, b| a < b);
        if window.len() != operand.len() || self.index_vector_dim > indices.len() || !is_ascending {
            return None;
        }
        let limits: Vec<usize> =
            operand.iter().zip(window).map(|(dim, size)| dim.checked_sub(*size)).collect::<Option<_>>()?;

        let dims = self.operand_window_dims(operand.len());
        if dims.len() != self.window_dims.len() {
            return None;
        }
        let window = dims.iter().zip(self.window_dims).map(|(d, to)| {
            let size = window[*d];
            (windows.get(*to)? == &size).then(|| WindowAxis {
                size,
                operand: operand_strides[*d],
                windows: windows_strides[*to],
            })
        });
        let window: Vec<WindowAxis> = window.collect::<Option<_>>()?;

        let dims = [self.indices_batch_dims(indices.len()), self.windows_batch_dims(windows.len())];
        if dims[0].len() != dims[1].len() {
            return None;
        }
        let batch = dims[0].iter().zip(&dims[1]).map(|(d, to)| {
            let size = indices[*d];
            let stride = match self.operand_batching_dim(*d)? {
                Some(of) => (*operand.get(of)? == size).then_some(operand_strides[of])?,
                None => 0,
            };
            (windows[*to] == size).then_some(BatchAxis {
                size,
                indices: indices_strides[*d],
                operand: stride,
                windows: windows_strides[*to],
            })
        });
        let batch: Vec<BatchAxis> = batch.collect::<Option<_>>()?;

        let entries = self.indexed_dims.iter().enumerate().map(|(i, d)| {
            let wrap = self.wrap.get(i).copied().unwrap_or(0);
            Some(IndexEntry { limit: *limits.get(*d)?, stride: operand_strides[*d], wrap })
        });
        let entries: Vec<IndexEntry> = entries.collect::<Option<_>>()?;
        if self.entries(indices) != entries.len() || self.has_duplicates() {
            return None;
        }
        let entry_stride = indices_strides.get(self.index_vector_dim).copied().unwrap_or(0);
        Some(Placement { window, batch, entries, entry_stride })
    }
}

/// Places of the windows of a gather or scatter. Dimensions are ordered from outer to inner, and strides are
/// in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Dimensions of a window.
    pub window: Vec<WindowAxis>,
    /// Batch dimensions.
    pub batch: Vec<BatchAxis>,
    /// Entries of an index vector.
    pub entries: Vec<IndexEntry>,
    /// Distance between the entries of an index vector.
    pub entry_stride: usize,
}

/// A dimension of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowAxis {
    /// Size of the window.
    pub size: usize,
    /// Stride in the operand.
    pub operand: usize,
    /// Stride in the windows' tensor.
    pub windows: usize,
}

/// A batch dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchAxis {
    /// Size of the dimension.
    pub size: usize,
    /// Stride in the indices.
    pub indices: usize,
    /// Stride in the operand, for batching dimensions; else 0.
    pub operand: usize,
    /// Stride in the windows' tensor.
    pub windows: usize,
}

/// Effect of an entry of an index vector on the position of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexEntry {
    /// The largest value for which the window is inside the operand.
    pub limit: usize,
    /// Stride in the operand.
    pub stride: usize,
    /// Number added to negative values.
    pub wrap: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gather of rows from an operand of sizes `[4, 5, 6]`. The middle dimension is indexed, and the first
    /// is a batching dimension.
    const ROWS: IndexedDims<'static> = IndexedDims {
        window_dims: &[2],
        missing_dims: &[1],
        operand_batching_dims: &[0],
        indices_batching_dims: &[0],
        indexed_dims: &[1],
        index_vector_dim: 2,
        wrap: &[5],
    };
    const WINDOW: [usize; 3] = [1, 1, 6];
    const SIZES: [&[usize]; 3] = [&[4, 5, 6], &[4, 3], &[4, 3, 6]];

    #[test]
    fn windows_have_places() {
        let batch = |size, indices, operand, windows| BatchAxis { size, indices, operand, windows };
        assert_eq!(ROWS.window_sizes(3, SIZES[2]), Some(WINDOW.to_vec()));
        assert_eq!(
            ROWS.placement(&WINDOW, SIZES),
            Some(Placement {
                window: vec![WindowAxis { size: 6, operand: 1, windows: 1 }],
                batch: vec![batch(4, 3, 30, 18), batch(3, 1, 0, 6)],
                entries: vec![IndexEntry { limit: 4, stride: 6, wrap: 5 }],
                entry_stride: 0,
            })
        );
    }

    #[test]
    fn numbers_that_do_not_fit_have_no_places() {
        let misfits = [
            IndexedDims { window_dims: &[2, 1], missing_dims: &[], ..ROWS },
            IndexedDims { window_dims: &[3], ..ROWS },
            IndexedDims { missing_dims: &[], ..ROWS },
            IndexedDims { operand_batching_dims: &[3], ..ROWS },
            IndexedDims { operand_batching_dims: &[], ..ROWS },
            IndexedDims { indexed_dims: &[0], ..ROWS },
            IndexedDims { indexed_dims: &[3], ..ROWS },
            IndexedDims { indexed_dims: &[1, 2], ..ROWS },
            IndexedDims { index_vector_dim: 1, ..ROWS },
            IndexedDims { index_vector_dim: 3, ..ROWS },
        ];
        for misfit in misfits {
            assert_eq!(misfit.placement(&WINDOW, SIZES), None, "{misfit:?}");
        }
        assert_eq!(ROWS.placement(&[1, 1, 5], SIZES), None);
        assert_eq!(ROWS.placement(&[1, 1], SIZES), None);
    }
}
