//! Broadcasts operands of different shapes to one shape.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::Broadcasting;

impl Builder<'_> {
    /// Broadcasts the operands to the shape of the result.
    pub(super) fn same_shape(
        &mut self,
        xs: &[ValueId],
        to: &[usize],
        op: &Broadcasting,
    ) -> Option<Vec<ValueId>> {
        let ranks = || xs.iter().map(|x| self.ty(*x).rank());
        if ranks().any(|rank| rank > to.len()) {
            return None;
        }
        Some(xs.iter().map(|x| self.broadcast(*x, &op.places(self.ty(*x).rank(), to.len()), to)).collect())
    }
}
