//! Matches the signatures of an op's derivatives with the op's signature.
//!
//! Derivatives are ops like any other. Their parameters are matched with the op by name:
//!
//! | | operands | results |
//! | --- | --- | --- |
//! | forward (only if there are residuals) | the op's operands | the op's results, then the residuals |
//! | backward | any of: operands, results and residuals by name; `dy`, the cotangent of result `y` | `dx`, the cotangent of operand `x` |
//! | tangent | any of: operands and results by name; `dx`, the tangent of operand `x` | `dy`, the tangent of result `y` |
//! | transpose | any of: operands in which the op is not linear, by name; `y`, the cotangent of result `y` | `x`, the cotangent of an operand `x` in which the op is linear |
//!
//! [`Bindings`] determine the roles of parameters whose names do not. For example, an op `b(x, dy) -> (dx)`
//! has a result `dx`. In its tangent op, an operand `dx` could be that result or the tangent of `x`. The
//! binding `tangent(x) = tx` states that the operand `tx` is the tangent of `x`. A name with two possible
//! roles is an error.
//!
//! Each attribute of a derivative op must also be an attribute of the op. A derivative accepts every real and
//! complex type that the op accepts. Backward, tangent and transpose ops may rename dimensions consistently.
//! Operands and results whose types are all integers or booleans have no derivatives; any other operand
//! without a derivative must be declared as not differentiable. The cotangent of an operand that the batch
//! shares is summed over the batch.
//!
//! An op that has a *transpose* is jointly linear in the operands whose cotangents the transpose returns. The
//! transpose is the reverse derivative of the op whose tangent op is this linear op ([`Jvp::transposed`]). An
//! op that is linear in all operands that it is differentiated in is its own tangent op ([`Jvp::linear`]).
//!
//! [`DerivativeRule`] is the only implementation of these rules. It reads [`Outline`]s, which constants can
//! hold, so the compiler can evaluate the rule: a library whose derivatives do not fit does not compile.
//! [`Vjp::new`] and [`Jvp::new`] apply the rule to signatures.
//!
//! ```
//! use farcall_sig::signature::{Bindings, Signature, Vjp, VjpSource::*};
//!
//! let op = "(x: T[*, n], scale: T[n]) -> (y: T[*, n]) where T: f32 | f64".parse::<Signature>()?;
//! let backward = "(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum";
//! let vjp = Vjp::new(&op, None, &backward.parse::<Signature>()?, &[], &Bindings::EMPTY).unwrap();
//! assert_eq!(vjp.operands, [Operand(0), Operand(1), Cotangent(0)]);
//! assert_eq!(vjp.cotangents, [Some(0), Some(1)]);
//! # Ok::<(), farcall_sig::SignatureError>(())
//! ```

use std::fmt;

use super::Signature;
use super::error::TextRange;
use crate::text::Text;
use fits::say_no_cotangent;
use roles::Source;
use rule::{is_constant, is_differentiable};

mod bindings;
mod fits;
mod roles;
mod rule;
mod summary;

pub use bindings::{Binding, BindingError, BindingRole, Bindings};
pub use rule::{At, DerivativeRule, Misfit, Said};
pub use summary::{AttrOutline, Outline, TensorOutline};

/// Calling convention of a VJP's backward op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vjp {
    /// Number of results that the forward op has beyond the op's results.
    pub residuals: usize,
    /// Source of each declared operand of the backward op.
    pub operands: Vec<VjpSource>,
    /// For each declared operand of the op, the declared result of the backward op that is its cotangent.
    pub cotangents: Vec<Option<usize>>,
}

/// Source of an operand of a backward op. Each index is the position of a declaration: a variadic operand
/// counts once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VjpSource {
    /// An operand of the op.
    Operand(usize),
    /// A result of the op.
    Result(usize),
    /// A residual of the forward op.
    Residual(usize),
    /// The cotangent of a result of the op.
    Cotangent(usize),
}

/// Calling convention of a JVP's tangent op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jvp {
    /// Source of each declared operand of the tangent op.
    pub operands: Vec<JvpSource>,
    /// For each declared result of the op, the declared result of the tangent op that is its tangent.
    pub tangents: Vec<Option<usize>>,
}

