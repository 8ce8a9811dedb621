//! Whether the signatures of an op's derivatives fit its own, and which value goes where.
//!
//! Derivatives are ops like any other. They are matched with the op by the names of their parameters:
//!
//! | | operands | results |
//! | --- | --- | --- |
//! | forward (only if there are residuals) | those of the op | those of the op, then the residuals |
//! | backward | any of: operands, results and residuals by name; `dy`, the cotangent of result `y` | `dx`, the cotangent of operand `x` |
//! | tangent | any of: operands and results by name; `dx`, the tangent of operand `x` | `dy`, the tangent of result `y` |
//!
//! Their attributes are attributes of the op. A derivative takes every real and complex type that the op
//! takes. Backward and tangent ops may call dimensions by other names, as long as they do so consistently. Operands and results whose
//! types are all integers or booleans have no derivatives; any other operand without one is declared as not
//! differentiable. A cotangent that is shared by the batch is summed over it.
//!
//! ```
//! use farcall_sig::signature::{Signature, Vjp, VjpSource::*};
//!
//! let op = "(x: T[*, n], scale: T[n]) -> (y: T[*, n]) where T: f32 | f64".parse::<Signature>()?;
//! let backward = "(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum";
//! let vjp = Vjp::new(&op, None, &backward.parse::<Signature>()?, &[]).unwrap();
//! assert_eq!(vjp.operands, [Operand(0), Operand(1), Cotangent(0)]);
//! assert_eq!(vjp.cotangents, [Some(0), Some(1)]);
//! # Ok::<(), farcall_sig::SignatureError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use super::Signature;
use super::ast::*;
use super::error::Span;
use crate::dtype::DType;
use crate::nearest::nearest;

/// How to call the backward op of a VJP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vjp {
    /// How many results the forward op has beyond those of the op.
    pub residuals: usize,
    /// What each declared operand of the backward op is.
    pub operands: Vec<VjpSource>,
    /// For each declared operand of the op, the declared result of the backward op that is its cotangent.
    pub cotangents: Vec<Option<usize>>,
}

/// What an operand of a backward op is. Numbers count declared operands and results.
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

/// How to call the tangent op of a JVP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jvp {
    /// What each declared operand of the tangent op is.
    pub operands: Vec<JvpSource>,
    /// For each declared result of the op, the declared result of the tangent op that is its tangent.
    pub tangents: Vec<Option<usize>>,
}

/// What an operand of a tangent op is. Numbers count declared operands and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JvpSource {
    /// An operand of the op.
    Operand(usize),
    /// A result of the op.
    Result(usize),
    /// The tangent of an operand of the op.
    Tangent(usize),
}

/// Which signature an error is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The list of operands that are not differentiable.
    NonDifferentiable,
    /// The forward op's.
    Forward,
    /// The backward op's.
    Backward,
    /// The tangent op's.
    Tangent,
}

/// Why a derivative does not fit its op.
#[derive(Clone, PartialEq, Debug)]
pub struct GradientError {
    /// The signature that is at fault.
    pub part: Part,
    /// The characters of it that the error is about; none if something is missing.
    pub span: Option<Span>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GradientError {}

type Result<T = ()> = std::result::Result<T, GradientError>;

impl Vjp {
    /// Matches a backward op, and a forward op if there are residuals, with an op.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn new(
        op: &Signature,
        forward: Option<&Signature>,
        backward: &Signature,
        non_differentiable: &[&str],
    ) -> Result<Vjp> {
        let constants = Constants::new(op, non_differentiable)?;
        let residuals: &[ResultDecl] = match forward {
            None => &[],
            Some(forward) => check_forward(op, forward)?,
        };
        let mut matcher = Matcher::new(Part::Backward, op, backward);
        matcher.attrs()?;
        let source = |operand| operand_source(&mut matcher, op, forward, residuals, operand);
        let operands = backward.operands.iter().map(source).collect::<Result<_>>()?;
        let cotangents = cotangents(&mut matcher, op, backward, &constants)?;
        Ok(Vjp { residuals: residuals.len(), operands, cotangents })
    }
}

