//! Checks custom calls: layouts, aliases and configuration must fit the types.
//!
//! The specification has no numbered constraints on these three, so the codes are our own.

use crate::infer::Cx;
use crate::normalize;
use crate::op::{CallConfig, CustomCall, OutputAlias};
use crate::types::{Type, TypeList};

pub(super) fn custom_call(cx: &mut Cx<'_>, op: &CustomCall) {
    if let Some(types) = &op.types {
        let fits = |whole: &[Type], parts: TypeList| {
            whole.iter().flat_map(Type::tensors).eq(parts.iter().flat_map(Type::tensors))
        };
        let all = fits(&types.params, cx.types(cx.inst.own_operands()))
            && fits(&types.results, cx.types(cx.inst.results()));
        cx.check(all, "custom-call-types", || {
            "the tensors of `farcall.types` must be the operands and results".to_owned()
        });
    }
    disguised(cx, op);
    layouts(cx, op);
    for alias in &op.aliases {
        output_alias(cx, op, alias);
    }
    // API version 4 is for typed targets, which take a dictionary. Versions 2 and 3 are for untyped targets,
    // which take a string. A typed target may take a call without a string.
    match (op.api_version, &op.config) {
        (Some(version), _) if !(0..=4).contains(&version) => {
            cx.fail("custom-call-version", format!("api_version must be in [0, 4], found {version}"));
        }
        (Some(4), CallConfig::Text(text)) if !text.is_empty() => {
            let message = "backend_config must be a dictionary where api_version is 4, found a string";
            cx.fail("custom-call-config", message.to_owned());
        }
        (Some(version @ (2 | 3)), CallConfig::Dict(_)) => {
            let message =
                format!("backend_config must be a string where api_version is {version}, found a dictionary");
            cx.fail("custom-call-config", message);
        }
        _ => {}
    }
}

/// Checks the additional requirements of custom calls that stand for an operation (see [`crate::normalize`]).
fn disguised(cx: &mut Cx<'_>, op: &CustomCall) {
    if normalize::has_constant(&op.target) {
        let found = normalize::constant(cx.inst.attrs()).is_some();
        cx.check(found, "check-value", || {
            format!("attribute `value` of {} must be dense<…> of a tensor", op.target)
        });
    }
    if matches!(op.target.as_str(), "sdy.sharding_constraint" | "sdy.reshard" | "sdy.propagation_barrier") {
        let (from, to) = (operands(cx, op), results(cx, op));
        cx.check(from.len() == 1 && from == to, "sharding-constraint", || {
            format!(
                "a sharding constraint must have one operand, and a result of its type, found {} and {}",
                list(&from),
                list(&to)
            )
        });
    }
}

fn list(types: &[Type]) -> String {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    format!("({})", types.join(", "))
}

/// The types of the operands in the original program.
fn operands(cx: &Cx<'_>, op: &CustomCall) -> TypeList {
    op.types.as_ref().map_or_else(|| cx.types(cx.inst.own_operands()), |types| TypeList::from(&*types.params))
}

/// The types of the results in the original program.
fn results(cx: &Cx<'_>, op: &CustomCall) -> TypeList {
    op.types.as_ref().map_or_else(|| cx.types(cx.inst.results()), |types| TypeList::from(&*types.results))
}

fn layouts(cx: &mut Cx<'_>, op: &CustomCall) {
    let given = (op.operand_layouts.is_some(), op.result_layouts.is_some());
    if !cx.check(given.0 == given.1, "custom-call-layout", || {
        "operand_layouts and result_layouts must both be given or both be left out".to_owned()
    }) {
        return;
    }
    if let Some(layouts) = &op.operand_layouts {
        let types = operands(cx, op);
        value_layouts(cx, "operand", &types, layouts);
    }
    if let Some(layouts) = &op.result_layouts {
        let types = match results(cx, op).as_slice() {
            // If the only result is a tuple, there is one layout per element of the tuple.
            [Type::Tuple(parts)] => parts.to_vec(),
            types => types.to_vec(),
        };
        value_layouts(cx, "result", &types, layouts);
    }
}

fn value_layouts(cx: &mut Cx<'_>, what: &str, types: &[Type], layouts: &[Vec<usize>]) {
    if !cx.check(types.len() == layouts.len(), "custom-call-layout", || {
        format!("{what}_layouts must have {} entries (one per {what}), found {}", types.len(), layouts.len())
    }) {
        return;
    }
    for (i, (ty, layout)) in types.iter().zip(layouts).enumerate() {
        let mut sorted = layout.clone();
        sorted.sort_unstable();
        let fits = match ty {
            Type::Tensor(t) => sorted.iter().copied().eq(0..t.rank()),
            Type::Tuple(_) => false,
            _ => layout.is_empty(),
        };
        cx.check(fits, "custom-call-layout", || {
            format!(
                "the layout of {what} {i} must be a permutation of the dimensions of {ty}, found {layout:?}"
            )
        });
    }
}

fn output_alias(cx: &mut Cx<'_>, op: &CustomCall, alias: &OutputAlias) {
    let operands = operands(cx, op);
    let Some(operand) = operands.get(alias.operand_index) else {
        cx.fail(
            "custom-call-alias",
            format!("operand_index must be in [0, {}), found {}", operands.len(), alias.operand_index),
        );
        return;
    };
    let results = results(cx, op);
    let output = match results.as_slice() {
        [one] => one.clone(),
        many => Type::Tuple(many.into()),
    };
    let Some(from) = part(operand, &alias.operand_tuple_indices) else {
        cx.fail(
            "custom-call-alias",
            format!("operand_tuple_indices {:?} name no part of {operand}", alias.operand_tuple_indices),
        );
        return;
    };
    let Some(to) = part(&output, &alias.output_tuple_indices) else {
        cx.fail(
            "custom-call-alias",
            format!("output_tuple_indices {:?} name no part of {output}", alias.output_tuple_indices),
        );
        return;
    };
    cx.check(from == to, "custom-call-alias", || {
        format!("an operand and a result that share memory must have the same type, found {from} and {to}")
    });
}

/// Returns the part of a tuple at a path.
fn part<'t>(ty: &'t Type, path: &[usize]) -> Option<&'t Type> {
    path.iter().try_fold(ty, |ty, i| match ty {
        Type::Tuple(parts) => parts.get(*i),
        _ => None,
    })
}
