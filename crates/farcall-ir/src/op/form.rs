//! Operations of the [middle form](crate::middle), which no program contains.

use std::ops::Range;

use super::Op;

/// An operation that only the compiler creates. [`verify`](crate::verify::verify) rejects programs with such
/// operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FormOp {
    /// `farcall.fusion`: a region over the operands that is computed as one kernel.
    Fusion,
    /// `farcall.copy`: the same value in memory of its own.
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
}

impl Op {
    /// Returns true for a fusion.
    pub fn is_fusion(&self) -> bool {
        *self == Op::Form(FormOp::Fusion)
    }

    /// Returns true for sorts, partial or not.
    pub fn is_sort(&self) -> bool {
        matches!(self, Op::Sort { .. } | Op::Form(FormOp::PartialSort { .. }))
    }
}

impl From<FormOp> for Op {
    fn from(op: FormOp) -> Op {
        Op::Form(op)
    }
}
