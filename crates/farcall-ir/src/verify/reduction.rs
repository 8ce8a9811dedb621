//! Checks the results of reductions, windows and sorting.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn reduce(cx: &mut Cx<'_>, types: &[Type]) {
    // reduce_c3, reduce_c7, reduce_c8
    check(cx, types, Codes { count: "reduce_c3", shape: "reduce_c7", element: "reduce_c8" });
}

pub(super) fn reduce_window(cx: &mut Cx<'_>, types: &[Type]) {
    // reduce_window_c1, reduce_window_c15, reduce_window_c16
    let codes = Codes { count: "reduce_window_c1", shape: "reduce_window_c15", element: "reduce_window_c16" };
    check(cx, types, codes);
}

pub(super) fn select_and_scatter(cx: &mut Cx<'_>, types: &[Type]) {
    // select_and_scatter_c11, select_and_scatter_c12
    check(cx, types, Codes::two("select_and_scatter_c11", "select_and_scatter_c12"));
}

pub(super) fn map(cx: &mut Cx<'_>, types: &[Type]) {
    // map_c1, map_c4
    check(cx, types, Codes::two("map_c1", "map_c4"));
}

pub(super) fn sort(cx: &mut Cx<'_>, types: &[Type]) {
    // sort_c2, sort_c3
    check(cx, types, Codes { count: "sort_c2", shape: "sort_c3", element: "sort_c2" });
}

pub(super) fn top_k(cx: &mut Cx<'_>, types: &[Type]) {
    // chlo_top_k_c3
    check(cx, types, Codes::one("chlo_top_k_c3"));
}

pub(super) fn scan(cx: &mut Cx<'_>, types: &[Type]) {
    // chlo_scan_c7
    check(cx, types, Codes::one("chlo_scan_c7"));
}
