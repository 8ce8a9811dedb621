//! Compares the declarations of a derivative op with those of the op.

use std::collections::BTreeMap;

use super::super::Signature;
use super::super::ast::*;
use super::bindings::{Bindings, Role};
use super::{GradientError, Part, Result};
use crate::dtype::DType;
use crate::nearest::nearest;

/// Something that a parameter of a derivative op can be.
pub(super) struct Meaning<S> {
    pub(super) role: Role,
    /// The operand, result or residual.
    pub(super) of: String,
    /// The parameter's name, unless another is said.
    name: String,
    /// False for a derivative of what is not differentiable.
    exists: bool,
    pub(super) source: S,
}

impl<S> Meaning<S> {
    /// An operand, result or residual, which keeps its name.
    pub(super) fn itself(role: Role, name: &Name, source: S) -> Meaning<S> {
        Meaning { role, of: name.text.clone(), name: name.text.clone(), exists: true, source }
    }

    /// The tangent or cotangent of `x`, which is called `dx`.
    pub(super) fn derivative(role: Role, of: &Name, exists: bool, source: S) -> Meaning<S> {
        Meaning { role, of: of.text.clone(), name: format!("d{of}"), exists, source }
    }
}

/// Operands that are declared as not differentiable.
pub(super) struct Constants<'a>(&'a [&'a str]);

impl<'a> Constants<'a> {
    pub(super) fn new(op: &Signature, names: &'a [&'a str]) -> Result<Constants<'a>> {
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

    pub(super) fn has_none(&self, op: &Signature, operand: usize) -> bool {
        let operand = &op.operands[operand];
        self.0.contains(&operand.name.text.as_str()) || !is_differentiable(op, &operand.element)
    }

    /// The operand that `derivative` belongs to has one.
    pub(super) fn expect_derivative(
        &self,
        matcher: &Matcher<'_>,
        operand: &Operand,
        derivative: &Name,
    ) -> Result {
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

pub(super) fn is_differentiable(signature: &Signature, element: &ElementType) -> bool {
    signature.possible_types(element).into_iter().any(is_continuous)
}

fn is_continuous(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// What has to agree between two declarations of one tensor.
pub(super) struct Tensor<'a> {
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
pub(super) struct Matcher<'a> {
    pub(super) part: Part,
    op: &'a Signature,
    derivative: &'a Signature,
    bindings: &'a Bindings,
    /// What the derivative calls each dimension of the op.
    dims: BTreeMap<String, String>,
}

impl<'a> Matcher<'a> {
    /// Attributes and bindings are checked.
    pub(super) fn new(
        part: Part,
        op: &'a Signature,
        derivative: &'a Signature,
        bindings: &'a Bindings,
        residuals: &[ResultDecl],
    ) -> Result<Matcher<'a>> {
        let matcher = Matcher { part, op, derivative, bindings, dims: BTreeMap::new() };
        matcher.attrs()?;
        matcher.bindings(residuals)?;
        Ok(matcher)
    }

    pub(super) fn wrong<T>(&self, name: &Name, message: String) -> Result<T> {
        Err(GradientError { part: self.part, span: Some(name.span), message })
    }

    pub(super) fn missing<T>(&self, message: String) -> Result<T> {
        Err(GradientError { part: self.part, span: None, message })
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

    /// Both sides of each binding are there.
    fn bindings(&self, residuals: &[ResultDecl]) -> Result {
        let Signature { operands, results, .. } = self.derivative;
        let own = operands.iter().map(|o| &o.name).chain(results.iter().map(|r| &r.name));
        let own: Vec<&str> = own.map(|name| name.text.as_str()).collect();
        for binding in self.bindings.iter() {
            let mut known = binding.role.of(self.op);
            if binding.role == Role::Residual {
                known.extend(residuals.iter().map(|r| r.name.text.as_str()));
            }
            let (of, what) = (binding.of.as_str(), binding.role.name());
            if !self.part.roles().contains(&binding.role) {
                let part = self.part.in_words();
                return self.missing(format!("`{binding}`: {part} has nothing to do with a {what}"));
            }
            if !known.contains(&of) {
                return self.missing(format!("`{binding}`: there is no `{of}` here; {}", hint(of, &known)));
            }
            let parameter = binding.parameter.as_str();
            if !own.contains(&parameter) {
                let (part, hint) = (self.part.in_words(), hint(parameter, &own));
                return self
                    .missing(format!("`{binding}`: {part} has no operand or result `{parameter}`; {hint}"));
            }
        }
        Ok(())
    }

    /// What a parameter is, among what it can be.
    pub(super) fn meaning<'m, S>(
        &self,
        parameter: &Name,
        meanings: &'m [Meaning<S>],
        expected: &str,
    ) -> Result<&'m Meaning<S>> {
        let name = parameter.text.as_str();
        if let Some(said) = self.bindings.of_parameter(name) {
            let is_said = |m: &&Meaning<S>| m.role == said.role && m.of == said.of;
            if let Some(meaning) = meanings.iter().find(is_said) {
                return Ok(meaning);
            }
            let what = said.role.in_words(&said.of);
            let is_operand = self.derivative.operand(name).is_some();
            let [own, other] = if is_operand { ["operand", "result"] } else { ["result", "operand"] };
            let message = format!("`{name}` is an {own}, but {what} is an {other} of it");
            return self.wrong(parameter, message.replace("an r", "a r"));
        }
        let open: Vec<_> = meanings.iter().filter(|m| self.bindings.say(m.role, &m.of).is_none()).collect();
        let named = || open.iter().copied().filter(|m| m.name == name);
        let mut found: Vec<_> = named().filter(|m| m.exists).collect();
        if found.is_empty() {
            found = named().collect();
        }
        match found.as_slice() {
            [] => {
                let known: Vec<&str> = open.iter().map(|m| m.name.as_str()).collect();
                let hint = hint(name, &known);
                self.wrong(parameter, format!("`{name}` is not {expected}; {hint}"))
            }
            [one] => Ok(one),
            several => self.wrong(parameter, ambiguity(name, several)),
        }
    }

    /// Two declarations of one tensor agree: `own` in the derivative, `known` in the op.
    pub(super) fn same(&mut self, known: Tensor<'_>, own: Tensor<'_>) -> Result {
        self.same_in(self.op, known, own)
    }

    /// The same, where `known` is in a signature other than the op's.
    pub(super) fn same_in(&mut self, owner: &Signature, known: Tensor<'_>, own: Tensor<'_>) -> Result {
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

/// The names that parameters can have.
pub(super) fn names<S>(meanings: &[Meaning<S>], bindings: &Bindings) -> Vec<String> {
    let name = |m: &Meaning<S>| match bindings.say(m.role, &m.of) {
        Some(parameter) => parameter.to_owned(),
        None => m.name.clone(),
    };
    meanings.iter().filter(|m| m.exists).map(name).collect()
}

/// The names that several of these have, and why a parameter cannot have them.
pub(super) fn ambiguous<S>(meanings: &[Meaning<S>], bindings: &Bindings) -> Vec<(String, String)> {
    let mut open: BTreeMap<&str, Vec<&Meaning<S>>> = BTreeMap::new();
    for meaning in meanings.iter().filter(|m| m.exists && bindings.say(m.role, &m.of).is_none()) {
        open.entry(&meaning.name).or_default().push(meaning);
    }
    open.retain(|name, all| all.len() > 1 && bindings.of_parameter(name).is_none());
    open.into_iter().map(|(name, all)| (name.to_owned(), ambiguity(name, &all))).collect()
}

fn ambiguity<S>(name: &str, several: &[&Meaning<S>]) -> String {
    let all: Vec<String> = several.iter().map(|m| m.role.in_words(&m.of)).collect();
    let say: Vec<String> = several.iter().map(|m| format!("`{}({}) = …`", m.role.name(), m.of)).collect();
    format!("`{name}` is both {}: say which parameter is which, by {}", all.join(" and "), say.join(" or "))
}

/// Names that were probably meant, or all there are.
fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()).as_slice() {
        [] => format!("known here: {}", known.join(", ")),
        near => format!("did you mean `{}`?", near.join("` or `")),
    }
}
