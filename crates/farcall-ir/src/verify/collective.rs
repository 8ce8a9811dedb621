//! Checks the results of collectives.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn all_gather(cx: &mut Cx<'_>, types: &[Type]) {
    // all_gather_c6
    check(cx, types, Codes::one("all_gather_c6"));
}

pub(super) fn all_reduce(cx: &mut Cx<'_>, types: &[Type]) {
    // all_reduce_c6, all_reduce_c7
    check(cx, types, Codes::two("all_reduce_c6", "all_reduce_c7"));
}

pub(super) fn reduce_scatter(cx: &mut Cx<'_>, types: &[Type]) {
    // reduce_scatter_c8, reduce_scatter_c9
    check(cx, types, Codes::two("reduce_scatter_c8", "reduce_scatter_c9"));
}

pub(super) fn all_to_all(cx: &mut Cx<'_>, types: &[Type]) {
    // all_to_all_c9
    check(cx, types, Codes::one("all_to_all_c9"));
}

pub(super) fn collective_broadcast(cx: &mut Cx<'_>, types: &[Type]) {
    // collective_broadcast_c5, collective_broadcast_c3
    let codes = Codes {
        count: "collective_broadcast_c5",
        shape: "collective_broadcast_c3",
        element: "collective_broadcast_c3",
    };
    check(cx, types, codes);
}

pub(super) fn collective_permute(cx: &mut Cx<'_>, types: &[Type]) {
    // collective_permute_c5
    check(cx, types, Codes::one("collective_permute_c5"));
}

pub(super) fn collective_reduce(cx: &mut Cx<'_>, types: &[Type]) {
    // collective_reduce_c3, collective_reduce_c4
    check(
        cx,
        types,
        Codes {
            count: "collective_reduce_c3",
            shape: "collective_reduce_c3",
            element: "collective_reduce_c4",
        },
    );
}
