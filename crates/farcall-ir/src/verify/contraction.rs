//! Checks the results of products and convolutions.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::op::{Convolution, DotGeneral};
use crate::types::{Quantization, TensorType, Type};

pub(super) fn dot_general(cx: &mut Cx<'_>, types: &[Type], op: &DotGeneral) {
    // dot_general_c12
    check(cx, types, Codes::one("dot_general_c12"));
    let rhs = cx.t(1);
    let Some(result) = cx.declared(0) else { return };
    if let Some(q) = &rhs.quant {
        // dot_general_c15
        cx.check(q.zero_points.iter().all(|z| *z == 0), "dot_general_c15", || {
            format!("the zero points of rhs must be 0, found {rhs}")
        });
        // dot_general_c16
        cx.check(q.axis.is_none_or(|a| !op.rhs_contract.contains(&a)), "dot_general_c16", || {
            format!("the quantized dimension of rhs must not be contracted, found {rhs}")
        });
    }
    quantized(
        cx,
        [
            "dot_general_c13",
            "dot_general_c14",
            "dot_general_c17",
            "dot_general_c18",
            "dot_general_c19",
            "dot_general_c20",
        ],
        result,
    );
}

pub(super) fn convolution(cx: &mut Cx<'_>, types: &[Type], op: &Convolution, dynamic: bool) {
    let codes = |convolution: &'static str, dynamic_conv: &'static str| {
        if dynamic { dynamic_conv } else { convolution }
    };
    // convolution_c25, convolution_c26
    check(cx, types, Codes::one(codes("convolution_c25", "dynamic_conv_c25")));
    let rhs = cx.t(1);
    let Some(result) = cx.declared(0) else { return };
    let axis = |q: &Option<std::sync::Arc<Quantization>>| q.as_ref().and_then(|q| q.axis);
    // convolution_c29
    let out = op.dims.kernel_output_feature;
    cx.check(axis(&rhs.quant).is_none_or(|a| a == out), codes("convolution_c29", "dynamic_conv_c29"), || {
        format!("rhs must be quantized along its output features, dimension {out}, found {rhs}")
    });
    // convolution_c30
    let out = op.dims.output_feature;
    cx.check(
        axis(&result.quant).is_none_or(|a| a == out),
        codes("convolution_c30", "dynamic_conv_c30"),
        || format!("the result must be quantized along its features, dimension {out}, found {result}"),
    );
    let codes = if dynamic {
        [
            "dynamic_conv_c27",
            "dynamic_conv_c28",
            "dynamic_conv_c31",
            "dynamic_conv_c32",
            "dynamic_conv_c33",
            "dynamic_conv_c34",
        ]
    } else {
        [
            "convolution_c27",
            "convolution_c28",
            "convolution_c31",
            "convolution_c32",
            "convolution_c33",
            "convolution_c34",
        ]
    };
    quantized(cx, codes, result);
}

/// Checks the element types of a product. The codes name these constraints, in order: on element types that
/// are not quantized; on which of lhs, rhs and result are quantized; on storage types; on expressed types; on
/// granularity; on weights-only quantization.
fn quantized(cx: &mut Cx<'_>, codes: [&'static str; 6], result: &TensorType) {
    let [plain, which, storage, expressed, granularity, hybrid] = codes;
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    if [lhs, rhs, result].iter().all(|t| t.quant.is_none()) {
        // dot_general_c13, convolution_c27. The result's elements may be wider, or floats of another
        // precision.
        cx.check(result.dtype.is_complex() == lhs.dtype.is_complex(), plain, || {
            format!("the result must be complex if and only if the operands are, found {lhs} and {result}")
        });
        return;
    }
    // dot_general_c14, convolution_c28
    let Some(r) = rhs.quant.as_ref().filter(|_| lhs.quant.is_some() == result.quant.is_some()) else {
        cx.fail(
            which,
            format!(
                "rhs must be quantized, and lhs and result both or neither, found {lhs}, {rhs} and {result}"
            ),
        );
        return;
    };
    if let (Some(l), Some(q)) = (&lhs.quant, &result.quant) {
        // dot_general_c17, convolution_c31
        cx.check(lhs.dtype == rhs.dtype, storage, || {
            format!("operands must be stored as the same type, found {lhs} and {rhs}")
        });
        // dot_general_c18, convolution_c32
        cx.check(l.expressed == r.expressed && l.expressed == q.expressed, expressed, || {
            format!("operands and result must express the same type, found {lhs}, {rhs} and {result}")
        });
        // dot_general_c19, convolution_c33
        cx.check(r.axis.is_some() || q.axis.is_none(), granularity, || {
            format!("the result must have a single scale if rhs has a single scale, found {rhs} and {result}")
        });
    } else {
        // dot_general_c20, convolution_c34
        cx.check(lhs.dtype == r.expressed && lhs.dtype == result.dtype, hybrid, || {
            format!("lhs and result must have the type that rhs expresses, found {lhs}, {rhs} and {result}")
        });
    }
}
