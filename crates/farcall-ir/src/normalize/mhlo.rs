//! Operations of the dialect `mhlo`, which JAX exports as calls of the same name.

use super::{Replacement, top_k};
use crate::attr::{AttrDict, Attribute};
use crate::module::Inst;
use crate::op::{CustomCall, Op, Unary};

/// Attribute that contains the attributes of the operation.
const ATTRIBUTES: &str = "mhlo.attributes";

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let name = call.target.strip_prefix("mhlo.")?;
    if inst.operands().len() != 1 {
        return None;
    }
    let none = AttrDict::new();
    let attrs = match inst.attrs().get(ATTRIBUTES) {
        Some(Attribute::Dict(attrs)) => attrs,
        None => &none,
        Some(_) => return None,
    };
    let op = match (name, inst.results().len()) {
        ("topk", 2) => {
            let k = usize::try_from(attrs.get("k")?.as_i64()?).ok()?;
            if attrs.get("largest") == Some(&Attribute::Bool(false)) {
                return top_k::smallest(inst, k);
            }
            Op::TopK { k }
        }
        (_, 1) if attrs.is_empty() => {
            Op::Unary(Unary::VARIANTS.into_iter().find(|u| u.name().strip_prefix("chlo.") == Some(name))?)
        }
        _ => return None,
    };
    Some(Replacement::FromAttrs(op, &[ATTRIBUTES, "mhlo.version"]))
}
