//! Lowers calls, loops, branches and fusions.

use super::attribute_fields::AttrReader;
use super::cursor::{Cursor, Read};
use super::header::FRONTEND;
use super::lowering::{Lowered, Lowering, wrong};
use super::shape::Shape;
use super::syntax::declared;
use super::value::{At, Shaped, Val};
use crate::attr::{AttrDict, Attribute};
use crate::diag::Span;
use crate::op::{Composite, Op};

impl<'s> Lowering<'_, 's> {
    pub(super) fn call_of(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &mut At<'_, 's>,
    ) -> Lowered<Val> {
        let computation = self.named(g, "to_apply")?;
        self.check_args(computation, at.operands, at)?;
        let callee = self.callee(computation);
        let composite = g.flag("is_composite")?;
        let values = self.flat_operands(at)?;
        let op = match composite.then(|| take_composite(&mut at.attrs)).flatten() {
            Some((name, attrs, version)) => {
                Op::Composite(Box::new(Composite { name, attrs, decomposition: callee, version }))
            }
            None => Op::Call { callee },
        };
        self.push(at.op(op, values), shape, at.region)
    }

    /// Checks the operands against the parameters of the computation.
    fn check_args(&self, computation: usize, operands: &[Shaped], at: &At<'_, 's>) -> Lowered<()> {
        let params = self.params(computation)?;
        if params.len() != operands.len() {
            let message = format!(
                "{} has {} operands, but {} has {} parameters",
                at.inst.opcode,
                operands.len(),
                self.text.computations[computation].name,
                params.len()
            );
            return wrong("operands", at.inst.op_span, message);
        }
        for (operand, param) in operands.iter().zip(params.iter()) {
            self.check(&operand.val, declared(param)?, at.inst.op_span)?;
        }
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let (condition, body) = (self.named(g, "condition")?, self.named(g, "body")?);
        self.check_args(condition, at.operands, at)?;
        self.check_args(body, at.operands, at)?;
        let regions = vec![self.region(condition, at.inst.op_span)?, self.region(body, at.inst.op_span)?];
        let values = self.flat_operands(at)?;
        self.push(at.op(Op::While, values).with_regions(regions), shape, at.region)
    }

    /// Lowers a conditional. Each branch has one operand, which is passed to the branch's computation as its
    /// parameter.
    pub(super) fn conditional(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let names = branches(g)?;
        let Some((Shaped { val: Val::One(index), .. }, branches)) = at.operands.split_first() else {
            return wrong(
                "operands",
                at.inst.op_span,
                "conditional must have an operand that selects the branch",
            );
        };
        if branches.len() != names.len() {
            let message = format!(
                "conditional has {} branches, but {} operands for branches",
                names.len(),
                branches.len()
            );
            return wrong("operands", at.inst.op_span, message);
        }
        let is_pred = g.operands.first().is_some_and(|ty| ty.as_ref().is_some_and(|t| t.dtype.is_bool()));
        if is_pred && names.len() != 2 {
            return wrong("operands", at.inst.op_span, "conditional on a boolean must have two branches");
        }
        let mut regions = Vec::new();
        for ((name, span), operand) in names.into_iter().zip(branches) {
            let computation = self.computation(name, span)?;
            let args = std::slice::from_ref(operand);
            // A branch without a parameter ignores its operand.
            let args = if self.params(computation)?.is_empty() { &[] } else { args };
            self.check_args(computation, args, at)?;
            regions.push(self.branch(computation, &values(args), at.inst.op_span)?);
        }
        let op = if is_pred { Op::If } else { Op::Case };
        self.push(at.op(op, [*index]).with_regions(regions), shape, at.region)
    }

    /// Lowers a fusion by inlining its computation.
    pub(super) fn fusion(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let computation = self.named(g, "calls")?;
        self.check_args(computation, at.operands, at)?;
        let value = self.inlined(computation, &values(at.operands), at.region, at.inst.op_span)?;
        self.check(&value, shape, at.inst.shape_span).map(|()| value)
    }
}

/// Reads the names of a conditional's branches.
pub(super) fn branches<'s>(g: &mut AttrReader<'_, 's>) -> Read<Vec<(&'s str, Span)>> {
    match g.take("branch_computations") {
        Some(mut value) => value.braced(Cursor::name),
        None => {
            ["true_computation", "false_computation"].into_iter().map(|key| g.required(key)?.name()).collect()
        }
    }
}

/// The values of operands.
fn values(operands: &[Shaped]) -> Vec<Val> {
    operands.iter().map(|operand| operand.val.clone()).collect()
}

/// Frontend attributes that describe a composite: name, attributes, version.
pub(super) const COMPOSITE: [&str; 3] = ["composite.name", "composite.attributes", "composite.version"];

/// Removes and returns the description of a composite in the frontend attributes.
fn take_composite(attrs: &mut AttrDict) -> Option<(String, AttrDict, i64)> {
    let Some(Attribute::Dict(dict)) = attrs.get_mut(FRONTEND) else { return None };
    let [name, inner, version] =
        COMPOSITE.map(|key| dict.get(key).and_then(Attribute::as_str).map(str::to_owned));
    let inner = match inner.as_deref().unwrap_or("{}").parse() {
        Ok(Attribute::Dict(inner)) => inner,
        _ => return None,
    };
    let version: i32 = version.as_deref().unwrap_or("0").parse().ok()?;
    let found = (name?, inner, i64::from(version));
    COMPOSITE.iter().for_each(|key| drop(dict.remove(key)));
    if dict.is_empty() {
        attrs.remove(FRONTEND);
    }
    Some(found)
}
