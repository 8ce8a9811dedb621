//! Roles of a derivative op's parameters, given by explicit bindings or by the parameters' names.

use super::rule::{At, DerivativeRule, Result, Said, is_differentiable};
use super::summary::{Outline, TensorOutline};
use super::{BindingRole, Part};
use crate::nearest;
use crate::text::{Text, order, same};

/// Role of a derivative op's parameter, with the index of the operand, result or residual that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Operand(usize),
    Result(usize),
    Residual(usize),
    /// The tangent of an operand, or the cotangent of a result.
    Derivative(usize),
}

/// A candidate role for a parameter of a derivative op.
#[derive(Clone, Copy)]
struct RoleCandidate<'a> {
    role: BindingRole,
    /// The operand, result or residual that the role refers to.
    of: &'a str,
    /// Name of the parameter, unless a binding gives another.
    name: &'a str,
    /// False for the derivative of a tensor that is not differentiable.
    exists: bool,
    source: Source,
}

impl<'a> RoleCandidate<'a> {
    /// An operand, result or residual, which keeps its name.
    const fn itself(role: BindingRole, of: &TensorOutline<'a>, source: Source) -> RoleCandidate<'a> {
        RoleCandidate { role, of: of.name, name: of.name, exists: true, source }
    }

    /// The tangent or cotangent of `x`, with the name `dx`.
    const fn derivative(
        role: BindingRole,
        of: &TensorOutline<'a>,
        exists: bool,
        source: Source,
    ) -> RoleCandidate<'a> {
        RoleCandidate { role, of: of.name, name: of.derivative, exists, source }
    }
}

impl<'a> DerivativeRule<'a> {
    /// Returns the source of an operand of the derivative op.
    pub(super) const fn operand(&self, k: usize, say: &mut Text) -> Result<Source> {
        let expected = match self.part {
            Part::Backward => "an operand, a result, a residual, or `d` and a result of the op",
            Part::Tangent => "an operand, a result, or `d` and an operand of the op",
            _ => "an operand or a result of the op",
        };
        self.meaning(At::Operand(k), expected, say)
    }

    /// Returns the index of the tensor whose derivative is result `k` of the derivative op: a result of the
    /// op if this is a tangent op, an operand otherwise.
    pub(super) const fn result(&self, k: usize, say: &mut Text) -> Result<usize> {
        let expected = match self.part {
            Part::Backward => "`d` and an operand of the op",
            Part::Tangent => "`d` and a result of the op",
            _ => "an operand of the op",
        };
        match self.meaning(At::Result(k), expected, say) {
            Ok(Source::Operand(i) | Source::Result(i) | Source::Residual(i) | Source::Derivative(i)) => Ok(i),
            Err(misfit) => Err(misfit),
        }
    }

