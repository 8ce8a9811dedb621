//! Attributes of products and convolutions.

use super::fields::to_usizes;
use super::indexing::{list, no_more, params};
use super::reduction::{put_padding, put_sizes};
use super::{Bad, Fields, Put};
use crate::attr::{AttrDict, Attribute};
use crate::literal::Literal;
use crate::op::{Convolution, ConvolutionDims, DotGeneral, Op, Precision};
use farcall_sig::DType;

/// Name of the dialect attribute for precisions.
const PRECISION: &str = "stablehlo.precision";

pub(crate) fn read_dot_general(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let mut p = f.params("dot_dimension_numbers")?;
    let dot = DotGeneral {
        lhs_batch: list(&mut p, "lhs_batching_dimensions")?,
        rhs_batch: list(&mut p, "rhs_batching_dimensions")?,
        lhs_contract: list(&mut p, "lhs_contracting_dimensions")?,
        rhs_contract: list(&mut p, "rhs_contracting_dimensions")?,
        precision: read_precision(f)?,
        algorithm: f.take("algorithm"),
    };
    no_more("dot_dimension_numbers", &p)?;
    Ok(Op::DotGeneral(Box::new(dot)))
}

pub(crate) fn write_dot_general(op: &DotGeneral, put: &mut Put<'_>) {
    let text = params(&[
        ("lhs_batching_dimensions", &op.lhs_batch),
        ("rhs_batching_dimensions", &op.rhs_batch),
        ("lhs_contracting_dimensions", &op.lhs_contract),
        ("rhs_contracting_dimensions", &op.rhs_contract),
    ]);
    put("dot_dimension_numbers", Attribute::dialect("stablehlo.dot", text));
    write_precision(&op.precision, PRECISION, put);
    if let Some(algorithm) = &op.algorithm {
        put("algorithm", algorithm.clone());
    }
}

pub(super) fn read_precision(f: &mut Fields<'_>) -> Result<Vec<Precision>, Bad> {
    let key = "precision_config";
    match f.take(key) {
        None => Ok(Vec::new()),
        Some(Attribute::Array(items)) => items
            .iter()
            .map(|a| super::fields::to_keyword(key, a, &Precision::VARIANTS, Precision::name))
            .collect(),
        Some(other) => Err(format!("attribute `{key}` must be a list, not {other}")),
    }
}

pub(super) fn write_precision(precision: &[Precision], kind: &str, put: &mut Put<'_>) {
    if !precision.is_empty() {
        let items = precision.iter().map(|p| Attribute::dialect(kind, p.name()));
        put("precision_config", Attribute::Array(items.collect()));
    }
}

pub(crate) fn read_convolution(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let dims = read_dims(f)?;
    let rank = dims.input_spatial.len();
    let padding = f.padding("padding", rank)?;
    read_common(f, dims, padding).map(|c| Op::Convolution(Box::new(c)))
}

pub(crate) fn read_dynamic_convolution(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let dims = read_dims(f)?;
    read_common(f, dims, Vec::new()).map(|c| Op::DynamicConvolution(Box::new(c)))
}

fn read_common(
    f: &mut Fields<'_>,
    dims: ConvolutionDims,
    padding: Vec<(i64, i64)>,
) -> Result<Convolution, Bad> {
    let rank = dims.input_spatial.len();
    let reversal = match f.take("window_reversal") {
        None => vec![false; rank],
        // An empty list of any type is a list of booleans.
        Some(Attribute::DenseArray(l) | Attribute::Dense(l)) if l.is_empty() => Vec::new(),
        Some(a) => a
            .as_bool_list()
            .ok_or_else(|| format!("attribute `window_reversal` must be a list of booleans, not {a}"))?,
    };
    Ok(Convolution {
        strides: f.usizes_or("window_strides", rank, 1)?,
        padding,
        lhs_dilation: f.usizes_or("lhs_dilation", rank, 1)?,
        rhs_dilation: f.usizes_or("rhs_dilation", rank, 1)?,
        reversal,
        dims,
        feature_group_count: f.usize_or("feature_group_count", 1)?,
        batch_group_count: f.usize_or("batch_group_count", 1)?,
        precision: read_precision(f)?,
    })
}

pub(crate) fn write_convolution(op: &Convolution, dynamic: bool, put: &mut Put<'_>) {
    let rank = op.dims.input_spatial.len();
    put_sizes(put, "window_strides", &op.strides, rank);
    if !dynamic {
        put_padding(put, &op.padding, rank);
    }
    put_sizes(put, "lhs_dilation", &op.lhs_dilation, rank);
    put_sizes(put, "rhs_dilation", &op.rhs_dilation, rank);
    if op.reversal.len() != rank || op.reversal.contains(&true) {
        let bytes: Vec<u8> = op.reversal.iter().map(|b| u8::from(*b)).collect();
        let literal = Literal::from_slice(DType::Pred, [bytes.len()], &bytes);
        put("window_reversal", Attribute::DenseArray(literal));
    }
    put("dimension_numbers", Attribute::dialect("stablehlo.conv", dims_text(&op.dims)));
    put("feature_group_count", super::i64_attr(op.feature_group_count));
    put("batch_group_count", super::i64_attr(op.batch_group_count));
    write_precision(&op.precision, PRECISION, put);
}

fn read_dims(f: &mut Fields<'_>) -> Result<ConvolutionDims, Bad> {
    let attr = f.required("dimension_numbers")?;
    let parsed = match &attr {
        Attribute::Dialect(d) if d.name == "stablehlo.conv" => parse_dims(&d.text),
        // The oldest programs use a dictionary.
        Attribute::Dict(dict) => dims_of_dict(dict),
        _ => None,
    };
    parsed.ok_or_else(|| {
        format!("attribute `dimension_numbers` must be like #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, not {attr}")
    })
}

