//! Checks the results of constants and of data movement.

use super::quantization;
use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn constant(cx: &mut Cx<'_>, types: &[Type]) {
    // constant_c1
    check(cx, types, Codes::one("constant_c1"));
}

pub(super) fn iota(cx: &mut Cx<'_>, types: &[Type]) {
    check(cx, types, Codes::one("iota_c1"));
}

pub(super) fn dynamic_iota(cx: &mut Cx<'_>, types: &[Type]) {
    check(cx, types, Codes::one("dynamic_iota_c2"));
}

pub(super) fn broadcast_in_dim(cx: &mut Cx<'_>, types: &[Type], dims: &[usize], dynamic: bool) {
    let (shape, c1, c6) = if dynamic {
        ("dynamic_broadcast_in_dim_c5", "dynamic_broadcast_in_dim_c1", "dynamic_broadcast_in_dim_c6")
    } else {
        ("broadcast_in_dim_c5", "broadcast_in_dim_c1", "broadcast_in_dim_c6")
    };
    // broadcast_in_dim_c1, dynamic_broadcast_in_dim_c1
    if check(cx, types, Codes::two(shape, c1)) {
        let operand = cx.t(0);
        let Some(result) = cx.declared(0) else { return };
        quantization::same_scale(cx, c1, operand, result);
        // broadcast_in_dim_c6, dynamic_broadcast_in_dim_c6
        quantization::broadcast_axis(cx, c6, operand, result, dims);
    }
}

pub(super) fn reshape(cx: &mut Cx<'_>, types: &[Type], dynamic: bool) {
    let (c1, c2, c3) = if dynamic {
        ("dynamic_reshape_c1", "dynamic_reshape_c2", "dynamic_reshape_c3")
    } else {
        ("reshape_c1", "reshape_c2", "reshape_c3")
    };
    // reshape_c1, dynamic_reshape_c1
    if check(cx, types, Codes::two(c2, c1)) {
        let operand = cx.t(0);
        let Some(result) = cx.declared(0) else { return };
        quantization::same_scale(cx, c1, operand, result);
        quantization::same_scales(cx, c1, operand, result);
        // reshape_c3, dynamic_reshape_c3
        quantization::reshape_axis(cx, c3, operand, result);
    }
}

pub(super) fn transpose(cx: &mut Cx<'_>, types: &[Type], permutation: &[usize]) {
    // transpose_c1, transpose_c3
    if check(cx, types, Codes::two("transpose_c3", "transpose_c1")) {
        let operand = cx.t(0);
        let Some(result) = cx.declared(0) else { return };
        quantization::same_scale(cx, "transpose_c1", operand, result);
        quantization::same_scales(cx, "transpose_c1", operand, result);
        // transpose_c4
        let axis = |t: &crate::types::TensorType| t.quant.as_ref().and_then(|q| q.axis);
        if let (Some(from), Some(to)) = (axis(operand), axis(result)) {
            cx.check(permutation.get(to) == Some(&from), "transpose_c4", || {
                format!("the quantized dimension must move as the others do, found {operand} and {result}")
            });
        }
    }
}

pub(super) fn slice(cx: &mut Cx<'_>, types: &[Type]) {
    // slice_c1, slice_c5
    check(cx, types, Codes::two("slice_c5", "slice_c1"));
}

pub(super) fn concatenate(cx: &mut Cx<'_>, types: &[Type]) {
    // concatenate_c5, concatenate_c6
    check(cx, types, Codes::two("concatenate_c6", "concatenate_c5"));
}

pub(super) fn pad(cx: &mut Cx<'_>, types: &[Type]) {
    // pad_c1, pad_c4
    check(cx, types, Codes::two("pad_c4", "pad_c1"));
}

pub(super) fn dynamic_pad(cx: &mut Cx<'_>, types: &[Type]) {
    // dynamic_pad_c1, dynamic_pad_c4
    check(cx, types, Codes::two("dynamic_pad_c4", "dynamic_pad_c1"));
}

pub(super) fn reverse(cx: &mut Cx<'_>, types: &[Type]) {
    // reverse_c1
    check(cx, types, Codes::one("reverse_c1"));
}

pub(super) fn get_dimension_size(cx: &mut Cx<'_>, types: &[Type]) {
    check(cx, types, Codes::one("get_dimension_size_o1"));
}

pub(super) fn set_dimension_size(cx: &mut Cx<'_>, types: &[Type]) {
    // set_dimension_size_c4
    check(cx, types, Codes::one("set_dimension_size_c4"));
}
