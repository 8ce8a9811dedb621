//! Checks the results of operations whose indices are data.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn dynamic_slice(cx: &mut Cx<'_>, types: &[Type]) {
    // dynamic_slice_c1, dynamic_slice_c5
    check(cx, types, Codes::two("dynamic_slice_c5", "dynamic_slice_c1"));
}

pub(super) fn dynamic_update_slice(cx: &mut Cx<'_>, types: &[Type]) {
    // dynamic_update_slice_c1
    check(cx, types, Codes::one("dynamic_update_slice_c1"));
}

pub(super) fn real_dynamic_slice(cx: &mut Cx<'_>, types: &[Type]) {
    // real_dynamic_slice_c1
    check(cx, types, Codes::two("real_dynamic_slice_c5", "real_dynamic_slice_c1"));
}

pub(super) fn gather(cx: &mut Cx<'_>, types: &[Type], dynamic: bool) {
    // gather_c22, gather_c23
    let codes = if dynamic {
        Codes::two("dynamic_gather_c22", "dynamic_gather_c23")
    } else {
        Codes::two("gather_c22", "gather_c23")
    };
    check(cx, types, codes);
}

pub(super) fn scatter(cx: &mut Cx<'_>, types: &[Type]) {
    // scatter_c24, scatter_c25
    check(cx, types, Codes::two("scatter_c24", "scatter_c25"));
}
