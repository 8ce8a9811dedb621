//! The interface that decides how composites are lowered when the middle form is built.

use crate::diag::Diagnostic;
use crate::module::Inst;
use crate::op::{Composite, CustomCall};
use crate::types::TensorType;

/// Decides how composites are lowered. [`build_lowered`](super::build_lowered) calls [`Lower::lower`] for
/// each composite that the program reaches: first for an outer composite and, if the outer composite is
/// inlined, for the composites in its decomposition. For a composite in a function that is called several
/// times, [`Lower::lower`] is called once for each call of the function.
pub trait Lower {
    /// Returns the custom call that replaces a composite, or `None` to inline its decomposition. `inst` is
    /// the composite, whose operands and results have static types.
    ///
    /// # Errors
    /// A diagnostic if the composite can be neither replaced nor inlined.
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

/// A custom call that replaces a composite. Elements are converted if the types of the call and the composite
/// differ.
#[derive(Clone, PartialEq, Debug)]
pub struct CompositeCall {
    /// The custom call.
    pub call: CustomCall,
    /// Types of the call's operands, one for each operand of the composite, with the same shape.
    pub operands: Vec<TensorType>,
    /// Types of the call's results, one for each result of the composite.
    pub results: Vec<TensorType>,
}
