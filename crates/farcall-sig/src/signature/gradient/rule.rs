//! The rule that decides whether a derivative op fits its op. A [`DerivativeRule`] holds both ops, and the
//! op's declarations about its derivative op.
//!
//! `roles` finds the role of each parameter, and `fits` compares the signatures. Everything in these
//! modules also runs in constants: the macros put an [`Outline`] into each op, and assert at compile time
//! that the derivatives of the op [fit](DerivativeRule::fits). A host applies the same rule to the signatures
//! in descriptors.

use super::summary::{Outline, TensorOutline};
use super::{BindingRole, Part};
use crate::dtype::DType;
use crate::text::contains;

/// A derivative op, its op, and the op's declarations about the derivative op.
#[derive(Clone, Copy, Debug)]
pub struct DerivativeRule<'a> {
    /// Kind of derivative: backward op, tangent op or transpose.
    pub part: Part,
    /// The op.
    pub op: &'a Outline<'a>,
    /// The op that also returns residuals, for a backward op that takes residuals.
    pub forward: Option<&'a Outline<'a>>,
    /// The derivative op.
    pub derivative: &'a Outline<'a>,
    /// Operands of the op that are declared as not differentiable.
    pub non_differentiable: &'a [&'a str],
    /// Explicit bindings of the derivative op's parameters.
    pub said: &'a [Said<'a>],
}

/// Explicit binding of one parameter: `tangent(x) = tx`.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Role of the parameter in the derivative op.
    pub role: BindingRole,
    /// Operand, result or residual that the role refers to.
    pub of: &'a str,
    /// Operand or result of the derivative op that has the role.
    pub parameter: &'a str,
}

/// Location of the first error in a derivative op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// The signature that is at fault.
    pub part: Part,
    /// The faulty parameter or binding of the signature.
    pub at: At,
}

/// A parameter or a binding of a signature, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is named after its meaning")]
pub enum At {
    Operand(usize),
    Result(usize),
    Attr(usize),
    Said(usize),
    /// No parameter: something is missing.
    Nothing,
}

pub(super) type Result<T = ()> = std::result::Result<T, Misfit>;

impl<'a> DerivativeRule<'a> {
    pub(super) const fn wrong<T>(&self, at: At) -> Result<T> {
        Err(Misfit { part: self.part, at })
    }

    /// Returns true if an operand of the op has no derivative.
    pub(super) const fn is_constant(&self, operand: usize) -> bool {
        is_constant(&self.op.operands[operand], self.non_differentiable)
    }

    pub(super) const fn residual(&self, i: usize) -> Option<&'a TensorOutline<'a>> {
        match self.forward {
            Some(forward) if self.op.results.len() + i < forward.results.len() => {
                Some(&forward.results[self.op.results.len() + i])
            }
            _ => None,
        }
    }

    pub(super) const fn parameter(&self, at: At) -> &'a TensorOutline<'a> {
        match at {
            At::Operand(k) => &self.derivative.operands[k],
            At::Result(k) => &self.derivative.results[k],
            At::Attr(_) | At::Said(_) | At::Nothing => unreachable!(),
        }
    }
}

/// Returns true if an operand has no derivative, because of its type or because of the author's declaration.
pub(super) const fn is_constant(operand: &TensorOutline<'_>, non_differentiable: &[&str]) -> bool {
    contains(non_differentiable, operand.name) || !is_differentiable(operand)
}

pub(super) const fn is_differentiable(tensor: &TensorOutline<'_>) -> bool {
    let mut t = 0;
    while t < tensor.types.len() {
        if is_continuous(tensor.types[t]) {
            return true;
        }
        t += 1;
    }
    false
}

pub(super) const fn is_continuous(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}