/// What an operand of the backward op is.
fn operand_source(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    forward: Option<&Signature>,
    residuals: &[ResultDecl],
    operand: &super::Operand,
) -> Result<VjpSource> {
    let name = operand.name.text.as_str();
    if let Some(i) = find(&op.operands, |o| &o.name, name) {
        matcher.same(Tensor::from(&op.operands[i]), operand.into())?;
        Ok(VjpSource::Operand(i))
    } else if let Some(i) = find(&op.results, |r| &r.name, name) {
        matcher.same(Tensor::from(&op.results[i]), operand.into())?;
        Ok(VjpSource::Result(i))
    } else if let Some(i) = find(residuals, |r| &r.name, name) {
        matcher.same_in(forward.unwrap_or(op), Tensor::from(&residuals[i]), operand.into())?;
        Ok(VjpSource::Residual(i))
    } else if let Some(i) = find(&op.results, |r| &r.name, derivative_of(name)) {
        if !is_differentiable(op, &op.results[i].element) {
            return matcher.wrong(
                &operand.name,
                format!(
                    "the result `{}` has no cotangent, since its type is not real or complex",
                    op.results[i].name
                ),
            );
        }
        matcher.same(Tensor::from(&op.results[i]), operand.into())?;
        Ok(VjpSource::Cotangent(i))
    } else {
        let results = op.results.iter().map(|r| format!("d{}", r.name));
        let plain =
            op.operands.iter().map(|o| &o.name).chain(op.results.iter().chain(residuals).map(|r| &r.name));
        let known: Vec<String> = results.chain(plain.map(|n| n.text.clone())).collect();
        matcher.unknown(
            &operand.name,
            "an operand, a result, a residual, or `d` and a result of the op",
            &known,
        )
    }
}

/// Which result of the backward op is the cotangent of each operand.
fn cotangents(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    backward: &Signature,
    constants: &Constants<'_>,
) -> Result<Vec<Option<usize>>> {
    let mut cotangents = vec![None; op.operands.len()];
    for (k, result) in backward.results.iter().enumerate() {
        let Some(i) = find(&op.operands, |o| &o.name, derivative_of(&result.name.text)) else {
            let known: Vec<String> = op.operands.iter().map(|o| format!("d{}", o.name)).collect();
            return matcher.unknown(&result.name, "`d` and an operand of the op", &known);
        };
        let operand = &op.operands[i];
        constants.expect_derivative(matcher, operand, &result.name)?;
        matcher.same(operand.into(), result.into())?;
        let is_sum = matches!(backward.dim_use("*"), DimUse::Reduce(Reducer::Sum) | DimUse::Whole);
        let is_batched = backward.operands.iter().any(|o| o.shape.batch.is_some());
        if result.shape.batch.is_none() && is_batched && !is_sum {
            return matcher.wrong(
                &result.name,
                format!(
                    "the cotangent `{}` is shared by the batch, and must be its sum: `*: sum`",
                    result.name
                ),
            );
        }
        cotangents[i] = Some(k);
    }
    if let Some(i) = (0..cotangents.len()).find(|i| cotangents[*i].is_none() && !constants.has_none(op, *i)) {
        return matcher.missing(format!(
            "the backward op returns no cotangent for `{0}`: add a result `d{0}`, or declare `{0}` as not differentiable",
            op.operands[i].name
        ));
    }
    Ok(cotangents)
}

