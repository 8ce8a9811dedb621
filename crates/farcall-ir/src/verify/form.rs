//! Checks the results of operations of the middle form.

use super::results::{Codes, check};
use super::{elementwise, indexing, reduction};
use crate::infer::Cx;
use crate::op::FormOp;
use crate::types::Type;

pub(super) fn form(cx: &mut Cx<'_>, op: &FormOp, types: &[Type]) {
    match op {
        FormOp::Fusion => {
            check(cx, types, Codes::one("fusion-results"));
        }
        FormOp::Copy => elementwise::copy(cx, types),
        FormOp::WrappingGather(_) => indexing::gather(cx, types, false),
        FormOp::WrappingScatter(_) => indexing::scatter(cx, types),
        FormOp::PartialSort { .. } => reduction::sort(cx, types),
    }
}