    /// Returns the `i`-th candidate role for an operand of the derivative op.
    const fn operand_meaning(&self, i: usize) -> Option<RoleCandidate<'a>> {
        let Outline { operands, results, .. } = *self.op;
        match self.part {
            Part::Tangent => {
                let (both, each) = (2 * operands.len(), i / 2);
                if i < both && i.is_multiple_of(2) {
                    return Some(RoleCandidate::itself(
                        BindingRole::Operand,
                        &operands[each],
                        Source::Operand(each),
                    ));
                }
                if i < both {
                    let (exists, source) = (!self.is_constant(each), Source::Derivative(each));
                    return Some(RoleCandidate::derivative(
                        BindingRole::Tangent,
                        &operands[each],
                        exists,
                        source,
                    ));
                }
                let i = i - both;
                if i < results.len() {
                    return Some(RoleCandidate::itself(BindingRole::Result, &results[i], Source::Result(i)));
                }
                None
            }
            _ => {
                if i < operands.len() {
                    return Some(RoleCandidate::itself(
                        BindingRole::Operand,
                        &operands[i],
                        Source::Operand(i),
                    ));
                }
                let i = i - operands.len();
                if self.part.is(Part::Transpose) {
                    if i < results.len() {
                        return Some(RoleCandidate::itself(
                            BindingRole::Cotangent,
                            &results[i],
                            Source::Derivative(i),
                        ));
                    }
                    return None;
                }
                let (both, each) = (2 * results.len(), i / 2);
                if i < both && i.is_multiple_of(2) {
                    return Some(RoleCandidate::itself(
                        BindingRole::Result,
                        &results[each],
                        Source::Result(each),
                    ));
                }
                if i < both {
                    let (exists, source) = (is_differentiable(&results[each]), Source::Derivative(each));
                    return Some(RoleCandidate::derivative(
                        BindingRole::Cotangent,
                        &results[each],
                        exists,
                        source,
                    ));
                }
                let i = i - both;
                match self.residual(i) {
                    Some(residual) => {
                        Some(RoleCandidate::itself(BindingRole::Residual, residual, Source::Residual(i)))
                    }
                    None => None,
                }
            }
        }
    }

    /// Returns the `i`-th candidate role for a result of the derivative op.
    const fn result_meaning(&self, i: usize) -> Option<RoleCandidate<'a>> {
        let (role, all) = match self.part {
            Part::Tangent => (BindingRole::Tangent, self.op.results),
            _ => (BindingRole::Cotangent, self.op.operands),
        };
        if i >= all.len() {
            return None;
        }
        let source = Source::Derivative(i);
        Some(match self.part {
            Part::Transpose => RoleCandidate::itself(role, &all[i], source),
            Part::Tangent => RoleCandidate::derivative(role, &all[i], is_differentiable(&all[i]), source),
            _ => RoleCandidate::derivative(role, &all[i], !self.is_constant(i), source),
        })
    }

    const fn possible(&self, at: At, i: usize) -> Option<RoleCandidate<'a>> {
        match at {
            At::Operand(_) => self.operand_meaning(i),
            _ => self.result_meaning(i),
        }
    }

    /// Returns true if a binding determines the parameter with this role.
    const fn is_said(&self, meaning: &RoleCandidate<'_>) -> bool {
        let mut i = 0;
        while i < self.said.len() {
            if self.said[i].role as u8 == meaning.role as u8 && same(self.said[i].of, meaning.of) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Returns true if a parameter with this name has the role by default, because no binding mentions the
    /// role.
    const fn is_named(&self, meaning: &RoleCandidate<'_>, name: &str) -> bool {
        same(meaning.name, name) && !self.is_said(meaning)
    }

    /// Returns the source of a parameter, by its binding or by its name.
    const fn meaning(&self, at: At, expected: &str, say: &mut Text) -> Result<Source> {
        let parameter = self.parameter(at).name;
        let mut i = 0;
        while i < self.said.len() {
            if same(self.said[i].parameter, parameter) {
                return self.said_meaning(at, &self.said[i], say);
            }
            i += 1;
        }
        let (mut found, mut count, mut known, mut i) = (None, 0, None, 0);
        while let Some(meaning) = self.possible(at, i) {
            if self.is_named(&meaning, parameter) {
                known = Some(meaning.source);
                if meaning.exists {
                    found = Some(meaning.source);
                    count += 1;
                }
            }
            i += 1;
        }
        match (found, known) {
            (Some(source), _) if count == 1 => Ok(source),
            (Some(_), _) => {
                self.say_ambiguity(at, parameter, say);
                self.wrong(at)
            }
            // The derivative of a tensor that is not differentiable. The check of types reports the reason.
            (None, Some(source)) => Ok(source),
            (None, None) => {
                say.quote(parameter).add(" is not ").add(expected).add("; ");
                self.hint(parameter, Names::Possible(at), say);
                self.wrong(at)
            }
        }
    }

    const fn said_meaning(&self, at: At, said: &Said<'_>, say: &mut Text) -> Result<Source> {
        let mut i = 0;
        while let Some(meaning) = self.possible(at, i) {
            if meaning.role as u8 == said.role as u8 && same(meaning.of, said.of) {
                return Ok(meaning.source);
            }
            i += 1;
        }
        let (is, is_of) = match at {
            At::Operand(_) => (" is an operand, but ", " is a result of it"),
            _ => (" is a result, but ", " is an operand of it"),
        };
        say.quote(said.parameter).add(is);
        say_role(said.role, said.of, say);
        say.add(is_of);
        self.wrong(at)
    }

    const fn say_ambiguity(&self, at: At, name: &str, say: &mut Text) {
        say.quote(name).add(" is both ");
        let (mut i, mut is_first) = (0, true);
        while let Some(meaning) = self.possible(at, i) {
            if meaning.exists && self.is_named(&meaning, name) {
                say.add(if is_first { "" } else { " and " });
                say_role(meaning.role, meaning.of, say);
                is_first = false;
            }
            i += 1;
        }
        say.add(": say which parameter is which, by ");
        let (mut i, mut is_first) = (0, true);
        while let Some(meaning) = self.possible(at, i) {
            if meaning.exists && self.is_named(&meaning, name) {
                say.add(if is_first { "`" } else { " or `" }).add(meaning.role.name());
                say.add("(").add(meaning.of).add(") = …`");
                is_first = false;
            }
            i += 1;
        }
    }

    /// Returns the `i`-th name of the list `names`: `None` after the last name, `Some(None)` for a name to
    /// skip.
    const fn name(&self, names: Names, i: usize) -> Option<Option<&'a str>> {
        let (first, second): (&'a [TensorOutline<'a>], &'a [TensorOutline<'a>]) = match names {
            Names::Possible(at) => {
                return match self.possible(at, i) {
                    Some(meaning) if self.is_said(&meaning) => Some(None),
                    Some(meaning) => Some(Some(meaning.name)),
                    None => None,
                };
            }
            Names::Operands | Names::Of(BindingRole::Operand) => (self.op.operands, &[]),
            Names::Own => (self.derivative.operands, self.derivative.results),
            Names::Of(BindingRole::Result) => (self.op.results, &[]),
            Names::Of(BindingRole::Residual) => {
                return match self.residual(i) {
                    Some(residual) => Some(Some(residual.name)),
                    None => None,
                };
            }
            Names::Of(BindingRole::Cotangent | BindingRole::Tangent) => (self.op.operands, self.op.results),
        };
        if i < first.len() {
            return Some(Some(first[i].name));
        }
        if i - first.len() < second.len() { Some(Some(second[i - first.len()].name)) } else { None }
    }

    pub(super) const fn has(&self, names: Names, name: &str) -> bool {
        let mut i = 0;
        while let Some(known) = self.name(names, i) {
            if let Some(known) = known
                && same(known, name)
            {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Returns the closest names, best first, in the order of `nearest`.
    pub(super) const fn near(&self, name: &str, names: Names) -> [Option<&'a str>; nearest::MAX_SUGGESTIONS] {
        let mut found = [None; nearest::MAX_SUGGESTIONS];
        let mut last = (0, "");
        let mut n = 0;
        while n < found.len() {
            let mut best: Option<(usize, &'a str)> = None;
            let mut i = 0;
            while let Some(candidate) = self.name(names, i) {
                i += 1;
                let Some(candidate) = candidate else { continue };
                let Some(distance) = nearest::distance_if_near(name, candidate) else { continue };
                let is_later = n == 0 || is_before(last, (distance, candidate));
                let is_better = match best {
                    Some(best) => is_before((distance, candidate), best),
                    None => true,
                };
                if is_later && is_better {
                    best = Some((distance, candidate));
                }
            }
            let Some(best) = best else { break };
            found[n] = Some(best.1);
            last = best;
            n += 1;
        }
        found
    }

    /// Writes the closest names, or all names if none is close.
    pub(super) const fn hint(&self, name: &str, names: Names, say: &mut Text) {
        let near = self.near(name, names);
        if near[0].is_some() {
            did_you_mean(&near, say);
            return;
        }
        say.add("known here: ");
        let (mut i, mut is_first) = (0, true);
        while let Some(known) = self.name(names, i) {
            if let Some(known) = known {
                say.add(if is_first { "" } else { ", " }).add(known);
                is_first = false;
            }
            i += 1;
        }
        if let Names::Possible(at) = names
            && let Some(meaning) = self.example(at)
        {
            say.add("; other names need a binding: `").add(meaning.role.name()).add("(").add(meaning.of);
            say.add(") = ").add(name).add("`");
        }
    }

    /// Returns a likely role of a parameter for an error message: the first tangent or cotangent, or else the
    /// first candidate.
    const fn example(&self, at: At) -> Option<RoleCandidate<'a>> {
        let mut first = None;
        let mut i = 0;
        while let Some(meaning) = self.possible(at, i) {
            let is_open = meaning.exists && !self.is_said(&meaning);
            if is_open && matches!(meaning.source, Source::Derivative(_)) {
                return Some(meaning);
            }
            if is_open && first.is_none() {
                first = Some(meaning);
            }
            i += 1;
        }
        first
    }
}

/// A list of names to search.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// The default names that a parameter can have.
    Possible(At),
    /// The operands of the op.
    Operands,
    /// The parameters of the derivative op.
    Own,
    /// The tensors that a role can refer to.
    Of(BindingRole),
}

const fn is_before(a: (usize, &str), b: (usize, &str)) -> bool {
    a.0 < b.0 || (a.0 == b.0 && order(a.1, b.1) < 0)
}

pub(super) const fn did_you_mean(near: &[Option<&str>], say: &mut Text) {
    say.add("did you mean ");
    let mut i = 0;
    while i < near.len() {
        if let Some(name) = near[i] {
            say.add(if i == 0 { "" } else { " or " }).quote(name);
        }
        i += 1;
    }
    say.add("?");
}

pub(super) const fn say_binding(said: &Said<'_>, say: &mut Text) {
    say.add("`").add(said.role.name()).add("(").add(said.of).add(") = ").add(said.parameter).add("`: ");
}

/// Writes the role of a parameter in words.
const fn say_role(role: BindingRole, of: &str, say: &mut Text) {
    let joint = if matches!(role, BindingRole::Cotangent | BindingRole::Tangent) { " of " } else { " " };
    say.add("the ").add(role.name()).add(joint).quote(of);
}
