//! The check that a derivative op fits its op.

use super::roles::{Names, Source, did_you_mean, say_binding};
use super::rule::{At, DerivativeRule, Misfit, Result, is_continuous, is_differentiable};
use super::summary::{Outline, TensorOutline};
use super::{BindingRole, Part};
use crate::dtype::DType;
use crate::text::{Text, contains, same};

/// The `?` operator, which is unavailable in constant functions.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(misfit) => return Err(misfit),
        }
    };
}

/// In the loops over all parameters, the operands of the derivative op come first, then its results.
impl<'a> DerivativeRule<'a> {
    /// Checks that the derivative op fits. If it does not, writes the reason to `say`.
    ///
    /// # Errors
    /// The location of the first parameter or binding that does not fit.
    pub const fn fits(&self, say: &mut Text) -> Result {
        attempt!(self.constants(say));
        if let Some(forward) = self.forward {
            attempt!(self.forward(forward, say));
        }
        attempt!(attributes(self.part, self.op, self.derivative, say));
        attempt!(self.bindings(say));
        let Outline { operands, results, .. } = *self.derivative;
        let mut k = 0;
        while k < operands.len() {
            attempt!(self.operand_fits(k, say));
            k += 1;
        }
        if self.part.is(Part::Tangent) {
            attempt!(self.takes_tangents(say));
        }
        let mut k = 0;
        while k < results.len() {
            attempt!(self.result_fits(k, say));
            k += 1;
        }
        self.returns_derivatives(say)
    }

    /// Returns true if the transpose of a tangent op makes a reverse derivative, which requires that the
    /// tangent op be linear in all tangents. Otherwise writes the reason to `say`.
    pub const fn is_transposed_by(&self, transpose: &DerivativeRule<'_>, say: &mut Text) -> bool {
        let mut k = 0;
        while k < self.derivative.operands.len() {
            if let Ok(Source::Derivative(i)) = self.operand(k, say)
                && transpose.returned(k).is_none()
            {
                say_no_cotangent(self.derivative.operands[k].name, self.op.operands[i].name, say);
                return false;
            }
            k += 1;
        }
        true
    }

    /// Sources of the derivative op's operands, for an op that fits.
    pub(super) fn sources(&self) -> impl Iterator<Item = Source> {
        (0..self.derivative.operands.len()).filter_map(|k| self.operand(k, &mut Text::new()).ok())
    }

    /// Checks that all names declared as not differentiable are operands.
    const fn constants(&self, say: &mut Text) -> Result {
        let mut i = 0;
        while i < self.non_differentiable.len() {
            let name = self.non_differentiable[i];
            if find(self.op.operands, name).is_none() {
                say.quote(name);
                say.add(" is declared as not differentiable, but there is no operand of this name");
                let near = self.near(name, Names::Operands);
                if near[0].is_some() {
                    say.add("; ");
                    did_you_mean(&near, say);
                }
                return Err(Misfit { part: Part::NonDifferentiable, at: At::Nothing });
            }
            i += 1;
        }
        Ok(())
    }

    /// Checks that the forward op takes the operands of the op and returns its results, followed by
    /// residuals.
    const fn forward(&self, forward: &Outline<'a>, say: &mut Text) -> Result {
        const FORWARD: Part = Part::Forward;
        let missing = Misfit { part: FORWARD, at: At::Nothing };
        attempt!(attributes(FORWARD, self.op, forward, say));
        let mut i = 0;
        while i < self.op.operands.len() {
            let known = &self.op.operands[i];
            let wrong = Misfit { part: FORWARD, at: At::Operand(i) };
            if i >= forward.operands.len() {
                say.add("the forward op lacks the operand ").quote(known.name);
                return Err(missing);
            }
            if !same(known.name, forward.operands[i].name) {
                say.add("the forward op takes the operands of the op: here ").quote(known.name);
                return Err(wrong);
            }
            if !same_names(known, &forward.operands[i], say) {
                return Err(wrong);
            }
            i += 1;
        }
        if i < forward.operands.len() {
            say.add("the op has no operand ").quote(forward.operands[i].name);
            return Err(Misfit { part: FORWARD, at: At::Operand(i) });
        }
        let mut i = 0;
        while i < self.op.results.len() {
            let known = &self.op.results[i];
            let wrong = Misfit { part: FORWARD, at: At::Result(i) };
            if i >= forward.results.len() {
                say.add("the forward op lacks the result ").quote(known.name);
                return Err(missing);
            }
            if !same(known.name, forward.results[i].name) {
                say.add("the forward op returns the results of the op first: here ").quote(known.name);
                return Err(wrong);
            }
            if !same_names(known, &forward.results[i], say) {
                return Err(wrong);
            }
            i += 1;
        }
        Ok(())
    }

