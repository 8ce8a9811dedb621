//! Elementwise operations.

use farcall_sig::DType;
use smallvec::smallvec;

use crate::infer::cx::Cx;
use crate::infer::shape::{compatible_dims, compatible_elements, most_specific};
use crate::op::elementwise::FunctionInfo;
use crate::op::{Binary, Class, Compare, CompareKind, Unary};
use crate::types::{Dim, TensorType, TypeList};

pub(super) fn unary(cx: &mut Cx<'_>, op: Unary) -> Option<TypeList> {
    let (operand, info) = (cx.t(0), op.info());
    // abs_i1 and so on
    if !cx.class(info.codes.i1, "operand", operand, info.operand) {
        return None;
    }
    // abs_c1, abs_c2, cbrt_c1 and so on
    Some(smallvec![info.result.of(operand)?.into()])
}

pub(super) fn binary(cx: &mut Cx<'_>, op: Binary) -> Option<TypeList> {
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    let FunctionInfo { codes, operand, result, .. } = op.info();
    // add_i1, add_i2 and so on
    let left = cx.class(codes.i1, "lhs", lhs, *operand);
    let right = cx.class(codes.i2, "rhs", rhs, *operand);
    if !(left && right) {
        return None;
    }
    let quantized = lhs.quant.is_some() || rhs.quant.is_some();
    let elements = if op == Binary::Add && quantized {
        quantized_add(cx, lhs, rhs)
    } else {
        compatible_elements(lhs, rhs)
    };
    // add_c1 and so on
    let same = elements && compatible_dims(lhs, rhs);
    if !cx.check(same, codes.c1, || format!("operands must have the same type, found {lhs} and {rhs}")) {
        return None;
    }
    // complex_i1, complex_c2, complex_c3
    let Some(ty) = result.of(&most_specific(lhs, rhs)) else {
        cx.fail(codes.i1, format!("lhs must be a tensor of f32 or f64, found {lhs}"));
        return None;
    };
    Some(smallvec![ty.into()])
}

/// Checks the element types of a quantized addition. Always returns true, since each mistake is reported with
/// its specific code.
fn quantized_add(cx: &mut Cx<'_>, lhs: &TensorType, rhs: &TensorType) -> bool {
    let (Some(l), Some(r)) = (&lhs.quant, &rhs.quant) else {
        // add_c2
        cx.fail("add_c2", format!("either both operands or none must be quantized, found {lhs} and {rhs}"));
        return true;
    };
    // add_c3
    cx.check(lhs.dtype == rhs.dtype, "add_c3", || {
        format!("operands must be stored as the same type, found {lhs} and {rhs}")
    });
    // add_c4
    cx.check(l.expressed == r.expressed, "add_c4", || {
        format!("operands must express the same type, found {lhs} and {rhs}")
    });
    true
}

pub(super) fn compare(cx: &mut Cx<'_>, op: &Compare) -> Option<TypeList> {
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    // compare_i1, compare_i2
    cx.class("compare_i1", "lhs", lhs, Class::TENSOR);
    cx.class("compare_i2", "rhs", rhs, Class::TENSOR);
    // compare_c1
    cx.check(compatible_elements(lhs, rhs), "compare_c1", || {
        format!("operands must have the same element type, found {lhs} and {rhs}")
    });
    // compare_c3. If the comparison type is absent, the type that fits the operands is implied.
    let fits = |kind: CompareKind| match Class::of(lhs) {
        Class::SIGNED => kind == CompareKind::Signed,
        Class::UNSIGNED | Class::PRED => kind == CompareKind::Unsigned,
        Class::FLOAT => matches!(kind, CompareKind::Float | CompareKind::TotalOrder),
        Class::COMPLEX => kind == CompareKind::Float,
        _ => true,
    };
    if let Some(kind) = op.kind {
        cx.check(fits(kind), "compare_c3", || format!("compare_type {} does not fit {lhs}", kind.name()));
    }
    // compare_c2
    if !cx.check(compatible_dims(lhs, rhs), "compare_c2", || {
        format!("operands must have the same shape, found {lhs} and {rhs}")
    }) {
        return None;
    }
    Some(smallvec![most_specific(lhs, rhs).with_dtype(DType::Pred).into()])
}

