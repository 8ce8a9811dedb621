//! Checks the results of elementwise operations.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::op::elementwise::ResultRule;
use crate::op::{Binary, Class, Unary};
use crate::types::Type;

pub(super) fn unary(cx: &mut Cx<'_>, op: Unary, types: &[Type]) {
    let info = op.info();
    let codes = info.codes;
    // abs_c1, …: shapes, and usually element types. abs_c2, imag_c2, real_c2: element types of the operations
    // that have a separate constraint on them.
    let element = if info.result == ResultRule::Real { codes.c2 } else { codes.c1 };
    check(cx, types, Codes::two(codes.c1, element));
}

pub(super) fn binary(cx: &mut Cx<'_>, op: Binary, types: &[Type]) {
    let codes = op.info().codes;
    match op {
        Binary::Add => add(cx, types),
        // complex_c2, complex_c3
        Binary::Complex => {
            check(cx, types, Codes::two(codes.c2, codes.c3));
        }
        // and_c1, …
        _ => {
            check(cx, types, Codes::one(codes.c1));
        }
    }
}

fn add(cx: &mut Cx<'_>, types: &[Type]) {
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    let Some(result) = cx.declared(0) else { return };
    let quantized = [lhs, rhs, result].iter().filter(|t| t.quant.is_some()).count();
    if quantized == 0 {
        // add_c1
        check(cx, types, Codes::one("add_c1"));
        return;
    }
    // Check only the shape: element types have separate constraints.
    let shape = types.first().and_then(Type::tensor);
    let shape = shape.map(|t| result.with_dims_of(t));
    check(cx, &shape.map(Type::from).into_iter().collect::<Vec<_>>(), Codes::one("add_c1"));
    let (Some(l), Some(r), Some(q)) = (&lhs.quant, &rhs.quant, &result.quant) else {
        // add_c2. Inference has already reported operands of which only one is quantized.
        if lhs.quant.is_some() == rhs.quant.is_some() {
            cx.fail("add_c2", format!("operands and result must all be quantized or none, found {result}"));
        }
        return;
    };
    // add_c3
    cx.check(lhs.dtype == result.dtype, "add_c3", || {
        format!("the result must be stored as {lhs} is, found {result}")
    });
    // add_c4
    cx.check(l.expressed == q.expressed, "add_c4", || {
        format!("the result must express the type that {lhs} does, found {result}")
    });
    // add_c5
    let per_axis = l.axis.is_some() || r.axis.is_some();
    if !cx.check(per_axis == q.axis.is_some(), "add_c5", || {
        format!("the result must be quantized per axis if an operand is, found {lhs}, {rhs} and {result}")
    }) {
        return;
    }
    // add_c6, add_c7
    for (code, name, operand) in [("add_c6", "lhs", l), ("add_c7", "rhs", r)] {
        cx.check(operand.axis.is_none() || operand.axis == q.axis, code, || {
            format!("{name} and result must be quantized along the same dimension, found {result}")
        });
    }
}

pub(super) fn compare(cx: &mut Cx<'_>, types: &[Type]) {
    // compare_c2
    check(cx, types, Codes::two("compare_c2", "compare_o1"));
}

pub(super) fn select(cx: &mut Cx<'_>, types: &[Type]) {
    // select_c2
    check(cx, types, Codes::one("select_c2"));
}

pub(super) fn clamp(cx: &mut Cx<'_>, types: &[Type]) {
    // clamp_c4
    check(cx, types, Codes::one("clamp_c4"));
}

pub(super) fn convert(cx: &mut Cx<'_>, types: &[Type]) {
    if let Some(result) = cx.declared(0) {
        // convert_o1
        cx.class("convert_o1", "result", result, Class::PLAIN);
        if result.quant.is_some() {
            return;
        }
    }
    // convert_c1
    check(cx, types, Codes::one("convert_c1"));
}

pub(super) fn bitcast_convert(cx: &mut Cx<'_>, types: &[Type]) {
    // bitcast_convert_c1
    check(cx, types, Codes::one("bitcast_convert_c1"));
}

pub(super) fn copy(cx: &mut Cx<'_>, types: &[Type]) {
    check(cx, types, Codes::one("copy_c1"));
}

pub(super) fn reduce_precision(cx: &mut Cx<'_>, types: &[Type]) {
    // reduce_precision_c1
    check(cx, types, Codes::one("reduce_precision_c1"));
}

pub(super) fn uniform_quantize(cx: &mut Cx<'_>, types: &[Type]) {
    // uniform_quantize_c1
    check(cx, types, Codes::one("uniform_quantize_c1"));
    let operand = cx.t(0);
    let Some(result) = cx.declared(0) else { return };
    let Some(quant) = &result.quant else {
        // uniform_quantize_o1
        cx.class("uniform_quantize_o1", "result", result, Class::QUANT | Class::QUANT_AXIS);
        return;
    };
    // uniform_quantize_c2
    let expressed = operand.quant.as_ref().map_or(operand.dtype, |q| q.expressed);
    cx.check(quant.expressed == expressed, "uniform_quantize_c2", || {
        format!("the result must express {}, found {result}", expressed.mlir())
    });
}

pub(super) fn uniform_dequantize(cx: &mut Cx<'_>, types: &[Type]) {
    // uniform_dequantize_c1, uniform_dequantize_c2
    check(cx, types, Codes::two("uniform_dequantize_c1", "uniform_dequantize_c2"));
}
