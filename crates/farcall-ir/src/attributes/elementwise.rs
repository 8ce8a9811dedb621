//! Attributes of elementwise operations.

use super::{Bad, Fields, Put};
use crate::attr::Attribute;
use crate::op::{Compare, CompareKind, ComparisonDirection, Op};

/// Default accuracy of functions of floating-point numbers.
const DEFAULT_ACCURACY: &str = "DEFAULT";

/// Removes an accuracy that equals the default.
pub(crate) fn drop_default_accuracy(f: &mut Fields<'_>) {
    let is_default = match f.attrs.get("result_accuracy") {
        Some(Attribute::Dialect(d)) => match d.params.get("mode") {
            Some(Attribute::Dialect(mode)) => mode.text == DEFAULT_ACCURACY,
            other => other.and_then(Attribute::as_str) == Some(DEFAULT_ACCURACY),
        },
        _ => false,
    };
    if is_default {
        f.attrs.remove("result_accuracy");
    }
}

pub(crate) fn read_compare(f: &mut Fields<'_>) -> Result<Op, Bad> {
    read_comparison(f).map(Op::Compare)
}

pub(super) fn read_comparison(f: &mut Fields<'_>) -> Result<Compare, Bad> {
    let direction =
        f.keyword("comparison_direction", &ComparisonDirection::VARIANTS, ComparisonDirection::name)?;
    // Older programs write the default explicitly.
    if matches!(f.attrs.get("compare_type"), Some(Attribute::Dialect(d)) if d.text == "NOTYPE") {
        f.attrs.remove("compare_type");
    }
    let kind = f.optional_keyword("compare_type", &CompareKind::VARIANTS, CompareKind::name)?;
    Ok(Compare { direction, kind })
}

pub(crate) fn write_compare(op: &Compare, put: &mut Put<'_>) {
    let direction = Attribute::dialect("stablehlo.comparison_direction", op.direction.name());
    put("comparison_direction", direction);
    if let Some(kind) = op.kind {
        put("compare_type", Attribute::dialect("stablehlo.comparison_type", kind.name()));
    }
}

pub(crate) fn read_reduce_precision(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let mut bits = |key: &str| {
        let n = f.usize(key)?;
        u32::try_from(n).map_err(|_| format!("attribute `{key}` does not fit 32 bits"))
    };
    Ok(Op::ReducePrecision { exponent_bits: bits("exponent_bits")?, mantissa_bits: bits("mantissa_bits")? })
}