pub(super) fn select(cx: &mut Cx<'_>) -> Option<TypeList> {
    let (pred, on_true, on_false) = (cx.t(0), cx.t(1), cx.t(2));
    // select_i1, select_i2, select_i3
    cx.class("select_i1", "pred", pred, Class::PRED);
    cx.class("select_i2", "on_true", on_true, Class::TENSOR);
    cx.class("select_i3", "on_false", on_false, Class::TENSOR);
    // select_c2
    let same = compatible_elements(on_true, on_false) && compatible_dims(on_true, on_false);
    let same = cx.check(same, "select_c2", || {
        format!("on_true and on_false must have the same type, found {on_true} and {on_false}")
    });
    // select_c1
    cx.check(pred.rank() == 0 || compatible_dims(pred, on_true), "select_c1", || {
        format!("pred must have rank 0 or the shape of {on_true}, found {pred}")
    });
    same.then(|| smallvec![most_specific(on_true, on_false).into()])
}

pub(super) fn clamp(cx: &mut Cx<'_>) -> Option<TypeList> {
    let (min, operand, max) = (cx.t(0), cx.t(1), cx.t(2));
    // clamp_i1, clamp_i2, clamp_i3
    cx.class("clamp_i1", "min", min, Class::TENSOR);
    cx.class("clamp_i2", "operand", operand, Class::TENSOR);
    cx.class("clamp_i3", "max", max, Class::TENSOR);
    // clamp_c1, clamp_c2
    for (code, name, bound) in [("clamp_c1", "min", min), ("clamp_c2", "max", max)] {
        cx.check(bound.rank() == 0 || compatible_dims(bound, operand), code, || {
            format!("{name} must have rank 0 or the shape of {operand}, found {bound}")
        });
    }
    // clamp_c3
    let same = compatible_elements(min, operand) && compatible_elements(max, operand);
    cx.check(same, "clamp_c3", || {
        format!("min, operand and max must have the same element type, found {min}, {operand} and {max}")
    });
    // clamp_c4
    Some(smallvec![operand.clone().into()])
}

pub(super) fn convert(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    // convert_i1
    cx.class("convert_i1", "operand", operand, Class::PLAIN);
    // convert_c1
    let result = cx.declared(0)?;
    Some(smallvec![operand.with_dtype(result.dtype).into()])
}

pub(super) fn bitcast_convert(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    let result = cx.declared(0)?;
    // bitcast_convert_c2
    let (from, to) = (operand.dtype, result.dtype);
    cx.check(from.is_complex() == to.is_complex(), "bitcast_convert_c2", || {
        format!("complex types convert only to complex types, found {operand} to {result}")
    });
    // bitcast_convert_c1
    let (from, to) = (from.bits() as usize, to.bits() as usize);
    let mut dims: Vec<Dim> = operand.dims().collect();
    let fits = if from == to {
        true
    } else if from > to {
        dims.push(Dim::Static(from / to));
        from.is_multiple_of(to)
    } else {
        let last = dims.pop();
        to.is_multiple_of(from) && last.is_some_and(|last| last.may_be(to / from))
    };
    if !cx.check(fits, "bitcast_convert_c1", || {
        format!("elements of {operand} cannot be split or joined to {to} bits")
    }) {
        return None;
    }
    Some(smallvec![result.with_dims(dims).into()])
}

pub(super) fn reduce_precision(cx: &mut Cx<'_>, exponent_bits: u32) -> Option<TypeList> {
    let operand = cx.t(0);
    // reduce_precision_i1
    cx.class("reduce_precision_i1", "operand", operand, Class::FLOAT | Class::QUANT);
    // reduce_precision_c2. reduce_precision_c3 (`mantissa_bits` is not negative) holds for every unsigned
    // number.
    cx.check(exponent_bits >= 1, "reduce_precision_c2", || {
        "exponent_bits must be at least 1, found 0".to_owned()
    });
    // reduce_precision_c1
    Some(smallvec![operand.clone().into()])
}

pub(super) fn uniform_quantize(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    // uniform_quantize_i1
    let allowed = Class::FLOAT | Class::QUANT | Class::QUANT_AXIS;
    cx.class("uniform_quantize_i1", "operand", operand, allowed);
    // uniform_quantize_c1
    let result = cx.declared(0)?;
    Some(smallvec![result.with_dims_of(operand).into()])
}

pub(super) fn uniform_dequantize(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    // uniform_dequantize_i1
    let Some(quant) = &operand.quant else {
        cx.class("uniform_dequantize_i1", "operand", operand, Class::QUANT | Class::QUANT_AXIS);
        return None;
    };
    // uniform_dequantize_c1, uniform_dequantize_c2
    Some(smallvec![operand.with_dtype(quant.expressed).into()])
}
