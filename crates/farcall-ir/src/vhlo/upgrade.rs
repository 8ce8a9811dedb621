//! Converts VHLO's attributes to StableHLO's: joins attributes that StableHLO has as one, renames others, and
//! removes defaults, which VHLO always writes.
//!
//! Attributes that older versions of an operation lack get their default in [`crate::attributes`].

use std::sync::Arc;

use crate::attr::{AttrDict, Attribute, DialectAttr};

type Upgraded = Result<(), String>;

/// Converts the attributes of VHLO's operation `base` to StableHLO's attributes.
///
/// # Errors
/// A sentence that describes a problem with an attribute.
pub(super) fn upgrade(base: &str, attrs: &mut AttrDict) -> Upgraded {
    for (_, key, default) in DEFAULTS.iter().filter(|(op, ..)| op.is_empty() || *op == base) {
        if attrs.get(key).is_some_and(|attr| default.is(attr)) {
            attrs.remove(key);
        }
    }
    match base {
        "call" => symbol(attrs, "callee"),
        "composite" => symbol(attrs, "decomposition"),
        "custom_call" => custom_call(attrs),
        "dot_general" => dot_general(attrs),
        "convolution" => join(attrs, "dimension_numbers", "conv", CONVOLUTION, convolution_text),
        "dynamic_conv" => {
            // Until 0.19, the attribute duplicated the operand.
            attrs.remove("padding");
            join(attrs, "dimension_numbers", "conv", CONVOLUTION, convolution_text)
        }
        "gather" | "dynamic_gather" => {
            join(attrs, "dimension_numbers", "gather", GATHER, |_| Ok(String::new()))
        }
        "scatter" => join(attrs, "scatter_dimension_numbers", "scatter", SCATTER, |_| Ok(String::new())),
        "dynamic_broadcast_in_dim" => {
            ["known_expanding_dimensions", "known_nonexpanding_dimensions"]
                .iter()
                .for_each(|key| array(attrs, key));
            Ok(())
        }
        "send" | "recv" => {
            let (id, kind) = (number(attrs, "channel_id")?, number(attrs, "channel_type")?);
            channel(attrs, id, kind);
            Ok(())
        }
        "all_gather"
        | "all_reduce"
        | "all_to_all"
        | "collective_permute"
        | "collective_broadcast"
        | "collective_reduce"
        | "reduce_scatter"
            if attrs.contains_key("channel_id") =>
        {
            let id = number(attrs, "channel_id")?;
            channel(attrs, id, 0);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The default value of an attribute.
enum DefaultValue {
    Int(i64),
    Empty,
    /// A list whose items are all this word.
    AllWords(&'static str),
    /// This word.
    Word(&'static str),
}

/// Operation (any if empty), attribute, and default value. Defaults that [`crate::attributes`] recognizes in
/// VHLO's form are not listed.
static DEFAULTS: &[(&str, &str, DefaultValue)] = &[
    ("", "channel_id", DefaultValue::Int(0)),
    ("", "precision_config", DefaultValue::AllWords("DEFAULT")),
    ("compare", "compare_type", DefaultValue::Word("NOTYPE")),
    ("custom_call", "api_version", DefaultValue::Int(1)),
    ("custom_call", "backend_config", DefaultValue::Empty),
    ("custom_call", "called_computations", DefaultValue::Empty),
    ("custom_call", "output_operand_aliases", DefaultValue::Empty),
    ("custom_call", "result_tilings", DefaultValue::Empty),
    ("dynamic_broadcast_in_dim", "known_expanding_dimensions", DefaultValue::Empty),
    ("dynamic_broadcast_in_dim", "known_nonexpanding_dimensions", DefaultValue::Empty),
    ("infeed", "layout", DefaultValue::Empty),
    ("recv", "source_target_pairs", DefaultValue::Empty),
    ("send", "source_target_pairs", DefaultValue::Empty),
    ("sort", "dimension", DefaultValue::Int(-1)),
];

impl DefaultValue {
    fn is(&self, attr: &Attribute) -> bool {
        match self {
            DefaultValue::Int(v) => attr.as_i64() == Some(*v),
            DefaultValue::Empty => match attr {
                Attribute::Array(items) => items.is_empty(),
                Attribute::Dict(entries) => entries.is_empty(),
                Attribute::String(text) => text.is_empty(),
                Attribute::Dense(l) | Attribute::DenseArray(l) | Attribute::DenseIndex(l) => l.is_empty(),
                _ => false,
            },
            DefaultValue::AllWords(word) => match attr {
                Attribute::Array(items) => items.iter().all(|item| is_word(item, word)),
                _ => false,
            },
            DefaultValue::Word(word) => is_word(attr, word),
        }
    }
}

fn is_word(attr: &Attribute, word: &str) -> bool {
    matches!(attr, Attribute::Dialect(d) if d.text == word)
}

fn number(attrs: &mut AttrDict, key: &str) -> Result<i64, String> {
    match attrs.remove(key) {
        // Absent, or a default of 0 that has been removed.
        None => Ok(0),
        Some(attr) => {
            attr.as_i64().ok_or_else(|| format!("attribute `{key}` must be an integer, not {attr}"))
        }
    }
}

fn numbers(attrs: &mut AttrDict, key: &str) -> Result<Vec<i64>, String> {
    match attrs.remove(key) {
        None => Err(format!("attribute `{key}` is missing")),
        Some(Attribute::Dense(l)) if l.is_empty() => Ok(Vec::new()),
        Some(attr) => attr
            .as_i64_list()
            .ok_or_else(|| format!("attribute `{key}` must be a list of integers, not {attr}")),
    }
}

/// Converts a name, which is a string in VHLO, to a symbol.
fn symbol(attrs: &mut AttrDict, key: &str) -> Upgraded {
    if let Some(attr) = attrs.get_mut(key) {
        *attr = to_symbol(key, attr)?;
    }
    Ok(())
}

fn to_symbol(key: &str, attr: &Attribute) -> Result<Attribute, String> {
    match attr {
        Attribute::String(_) => {
            let name = attr.as_str().ok_or_else(|| format!("attribute `{key}` is not UTF-8"))?;
            Ok(Attribute::Symbol(name.into()))
        }
        other => Ok(other.clone()),
    }
}

fn custom_call(attrs: &mut AttrDict) -> Upgraded {
    let none = |key: &str| attrs.get(key).is_none_or(|attr| DefaultValue::Empty.is(attr));
    if none("operand_layouts") && none("result_layouts") {
        attrs.remove("operand_layouts");
        attrs.remove("result_layouts");
    }
    if let Some(Attribute::Array(called)) = attrs.get_mut("called_computations") {
        for attr in called {
            *attr = to_symbol("called_computations", attr)?;
        }
    }
    Ok(())
}

/// Converts a list to StableHLO's kind of list.
fn array(attrs: &mut AttrDict, key: &str) {
    if let Some(attr) = attrs.get_mut(key)
        && let Attribute::Dense(literal) = attr
    {
        *attr = Attribute::DenseArray(literal.clone());
    }
}

fn channel(attrs: &mut AttrDict, handle: i64, kind: i64) {
    let params = [("handle".to_owned(), Attribute::i64(handle)), ("type".to_owned(), Attribute::i64(kind))];
    let name = "stablehlo.channel_handle".to_owned();
    let attr = DialectAttr { name, text: String::new(), params: AttrDict::from(params) };
    attrs.insert("channel_handle".to_owned(), Attribute::Dialect(Arc::new(attr)));
}

pub(super) const DOT: &[&str] = &[
    "lhs_batching_dimensions",
    "rhs_batching_dimensions",
    "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
];

pub(super) const GATHER: &[&str] = &[
    "offset_dims",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
    "index_vector_dim",
];

pub(super) const SCATTER: &[&str] = &[
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
];

pub(super) const CONVOLUTION: &[&str] = &[
    "input_batch_dimension",
    "input_feature_dimension",
    "input_spatial_dimensions",
    "kernel_input_feature_dimension",
    "kernel_output_feature_dimension",
    "kernel_spatial_dimensions",
    "output_batch_dimension",
    "output_feature_dimension",
    "output_spatial_dimensions",
];

/// Joins attributes that are parameters of a single attribute in StableHLO.
fn join(
    attrs: &mut AttrDict,
    key: &str,
    kind: &str,
    parts: &[&str],
    text: impl Fn(&mut AttrDict) -> Result<String, String>,
) -> Upgraded {
    let mut params: AttrDict =
        parts.iter().filter_map(|part| Some(((*part).to_owned(), attrs.remove(part)?))).collect();
    let text = text(&mut params)?;
    let attr = DialectAttr { name: format!("stablehlo.{kind}"), text, params };
    attrs.insert(key.to_owned(), Attribute::Dialect(Arc::new(attr)));
    Ok(())
}

/// Formats `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` from the numbers of the dimensions.
fn convolution_text(params: &mut AttrDict) -> Result<String, String> {
    let mut side = |one: &str, (first, second, spatial): (&str, &str, &str)| {
        let mut places = numbers(params, spatial)?
            .into_iter()
            .enumerate()
            .map(|(i, at)| (at, i.to_string()))
            .collect::<Vec<_>>();
        for (letter, key) in one.chars().zip([first, second]) {
            places.push((number(params, key)?, letter.to_string()));
        }
        places.sort();
        if places.iter().enumerate().any(|(i, (at, _))| i64::try_from(i) != Ok(*at)) {
            return Err(format!(
                "`{first}`, `{second}` and `{spatial}` do not number the dimensions of a tensor"
            ));
        }
        Ok(places.into_iter().map(|(_, letter)| letter).collect::<Vec<_>>().join(", "))
    };
    let lhs = side("bf", ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"))?;
    let kernel =
        ("kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions");
    let rhs = side("io", kernel)?;
    let out =
        side("bf", ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"))?;
    Ok(format!("[{lhs}]x[{rhs}]->[{out}]"))
}

/// Parameters of `#stablehlo.dot_algorithm`, in the order of its text.
pub(super) const ALGORITHM: &[&str] = &[
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
];

fn dot_general(attrs: &mut AttrDict) -> Upgraded {
    join(attrs, "dot_dimension_numbers", "dot", DOT, |_| Ok(String::new()))?;
    let parts: Vec<(&str, Attribute)> =
        ALGORITHM.iter().filter_map(|part| attrs.remove(part).map(|attr| (*part, attr))).collect();
    let is_none = |attr: &Attribute| matches!(attr, Attribute::Type(ty) if ty.to_string() == "none");
    if parts.iter().all(|(_, attr)| is_none(attr)) {
        return Ok(());
    }
    let text: Vec<String> = parts
        .iter()
        .map(|(key, attr)| match attr {
            Attribute::Int(value, _) => format!("{key} = {value}"),
            other => format!("{key} = {other}"),
        })
        .collect();
    let text = format!("#stablehlo.dot_algorithm<{}>", text.join(", "));
    match text.parse::<Attribute>() {
        Ok(attr) => {
            attrs.insert("algorithm".to_owned(), attr);
            Ok(())
        }
        Err(_) => Err(format!("{text} is not an algorithm")),
    }
}