/// Source of an operand of a tangent op. Each index is the position of a declaration: a variadic operand
/// counts once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JvpSource {
    /// An operand of the op.
    Operand(usize),
    /// A result of the op.
    Result(usize),
    /// The tangent of an operand of the op.
    Tangent(usize),
}

/// The declaration that an error is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The list of operands that are not differentiable.
    NonDifferentiable,
    /// Signature of the forward op.
    Forward,
    /// Signature of the backward op.
    Backward,
    /// Signature of the tangent op.
    Tangent,
    /// Signature of the transpose.
    Transpose,
}

impl Part {
    /// Returns the roles that bindings can give to the parameters of such an op.
    pub const fn roles(self) -> &'static [BindingRole] {
        match self {
            Part::NonDifferentiable | Part::Forward => &[],
            Part::Backward => {
                &[BindingRole::Operand, BindingRole::Result, BindingRole::Residual, BindingRole::Cotangent]
            }
            Part::Tangent => &[BindingRole::Operand, BindingRole::Result, BindingRole::Tangent],
            Part::Transpose => &[BindingRole::Operand, BindingRole::Cotangent],
        }
    }

    const fn has_role(self, role: BindingRole) -> bool {
        let roles = self.roles();
        let mut i = 0;
        while i < roles.len() {
            if roles[i] as u8 == role as u8 {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Equality that is usable in constants.
    const fn is(self, other: Part) -> bool {
        self as u8 == other as u8
    }

    /// Name for messages: `the backward op`.
    pub const fn in_words(self) -> &'static str {
        match self {
            Part::NonDifferentiable => "the list of non-differentiable operands",
            Part::Forward => "the forward op",
            Part::Backward => "the backward op",
            Part::Tangent => "the tangent op",
            Part::Transpose => "the transpose",
        }
    }
}

/// Error in the match of a derivative with its op.
#[derive(Clone, PartialEq, Debug)]
pub struct GradientError {
    /// The signature that is at fault.
    pub part: Part,
    /// Span of the error in the signature; `None` if something is missing.
    pub span: Option<TextRange>,
    /// Error message.
    pub message: String,
}

impl fmt::Display for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GradientError {}

type Result<T = ()> = std::result::Result<T, GradientError>;

/// Checks a rule, then reads it with `read`.
fn matched<R>(
    part: Part,
    op: &Signature,
    forward: Option<&Signature>,
    derivative: &Signature,
    (non_differentiable, bindings): (&[&str], &Bindings),
    read: impl FnOnce(&DerivativeRule<'_>) -> R,
) -> Result<R> {
    let said = bindings.iter().map(|b| Said { role: b.role, of: &b.of, parameter: &b.parameter });
    let said: Vec<Said<'_>> = said.collect();
    let fits = |op: &Outline<'_>, forward_outline: Option<&Outline<'_>>, outline: &Outline<'_>| {
        let (forward_op, derivative_op) = (forward_outline, outline);
        let rule = DerivativeRule {
            part,
            op,
            forward: forward_op,
            derivative: derivative_op,
            non_differentiable,
            said: &said,
        };
        let mut message = Text::new();
        rule.fits(&mut message).map_err(|Misfit { part, at }| {
            let of = if part == Part::Forward { forward.unwrap_or(derivative) } else { derivative };
            let span = match at {
                At::Operand(i) => Some(of.operands[i].name.span),
                At::Result(i) => Some(of.results[i].name.span),
                At::Attr(i) => Some(of.attrs[i].name.span),
                At::Said(_) | At::Nothing => None,
            };
            GradientError { part, span, message: message.as_str().to_owned() }
        })?;
        Ok(read(&rule))
    };
    op.outline(|op| {
        derivative.outline(|outline| match forward {
            Some(forward) => forward.outline(|forward| fits(op, Some(forward), outline)),
            None => fits(op, None, outline),
        })
    })
}

impl Vjp {
    /// Matches a backward op, and a forward op if there are residuals, with an op.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn new(
        op: &Signature,
        forward: Option<&Signature>,
        backward: &Signature,
        non_differentiable: &[&str],
        bindings: &Bindings,
    ) -> Result<Vjp> {
        matched(Part::Backward, op, forward, backward, (non_differentiable, bindings), Vjp::of)
    }

    /// Matches an op that is linear in some of its operands with its transpose, which takes the other
    /// operands and the cotangents of the results, and returns the cotangents of the linear operands.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn transpose(
        op: &Signature,
        transpose: &Signature,
        non_differentiable: &[&str],
        bindings: &Bindings,
    ) -> Result<Vjp> {
        matched(Part::Transpose, op, None, transpose, (non_differentiable, bindings), Vjp::of)
    }

    fn of(rule: &DerivativeRule<'_>) -> Vjp {
        let source = |source| match source {
            Source::Operand(i) => VjpSource::Operand(i),
            Source::Result(i) => VjpSource::Result(i),
            Source::Residual(i) => VjpSource::Residual(i),
            Source::Derivative(i) => VjpSource::Cotangent(i),
        };
        Vjp {
            residuals: rule.forward.map_or(0, |forward| forward.results.len() - rule.op.results.len()),
            operands: rule.sources().map(source).collect(),
            cotangents: (0..rule.op.operands.len()).map(|i| rule.returned(i)).collect(),
        }
    }
}

