//! Attributes of derived operations ([`crate::op::derived`]), which are defined by simpler operations.

use super::contraction::{read_precision, write_precision};
use super::indexing::{list, no_more, params};
use super::{Bad, Fields, Put, elementwise, i64_attr};
use crate::attr::{Attribute, IntKind};
use crate::literal::Literal;
use crate::op::{
    BatchNorm, Binary, Broadcasted, Broadcasting, Compare, CompareKind, ComparisonDirection, Derived, Op,
    RaggedDot,
};
use crate::scalar::Scalar;
use farcall_sig::{DType, DTypeClass};
use num_complex::Complex;

pub(crate) fn read_broadcast(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Derived(Derived::Broadcast { sizes: f.usizes("broadcast_sizes")? }))
}

pub(crate) fn read_broadcasting(f: &mut Fields<'_>, op: Binary) -> Result<Op, Bad> {
    broadcasting(f, Broadcasted::Binary(op))
}

pub(crate) fn read_broadcast_compare(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let compare = elementwise::read_comparison(f)?;
    broadcasting(f, Broadcasted::Compare(compare))
}

pub(crate) fn read_broadcast_select(_: &mut Fields<'_>) -> Result<Op, Bad> {
    let function = Broadcasted::Select;
    Ok(Op::Derived(Derived::Broadcasting(Broadcasting { function, dims: None })))
}

fn broadcasting(f: &mut Fields<'_>, function: Broadcasted) -> Result<Op, Bad> {
    let dims = f.optional_usizes("broadcast_dimensions")?;
    Ok(Op::Derived(Derived::Broadcasting(Broadcasting { function, dims })))
}

pub(crate) fn read_constant_like(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let attr = f.required("value")?;
    let element = |dtype, value| Literal::scalar(dtype, value);
    let value = match &attr {
        Attribute::Bool(value) => Some(element(DType::Pred, Scalar::Bool(*value))),
        Attribute::Int(value, IntKind::Typed(dtype)) if dtype.is_signed_integer() => {
            i64::try_from(*value).ok().map(|v| element(*dtype, Scalar::Signed(v)))
        }
        Attribute::Int(value, IntKind::Typed(dtype)) => {
            u64::try_from(*value).ok().map(|v| element(*dtype, Scalar::Unsigned(v)))
        }
        Attribute::Float(bits, dtype) => Some(element(*dtype, Scalar::Float(f64::from_bits(*bits)))),
        Attribute::Dense(literal) if literal.dims().is_empty() => Some(literal.clone()),
        Attribute::Dialect(d) if d.name == "complex.number" => complex(&d.text),
        _ => None,
    };
    let value = value.ok_or_else(|| format!("attribute `value` must be one tensor element, not {attr}"))?;
    Ok(Op::Derived(Derived::ConstantLike(value)))
}

/// Parses a complex number: its parts and their type, as in `:f32 1.0, 2.0`.
fn complex(text: &str) -> Option<Literal> {
    let (dtype, parts) = text.strip_prefix(':')?.split_once(' ')?;
    let dtype = match dtype {
        "f32" => DType::C64,
        "f64" => DType::C128,
        _ => return None,
    };
    let (re, im) = parts.split_once(',')?;
    let value = Complex::new(re.trim().parse().ok()?, im.trim().parse().ok()?);
    Some(Literal::scalar(dtype, Scalar::Complex(value).round_to(dtype)))
}

pub(crate) fn read_dot(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Derived(Derived::Dot { precision: read_precision(f)? }))
}

pub(crate) fn read_einsum(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Derived(Derived::Einsum { config: f.string("einsum_config")? }))
}

pub(crate) fn read_unary_einsum(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Derived(Derived::UnaryEinsum { config: f.string("einsum_config")? }))
}

pub(crate) fn read_index_select(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let mut number = |key: &str| {
        let attr = f.required(key)?;
        attr.as_i64().ok_or_else(|| format!("attribute `{key}` must be an integer, not {attr}"))
    };
    Ok(Op::Derived(Derived::TorchIndexSelect { dim: number("dim")?, batch_dims: number("batch_dims")? }))
}

