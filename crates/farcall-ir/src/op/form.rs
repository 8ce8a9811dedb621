//! Operations of the [middle form](crate::middle), which no program contains.

use super::Op;

/// An operation that only the compiler creates. [`verify`](crate::verify::verify) rejects programs with such
/// operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FormOp {
    /// `farcall.fusion`: a region over the operands that is computed as one kernel.
    Fusion,
}

impl Op {
    /// Returns true for a fusion.
    pub fn is_fusion(&self) -> bool {
        *self == Op::Form(FormOp::Fusion)
    }
}

impl From<FormOp> for Op {
    fn from(op: FormOp) -> Op {
        Op::Form(op)
    }
}