    /// Checks that both sides of each binding exist.
    const fn bindings(&self, say: &mut Text) -> Result {
        let mut i = 0;
        while i < self.said.len() {
            let said = &self.said[i];
            if !self.part.has_role(said.role) {
                say_binding(said, say);
                say.add(self.part.in_words()).add(" has no ").add(said.role.name()).add(" parameters");
                return self.wrong(At::Said(i));
            }
            if !self.has(Names::Of(said.role), said.of) {
                say_binding(said, say);
                say.add("there is no ").quote(said.of).add(" here; ");
                self.hint(said.of, Names::Of(said.role), say);
                return self.wrong(At::Said(i));
            }
            if !self.has(Names::Own, said.parameter) {
                say_binding(said, say);
                say.add(self.part.in_words())
                    .add(" has no operand or result ")
                    .quote(said.parameter)
                    .add("; ");
                self.hint(said.parameter, Names::Own, say);
                return self.wrong(At::Said(i));
            }
            i += 1;
        }
        Ok(())
    }

    // ---- Types of parameters -------------------------------------------------------------------

    /// Checks that an operand of the derivative op has the type of its source.
    const fn operand_fits(&self, k: usize, say: &mut Text) -> Result {
        let at = At::Operand(k);
        if let Source::Derivative(i) = attempt!(self.operand(k, say)) {
            if self.part.is(Part::Tangent) {
                attempt!(self.has_derivative(i, at, say));
            } else if !is_differentiable(&self.op.results[i]) {
                say.add("the result ").quote(self.op.results[i].name);
                say.add(" has no cotangent, since its type is not real or complex");
                return self.wrong(at);
            }
        }
        if !self.same_type(at, say) {
            return self.wrong(at);
        }
        if let (Part::Transpose, Source::Operand(i)) = (self.part, attempt!(self.operand(k, say)))
            && self.returned(i).is_some()
        {
            let name = self.op.operands[i].name;
            say.add("the transpose returns the cotangent of ").quote(name);
            say.add(", so it cannot depend on ").quote(name);
            return self.wrong(at);
        }
        Ok(())
    }

    /// Checks that a result of the derivative op has the type of the value that it is the derivative of.
    const fn result_fits(&self, k: usize, say: &mut Text) -> Result {
        let (at, own) = (At::Result(k), &self.derivative.results[k]);
        let i = attempt!(self.result(k, say));
        if self.part.is(Part::Tangent) {
            if !is_differentiable(&self.op.results[i]) {
                say.add("the result ").quote(self.op.results[i].name);
                say.add(" has no tangent, since its type is not real or complex");
                return self.wrong(at);
            }
        } else {
            attempt!(self.has_derivative(i, at, say));
        }
        if !self.same_type(at, say) {
            return self.wrong(at);
        }
        if self.part.is(Part::Tangent) || own.batch || self.derivative.sums_batch {
            return Ok(());
        }
        let mut k = 0;
        while k < self.derivative.operands.len() {
            if self.derivative.operands[k].batch {
                say.add("the cotangent ").quote(own.name);
                say.add(" is shared by the batch, and must be its sum: `*: sum`");
                return self.wrong(at);
            }
            k += 1;
        }
        Ok(())
    }