pub(crate) fn read_batch_norm(f: &mut Fields<'_>) -> Result<BatchNorm, Bad> {
    let epsilon = f.required("epsilon")?;
    let epsilon = epsilon
        .as_f64()
        .ok_or_else(|| format!("attribute `epsilon` must be a number of type f32, not {epsilon}"))?;
    Ok(BatchNorm { epsilon_bits: (epsilon as f32).to_bits(), feature: f.usize("feature_index")? })
}

pub(crate) fn read_ragged_dot(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let mut p = f.params("ragged_dot_dimension_numbers")?;
    let dot = RaggedDot {
        lhs_batch: list(&mut p, "lhs_batching_dimensions")?,
        rhs_batch: list(&mut p, "rhs_batching_dimensions")?,
        lhs_contract: list(&mut p, "lhs_contracting_dimensions")?,
        rhs_contract: list(&mut p, "rhs_contracting_dimensions")?,
        lhs_ragged: list(&mut p, "lhs_ragged_dimensions")?,
        rhs_group: list(&mut p, "rhs_group_dimensions")?,
        precision: read_precision(f)?,
    };
    no_more("ragged_dot_dimension_numbers", &p)?;
    Ok(Op::Derived(Derived::RaggedDot(Box::new(dot))))
}

pub(crate) fn write_derived(op: &Derived, put: &mut Put<'_>) {
    match op {
        Derived::Broadcast { sizes } => put("broadcast_sizes", Attribute::usize_array(sizes)),
        Derived::Broadcasting(op) => {
            if let Some(dims) = &op.dims {
                put("broadcast_dimensions", Attribute::usize_array(dims));
            }
            if let Broadcasted::Compare(compare) = &op.function {
                write_compare(compare, put);
            }
        }
        Derived::ConstantLike(value) => put("value", element(value)),
        Derived::Dot { precision } => write_precision(precision, "stablehlo.precision", put),
        Derived::Einsum { config } | Derived::UnaryEinsum { config } => {
            put("einsum_config", Attribute::string(config));
        }
        Derived::TorchIndexSelect { dim, batch_dims } => {
            put("dim", Attribute::i64(*dim));
            put("batch_dims", Attribute::i64(*batch_dims));
        }
        Derived::BatchNormInference(norm)
        | Derived::BatchNormTraining(norm)
        | Derived::BatchNormGrad(norm) => {
            put("epsilon", Attribute::float(f64::from(norm.epsilon()), DType::F32));
            put("feature_index", i64_attr(norm.feature));
        }
        Derived::RaggedDot(dot) => {
            let dims = [
                ("lhs_batching_dimensions", &dot.lhs_batch[..]),
                ("rhs_batching_dimensions", &dot.rhs_batch),
                ("lhs_contracting_dimensions", &dot.lhs_contract),
                ("rhs_contracting_dimensions", &dot.rhs_contract),
                ("lhs_ragged_dimensions", &dot.lhs_ragged),
                ("rhs_group_dimensions", &dot.rhs_group),
            ];
            put("ragged_dot_dimension_numbers", Attribute::dialect("chlo.ragged_dot", params(&dims)));
            write_precision(&dot.precision, "chlo.precision", put);
        }
        Derived::SinCos => {}
    }
}

fn write_compare(op: &Compare, put: &mut Put<'_>) {
    let direction: &str = ComparisonDirection::name(op.direction);
    put("comparison_direction", Attribute::dialect("chlo.comparison_direction", direction));
    if let Some(kind) = op.kind {
        put("compare_type", Attribute::dialect("chlo.comparison_type", CompareKind::name(kind)));
    }
}

/// Converts an element to an attribute.
fn element(value: &Literal) -> Attribute {
    let dtype = value.dtype();
    match (dtype.class(), value.get(0)) {
        (DTypeClass::Bool, x) => Attribute::Bool(x.as_bool()),
        (DTypeClass::Unsigned, x) => Attribute::Int(i128::from(x.as_u64()), IntKind::Typed(dtype)),
        (DTypeClass::Float, x) => Attribute::float(x.as_f64(), dtype),
        (DTypeClass::Complex, x) => {
            let (z, part) = (x.as_complex(), dtype.real().mlir());
            Attribute::dialect("complex.number", format!(":{part} {:?}, {:?}", z.re, z.im))
        }
        (DTypeClass::Signed, x) => Attribute::Int(i128::from(x.as_i64()), IntKind::Typed(dtype)),
    }
}