/// Parses `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
fn parse_dims(text: &str) -> Option<ConvolutionDims> {
    if let Some(raw) = text.strip_prefix("raw").filter(|raw| raw.starts_with(char::is_whitespace)) {
        return parse_raw_dims(raw);
    }
    let (lhs, rest) = text.split_once(']')?;
    let (rhs, out) = rest.trim_start().strip_prefix('x')?.split_once(']')?;
    let out = out.trim_start().strip_prefix("->")?.trim_end().strip_suffix(']')?;
    let (input_batch, input_feature, input_spatial) = parse_side(lhs, "b", "f")?;
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) = parse_side(rhs, "i", "o")?;
    let (output_batch, output_feature, output_spatial) = parse_side(out, "b", "f")?;
    Some(ConvolutionDims {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    })
}

/// Parses `[b, 0, 1, f` to the positions of `b`, of `f`, and of the spatial dimensions in order.
fn parse_side(text: &str, first: &str, second: &str) -> Option<(usize, usize, Vec<usize>)> {
    let items: Vec<&str> = text.trim_start().strip_prefix('[')?.split(',').map(str::trim).collect();
    let position = |name: &str| items.iter().position(|i| *i == name);
    let spatial: Option<Vec<usize>> = (0..items.len() - 2.min(items.len()))
        .map(|d| items.iter().position(|i| i.parse() == Ok(d)))
        .collect();
    Some((position(first)?, position(second)?, spatial?))
}

/// Parses `input_batch_dimension = 0, input_spatial_dimensions = [1, 2], …`.
fn parse_raw_dims(text: &str) -> Option<ConvolutionDims> {
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("{key} = "))?;
        let end = if rest.starts_with('[') { rest.find(']')? } else { rest.find(',').unwrap_or(rest.len()) };
        Some(rest[..end].trim_start_matches('[').trim())
    };
    let one = |key: &str| value(key)?.parse().ok();
    let many = |key: &str| {
        let items = value(key)?.split(',').map(str::trim).filter(|i| !i.is_empty());
        items.map(|i| i.parse().ok()).collect::<Option<Vec<usize>>>()
    };
    Some(ConvolutionDims {
        input_batch: one("input_batch_dimension")?,
        input_feature: one("input_feature_dimension")?,
        input_spatial: many("input_spatial_dimensions")?,
        kernel_input_feature: one("kernel_input_feature_dimension")?,
        kernel_output_feature: one("kernel_output_feature_dimension")?,
        kernel_spatial: many("kernel_spatial_dimensions")?,
        output_batch: one("output_batch_dimension")?,
        output_feature: one("output_feature_dimension")?,
        output_spatial: many("output_spatial_dimensions")?,
    })
}

/// Reads dimension numbers from a dictionary of numbers and lists.
fn dims_of_dict(dict: &AttrDict) -> Option<ConvolutionDims> {
    let one = |key: &str| dict.get(key)?.as_i64().and_then(|n| usize::try_from(n).ok());
    let many = |key: &str| to_usizes(key, dict.get(key)?).ok();
    Some(ConvolutionDims {
        input_batch: one("input_batch_dimension")?,
        input_feature: one("input_feature_dimension")?,
        input_spatial: many("input_spatial_dimensions")?,
        kernel_input_feature: one("kernel_input_feature_dimension")?,
        kernel_output_feature: one("kernel_output_feature_dimension")?,
        kernel_spatial: many("kernel_spatial_dimensions")?,
        output_batch: one("output_batch_dimension")?,
        output_feature: one("output_feature_dimension")?,
        output_spatial: many("output_spatial_dimensions")?,
    })
}

fn dims_text(d: &ConvolutionDims) -> String {
    let side = |first: (usize, &str), second: (usize, &str), spatial: &[usize]| {
        let n = spatial.len() + 2;
        let name = |i: usize| match spatial.iter().position(|s| *s == i) {
            _ if i == first.0 => first.1.to_owned(),
            _ if i == second.0 => second.1.to_owned(),
            Some(s) => s.to_string(),
            None => "?".to_owned(),
        };
        format!("[{}]", (0..n).map(name).collect::<Vec<_>>().join(", "))
    };
    let text = format!(
        "{}x{}->{}",
        side((d.input_batch, "b"), (d.input_feature, "f"), &d.input_spatial),
        side((d.kernel_input_feature, "i"), (d.kernel_output_feature, "o"), &d.kernel_spatial),
        side((d.output_batch, "b"), (d.output_feature, "f"), &d.output_spatial),
    );
    if parse_dims(&text).as_ref() == Some(d) {
        return text;
    }
    // Dimension numbers that the short form cannot express are invalid. They must not be lost here, because
    // the verifier reports them.
    format!(
        "raw input_batch_dimension = {}, input_feature_dimension = {}, input_spatial_dimensions = {:?}, \
         kernel_input_feature_dimension = {}, kernel_output_feature_dimension = {}, kernel_spatial_dimensions = {:?}, \
         output_batch_dimension = {}, output_feature_dimension = {}, output_spatial_dimensions = {:?}",
        d.input_batch,
        d.input_feature,
        d.input_spatial,
        d.kernel_input_feature,
        d.kernel_output_feature,
        d.kernel_spatial,
        d.output_batch,
        d.output_feature,
        d.output_spatial
    )
}