impl Jvp {
    /// Matches a tangent op with an op.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn new(op: &Signature, tangent: &Signature, non_differentiable: &[&str]) -> Result<Jvp> {
        let constants = Constants::new(op, non_differentiable)?;
        let mut matcher = Matcher::new(Part::Tangent, op, tangent);
        matcher.attrs()?;
        let mut operands = Vec::new();
        for operand in &tangent.operands {
            let name = operand.name.text.as_str();
            let source = if let Some(i) = find(&op.operands, |o| &o.name, name) {
                matcher.same(Tensor::from(&op.operands[i]), operand.into())?;
                JvpSource::Operand(i)
            } else if let Some(i) = find(&op.results, |r| &r.name, name) {
                matcher.same(Tensor::from(&op.results[i]), operand.into())?;
                JvpSource::Result(i)
            } else if let Some(i) = find(&op.operands, |o| &o.name, derivative_of(name)) {
                constants.expect_derivative(&matcher, &op.operands[i], &operand.name)?;
                matcher.same(Tensor::from(&op.operands[i]), operand.into())?;
                JvpSource::Tangent(i)
            } else {
                let tangents = op.operands.iter().map(|o| format!("d{}", o.name));
                let plain = op.operands.iter().map(|o| &o.name).chain(op.results.iter().map(|r| &r.name));
                let known: Vec<String> = tangents.chain(plain.map(|n| n.text.clone())).collect();
                return matcher.unknown(
                    &operand.name,
                    "an operand, a result, or `d` and an operand of the op",
                    &known,
                );
            };
            operands.push(source);
        }
        for (i, operand) in op.operands.iter().enumerate() {
            if !operands.contains(&JvpSource::Tangent(i)) && !constants.has_none(op, i) {
                return matcher.missing(format!(
                    "the tangent op takes no tangent of `{0}`: add an operand `d{0}`, or declare `{0}` as not differentiable",
                    operand.name
                ));
            }
        }
        let mut tangents = vec![None; op.results.len()];
        for (k, result) in tangent.results.iter().enumerate() {
            let Some(i) = find(&op.results, |r| &r.name, derivative_of(&result.name.text)) else {
                let known: Vec<String> = op.results.iter().map(|r| format!("d{}", r.name)).collect();
                return matcher.unknown(&result.name, "`d` and a result of the op", &known);
            };
            if !is_differentiable(op, &op.results[i].element) {
                return matcher.wrong(
                    &result.name,
                    format!(
                        "the result `{}` has no tangent, since its type is not real or complex",
                        op.results[i].name
                    ),
                );
            }
            matcher.same(Tensor::from(&op.results[i]), result.into())?;
            tangents[i] = Some(k);
        }
        let missing = |i: &usize| tangents[*i].is_none() && is_differentiable(op, &op.results[*i].element);
        if let Some(i) = (0..tangents.len()).find(missing) {
            return matcher.missing(format!(
                "the tangent op returns no tangent for `{0}`: add a result `d{0}`",
                op.results[i].name
            ));
        }
        Ok(Jvp { operands, tangents })
    }
}

/// The residuals of a forward op, which takes what the op takes and gives what the op gives.
fn check_forward<'a>(op: &Signature, forward: &'a Signature) -> Result<&'a [ResultDecl]> {
    let mut matcher = Matcher::new(Part::Forward, op, forward);
    matcher.attrs()?;
    for (i, operand) in op.operands.iter().enumerate() {
        match forward.operands.get(i) {
            Some(own) if own.name.text == operand.name.text => matcher.same(operand.into(), own.into())?,
            Some(own) => {
                return matcher.wrong(
                    &own.name,
                    format!("the forward op takes the operands of the op: here `{}`", operand.name),
                );
            }
            None => return matcher.missing(format!("the forward op lacks the operand `{}`", operand.name)),
        }
    }
    if let Some(extra) = forward.operands.get(op.operands.len()) {
        return matcher.wrong(&extra.name, format!("the op has no operand `{}`", extra.name));
    }
    for (i, result) in op.results.iter().enumerate() {
        match forward.results.get(i) {
            Some(own) if own.name.text == result.name.text => matcher.same(result.into(), own.into())?,
            Some(own) => {
                return matcher.wrong(
                    &own.name,
                    format!("the forward op returns the results of the op first: here `{}`", result.name),
                );
            }
            None => return matcher.missing(format!("the forward op lacks the result `{}`", result.name)),
        }
    }
    Ok(&forward.results[op.results.len()..])
}