    /// Checks that a tangent op takes all tangents.
    const fn takes_tangents(&self, say: &mut Text) -> Result {
        let mut i = 0;
        while i < self.op.operands.len() {
            let mut is_taken = self.is_constant(i);
            let mut k = 0;
            while k < self.derivative.operands.len() {
                is_taken |= matches!(self.operand(k, say), Ok(Source::Derivative(of)) if of == i);
                k += 1;
            }
            if !is_taken {
                let TensorOutline { name, derivative, .. } = self.op.operands[i];
                say.add("the tangent op takes no tangent of ").quote(name).add(": add an operand ");
                say.quote(self.called(BindingRole::Tangent, name, derivative))
                    .add(", or declare ")
                    .quote(name);
                say.add(" as not differentiable");
                return self.wrong(At::Nothing);
            }
            i += 1;
        }
        Ok(())
    }

    /// Checks that a backward op returns all cotangents, a tangent op all tangents, and a transpose at least
    /// one cotangent.
    const fn returns_derivatives(&self, say: &mut Text) -> Result {
        let is_tangent = self.part.is(Part::Tangent);
        let all = if is_tangent { self.op.results } else { self.op.operands };
        let mut i = 0;
        while i < all.len() {
            let TensorOutline { name, derivative, .. } = all[i];
            let is_returned = self.returned(i).is_some();
            match self.part {
                Part::Transpose if is_returned => return Ok(()),
                Part::Transpose => {}
                Part::Tangent if !is_returned && is_differentiable(&all[i]) => {
                    say.add("the tangent op returns no tangent for ").quote(name).add(": add a result ");
                    say.quote(self.called(BindingRole::Tangent, name, derivative));
                    return self.wrong(At::Nothing);
                }
                Part::Backward if !is_returned && !self.is_constant(i) => {
                    say.add("the backward op returns no cotangent for ").quote(name).add(": add a result ");
                    say.quote(self.called(BindingRole::Cotangent, name, derivative))
                        .add(", or declare ")
                        .quote(name);
                    say.add(" as not differentiable");
                    return self.wrong(At::Nothing);
                }
                _ => {}
            }
            i += 1;
        }
        if self.part.is(Part::Transpose) {
            say.add("the transpose returns the cotangent of no operand");
            return self.wrong(At::Nothing);
        }
        Ok(())
    }

    /// Returns the result of the derivative op that is the derivative of operand or result `i` of the op.
    pub(super) const fn returned(&self, i: usize) -> Option<usize> {
        let mut k = 0;
        while k < self.derivative.results.len() {
            // Discards the message: a parameter that does not fit is reported by another check.
            if matches!(self.result(k, &mut Text::new()), Ok(of) if of == i) {
                return Some(k);
            }
            k += 1;
        }
        None
    }

    /// Checks that the operand has a derivative; the parameter at `at` is that derivative.
    const fn has_derivative(&self, operand: usize, at: At, say: &mut Text) -> Result {
        let operand = &self.op.operands[operand];
        if contains(self.non_differentiable, operand.name) {
            say.quote(operand.name).add(" is declared as not differentiable, but here is ");
            say.quote(self.parameter(at).name);
            return self.wrong(at);
        }
        if !is_differentiable(operand) {
            say.quote(operand.name).add(" has no derivative, since its type is not real or complex");
            return self.wrong(at);
        }
        Ok(())
    }

