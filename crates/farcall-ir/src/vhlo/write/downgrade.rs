//! Converts StableHLO's attributes to VHLO's: the reverse of [`super::super::upgrade`].

use farcall_sig::DType;

use super::super::Version;
use super::super::ops;
use super::super::upgrade::{ALGORITHM, CONVOLUTION, DOT, GATHER, SCATTER};
use crate::attr::{AttrDict, Attribute, DialectAttr, IntKind};
use crate::literal::Literal;
use crate::module::Inst;

/// Returns the oldest version of the operation `base` that can express the instruction, the first version of
/// StableHLO that has it, and all its attributes.
///
/// # Errors
/// A sentence that states what artifacts lack.
pub(super) fn downgraded(
    base: &str,
    mut attrs: AttrDict,
    inst: Inst<'_>,
) -> Result<(&'static str, Version, AttrDict), String> {
    // This attribute exists only in farcall, and is redundant: it follows from the results.
    attrs.remove("farcall.types");
    match base {
        "dot_general" => {
            split(&mut attrs, "dot_dimension_numbers", DOT)?;
            split(&mut attrs, "algorithm", ALGORITHM)?;
        }
        "gather" | "dynamic_gather" => split(&mut attrs, "dimension_numbers", GATHER)?,
        "scatter" => split(&mut attrs, "scatter_dimension_numbers", SCATTER)?,
        "convolution" | "dynamic_conv" => convolution(&mut attrs)?,
        _ => {}
    }
    channel(&mut attrs, base)?;
    for (key, attr) in attrs.iter_mut() {
        spell(key, attr);
    }
    // An attribute with its default value must not rule out an older version without the attribute.
    for key in [
        "operand_batching_dims",
        "start_indices_batching_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "result_tilings",
        "source_target_pairs",
    ] {
        if base != "collective_permute" && attrs.get(key).is_some_and(is_empty) {
            attrs.remove(key);
        }
    }
    if attrs.get("has_dynamic_root") == Some(&Attribute::Bool(false)) {
        attrs.remove("has_dynamic_root");
    }
    let mut refused = String::new();
    for (name, keys) in ops::versions(base) {
        match complete(base, name, keys, &attrs, inst) {
            Ok(complete) => return Ok((name, ops::since(name), complete)),
            Err(message) => refused = message,
        }
    }
    Err(if refused.is_empty() { "artifacts have no such operation".to_owned() } else { refused })
}

/// Completes the attributes with the defaults of a version.
fn complete(
    base: &str,
    name: &str,
    keys: &[&str],
    attrs: &AttrDict,
    inst: Inst<'_>,
) -> Result<AttrDict, String> {
    let fits = match name {
        "all_gather_v1" | "all_reduce_v1" | "all_to_all_v1" => inst.operands().len() == 1,
        "async_done_v1" => inst.results().len() == 1,
        "composite_v1" => inst.region_ids().is_empty(),
        _ => true,
    };
    if !fits {
        return Err(format!("artifacts have {base} only with fewer operands, results or regions"));
    }
    // Reject attributes that VHLO lacks: without them, the operation would mean something else. Attributes of
    // other dialects (`dialect.name`) do not affect the meaning.
    let is_foreign = |key: &str| key.contains('.') && !key.starts_with("farcall.");
    if let Some(key) = attrs.keys().find(|key| !keys.contains(&key.as_str()) && !is_foreign(key)) {
        return Err(format!("artifacts have no attribute `{key}`"));
    }
    let mut out = attrs.clone();
    for key in keys {
        if !out.contains_key(key) {
            let default = default(base, key, attrs);
            let default = default.ok_or_else(|| {
                format!("artifacts require the attribute `{key}`, which the operation lacks")
            })?;
            out.insert((*key).to_owned(), default);
        }
    }
    Ok(out)
}

fn is_empty(attr: &Attribute) -> bool {
    match attr {
        Attribute::Array(items) => items.is_empty(),
        Attribute::Dense(literal) => literal.is_empty(),
        _ => false,
    }
}

/// Returns a list of `i64`.
fn list(values: &[i64]) -> Attribute {
    Attribute::Dense(Literal::from_slice(DType::S64, [values.len()], values))
}

/// Converts an attribute to the kind that VHLO uses.
fn spell(key: &str, attr: &mut Attribute) {
    match attr {
        Attribute::Unit => *attr = Attribute::Bool(true),
        Attribute::DenseArray(literal) => *attr = Attribute::Dense(literal.clone()),
        Attribute::Symbol(name) => *attr = Attribute::string(name.as_ref()),
        Attribute::Array(items) if key == "called_computations" => {
            items.iter_mut().for_each(|item| spell("", item));
        }
        Attribute::Int(version, _) if key == "api_version" => {
            *attr = Attribute::dialect("vhlo.api_version", version.to_string());
        }
        _ => {}
    }
}

/// Returns the parameters of an attribute. Parses its text if that has not been done.
pub(super) fn params(d: &DialectAttr) -> Result<AttrDict, String> {
    if !d.params.is_empty() || d.text.is_empty() {
        return Ok(d.params.clone());
    }
    let text = format!("#{}<{}>", d.name, d.text);
    match text.parse::<Attribute>() {
        Ok(Attribute::Dialect(d)) => Ok(d.params.clone()),
        _ => Err(format!("{text} is not understood")),
    }
}

