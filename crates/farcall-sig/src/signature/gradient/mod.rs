//! Whether the signatures of an op's derivatives fit its own, and which value goes where.
//!
//! Derivatives are ops like any other. Their parameters are matched with the op by name:
//!
//! | | operands | results |
//! | --- | --- | --- |
//! | forward (only if there are residuals) | those of the op | those of the op, then the residuals |
//! | backward | any of: operands, results and residuals by name; `dy`, the cotangent of result `y` | `dx`, the cotangent of operand `x` |
//! | tangent | any of: operands and results by name; `dx`, the tangent of operand `x` | `dy`, the tangent of result `y` |
//! | transpose | any of: operands in which the op is not linear, by name; `y`, the cotangent of result `y` | `x`, the cotangent of an operand `x` in which the op is linear |
//!
//! [`Bindings`] say which parameter is which where names do not: an op `b(x, dy) -> (dx)` has a result `dx`, and its
//! tangent op an operand that is the tangent of `x` (`tangent(x) = tx`). A name that could be two things is an error.
//!
//! Their attributes are attributes of the op. A derivative takes every real and complex type that the op
//! takes. Backward, tangent and transpose ops may call dimensions by other names, as long as they do so consistently.
//! Operands and results whose types are all integers or booleans have no derivatives; any other operand without one
//! is declared as not differentiable. A cotangent that is shared by the batch is summed over it.
//!
//! An op that has a *transpose* is linear in the operands that this one returns, all of them together. It is the
//! derivative of the op whose tangent op the linear one is ([`Jvp::transposed`]); and an op that is linear in all that
//! it is differentiated in is its own tangent op ([`Jvp::linear`]).
//!
//! ```
//! use farcall_sig::signature::{Bindings, Signature, Vjp, VjpSource::*};
//!
//! let op = "(x: T[*, n], scale: T[n]) -> (y: T[*, n]) where T: f32 | f64".parse::<Signature>()?;
//! let backward = "(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum";
//! let vjp = Vjp::new(&op, None, &backward.parse::<Signature>()?, &[], &Bindings::NONE).unwrap();
//! assert_eq!(vjp.operands, [Operand(0), Operand(1), Cotangent(0)]);
//! assert_eq!(vjp.cotangents, [Some(0), Some(1)]);
//! # Ok::<(), farcall_sig::SignatureError>(())
//! ```

use std::fmt;

use super::Signature;
use super::ast::*;
use super::error::Span;
use matcher::{Constants, Matcher, Meaning, is_differentiable};

mod bindings;
mod matcher;

pub use bindings::{Binding, BindingError, Bindings, Role};

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
    /// The transpose op's.
    Transpose,
}

impl Part {
    /// What can be said of the parameters of such an op.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Part::NonDifferentiable | Part::Forward => &[],
            Part::Backward => &[Role::Operand, Role::Result, Role::Residual, Role::Cotangent],
            Part::Tangent => &[Role::Operand, Role::Result, Role::Tangent],
            Part::Transpose => &[Role::Operand, Role::Cotangent],
        }
    }

    /// What the parameters of such an op can be called, as far as the op alone tells: the residuals of its forward op
    /// are not among them.
    pub fn expected(self, op: &Signature, non_differentiable: &[&str], bindings: &Bindings) -> Expected {
        let mut expected = Expected::default();
        let Ok(constants) = Constants::new(op, non_differentiable) else { return expected };
        let moved = || {
            op.operands.iter().enumerate().filter(|(i, _)| !constants.has_none(op, *i)).map(|(_, o)| &o.name)
        };
        match self {
            Part::NonDifferentiable | Part::Forward => {}
            Part::Backward => {
                let operands = backward_meanings(op, &[]);
                expected.ambiguous = matcher::ambiguous(&operands, bindings);
                expected.operands = matcher::names(&operands, bindings);
                expected.results = matcher::names(&cotangent_meanings(self, op, &constants), bindings);
                let name = |of: &Name| bindings.parameter(Role::Cotangent, of);
                expected.needed_results = moved().map(|of| (name(of), no_cotangent(of))).collect();
            }
            Part::Tangent => {
                let operands = tangent_meanings(op, &constants);
                expected.ambiguous = matcher::ambiguous(&operands, bindings);
                expected.operands = matcher::names(&operands, bindings);
                expected.results = matcher::names(&result_tangent_meanings(op), bindings);
                let name = |of: &Name| bindings.parameter(Role::Tangent, of);
                expected.needed_operands = moved().map(|of| (name(of), takes_no_tangent(of))).collect();
                let results = op.results.iter().filter(|r| is_differentiable(op, &r.element));
                expected.needed_results =
                    results.map(|r| (name(&r.name), returns_no_tangent(&r.name))).collect();
            }
            Part::Transpose => {
                expected.operands = matcher::names(&transpose_meanings(op), bindings);
                expected.results = matcher::names(&cotangent_meanings(self, op, &constants), bindings);
            }
        }
        expected
    }

    fn in_words(self) -> &'static str {
        match self {
            Part::NonDifferentiable => "what is not differentiable",
            Part::Forward => "the forward op",
            Part::Backward => "the backward op",
            Part::Tangent => "the tangent op",
            Part::Transpose => "the transpose",
        }
    }
}

