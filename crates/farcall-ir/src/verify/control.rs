//! Checks calls, and the results of control flow.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::module::{Func, FuncId, Module};
use crate::op::{Composite, Transfer};
use crate::types::Type;

pub(super) fn conditional(cx: &mut Cx<'_>, types: &[Type], code: &'static str) {
    // if_c3, case_c4
    check(cx, types, Codes::one(code));
}

pub(super) fn while_loop(cx: &mut Cx<'_>, types: &[Type]) {
    // while_c3
    check(cx, types, Codes::one("while_c3"));
}

pub(super) fn optimization_barrier(cx: &mut Cx<'_>, types: &[Type]) {
    // optimization_barrier_c1
    check(cx, types, Codes::one("optimization_barrier_c1"));
}

pub(super) fn token(cx: &mut Cx<'_>, types: &[Type], code: &'static str) {
    check(cx, types, Codes::one(code));
}

pub(super) fn tuple(cx: &mut Cx<'_>, types: &[Type]) {
    // tuple_c1
    check(cx, types, Codes::one("tuple_c1"));
}

pub(super) fn get_tuple_element(cx: &mut Cx<'_>, types: &[Type]) {
    // get_tuple_element_c2
    check(cx, types, Codes::one("get_tuple_element_c2"));
}

pub(super) fn async_start(cx: &mut Cx<'_>, types: &[Type]) {
    // async_start_c4
    check(cx, types, Codes::one("async_start_c4"));
}

pub(super) fn async_done(cx: &mut Cx<'_>, types: &[Type]) {
    // async_done_c1
    check(cx, types, Codes::one("async_done_c1"));
}

pub(super) fn transfer(cx: &mut Cx<'_>, op: &Transfer, types: &[Type]) {
    match op {
        // Received values have whatever types the instruction declares.
        Transfer::Infeed { .. } | Transfer::Recv(_) => {}
        Transfer::Outfeed { .. } | Transfer::Send(_) if cx.form => {}
        // outfeed_o1
        Transfer::Outfeed { .. } => token(cx, types, "outfeed_o1"),
        // send_o1
        Transfer::Send(_) => token(cx, types, "send_o1"),
    }
}

pub(super) fn device_id(cx: &mut Cx<'_>, types: &[Type], code: &'static str) {
    check(cx, types, Codes::one(code));
}

/// Checks a call. The call graph check reports a missing callee.
pub(super) fn call(cx: &mut Cx<'_>, module: &Module, callee: FuncId) {
    let Some(callee) = module.get(callee) else { return };
    signature(cx, callee, ["call-arity", "call-type"], ["call-arity", "call-type"]);
}

pub(super) fn composite(cx: &mut Cx<'_>, module: &Module, op: &Composite) {
    // composite_c1
    cx.check(is_namespaced(&op.name), "composite_c1", || {
        format!("the name must be a namespace and a name, as in \"my.op\", found {:?}", op.name)
    });
    // The call graph check reports composite_c2.
    let Some(callee) = module.get(op.decomposition) else { return };
    // composite_c3, composite_c4
    signature(cx, callee, ["composite_c3"; 2], ["composite_c4"; 2]);
}

/// Checks that operands and results have exactly the types that the function declares. In each pair of codes,
/// the first is for the number of values, and the second for their types.
fn signature(cx: &mut Cx<'_>, callee: &Func, operands: [&'static str; 2], results: [&'static str; 2]) {
    let params: Vec<Type> = callee.params().iter().map(|v| callee.ty(*v).clone()).collect();
    let sides = [
        ("operand", cx.types(cx.inst.own_operands()), params, operands),
        ("result", cx.types(cx.inst.results()), callee.results().to_vec(), results),
    ];
    for (what, found, expected, [count, types]) in sides {
        if !cx.check(found.len() == expected.len(), count, || {
            format!("@{} has {} {what}s, found {}", callee.name, expected.len(), found.len())
        }) {
            continue;
        }
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            cx.check(found == expected, types, || {
                format!("{what} {i} of @{} is {expected}, found {found}", callee.name)
            });
        }
    }
}

/// Returns true if the name consists of two or more nonempty parts separated by dots, as in `my.op`.
fn is_namespaced(name: &str) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first_ok = first.starts_with(|c: char| c.is_ascii_alphabetic()) && first.chars().all(word);
    let rest: Vec<&str> = parts.collect();
    let rest_ok = rest.iter().all(|p| !p.is_empty() && p.chars().all(|c| word(c) || c == '$'));
    first_ok && rest_ok && !rest.is_empty()
}
