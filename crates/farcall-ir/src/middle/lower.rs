//! Who decides what becomes of composites when the middle form is made.

use crate::diag::Diagnostic;
use crate::module::Inst;
use crate::op::{Composite, CustomCall};
use crate::types::TensorType;

/// Decides what becomes of composites. [`build_lowered`](super::build_lowered) asks about each one that the program
/// reaches: an outer one before those in its decomposition, which are asked about only if it is inlined. One in a
/// function that is called often is asked about for each call.
pub trait Lower {
    /// The custom call that takes the place of a composite, or `None` to inline its decomposition. `inst` is the
    /// composite, whose operands and results have their static types.
    ///
    /// # Errors
    /// Why neither can be done.
    fn lower(&mut self, inst: Inst<'_>, composite: &Composite) -> Result<Option<CompositeCall>, Diagnostic>;
}

/// Inlines every composite.
#[derive(Clone, Copy, Debug)]
pub struct Inline;

impl Lower for Inline {
    fn lower(&mut self, _: Inst<'_>, _: &Composite) -> Result<Option<CompositeCall>, Diagnostic> {
        Ok(None)
    }
}

/// A custom call in the place of a composite. Where its types differ from those of the composite, elements are
/// converted.
#[derive(Clone, PartialEq, Debug)]
pub struct CompositeCall {
    /// The call.
    pub call: CustomCall,
    /// The types that it takes, one for each operand of the composite, which is a tensor of the same shape.
    pub operands: Vec<TensorType>,
    /// The types that it returns, one for each result of the composite.
    pub results: Vec<TensorType>,
}