fn find<T>(items: &[T], name_of: impl Fn(&T) -> &Name, name: &str) -> Option<usize> {
    items.iter().position(|item| name_of(item).text == name)
}

/// `x` for `dx`; something that equals no name if it is not a derivative's.
fn derivative_of(name: &str) -> &str {
    name.strip_prefix('d').unwrap_or_default()
}

fn is_differentiable(signature: &Signature, element: &ElementType) -> bool {
    signature.possible_types(element).into_iter().any(is_continuous)
}

fn is_continuous(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// Operands that are declared as not differentiable.
struct Constants<'a>(&'a [&'a str]);

impl<'a> Constants<'a> {
    fn new(op: &Signature, names: &'a [&'a str]) -> Result<Constants<'a>> {
        for name in names {
            if op.operand(name).is_none() {
                let near = nearest(name, op.operands.iter().map(|o| o.name.text.as_str()));
                let hint = if near.is_empty() {
                    String::new()
                } else {
                    format!("; did you mean `{}`?", near.join("` or `"))
                };
                let message = format!(
                    "`{name}` is declared as not differentiable, but there is no operand of this name{hint}"
                );
                return Err(GradientError { part: Part::NonDifferentiable, span: None, message });
            }
        }
        Ok(Constants(names))
    }

    fn has_none(&self, op: &Signature, operand: usize) -> bool {
        let operand = &op.operands[operand];
        self.0.contains(&operand.name.text.as_str()) || !is_differentiable(op, &operand.element)
    }

    /// The operand that `derivative` belongs to has one.
    fn expect_derivative(&self, matcher: &Matcher<'_>, operand: &Operand, derivative: &Name) -> Result {
        if self.0.contains(&operand.name.text.as_str()) {
            return matcher.wrong(
                derivative,
                format!("`{}` is declared as not differentiable, but here is `{derivative}`", operand.name),
            );
        }
        if !is_differentiable(matcher.op, &operand.element) {
            return matcher.wrong(
                derivative,
                format!("`{}` has no derivative, since its type is not real or complex", operand.name),
            );
        }
        Ok(())
    }
}

/// What has to agree between two declarations of one tensor.
struct Tensor<'a> {
    name: &'a Name,
    element: &'a ElementType,
    shape: &'a Shape,
    /// May be missing; for a result, because of an optional operand.
    optional: bool,
    variadic: bool,
}

impl<'a> From<&'a Operand> for Tensor<'a> {
    fn from(o: &'a Operand) -> Self {
        let (optional, variadic) = (o.arity == Arity::Optional, o.arity == Arity::Variadic);
        Tensor { name: &o.name, element: &o.element, shape: &o.shape, optional, variadic }
    }
}

impl<'a> From<&'a ResultDecl> for Tensor<'a> {
    fn from(r: &'a ResultDecl) -> Self {
        let optional = r.condition.is_some();
        Tensor { name: &r.name, element: &r.element, shape: &r.shape, optional, variadic: r.variadic }
    }
}

/// Compares a derivative's declarations with those of the op.
struct Matcher<'a> {
    part: Part,
    op: &'a Signature,
    derivative: &'a Signature,
    /// What the derivative calls each dimension of the op.
    dims: BTreeMap<String, String>,
}

