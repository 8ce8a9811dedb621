//! Checks the results of operations of the middle form.

use super::reduction;
use super::results::{Codes, check};
use crate::infer::Cx;
use crate::op::FormOp;
use crate::types::Type;

pub(super) fn form(cx: &mut Cx<'_>, op: &FormOp, types: &[Type]) {
    match op {
        FormOp::Fusion => {
            check(cx, types, Codes::one("fusion-results"));
        }
        FormOp::PartialSort { .. } => reduction::sort(cx, types),
    }
}