/// What the parameters of a derivative op can be called.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expected {
    /// All names that an operand can have.
    pub operands: Vec<String>,
    /// All names that a result can have.
    pub results: Vec<String>,
    /// Operands that there have to be, and what is wrong without them.
    pub needed_operands: Vec<(String, String)>,
    /// Results that there have to be, and what is wrong without them.
    pub needed_results: Vec<(String, String)>,
    /// Names that no operand can have, since they could be two things, and the reason.
    pub ambiguous: Vec<(String, String)>,
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
        bindings: &Bindings,
    ) -> Result<Vjp> {
        let constants = Constants::new(op, non_differentiable)?;
        let residuals: &[ResultDecl] = match forward {
            None => &[],
            Some(forward) => check_forward(op, forward)?,
        };
        let mut matcher = Matcher::new(Part::Backward, op, backward, bindings, residuals)?;
        let source = |operand| operand_source(&mut matcher, op, forward, residuals, operand);
        let operands = backward.operands.iter().map(source).collect::<Result<_>>()?;
        let cotangents = cotangents(&mut matcher, op, backward, &constants)?;
        if let Some(i) =
            (0..cotangents.len()).find(|i| cotangents[*i].is_none() && !constants.has_none(op, *i))
        {
            return matcher.missing(no_cotangent(&op.operands[i].name));
        }
        Ok(Vjp { residuals: residuals.len(), operands, cotangents })
    }

    /// Matches an op that is linear in some of its operands with its transpose, which takes the other operands and the
    /// cotangents of the results, and gives the cotangents of those.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn transpose(
        op: &Signature,
        transpose: &Signature,
        non_differentiable: &[&str],
        bindings: &Bindings,
    ) -> Result<Vjp> {
        let constants = Constants::new(op, non_differentiable)?;
        let mut matcher = Matcher::new(Part::Transpose, op, transpose, bindings, &[])?;
        let meanings = transpose_meanings(op);
        let mut operands = Vec::new();
        for own in &transpose.operands {
            let meaning = matcher.meaning(&own.name, &meanings, "an operand or a result of the op")?;
            let source = meaning.source;
            compare(&mut matcher, op, None, &[], source, own)?;
            operands.push(source);
        }
        let cotangents = cotangents(&mut matcher, op, transpose, &constants)?;
        if cotangents.iter().all(Option::is_none) {
            return matcher.missing("the transpose returns the cotangent of no operand".to_owned());
        }
        for (own, source) in transpose.operands.iter().zip(&operands) {
            let VjpSource::Operand(i) = *source else { continue };
            if cotangents[i].is_some() {
                let name = &op.operands[i].name;
                let message = format!(
                    "the transpose returns the cotangent of `{name}`, so it cannot depend on `{name}`"
                );
                return matcher.wrong(&own.name, message);
            }
        }
        Ok(Vjp { residuals: 0, operands, cotangents })
    }
}

/// What an operand of a backward op can be.
fn backward_meanings(op: &Signature, residuals: &[ResultDecl]) -> Vec<Meaning<VjpSource>> {
    let mut meanings = Vec::new();
    for (i, own) in op.operands.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Operand, &own.name, VjpSource::Operand(i)));
    }
    for (i, own) in op.results.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Result, &own.name, VjpSource::Result(i)));
        let exists = is_differentiable(op, &own.element);
        meanings.push(Meaning::derivative(Role::Cotangent, &own.name, exists, VjpSource::Cotangent(i)));
    }
    for (i, own) in residuals.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Residual, &own.name, VjpSource::Residual(i)));
    }
    meanings
}

/// What a result of a backward op or a transpose can be.
fn cotangent_meanings(part: Part, op: &Signature, constants: &Constants<'_>) -> Vec<Meaning<usize>> {
    let meaning = |(i, own): (usize, &Operand)| match part {
        Part::Transpose => Meaning::itself(Role::Cotangent, &own.name, i),
        _ => Meaning::derivative(Role::Cotangent, &own.name, !constants.has_none(op, i), i),
    };
    op.operands.iter().enumerate().map(meaning).collect()
}

