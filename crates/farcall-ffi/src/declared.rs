//! Checks that the types of a handler's parameters match its signature.
//!
//! `#[handler]` itself compares names and their order. For each parameter in the signature, it then emits a
//! [`Declared`] and a constant assertion that the parameter's type [`fits`]. A mismatch is thus a compile
//! error at the parameter. Aliases and paths work, since types are compared, not their spelling.
//!
//! Derivatives are checked in the same way: each handler has the [`Outline`] of its signature, and asserts
//! that the derivatives that it names fit. `farcall_sig`'s [`DerivativeRule`] decides this, both here and in
//! hosts.

use farcall_sig::signature::{At, DerivativeRule, Outline, Part, Said};
use farcall_sig::text::{Text, contains};

use crate::abi::DataType;
use crate::buffer::ANY_RANK;
use crate::decode::{Role, Spec};

/// Declaration of one parameter in a signature.
#[derive(Debug)]
pub struct Declared {
    /// Role of the parameter.
    pub role: Role,
    /// True if the parameter must be an `Option`, false if it must not be; `None` if both are allowed.
    pub optional: Option<bool>,
    /// Element type, or `INVALID` if there are several.
    pub dtype: DataType,
    /// Number of dimensions, or `ANY_RANK` if there are several.
    pub rank: usize,
    /// Expected types ([`FromAttr::EXPECTS`](crate::FromAttr::EXPECTS)) that an attribute's Rust type may
    /// have; empty for any.
    pub attribute: &'static [&'static str],
}

impl Declared {
    /// Declares a buffer with this role.
    pub const fn buffer(
        role: Role,
        optional: bool,
        dtype: Option<farcall_sig::DType>,
        rank: Option<usize>,
    ) -> Self {
        let dtype = match dtype {
            Some(dtype) => DataType::from_dtype(dtype),
            None => DataType::INVALID,
        };
        let rank = match rank {
            Some(rank) => rank,
            None => ANY_RANK,
        };
        Declared { role, optional: Some(optional), dtype, rank, attribute: &[] }
    }

    /// Declares an attribute.
    pub const fn attribute(optional: Option<bool>, attribute: &'static [&'static str]) -> Self {
        Declared { optional, attribute, ..Declared::buffer(Role::Attribute, false, None, None) }
    }
}

/// Returns true if a parameter's type matches its declaration.
pub const fn fits(spec: &Spec, declared: &Declared) -> bool {
    let optional = match declared.optional {
        Some(optional) => spec.optional == optional,
        None => true,
    };
    spec.role as u32 == declared.role as u32
        && optional
        && (spec.dtype.0 == DataType::INVALID.0 || spec.dtype.0 == declared.dtype.0)
        && (spec.rank == ANY_RANK || spec.rank == declared.rank)
        && (declared.attribute.is_empty() || contains(declared.attribute, spec.attribute))
}

/// Returns true for a parameter that signatures do not mention: a context, or all attributes.
pub const fn is_context(spec: &Spec) -> bool {
    matches!(spec.role, Role::Context | Role::AllAttributes)
}

/// Returns true if one of the parameters takes all attributes.
pub const fn has_all_attributes(specs: &[Spec]) -> bool {
    let mut i = 0;
    while i < specs.len() {
        if matches!(specs[i].role, Role::AllAttributes) {
            return true;
        }
        i += 1;
    }
    false
}

/// A derivative of a handler.
#[derive(Clone, Copy, Debug)]
pub struct Derivative {
    /// Kind of derivative.
    pub part: Part,
    /// The handler that has the derivative.
    pub op: DeclaredOp,
    /// The handler that also returns residuals.
    pub forward: Option<DeclaredOp>,
    /// The handler that is the derivative.
    pub derivative: DeclaredOp,
    /// Operands that are declared as not differentiable.
    pub non_differentiable: &'static [&'static str],
    /// Explicit bindings of the derivative's parameters.
    pub said: &'static [Said<'static>],
}