    /// Returns the name of the parameter that is the tangent or cotangent of `of`, or `otherwise` if no
    /// binding names such a parameter.
    const fn called(&self, role: BindingRole, of: &str, otherwise: &'a str) -> &'a str {
        let mut i = 0;
        while i < self.said.len() {
            if self.said[i].role as u8 == role as u8 && same(self.said[i].of, of) {
                return self.said[i].parameter;
            }
            i += 1;
        }
        otherwise
    }

    // ---- Types ---------------------------------------------------------------------------------

    /// Returns the tensor of the op to which the parameter belongs, as that tensor itself or as its
    /// derivative.
    const fn known(&self, at: At) -> Option<&'a TensorOutline<'a>> {
        let say = &mut Text::new();
        let Outline { operands, results, .. } = *self.op;
        match at {
            At::Operand(k) => match self.operand(k, say) {
                Ok(Source::Operand(i)) => Some(&operands[i]),
                Ok(Source::Result(i)) => Some(&results[i]),
                Ok(Source::Residual(i)) => self.residual(i),
                Ok(Source::Derivative(i)) if self.part.is(Part::Tangent) => Some(&operands[i]),
                Ok(Source::Derivative(i)) => Some(&results[i]),
                Err(_) => None,
            },
            At::Result(k) => match self.result(k, say) {
                Ok(i) if self.part.is(Part::Tangent) => Some(&results[i]),
                Ok(i) => Some(&operands[i]),
                Err(_) => None,
            },
            At::Attr(_) | At::Said(_) | At::Nothing => None,
        }
    }

    /// Checks that a parameter is declared like the op's tensor that it stands for. Dimensions may be
    /// renamed.
    const fn same_type(&self, at: At, say: &mut Text) -> bool {
        let (Some(known), own) = (self.known(at), self.parameter(at)) else { return true };
        if !same_form(known, own, say) || !same_elements(self.part, known, own, say) {
            return false;
        }
        let mut d = 0;
        while d < own.dims.len() {
            let (theirs, ours) = (known.dims[d], own.dims[d]);
            let before = self.renamed(theirs, at, d);
            if !same(before, ours) || (is_literal(ours) && !same(theirs, ours)) {
                say_types(known, own, say);
                if !same(before, theirs) {
                    say.add("; elsewhere ").quote(theirs).add(" is ").quote(before);
                }
                return false;
            }
            if let Some(other) = self.also_called(ours, theirs, at) {
                say_types(known, own, say);
                say.add("; elsewhere ").quote(ours).add(" is ").quote(other).add(" of the op");
                return false;
            }
            d += 1;
        }
        true
    }

    /// Returns a dimension of the op other than `theirs` that the derivative op calls `ours` in a parameter
    /// up to `at`. Numbers do not count as names.
    const fn also_called(&self, ours: &str, theirs: &str, at: At) -> Option<&'a str> {
        let operands = self.derivative.operands.len();
        let last = match at {
            At::Operand(k) => k,
            At::Result(k) => operands + k,
            At::Attr(_) | At::Said(_) | At::Nothing => unreachable!(),
        };
        let mut p = 0;
        while p <= last && !is_literal(ours) {
            let here = if p < operands { At::Operand(p) } else { At::Result(p - operands) };
            if let Some(known) = self.known(here) {
                let dims = self.parameter(here).dims;
                let mut i = 0;
                while i < dims.len() && i < known.dims.len() {
                    if same(dims[i], ours) && !same(known.dims[i], theirs) {
                        return Some(known.dims[i]);
                    }
                    i += 1;
                }
            }
            p += 1;
        }
        None
    }

    /// Returns the derivative op's name for the dimension `theirs` of the op. The first parameter that has
    /// the dimension decides. The search ends with the parameter at `at`, whose dimension `d` decides if no
    /// other does.
    const fn renamed(&self, theirs: &str, at: At, d: usize) -> &'a str {
        let operands = self.derivative.operands.len();
        let last = match at {
            At::Operand(k) => k,
            At::Result(k) => operands + k,
            At::Attr(_) | At::Said(_) | At::Nothing => unreachable!(),
        };
        let mut p = 0;
        while p < last {
            let before = if p < operands { At::Operand(p) } else { At::Result(p - operands) };
            if let Some(known) = self.known(before)
                && let Some(i) = position(known.dims, theirs)
            {
                return self.parameter(before).dims[i];
            }
            p += 1;
        }
        let (Some(known), own) = (self.known(at), self.parameter(at)) else { unreachable!() };
        match position(known.dims, theirs) {
            Some(i) => own.dims[i],
            None => own.dims[d],
        }
    }
}

/// Writes that a transpose lacks the cotangent of a tangent op's operand, which is the tangent of `of`.
pub(super) const fn say_no_cotangent(operand: &str, of: &str, say: &mut Text) {
    say.add("a tangent op is linear in all tangents, but its transpose returns no cotangent for ")
        .quote(operand);
    say.add(", the tangent of ").quote(of);
}