/// What an operand of a transpose can be.
fn transpose_meanings(op: &Signature) -> Vec<Meaning<VjpSource>> {
    let mut meanings = Vec::new();
    for (i, own) in op.operands.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Operand, &own.name, VjpSource::Operand(i)));
    }
    for (i, own) in op.results.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Cotangent, &own.name, VjpSource::Cotangent(i)));
    }
    meanings
}

/// What an operand of the backward op is.
fn operand_source(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    forward: Option<&Signature>,
    residuals: &[ResultDecl],
    operand: &Operand,
) -> Result<VjpSource> {
    let meanings = backward_meanings(op, residuals);
    let expected = "an operand, a result, a residual, or `d` and a result of the op";
    let source = matcher.meaning(&operand.name, &meanings, expected)?.source;
    compare(matcher, op, forward, residuals, source, operand)?;
    Ok(source)
}

/// An operand of a backward op or a transpose has the type of what it is.
fn compare(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    forward: Option<&Signature>,
    residuals: &[ResultDecl],
    source: VjpSource,
    own: &Operand,
) -> Result {
    match source {
        VjpSource::Operand(i) => matcher.same((&op.operands[i]).into(), own.into()),
        VjpSource::Result(i) => matcher.same((&op.results[i]).into(), own.into()),
        VjpSource::Residual(i) => matcher.same_in(forward.unwrap_or(op), (&residuals[i]).into(), own.into()),
        VjpSource::Cotangent(i) if !is_differentiable(op, &op.results[i].element) => matcher.wrong(
            &own.name,
            format!(
                "the result `{}` has no cotangent, since its type is not real or complex",
                op.results[i].name
            ),
        ),
        VjpSource::Cotangent(i) => matcher.same((&op.results[i]).into(), own.into()),
    }
}

/// Which result of the backward op or the transpose is the cotangent of each operand.
fn cotangents(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    backward: &Signature,
    constants: &Constants<'_>,
) -> Result<Vec<Option<usize>>> {
    let meanings = cotangent_meanings(matcher.part, op, constants);
    let is_transpose = matcher.part == Part::Transpose;
    let expected = if is_transpose { "an operand of the op" } else { "`d` and an operand of the op" };
    let mut cotangents = vec![None; op.operands.len()];
    for (k, result) in backward.results.iter().enumerate() {
        let i = matcher.meaning(&result.name, &meanings, expected)?.source;
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
    Ok(cotangents)
}

impl Jvp {
    /// Matches a tangent op with an op.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn new(
        op: &Signature,
        tangent: &Signature,
        non_differentiable: &[&str],
        bindings: &Bindings,
    ) -> Result<Jvp> {
        let constants = Constants::new(op, non_differentiable)?;
        let mut matcher = Matcher::new(Part::Tangent, op, tangent, bindings, &[])?;
        let operands = tangent_operands(&mut matcher, op, tangent, &constants)?;
        let meanings = result_tangent_meanings(op);
        let mut tangents = vec![None; op.results.len()];
        for (k, result) in tangent.results.iter().enumerate() {
            let i = matcher.meaning(&result.name, &meanings, "`d` and a result of the op")?.source;
            if !is_differentiable(op, &op.results[i].element) {
                return matcher.wrong(
                    &result.name,
                    format!(
                        "the result `{}` has no tangent, since its type is not real or complex",
                        op.results[i].name
                    ),
                );
            }
            matcher.same((&op.results[i]).into(), result.into())?;
            tangents[i] = Some(k);
        }
        let missing = |i: &usize| tangents[*i].is_none() && is_differentiable(op, &op.results[*i].element);
        if let Some(i) = (0..tangents.len()).find(missing) {
            return matcher.missing(returns_no_tangent(&op.results[i].name));
        }
        Ok(Jvp { operands, tangents })
    }

    /// The rule of an op that is linear in all that it is differentiated in: it is its own tangent op. `transpose` is
    /// what its transpose is ([`Vjp::transpose`]). None if there is an operand that it is not linear in.
    pub fn linear(op: &Signature, transpose: &Vjp, non_differentiable: &[&str]) -> Option<Jvp> {
        let constants = Constants::new(op, non_differentiable).ok()?;
        let source = |i: usize| match transpose.cotangents[i] {
            Some(_) => Some(JvpSource::Tangent(i)),
            None => constants.has_none(op, i).then_some(JvpSource::Operand(i)),
        };
        let operands = (0..op.operands.len()).map(source).collect::<Option<_>>()?;
        let results = op.results.iter().enumerate();
        let tangents = results.map(|(i, r)| is_differentiable(op, &r.element).then_some(i)).collect();
        Some(Jvp { operands, tangents })
    }

    /// The reverse derivative that this rule has by a transpose of its tangent op ([`Vjp::transpose`]).
    ///
    /// # Errors
    /// If the tangent op is not declared as linear in one of the tangents that it takes.
    pub fn transposed(&self, op: &Signature, tangent: &Signature, transpose: &Vjp) -> Result<Vjp> {
        let mut cotangents = vec![None; op.operands.len()];
        for (k, source) in self.operands.iter().enumerate() {
            let JvpSource::Tangent(i) = *source else { continue };
            cotangents[i] = transpose.cotangents[k];
            if cotangents[i].is_none() {
                let (name, of) = (&tangent.operands[k].name, &op.operands[i].name);
                let message = format!(
                    "a tangent op is linear in all tangents, but its transpose returns no cotangent for `{name}`, the \
                     tangent of `{of}`"
                );
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
            let message = "the transpose takes what the backward op of the op cannot have".to_owned();
            GradientError { part: Part::Transpose, span: None, message }
        })?;
        Ok(Vjp { residuals: 0, operands, cotangents })
    }
}

