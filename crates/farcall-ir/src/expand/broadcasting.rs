//! Operands of different shapes in one shape.

use super::builder::Builder;
use crate::module::ValueId;
use crate::types::{Dim, TensorType};

/// The shape of operands together: that of the highest rank, where those of size 1 take the sizes of others.
/// `dims` says which dimensions those of a lower rank are; without, they are the last ones. `None` if sizes
/// contradict each other.
pub(crate) fn result_dims(operands: &[&TensorType], dims: Option<&[usize]>) -> Option<Vec<Dim>> {
    let rank = operands.iter().map(|t| t.rank()).max()?;
    let mut result = vec![Dim::Static(1); rank];
    for operand in operands {
        for (dim, d) in operand.dims().zip(places(operand.rank(), rank, dims)) {
            let known: &mut Dim = result.get_mut(d)?;
            *known = match (*known, dim) {
                (Dim::Static(1), other) | (other, Dim::Static(1)) => other,
                // What is open is 1 or the size that is known.
                (a, b) if a.may_equal(b) => a.or(b),
                _ => return None,
            };
        }
    }
    Some(result)
}

/// The dimensions of the result that those of an operand are.
fn places(rank: usize, of: usize, dims: Option<&[usize]>) -> Vec<usize> {
    match dims {
        Some(dims) if rank < of => dims.to_vec(),
        _ => (of - rank..of).collect(),
    }
}

impl Builder<'_> {
    /// Operands in the shape of the result.
    pub(super) fn same_shape(
        &mut self,
        xs: &[ValueId],
        to: &[usize],
        dims: Option<&[usize]>,
    ) -> Option<Vec<ValueId>> {
        let ranks = || xs.iter().map(|x| self.ty(*x).rank());
        if ranks().any(|rank| rank > to.len()) {
            return None;
        }
        Some(xs.iter().map(|x| self.broadcast(*x, &places(self.ty(*x).rank(), to.len(), dims), to)).collect())
    }
}
