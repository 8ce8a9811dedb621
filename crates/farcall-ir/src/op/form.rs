//! Operations that exist only in the [middle form](crate::middle).

use std::ops::Range;

use super::{Gather, Op, Scatter};

/// An operation that only the compiler creates. [`verify`](crate::verify::verify) rejects programs with such
/// operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FormOp {
    /// `farcall.fusion`: a region over the operands that is computed as one kernel.
    Fusion,
    /// `farcall.copy`: a copy of the value in separate memory.
    Copy,
    /// `farcall.partial_sort`: a [`Op::Sort`] whose results hold only a part of each sorted line. Created by
    /// the pass [`slices`](crate::middle::passes::slices).
    PartialSort {
        /// Sorted dimension.
        dim: usize,
        /// True if equal elements keep their order.
        is_stable: bool,
        /// Range of the sorted elements of each line that the results hold.
        part: Range<usize>,
    },
    /// `farcall.wrapping_gather`: a [`Op::Gather`] with wrapped indices.
    WrappingGather(Box<Wrapping<Gather>>),
    /// `farcall.wrapping_scatter`: a [`Op::Scatter`] with wrapped indices.
    WrappingScatter(Box<Wrapping<Scatter>>),
}

/// A gather or scatter that wraps negative indices. Created by the pass
/// [`negative_indices`](crate::middle::passes::negative_indices).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wrapping<T> {
    /// The operation on wrapped indices.
    pub op: T,
    /// Number added to each negative entry of an index, before a gather clamps it.
    pub wrap: Vec<usize>,
}

impl Op {
    /// Returns true for a fusion.
    pub fn is_fusion(&self) -> bool {
        matches!(self, Op::Form(FormOp::Fusion))
    }

    /// Returns true for sorts, partial or not.
    pub fn is_sort(&self) -> bool {
        matches!(self, Op::Sort { .. } | Op::Form(FormOp::PartialSort { .. }))
    }

    /// Returns the attributes of a gather, wrapping or not.
    pub fn as_gather(&self) -> Option<&Gather> {
        match self {
            Op::Gather(gather) => Some(gather),
            Op::Form(FormOp::WrappingGather(wrapping)) => Some(&wrapping.op),
            _ => None,
        }
    }

    /// Returns the attributes of a scatter, wrapping or not.
    pub fn as_scatter(&self) -> Option<&Scatter> {
        match self {
            Op::Scatter(scatter) => Some(scatter),
            Op::Form(FormOp::WrappingScatter(wrapping)) => Some(&wrapping.op),
            _ => None,
        }
    }
}

impl From<FormOp> for Op {
    fn from(op: FormOp) -> Op {
        Op::Form(op)
    }
}
