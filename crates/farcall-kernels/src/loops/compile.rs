//! Code of loops over expressions.

use super::expression::Expr;
use super::native;
use super::vector::{VectorLoop, superinstructions};

/// A way to make code for an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backend {
    /// A loop that is part of this library.
    Prebuilt,
    /// Code that is generated for the expression.
    MachineCode,
}

/// Returns the code of a loop over the elements of an expression; `None` if the backend has none. (The
/// prebuilt loops of single operations are in [`operations`](super::vector::operations).)
pub(crate) fn compile(expr: &Expr, backend: Backend) -> Option<VectorLoop> {
    match backend {
        Backend::Prebuilt => superinstructions::of(expr),
        Backend::MachineCode => native::expression(expr),
    }
}
