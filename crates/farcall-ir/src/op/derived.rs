//! Operations that are defined by simpler ones: [`crate::expand`] says which.
//!
//! The specification defines some of them as programs (batch normalization). Others are not in it, because they are
//! deprecated (`dot`, `einsum`) or belong to CHLO (operations that broadcast their operands).

use crate::literal::Literal;
use crate::op::{Binary, Compare, Precision};
use crate::types::{Dim, TensorType};

/// An operation that is defined by simpler ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Derived {
    /// `broadcast`: dimensions of these sizes before those of the operand.
    Broadcast {
        /// Sizes of the dimensions in front.
        sizes: Vec<usize>,
    },
    /// `chlo.broadcast_add` and the like.
    Broadcasting(Broadcasting),
    /// `chlo.constant_like`: this element everywhere, in the shape of the operand.
    ConstantLike(Literal),
    /// `dot`: the last dimension of lhs with the first of rhs.
    Dot {
        /// One per operand, or empty.
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
        /// Dimension of the operand that is indexed; negative numbers count from the end.
        dim: i64,
        /// How many dimensions both operands have in common; negative numbers count from the end of index.
        batch_dims: i64,
    },
    /// `batch_norm_inference`: operand, scale, offset, mean, variance.
    BatchNormInference(BatchNorm),
    /// `batch_norm_training`: operand, scale, offset; output, batch_mean, batch_var.
    BatchNormTraining(BatchNorm),
    /// `batch_norm_grad`: operand, scale, mean, variance, grad_output; grad_operand, grad_scale, grad_offset.
    BatchNormGrad(BatchNorm),
    /// `chlo.ragged_dot`: lhs, rhs, group_sizes.
    RaggedDot(Box<RaggedDot>),
    /// `chlo.sin_cos`: sine, cosine.
    SinCos,
}

/// A function of operands whose shapes may differ: dimensions of size 1 are repeated, and those that an
/// operand lacks are put in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Broadcasting {
    /// What is done to corresponding elements.
    pub function: Broadcasted,
    /// The dimensions of the result that those of the operand of lower rank are; `None`: the last ones.
    pub dims: Option<Vec<usize>>,
}

impl Broadcasting {
    /// The dimensions of the result: those of the operand of the highest rank, where those of size 1 take the
    /// sizes of others. `None` if sizes contradict each other.
    pub(crate) fn result_dims(&self, operands: &[&TensorType]) -> Option<Vec<Dim>> {
        let rank = operands.iter().map(|t| t.rank()).max()?;
        let mut result = vec![Dim::Static(1); rank];
        for operand in operands {
            for (dim, d) in operand.dims().zip(self.places(operand.rank(), rank)) {
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

    /// The dimensions of a result of rank `of` that those of an operand are.
    pub(crate) fn places(&self, rank: usize, of: usize) -> Vec<usize> {
        match &self.dims {
            Some(dims) if rank < of => dims.clone(),
            _ => (of - rank..of).collect(),
        }
    }
}

/// The functions that CHLO has with operands of different shapes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Broadcasted {
    /// Any but [`Binary::MulHi`].
    Binary(Binary),
    /// `compare`
    Compare(Compare),
    /// `select`
    Select,
}

impl Broadcasted {
    /// The binary functions that have a form with operands of different shapes.
    pub fn binary() -> impl Iterator<Item = Binary> {
        Binary::ALL.into_iter().filter(|op| *op != Binary::MulHi)
    }
}

/// `torch_index_select`: the dimension that is indexed and the number of those in common, counted from the start. `None` if the
/// operands have no such dimensions.
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
    /// Bits of the `f32` that is added to the variance.
    pub epsilon_bits: u32,
    /// The dimension of features, along which nothing is averaged.
    pub feature: usize,
}

impl BatchNorm {
    /// What is added to the variance.
    pub fn epsilon(self) -> f32 {
        f32::from_bits(self.epsilon_bits)
    }
}

/// `chlo.ragged_dot`: a product in which groups of rows have a matrix each.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RaggedDot {
    /// Batching dimensions of lhs, paired with those of rhs.
    pub lhs_batch: Vec<usize>,
    /// Batching dimensions of rhs.
    pub rhs_batch: Vec<usize>,
    /// Contracting dimensions of lhs, paired with those of rhs.
    pub lhs_contract: Vec<usize>,
    /// Contracting dimensions of rhs.
    pub rhs_contract: Vec<usize>,
    /// The dimension of lhs that is divided into groups: one.
    pub lhs_ragged: Vec<usize>,
    /// The dimension of rhs that counts groups: one if the ragged dimension is free, else none.
    pub rhs_group: Vec<usize>,
    /// One per operand, or empty.
    pub precision: Vec<Precision>,
}

/// What the ragged dimension of lhs is to the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ragged {
    /// `[b, m, k], [g, b, k, n], [b, g] -> [b, m, n]`, of which `m` is divided.
    Free,
    /// `[b, m, k], [b, k, n], [b, g] -> [g, b, m, n]`, of which `k` is divided.
    Contracting,
    /// `[b, m, k], [b, k, n], [g] -> [b, m, n]`, of which `b` is divided.
    Batch,
}

impl RaggedDot {
    /// What the ragged dimension is.
    pub fn ragged(&self) -> Ragged {
        match self.lhs_ragged.first() {
            Some(d) if self.lhs_contract.contains(d) => Ragged::Contracting,
            Some(d) if self.lhs_batch.contains(d) => Ragged::Batch,
            _ => Ragged::Free,
        }
    }

    /// The dimensions of lhs before the ragged one for which groups may have sizes of their own.
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
