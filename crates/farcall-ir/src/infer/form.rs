//! Operations of the middle form.

use crate::infer::control::list;
use crate::infer::cx::Cx;
use crate::op::FormOp;
use crate::types::TypeList;

pub(super) fn form(cx: &mut Cx<'_>, op: &FormOp) -> Option<TypeList> {
    match op {
        FormOp::Fusion => fusion(cx),
    }
}

/// Checks a `fusion`: the region's arguments have the operands' types.
fn fusion(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operands = cx.types(cx.inst.own_operands());
    let region = cx.region(0);
    let args = cx.types(region.own_args());
    cx.check(args == operands, "fusion-arguments", || {
        format!("the region must take the operands' types, {}, found {}", list(&operands), list(&args))
    });
    Some(cx.types(region.returned()))
}
