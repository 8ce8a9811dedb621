//! The `check` dialect of the StableHLO suite, as custom calls.
//!
//! A check is a custom call like any other: `check.expect_eq %a, %b` is read as
//! `stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true}`. The forms with a constant
//! become a constant and the call without `_const`; tolerances become the call's dictionary.

use super::inst::Draft;
use super::parser::{Parsed, Parser};
use super::scope::ResultName;
use super::table::{CHECK, CHECK_CLOSE, CHECK_CONST, Read, Syntax};
use crate::attr::{Attr, AttrDict};
use crate::diag::Diagnostic;
use crate::module::Inst;
use crate::op::{CallConfig, CustomCall, Op};
use crate::types::Type;

/// An operation of the `check` dialect.
pub(super) struct Check {
    /// Target of the custom call.
    target: &'static str,
    /// The second operand is attribute `value`.
    constant: bool,
}

const fn check(name: &'static str, target: &'static str, constant: bool) -> Syntax {
    let form = if constant { CHECK_CONST } else { CHECK };
    Syntax { name, form, read: Read::Check(Check { target, constant }) }
}

/// The checks of the syntax table.
pub(super) static CHECKS: &[Syntax] = &[
    check("check.expect_eq", "check.expect_eq", false),
    check("check.expect_eq_const", "check.expect_eq", true),
    check("check.expect_almost_eq", "check.expect_almost_eq", false),
    check("check.expect_almost_eq_const", "check.expect_almost_eq", true),
    Syntax {
        name: "check.expect_close",
        form: CHECK_CLOSE,
        read: Read::Check(Check { target: "check.expect_close", constant: false }),
    },
    check("check.expect_close_const", "check.expect_close", true),
];

/// Attributes that say how close values must be.
const PARAMETERS: [&str; 3] = ["tolerance", "max_ulp_difference", "min_ulp_difference"];

/// Makes the instructions of a check.
pub(super) fn finish_check<'s>(
    p: &mut Parser<'s>,
    check: &Check,
    draft: &mut Draft,
    names: &[ResultName<'s>],
    out: &mut Vec<Inst>,
) -> Parsed<()> {
    let span = draft.span;
    let mut operands: Vec<_> = draft.operands.iter().map(|o| o.id).collect();
    let mut constant = None;
    if check.constant {
        match draft.attrs.remove("value") {
            Some(Attr::Dense(literal)) => {
                let value = p.func.new_value(Type::Tensor(literal.ty()));
                operands.push(value);
                constant = Some((literal, value));
            }
            _ => {
                let message = "the value that is expected is dense<…> of a tensor";
                p.report(Diagnostic::new("attribute", span, message));
            }
        }
    }
    let mut parameters = AttrDict::new();
    for key in PARAMETERS {
        if let Some(value) = draft.attrs.remove(key) {
            parameters.insert(key.to_owned(), value);
        }
    }
    p.define_results(&draft.results, names, span);
    let loc = p.trailing_loc()?;
    if let Some((literal, value)) = constant {
        out.push(Inst {
            op: Op::Constant(literal),
            operands: Vec::new(),
            results: vec![value],
            regions: Vec::new(),
            attrs: AttrDict::new(),
            span,
            loc: loc.clone(),
        });
    }
    let config = if parameters.is_empty() { CallConfig::Absent } else { CallConfig::Dict(parameters) };
    let call = CustomCall { config, has_side_effect: true, ..CustomCall::new(check.target) };
    out.push(Inst {
        op: Op::CustomCall(Box::new(call)),
        operands,
        results: Vec::new(),
        regions: Vec::new(),
        attrs: std::mem::take(&mut draft.attrs),
        span,
        loc,
    });
    Ok(())
}
