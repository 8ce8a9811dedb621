//! The dialect `check`, with which the programs of the StableHLO suite state expected values. A check becomes
//! an ordinary custom call whose target takes two tensors, with tolerances in a dictionary.

use super::Replacement;
use crate::attr::{AttrDict, Attribute};
use crate::literal::Literal;
use crate::module::{Inst, InstId, Rewriter};
use crate::op::{CallConfig, CustomCall, Op};

/// Targets of checks, and of the same checks with a constant.
const TARGETS: [(&str, &str); 3] = [
    ("check.expect_eq", "check.expect_eq_const"),
    ("check.expect_almost_eq", "check.expect_almost_eq_const"),
    ("check.expect_close", "check.expect_close_const"),
];

/// Attributes that state tolerances.
const PARAMETERS: [&str; 3] = ["tolerance", "max_ulp_difference", "min_ulp_difference"];

/// Attribute that contains the second operand of a check with a constant.
const VALUE: &str = "value";

/// A check in the form that its target takes.
pub(super) struct Check {
    target: &'static str,
    /// The second operand, if the call has it as an attribute.
    value: Option<Literal>,
}

/// True for the target of a check with a constant.
pub(crate) fn has_constant(target: &str) -> bool {
    TARGETS.iter().any(|(_, constant)| *constant == target)
}

/// The constant of a check, if it has one.
pub(crate) fn constant(attrs: &AttrDict) -> Option<&Literal> {
    match attrs.get(VALUE) {
        Some(Attribute::Dense(literal)) => Some(literal),
        _ => None,
    }
}

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let name = call.target.as_str();
    let (target, _) = TARGETS.into_iter().find(|(plain, constant)| *plain == name || *constant == name)?;
    let value = if has_constant(name) { Some(constant(inst.attrs())?.clone()) } else { None };
    let finds = value.is_some() || PARAMETERS.iter().any(|key| inst.attrs().contains_key(key));
    finds.then_some(Replacement::Check(Check { target, value }))
}

impl Check {
    pub(super) fn apply(self, r: &mut Rewriter<'_>, inst: InstId) {
        let Op::CustomCall(call) = r.func().inst(inst).op() else { return };
        let mut call = call.clone();
        self.target.clone_into(&mut call.target);
        if let Some(literal) = self.value {
            let ty = literal.ty();
            let value = r.value_before(inst, Op::Constant(literal), [], ty);
            let mut operands = r.func().inst(inst).operands().to_vec();
            operands.push(value);
            r.set_operands(inst, operands);
            r.attrs_mut(inst).remove(VALUE);
        }
        let attrs = r.attrs_mut(inst);
        let found = PARAMETERS.iter().filter_map(|key| Some(((*key).to_owned(), attrs.remove(key)?)));
        let found: AttrDict = found.collect();
        if !found.is_empty() {
            match &mut call.config {
                CallConfig::Dict(config) => config.extend(found),
                config => *config = CallConfig::Dict(found),
            }
        }
        r.set_op(inst, Op::CustomCall(call));
    }
}