/// A handler that is a derivative, or that has a derivative.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredOp {
    /// Name of the handler.
    pub name: &'static str,
    /// Outline of the signature, if the handler has one.
    pub outline: Option<&'static Outline<'static>>,
    /// True if the handler's attribute has an error, so that nothing is known about its signature.
    is_stand_in: bool,
}

impl DeclaredOp {
    /// Describes a handler by its name and, if it has a signature, by the outline of the signature.
    pub const fn new(name: &'static str, outline: Option<&'static Outline<'static>>) -> DeclaredOp {
        DeclaredOp { name, outline, is_stand_in: false }
    }

    /// Makes a stand-in for a handler whose attribute has an error.
    pub const fn stand_in(name: &'static str) -> DeclaredOp {
        DeclaredOp { name, outline: None, is_stand_in: true }
    }
}

/// Reason why a derivative does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// The signature that is at fault.
    pub part: Part,
    /// The element of the signature that is at fault.
    pub at: At,
    /// Message.
    pub text: Text,
}

impl Derivative {
    /// Returns the reason why the derivative does not fit; `None` if it does.
    pub const fn misfit(&self) -> Option<Reason> {
        let mut text = Text::new();
        let unsigned = match (self.forward, self.derivative) {
            (Some(DeclaredOp { is_stand_in: true, .. }), _) | (_, DeclaredOp { is_stand_in: true, .. }) => {
                return None;
            }
            (Some(forward), _) if forward.outline.is_none() => Some((Part::Forward, forward.name)),
            (_, derivative) if derivative.outline.is_none() => Some((self.part, derivative.name)),
            _ => None,
        };
        if let Some((part, name)) = unsigned {
            text.quote(name).add(", ").add(part.in_words()).add(" of ").quote(self.op.name);
            text.add(", has no signature");
            return Some(Reason { part, at: At::Nothing, text });
        }
        let Some(rule) = self.rule() else { return None };
        let mut reason = Text::new();
        let Err(misfit) = rule.fits(&mut reason) else { return None };
        match (misfit.part, self.forward) {
            (Part::NonDifferentiable, _) => {}
            (Part::Forward, Some(forward)) => say_cannot_be(forward, misfit.part, self.op, &mut text),
            _ => say_cannot_be(self.derivative, misfit.part, self.op, &mut text),
        }
        text.add(reason.as_str());
        Some(Reason { part: misfit.part, at: misfit.at, text })
    }

    /// Returns the reason why a tangent op's transpose does not make a reverse derivative. There is no reason
    /// if the tangent op has no transpose.
    pub const fn untransposed(&self, transpose: Option<Derivative>) -> Option<Reason> {
        let Some(transpose) = transpose else { return None };
        let (Some(rule), Some(transposed)) = (self.rule(), transpose.rule()) else { return None };
        let mut reason = Text::new();
        // A rule that does not fit by itself has its own error.
        let fit = rule.fits(&mut reason).is_ok() && transposed.fits(&mut reason).is_ok();
        if !fit || rule.is_transposed_by(&transposed, &mut reason) {
            return None;
        }
        let mut text = Text::new();
        say_cannot_be(transpose.derivative, Part::Transpose, transpose.op, &mut text);
        text.add("as the tangent op of ").quote(self.op.name).add(", ").add(reason.as_str());
        Some(Reason { part: Part::Tangent, at: At::Nothing, text })
    }

    const fn rule(&self) -> Option<DerivativeRule<'static>> {
        let forward = match self.forward {
            Some(forward) => forward.outline,
            None => None,
        };
        let Derivative { part, non_differentiable, said, .. } = *self;
        match (self.op.outline, self.derivative.outline) {
            (Some(op), Some(derivative)) => {
                Some(DerivativeRule { part, op, forward, derivative, non_differentiable, said })
            }
            _ => None,
        }
    }
}

const fn say_cannot_be(derivative: DeclaredOp, part: Part, of: DeclaredOp, text: &mut Text) {
    text.quote(derivative.name).add(" cannot be ").add(part.in_words()).add(" of ").quote(of.name).add(": ");
}
