//! `torch_index_select`, as a `gather`.

use super::builder::Builder;
use crate::literal::Literal;
use crate::module::ValueId;
use crate::op::derived::index_select_axes;
use crate::op::{Gather, Op};
use crate::types::TensorType;

impl Builder<'_> {
    pub(super) fn index_select(
        &mut self,
        x: ValueId,
        index: ValueId,
        dim: i64,
        batch_dims: i64,
        result: &TensorType,
    ) -> Option<ValueId> {
        let (operand, indices) = (self.ty(x), self.ty(index));
        let (dim, batch) = index_select_axes(dim, batch_dims, operand.rank(), indices.rank())?;
        if operand.elements() == Some(0)
            && let Some(sizes) = result.static_sizes()
        {
            // Nothing can be looked up, not even by a clamped index. The zeros may not fit into memory, so
            // they are a splat.
            let zeros = Literal::splat_of(result.dtype, sizes.into(), [0; 16]).ok()?;
            return Some(self.emit(Op::Constant(zeros), &[], result.clone()));
        }
        let mut slice_sizes = operand.sizes().to_vec();
        slice_sizes[..batch].fill(1);
        slice_sizes[dim] = 1;
        let behind = dim + indices.rank() - batch;
        let gather = Gather {
            offset_dims: (batch..dim).chain(behind..result.rank()).collect(),
            collapsed_slice_dims: vec![dim],
            operand_batching_dims: (0..batch).collect(),
            start_indices_batching_dims: (0..batch).collect(),
            start_index_map: vec![dim],
            index_vector_dim: indices.rank(),
            slice_sizes,
            ..Gather::default()
        };
        Some(self.emit(Op::Gather(Box::new(gather)), &[x, index], result.clone()))
    }
}
