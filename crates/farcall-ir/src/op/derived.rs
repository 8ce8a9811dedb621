//! Derived operations, which are defined by simpler operations; [`crate::expand`] contains the definitions.
//!
//! The specification defines some as programs (batch normalization). Others are not in the specification,
//! because they are deprecated (`dot`, `einsum`) or belong to CHLO (operations that broadcast their
//! operands).

use crate::literal::Literal;
use crate::op::{Binary, Compare, Precision};
use crate::types::{Dim, TensorType};

/// An operation defined by simpler ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Derived {
    /// `broadcast`: prepends dimensions of these sizes.
    Broadcast {
        /// Sizes of the prepended dimensions.
        sizes: Vec<usize>,
    },
    /// `chlo.broadcast_add` and the like.
    Broadcasting(Broadcasting),
    /// `chlo.constant_like`: a tensor in the shape of the operand, whose elements all equal the element of
    /// this literal.
    ConstantLike(Literal),
    /// `dot`: contracts the last dimension of lhs with the first of rhs.
    Dot {
        /// One precision for each operand, or empty.
        precision: Vec<Precision>,
    },
    /// `einsum`: lhs, rhs.
    Einsum {
        /// `ab,bc->ac`
        config: String,
    },
    /// `unary_einsum`
    UnaryEinsum {
        /// `ab->a`
        config: String,
    },
    /// `torch_index_select`: operand, index.
    TorchIndexSelect {
        /// Indexed dimension of the operand; negative numbers count from the end.
        dim: i64,
        /// Number of batch dimensions that both operands share; a negative number counts from the rank of
        /// `index`.
        batch_dims: i64,
    },
    /// `batch_norm_inference`: operand, scale, offset, mean, variance.
    BatchNormInference(BatchNorm),
    /// `batch_norm_training`: operand, scale, offset; results: output, batch_mean, batch_var.
    BatchNormTraining(BatchNorm),
    /// `batch_norm_grad`: operand, scale, mean, variance, grad_output; results: grad_operand, grad_scale,
    /// grad_offset.
    BatchNormGrad(BatchNorm),
    /// `chlo.ragged_dot`: lhs, rhs, group_sizes.
    RaggedDot(Box<RaggedDot>),
    /// `chlo.sin_cos`; results: sine, cosine.
    SinCos,
}

/// A function of operands whose shapes may differ. Dimensions of size 1 are repeated, and dimensions that an
/// operand lacks are inserted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Broadcasting {
    /// Function applied to corresponding elements.
    pub function: Broadcasted,
    /// Result dimensions that the dimensions of the operand of lower rank map to; `None` means the last
    /// dimensions of the result.
    pub dims: Option<Vec<usize>>,
}

impl Broadcasting {
    /// Returns the dimensions of the result: the rank is the highest of the operands, and a dimension of size
    /// 1 takes the size that another operand has there. `None` if sizes contradict each other.
    pub(crate) fn result_dims(&self, operands: &[&TensorType]) -> Option<Vec<Dim>> {
        let rank = operands.iter().map(|t| t.rank()).max()?;
        let mut result = vec![Dim::Static(1); rank];
        for operand in operands {
            for (dim, d) in operand.dims().zip(self.places(operand.rank(), rank)) {
                let known: &mut Dim = result.get_mut(d)?;
                *known = match (*known, dim) {
                    (Dim::Static(1), other) | (other, Dim::Static(1)) => other,
                    // A dynamic size is 1 or equals the known size.
                    (a, b) if a.may_equal(b) => a.or(b),
                    _ => return None,
                };
            }
        }
        Some(result)
    }

    /// Returns the dimensions of a result of rank `of` that the dimensions of an operand of rank `rank` map
    /// to.
    pub(crate) fn places(&self, rank: usize, of: usize) -> Vec<usize> {
        match &self.dims {
            Some(dims) if rank < of => dims.clone(),
            _ => (of - rank..of).collect(),
        }
    }
}