/// Splits an attribute into several attributes of VHLO.
fn split(attrs: &mut AttrDict, key: &str, parts: &[&str]) -> Result<(), String> {
    let Some(attr) = attrs.remove(key) else { return Ok(()) };
    let Attribute::Dialect(d) = &attr else { return Err(format!("attribute `{key}` is {attr}")) };
    let mut params = params(d)?;
    for part in parts {
        let value = match params.remove(part) {
            Some(Attribute::Int(value, _)) => Attribute::Int(value, IntKind::Typed(DType::S64)),
            Some(value) => value.as_i64_list().map_or(value, |values| list(&values)),
            None if *part == "index_vector_dim" => Attribute::i64(0),
            None => list(&[]),
        };
        attrs.insert((*part).to_owned(), value);
    }
    match params.keys().next() {
        Some(key) => Err(format!("artifacts have no attribute `{key}`")),
        None => Ok(()),
    }
}

/// Splits `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` into the numbers of the dimensions.
fn convolution(attrs: &mut AttrDict) -> Result<(), String> {
    let Some(attr) = attrs.remove("dimension_numbers") else { return Ok(()) };
    let Attribute::Dialect(d) = &attr else { return Err(format!("attribute `dimension_numbers` is {attr}")) };
    let wrong = || format!("the dimension numbers {} are not understood", d.text);
    let (inputs, output) = d.text.split_once("->").ok_or_else(wrong)?;
    let (lhs, rhs) = inputs.split_once("]x[").ok_or_else(wrong)?;
    let sides = [(lhs, ["b", "f"]), (rhs, ["i", "o"]), (output, ["b", "f"])];
    // Each side has three names: one for each of the two letters, and one for the digits.
    for ((side, letters), keys) in sides.into_iter().zip(CONVOLUTION.chunks(3)) {
        let marks: Vec<&str> = side.trim_matches(['[', ']', ' ']).split(',').map(str::trim).collect();
        let place = |mark: &str| marks.iter().position(|m| *m == mark).map(|at| at as i64).ok_or_else(wrong);
        for (letter, key) in letters.iter().zip(keys) {
            attrs.insert((*key).to_owned(), Attribute::i64(place(letter)?));
        }
        let numbers = (0..marks.len().saturating_sub(2)).map(|i| place(&i.to_string()));
        attrs.insert(keys[2].to_owned(), list(&numbers.collect::<Result<Vec<i64>, String>>()?));
    }
    Ok(())
}

/// Splits a channel into its number, and for `send` and `recv` its kind.
fn channel(attrs: &mut AttrDict, base: &str) -> Result<(), String> {
    let Some(Attribute::Dialect(d)) = attrs.remove("channel_handle") else { return Ok(()) };
    let params = params(&d)?;
    let number = |key: &str| params.get(key).and_then(Attribute::as_i64).unwrap_or(0);
    attrs.insert("channel_id".to_owned(), Attribute::i64(number("handle")));
    if matches!(base, "send" | "recv") {
        attrs.insert("channel_type".to_owned(), Attribute::i64(number("type")));
    }
    Ok(())
}

/// Returns VHLO's value for an attribute that StableHLO leaves out.
fn default(base: &str, key: &str, attrs: &AttrDict) -> Option<Attribute> {
    let rank = |key: &str| attrs.get(key).and_then(Attribute::as_i64_list).map(|l| l.len());
    let window = || match base {
        "convolution" | "dynamic_conv" => rank("input_spatial_dimensions"),
        _ => rank("window_dimensions"),
    };
    Some(match key {
        "channel_id" | "channel_type" => Attribute::i64(0),
        "version" => Attribute::Int(0, IntKind::Typed(DType::S32)),
        "dimension" if base == "sort" => Attribute::i64(-1),
        "has_dynamic_root"
        | "has_side_effect"
        | "indices_are_sorted"
        | "is_host_transfer"
        | "is_stable"
        | "lower"
        | "unique_indices"
        | "use_global_device_ids" => Attribute::Bool(false),
        "compare_type" => Attribute::dialect("stablehlo.comparison_type", "NOTYPE"),
        "composite_attributes" => Attribute::Dict(AttrDict::new()),
        "backend_config" | "infeed_config" | "outfeed_config" => Attribute::string(""),
        "api_version" => Attribute::dialect("vhlo.api_version", "1"),
        "called_computations"
        | "operand_layouts"
        | "result_layouts"
        | "output_operand_aliases"
        | "result_tilings"
        | "layout" => Attribute::Array(Vec::new()),
        "precision_config" => Attribute::Array(vec![Attribute::dialect("stablehlo.precision", "DEFAULT"); 2]),
        "known_expanding_dimensions"
        | "known_nonexpanding_dimensions"
        | "operand_batching_dims"
        | "start_indices_batching_dims"
        | "input_batching_dims"
        | "scatter_indices_batching_dims" => list(&[]),
        "source_target_pairs" => Attribute::Dense(Literal::zeros(DType::S64, [0, 2])),
        "window_strides" | "lhs_dilation" | "rhs_dilation" | "base_dilations" | "window_dilations" => {
            list(&vec![1; window()?])
        }
        "padding" if base != "dynamic_conv" => Attribute::Dense(Literal::zeros(DType::S64, [window()?, 2])),
        "window_reversal" => Attribute::Dense(Literal::zeros(DType::Pred, [window()?])),
        _ => return None,
    })
}