/// What an operand of a tangent op can be.
fn tangent_meanings(op: &Signature, constants: &Constants<'_>) -> Vec<Meaning<JvpSource>> {
    let mut meanings = Vec::new();
    for (i, own) in op.operands.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Operand, &own.name, JvpSource::Operand(i)));
        let exists = !constants.has_none(op, i);
        meanings.push(Meaning::derivative(Role::Tangent, &own.name, exists, JvpSource::Tangent(i)));
    }
    for (i, own) in op.results.iter().enumerate() {
        meanings.push(Meaning::itself(Role::Result, &own.name, JvpSource::Result(i)));
    }
    meanings
}

/// What a result of a tangent op can be.
fn result_tangent_meanings(op: &Signature) -> Vec<Meaning<usize>> {
    let meaning = |(i, own): (usize, &ResultDecl)| {
        Meaning::derivative(Role::Tangent, &own.name, is_differentiable(op, &own.element), i)
    };
    op.results.iter().enumerate().map(meaning).collect()
}

/// What each operand of the tangent op is.
fn tangent_operands(
    matcher: &mut Matcher<'_>,
    op: &Signature,
    tangent: &Signature,
    constants: &Constants<'_>,
) -> Result<Vec<JvpSource>> {
    let meanings = tangent_meanings(op, constants);
    let mut operands = Vec::new();
    for operand in &tangent.operands {
        let expected = "an operand, a result, or `d` and an operand of the op";
        let source = matcher.meaning(&operand.name, &meanings, expected)?.source;
        match source {
            JvpSource::Result(i) => matcher.same((&op.results[i]).into(), operand.into())?,
            JvpSource::Operand(i) => matcher.same((&op.operands[i]).into(), operand.into())?,
            JvpSource::Tangent(i) => {
                constants.expect_derivative(matcher, &op.operands[i], &operand.name)?;
                matcher.same((&op.operands[i]).into(), operand.into())?;
            }
        }
        operands.push(source);
    }
    for (i, operand) in op.operands.iter().enumerate() {
        if !operands.contains(&JvpSource::Tangent(i)) && !constants.has_none(op, i) {
            return matcher.missing(takes_no_tangent(&operand.name));
        }
    }
    Ok(operands)
}

fn no_cotangent(of: &Name) -> String {
    format!(
        "the backward op returns no cotangent for `{of}`: add a result `d{of}`, or declare `{of}` as not differentiable"
    )
}

fn takes_no_tangent(of: &Name) -> String {
    format!(
        "the tangent op takes no tangent of `{of}`: add an operand `d{of}`, or declare `{of}` as not differentiable"
    )
}

fn returns_no_tangent(of: &Name) -> String {
    format!("the tangent op returns no tangent for `{of}`: add a result `d{of}`")
}

/// The residuals of a forward op, which takes what the op takes and gives what the op gives.
fn check_forward<'a>(op: &Signature, forward: &'a Signature) -> Result<&'a [ResultDecl]> {
    const BY_NAME: &Bindings = &Bindings::NONE;
    let mut matcher = Matcher::new(Part::Forward, op, forward, BY_NAME, &[])?;
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