const fn say_types(known: &TensorOutline<'_>, own: &TensorOutline<'_>, say: &mut Text) {
    say.quote(own.name).add(" is ").quote(own.ty);
    say.add(", but ").quote(known.name).add(" of the op is ").quote(known.ty);
}

/// Checks that all attributes of a derivative op are attributes of the op.
const fn attributes(part: Part, op: &Outline<'_>, derivative: &Outline<'_>, say: &mut Text) -> Result {
    let mut k = 0;
    while k < derivative.attrs.len() {
        let own = &derivative.attrs[k];
        let wrong = Misfit { part, at: At::Attr(k) };
        let mut i = 0;
        while i < op.attrs.len() && !same(op.attrs[i].name, own.name) {
            i += 1;
        }
        if i == op.attrs.len() {
            say.add("the op has no attribute ").quote(own.name);
            return Err(wrong);
        }
        if !same(op.attrs[i].ty, own.ty) {
            say.quote(own.name)
                .add(" is ")
                .add(own.ty)
                .add(" here, but ")
                .add(op.attrs[i].ty)
                .add(" in the op");
            return Err(wrong);
        }
        if op.attrs[i].optional && !own.optional {
            say.quote(own.name).add(" may be missing in the op, so here too: `").add(own.ty).add("?`");
            return Err(wrong);
        }
        k += 1;
    }
    Ok(())
}

/// Checks that two tensors have the same number of dimensions and the same arity.
const fn same_form(known: &TensorOutline<'_>, own: &TensorOutline<'_>, say: &mut Text) -> bool {
    let fits = known.batch == own.batch
        && known.any == own.any
        && known.dims.len() == own.dims.len()
        && known.variadic == own.variadic
        && known.optional == own.optional;
    if !fits {
        say_types(known, own, say);
    }
    fits
}

/// Checks that the parameter can have each element type that the op is differentiated in.
const fn same_elements(
    part: Part,
    known: &TensorOutline<'_>,
    own: &TensorOutline<'_>,
    say: &mut Text,
) -> bool {
    let mut t = 0;
    while t < known.types.len() {
        let needed = known.types[t];
        // A call with integers is never differentiated.
        let counts = is_continuous(needed) || part.is(Part::Forward) || !is_differentiable(known);
        if counts && !has_type(own, needed) {
            say.quote(own.name).add(" cannot be ").add(needed.name());
            say.add(", but ").quote(known.name).add(" of the op can");
            return false;
        }
        t += 1;
    }
    true
}

/// Checks that a forward op declares a tensor like the op, with the same dimension names.
const fn same_names(known: &TensorOutline<'_>, own: &TensorOutline<'_>, say: &mut Text) -> bool {
    if !same_form(known, own, say) || !same_elements(Part::Forward, known, own, say) {
        return false;
    }
    let mut d = 0;
    while d < own.dims.len() {
        if !same(known.dims[d], own.dims[d]) {
            say_types(known, own, say);
            return false;
        }
        d += 1;
    }
    true
}

const fn has_type(tensor: &TensorOutline<'_>, dtype: DType) -> bool {
    let mut t = 0;
    while t < tensor.types.len() {
        if tensor.types[t] as u8 == dtype as u8 {
            return true;
        }
        t += 1;
    }
    false
}

/// Returns true if a dimension is a number.
const fn is_literal(dim: &str) -> bool {
    let mut i = 0;
    while i < dim.len() && dim.as_bytes()[i].is_ascii_digit() {
        i += 1;
    }
    i == dim.len()
}

const fn find(tensors: &[TensorOutline<'_>], name: &str) -> Option<usize> {
    let mut i = 0;
    while i < tensors.len() {
        if same(tensors[i].name, name) {
            return Some(i);
        }
        i += 1;
    }
    None
}

const fn position(texts: &[&str], text: &str) -> Option<usize> {
    let mut i = 0;
    while i < texts.len() {
        if same(texts[i], text) {
            return Some(i);
        }
        i += 1;
    }
    None
}
