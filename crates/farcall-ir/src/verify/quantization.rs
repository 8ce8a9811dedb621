//! Checks quantized types, and how operations that move elements change them.

use farcall_sig::DType;

use crate::infer::Cx;
use crate::types::{Dim, Quantization, TensorType, default_storage_range};

/// Returns the violated constraint and a message for an invalid quantized tensor type. The message does not
/// print the type, because its lists of scales and zero points may have different lengths.
pub(super) fn invalid(ty: &TensorType) -> Option<(&'static str, String)> {
    let q = ty.quant.as_ref()?;
    // quantized_type_c1, quantized_type_c2
    if !ty.dtype.is_integer() {
        return Some(("quantized_type_c1", format!("quantized as {}, not an integer type", ty.dtype.mlir())));
    }
    let (min, max) = default_storage_range(ty.dtype);
    let range = (q.storage_min, q.storage_max);
    if range.0 < min || range.1 > max || range.0 >= range.1 {
        return Some(("quantized_type_c2", format!("stored range {range:?} is not within {min} to {max}")));
    }
    // quantized_type_c4
    if !q.expressed.is_float() {
        return Some(("quantized_type_c4", format!("expresses {}, not a float", q.expressed.mlir())));
    }
    // quantized_type_c9, quantized_type_c10
    let (scales, zeros) = (q.scales.len(), q.zero_points.len());
    if scales != zeros || scales == 0 || (q.axis.is_none() && scales != 1) {
        return Some(("quantized_type_c10", format!("{scales} scales and {zeros} zero points do not match")));
    }
    // quantized_type_c5, quantized_type_c6
    if let Some(scale) = (0..scales).map(|i| q.scale(i)).find(|s| !(s.is_finite() && *s > 0.0)) {
        return Some(("quantized_type_c5", format!("scales must be positive and finite, found {scale}")));
    }
    // quantized_type_c7, quantized_type_c8
    if let Some(zero) = q.zero_points.iter().find(|z| **z < range.0 || **z > range.1) {
        return Some(("quantized_type_c7", format!("zero point {zero} is not within {range:?}")));
    }
    // quantized_type_c12, quantized_type_c13
    let axis = q.axis?;
    let Some(size) = ty.get_dim(axis) else {
        return Some(("quantized_type_c12", format!("quantized along dimension {axis} of {}", ty.rank())));
    };
    (!size.may_be(scales))
        .then(|| ("quantized_type_c13", format!("{scales} scales for a dimension of size {size}")))
}

/// Checks that two tensors with per-tensor quantization have the same scale and zero point.
pub(super) fn same_scale(cx: &mut Cx<'_>, code: &'static str, operand: &TensorType, result: &TensorType) {
    let (Some(a), Some(b)) = (&operand.quant, &result.quant) else { return };
    if a.axis.is_none() && b.axis.is_none() {
        same_parameters(cx, code, a, b, (operand, result));
    }
}

/// Checks that two tensors with per-axis quantization have the same scales and zero points.
pub(super) fn same_scales(cx: &mut Cx<'_>, code: &'static str, operand: &TensorType, result: &TensorType) {
    let (Some(a), Some(b)) = (&operand.quant, &result.quant) else { return };
    if a.axis.is_some() && b.axis.is_some() {
        same_parameters(cx, code, a, b, (operand, result));
    }
}

fn same_parameters(
    cx: &mut Cx<'_>,
    code: &'static str,
    a: &Quantization,
    b: &Quantization,
    (operand, result): (&TensorType, &TensorType),
) {
    cx.check(a.scales == b.scales && a.zero_points == b.zero_points, code, || {
        format!("operand and result must have the same scales and zero points, found {operand} and {result}")
    });
}

/// Checks that a reshape keeps the size of the quantized dimension and, for static shapes, the product of the
/// sizes of the dimensions before it. The product of the sizes after it then stays the same, too.
pub(super) fn reshape_axis(cx: &mut Cx<'_>, code: &'static str, operand: &TensorType, result: &TensorType) {
    let axis = |t: &TensorType| t.quant.as_ref().and_then(|q| q.axis);
    let (Some(from), Some(to)) = (axis(operand), axis(result)) else { return };
    let (Some(a), Some(b)) = (operand.get_dim(from), result.get_dim(to)) else { return };
    let before =
        |t: &TensorType, axis: usize| TensorType::from_dims(DType::U8, t.dims().take(axis)).elements();
    let same = a.may_equal(b)
        && (!operand.is_static() || !result.is_static() || before(operand, from) == before(result, to));
    cx.check(same, code, || {
        format!("the quantized dimension must stay as it is, found {operand} and {result}")
    });
}

/// Checks that a broadcast maps the quantized dimension of the operand to that of the result. If the
/// dimension has size 1 in the operand, all scales and zero points of the result must be equal to the only
/// scale and zero point of the operand.
pub(super) fn broadcast_axis(
    cx: &mut Cx<'_>,
    code: &'static str,
    operand: &TensorType,
    result: &TensorType,
    dims: &[usize],
) {
    let (Some(a), Some(b)) = (&operand.quant, &result.quant) else { return };
    let (Some(from), Some(to)) = (a.axis, b.axis) else { return };
    let moved = dims.get(from) == Some(&to);
    let repeated = operand.get_dim(from) != Some(Dim::Static(1))
        || result.get_dim(to).is_some_and(Dim::is_dynamic)
        || (b.scales.iter().all(|s| *s == a.scales[0])
            && b.zero_points.iter().all(|z| *z == a.zero_points[0]));
    cx.check(moved && repeated, code, || {
        format!(
            "the quantized dimension must be broadcast with its scale, found {operand} and {result} \
             (broadcast_dimensions {dims:?})"
        )
    });
}