impl Jvp {
    /// Matches a tangent op with an op.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn new(
        op: &Signature,
        tangent: &Signature,
        non_differentiable: &[&str],
        bindings: &Bindings,
    ) -> Result<Jvp> {
        matched(Part::Tangent, op, None, tangent, (non_differentiable, bindings), |rule| {
            let source = |source| match source {
                Source::Operand(i) => JvpSource::Operand(i),
                Source::Result(i) | Source::Residual(i) => JvpSource::Result(i),
                Source::Derivative(i) => JvpSource::Tangent(i),
            };
            Jvp {
                operands: rule.sources().map(source).collect(),
                tangents: (0..op.results.len()).map(|i| rule.returned(i)).collect(),
            }
        })
    }

    /// Returns the JVP of an op that is its own tangent op, because it is linear in all operands that it is
    /// differentiated in. `transpose` is the result of [`Vjp::transpose`] for the op. Returns `None` if the
    /// op is not linear in one of these operands.
    pub fn linear(op: &Signature, transpose: &Vjp, non_differentiable: &[&str]) -> Option<Jvp> {
        let source = |(i, operand): (usize, &TensorOutline<'_>)| match transpose.cotangents[i] {
            Some(_) => Some(JvpSource::Tangent(i)),
            None => is_constant(operand, non_differentiable).then_some(JvpSource::Operand(i)),
        };
        op.outline(|op| {
            let operands = op.operands.iter().enumerate().map(source).collect::<Option<_>>()?;
            let results = op.results.iter().enumerate();
            let tangents = results.map(|(i, result)| is_differentiable(result).then_some(i)).collect();
            Some(Jvp { operands, tangents })
        })
    }

    /// Returns the reverse derivative that follows from a transpose of the tangent op ([`Vjp::transpose`]).
    ///
    /// # Errors
    /// If the tangent op is not declared as linear in one of the tangents that it takes.
    pub fn transposed(&self, op: &Signature, tangent: &Signature, transpose: &Vjp) -> Result<Vjp> {
        let mut cotangents = vec![None; op.operands.len()];
        for (k, source) in self.operands.iter().enumerate() {
            let JvpSource::Tangent(i) = *source else { continue };
            cotangents[i] = transpose.cotangents[k];
            if cotangents[i].is_none() {
                let mut message = Text::new();
                say_no_cotangent(&tangent.operands[k].name.text, &op.operands[i].name.text, &mut message);
                let message = message.as_str().to_owned();
                return Err(GradientError { part: Part::Transpose, span: None, message });
            }
        }
        let source = |source: &VjpSource| match *source {
            VjpSource::Operand(k) => match self.operands[k] {
                JvpSource::Operand(i) => Some(VjpSource::Operand(i)),
                JvpSource::Result(i) => Some(VjpSource::Result(i)),
                JvpSource::Tangent(_) => None,
            },
            VjpSource::Cotangent(k) => {
                self.tangents.iter().position(|tangent| *tangent == Some(k)).map(VjpSource::Cotangent)
            }
            VjpSource::Result(_) | VjpSource::Residual(_) => None,
        };
        let operands = transpose.operands.iter().map(source).collect::<Option<_>>().ok_or_else(|| {
            let message = "the transpose takes an operand that a backward op cannot have".to_owned();
            GradientError { part: Part::Transpose, span: None, message }
        })?;
        Ok(Vjp { residuals: 0, operands, cotangents })
    }
}