impl<'a> Matcher<'a> {
    fn new(part: Part, op: &'a Signature, derivative: &'a Signature) -> Matcher<'a> {
        Matcher { part, op, derivative, dims: BTreeMap::new() }
    }

    fn wrong<T>(&self, name: &Name, message: String) -> Result<T> {
        Err(GradientError { part: self.part, span: Some(name.span), message })
    }

    fn missing<T>(&self, message: String) -> Result<T> {
        Err(GradientError { part: self.part, span: None, message })
    }

    fn unknown<T>(&self, name: &Name, expected: &str, known: &[String]) -> Result<T> {
        let near = nearest(&name.text, known.iter().map(String::as_str));
        let hint = match near.as_slice() {
            [] => format!("known here: {}", known.join(", ")),
            near => format!("did you mean `{}`?", near.join("` or `")),
        };
        self.wrong(name, format!("`{name}` is not {expected}; {hint}"))
    }

    fn attrs(&self) -> Result {
        for attr in &self.derivative.attrs {
            match self.op.attr(&attr.name.text) {
                None => return self.wrong(&attr.name, format!("the op has no attribute `{}`", attr.name)),
                Some(own) if own.ty != attr.ty => {
                    return self.wrong(
                        &attr.name,
                        format!("`{}` is {} here, but {} in the op", attr.name, attr.ty, own.ty),
                    );
                }
                Some(own) if own.optional && !attr.optional => {
                    return self.wrong(
                        &attr.name,
                        format!("`{}` may be missing in the op, so here too: `{}?`", attr.name, attr.ty),
                    );
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Two declarations of one tensor agree: `own` in the derivative, `known` in the op.
    fn same(&mut self, known: Tensor<'_>, own: Tensor<'_>) -> Result {
        self.same_in(self.op, known, own)
    }

    /// The same, where `known` is in a signature other than the op's.
    fn same_in(&mut self, owner: &Signature, known: Tensor<'_>, own: Tensor<'_>) -> Result {
        let shown = |t: &Tensor<'_>| {
            let suffix = if t.variadic {
                "..."
            } else if t.optional {
                "?"
            } else {
                ""
            };
            format!("{}{}{suffix}", t.element, t.shape)
        };
        let fits = known.shape.batch.is_some() == own.shape.batch.is_some()
            && known.shape.any.is_some() == own.shape.any.is_some()
            && known.shape.dims.len() == own.shape.dims.len()
            && known.variadic == own.variadic
            && known.optional == own.optional;
        if !fits {
            return self.wrong(
                own.name,
                format!(
                    "`{}` is `{}`, but `{}` of the op is `{}`",
                    own.name,
                    shown(&own),
                    known.name,
                    shown(&known)
                ),
            );
        }
        let takes = self.derivative.possible_types(own.element);
        let mut needed = owner.possible_types(known.element);
        if needed.iter().any(|t| is_continuous(*t)) {
            // A call with integers is never differentiated.
            needed.retain(|t| is_continuous(*t) || self.part == Part::Forward);
        }
        if let Some(dtype) = needed.into_iter().find(|t| !takes.contains(t)) {
            return self.wrong(
                own.name,
                format!("`{}` cannot be {dtype}, but `{}` of the op can", own.name, known.name),
            );
        }
        for (known_dim, own_dim) in known.shape.dims.iter().zip(&own.shape.dims) {
            let (theirs, ours) = (known_dim.to_string(), own_dim.to_string());
            let literal = |d: &Dim| matches!(d, Dim::Size(Expr::Literal(..)));
            let name = if self.part == Part::Forward { &theirs } else { &ours };
            let before = self.dims.entry(theirs.clone()).or_insert(name.clone()).clone();
            if before != ours || (literal(own_dim) && theirs != ours) {
                let reason = match before == theirs {
                    true => String::new(),
                    false => format!("; elsewhere `{theirs}` is `{before}`"),
                };
                return self.wrong(
                    own.name,
                    format!(
                        "`{}` is `{}`, but `{}` of the op is `{}`{reason}",
                        own.name,
                        shown(&own),
                        known.name,
                        shown(&known)
                    ),
                );
            }
        }
        Ok(())
    }
}
