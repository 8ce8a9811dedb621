//! Custom calls.

use crate::infer::cx::Cx;
use crate::types::TypeList;

/// Returns the declared result types: a custom call's program chooses them.
pub(super) fn custom_call(cx: &mut Cx<'_>) -> Option<TypeList> {
    Some(cx.types(cx.inst.results()))
}