/// Functions that CHLO defines for operands of different shapes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Broadcasted {
    /// Any binary function that [broadcasts](super::elementwise::FunctionInfo::broadcasts).
    Binary(Binary),
    /// `compare`
    Compare(Compare),
    /// `select`
    Select,
}

impl Broadcasted {
    /// Returns the binary functions that have a form with operands of different shapes.
    pub fn binary() -> impl Iterator<Item = Binary> {
        Binary::VARIANTS.into_iter().filter(|op| op.info().broadcasts)
    }
}

/// Returns the indexed dimension and the number of batch dimensions of `torch_index_select`, both counted
/// from the start. `None` if the operands have no such dimensions.
pub(crate) fn index_select_axes(
    dim: i64,
    batch_dims: i64,
    operand: usize,
    index: usize,
) -> Option<(usize, usize)> {
    let from_start = |n: i64, rank: usize| {
        let n = if n < 0 { n.checked_add(i64::try_from(rank).ok()?)? } else { n };
        usize::try_from(n).ok()
    };
    let (dim, batch) = (from_start(dim, operand)?, from_start(batch_dims, index)?);
    (dim < operand && batch <= index && batch <= dim).then_some((dim, batch))
}

/// The attributes of batch normalization.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchNorm {
    /// Bit pattern of the `f32` that is added to the variance.
    pub epsilon_bits: u32,
    /// Feature dimension. Means and variances are taken over the other dimensions.
    pub feature: usize,
}

impl BatchNorm {
    /// Returns the value that is added to the variance.
    pub fn epsilon(self) -> f32 {
        f32::from_bits(self.epsilon_bits)
    }
}

/// `chlo.ragged_dot`: a product in which each group of rows has its own matrix.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RaggedDot {
    /// Batching dimensions of lhs, paired with the list for rhs.
    pub lhs_batch: Vec<usize>,
    /// Batching dimensions of rhs.
    pub rhs_batch: Vec<usize>,
    /// Contracting dimensions of lhs, paired with the list for rhs.
    pub lhs_contract: Vec<usize>,
    /// Contracting dimensions of rhs.
    pub rhs_contract: Vec<usize>,
    /// The ragged dimension of lhs, which is divided into groups. The list has one element.
    pub lhs_ragged: Vec<usize>,
    /// The group dimension of rhs: one element if the ragged dimension is free, else none.
    pub rhs_group: Vec<usize>,
    /// One precision for each operand, or empty.
    pub precision: Vec<Precision>,
}

/// Role of the ragged dimension of lhs in the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ragged {
    /// `[b, m, k], [g, b, k, n], [b, g] -> [b, m, n]`, where `m` is divided.
    Free,
    /// `[b, m, k], [b, k, n], [b, g] -> [g, b, m, n]`, where `k` is divided.
    Contracting,
    /// `[b, m, k], [b, k, n], [g] -> [b, m, n]`, where `b` is divided.
    Batch,
}

impl RaggedDot {
    /// Returns the role of the ragged dimension.
    pub fn ragged(&self) -> Ragged {
        match self.lhs_ragged.first() {
            Some(d) if self.lhs_contract.contains(d) => Ragged::Contracting,
            Some(d) if self.lhs_batch.contains(d) => Ragged::Batch,
            _ => Ragged::Free,
        }
    }

    /// Returns the dimensions of lhs before the ragged one. Group sizes may differ along these dimensions.
    pub fn prefix(&self, lhs_rank: usize) -> Vec<usize> {
        let ragged = self.lhs_ragged.first().copied().unwrap_or(0);
        let before =
            |list: &[usize]| -> Vec<usize> { list.iter().copied().take_while(|d| *d != ragged).collect() };
        let free = || (0..lhs_rank).filter(|d| !self.lhs_batch.contains(d) && !self.lhs_contract.contains(d));
        match self.ragged() {
            Ragged::Batch => before(&self.lhs_batch),
            Ragged::Contracting => [self.lhs_batch.clone(), before(&self.lhs_contract)].concat(),
            Ragged::Free => [self.lhs_batch.clone(), before(&free().collect::<Vec<_>>())].concat(),
        }
    }
}
