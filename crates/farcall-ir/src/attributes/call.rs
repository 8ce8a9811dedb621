//! Attributes of custom calls.

use std::sync::Arc;

use farcall_sig::DType;

use super::fields::to_usizes;
use super::indexing::{list, number};
use super::{Bad, Fields, Put, Symbol, i32_attr};

use crate::attr::{AttrDict, Attribute};
use crate::literal::Literal;
use crate::module::FuncId;
use crate::op::{CallConfig, CustomCall, Op, OutputAlias};
use crate::types::{FuncType, Type};

pub(crate) fn read_custom_call(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let api_version = match f.take("api_version") {
        None => None,
        Some(a) => {
            let v = a.as_i64().and_then(|v| i32::try_from(v).ok());
            Some(v.ok_or_else(|| format!("attribute `api_version` must be a 32-bit integer, not {a}"))?)
        }
    };
    Ok(Op::CustomCall(Box::new(CustomCall {
        target: f.string("call_target_name")?,
        api_version,
        config: read_config(f, api_version)?,
        has_side_effect: f.flag("has_side_effect")?,
        operand_layouts: read_layouts(f, "operand_layouts")?,
        result_layouts: read_layouts(f, "result_layouts")?,
        aliases: read_aliases(f)?,
        called_computations: read_called(f)?,
        types: read_types(f)?,
    })))
}

/// Reads the configuration from `mhlo.backend_config`, which must be a dictionary, or otherwise from
/// `backend_config`, a dictionary or a string. For a typed target, a string is parsed as a dictionary, as in
/// HLO.
fn read_config(f: &mut Fields<'_>, api_version: Option<i32>) -> Result<CallConfig, Bad> {
    let plain = f.take("backend_config");
    match f.take("mhlo.backend_config") {
        Some(Attribute::Dict(d)) => return Ok(CallConfig::Dict(d)),
        Some(other) => {
            return Err(format!("attribute `mhlo.backend_config` must be a dictionary, not {other}"));
        }
        None => {}
    }
    match plain {
        None => Ok(CallConfig::Absent),
        Some(Attribute::Dict(d)) => Ok(CallConfig::Dict(d)),
        Some(Attribute::String(text)) if text.is_empty() => Ok(CallConfig::Absent),
        Some(Attribute::String(text)) => {
            let written = std::str::from_utf8(&text).ok().filter(|_| api_version == Some(4));
            match written.and_then(f.parse) {
                Some(Attribute::Dict(d)) => Ok(CallConfig::Dict(d)),
                _ => Ok(CallConfig::Text(text)),
            }
        }
        Some(other) => {
            Err(format!("attribute `backend_config` must be a string or a dictionary, not {other}"))
        }
    }
}

fn read_layouts(f: &mut Fields<'_>, key: &str) -> Result<Option<Vec<Vec<usize>>>, Bad> {
    match f.take(key) {
        None => Ok(None),
        Some(Attribute::Array(items)) => {
            items.iter().map(|a| to_usizes(key, a)).collect::<Result<_, _>>().map(Some)
        }
        Some(other) => Err(format!("attribute `{key}` must be a list of layouts, not {other}")),
    }
}

fn read_aliases(f: &mut Fields<'_>) -> Result<Vec<OutputAlias>, Bad> {
    let key = "output_operand_aliases";
    let items = match f.take(key) {
        None => return Ok(Vec::new()),
        Some(Attribute::Array(items)) => items,
        Some(other) => return Err(format!("attribute `{key}` must be a list, not {other}")),
    };
    let one = |attr: &Attribute| match attr {
        Attribute::Dialect(d) if d.name == "stablehlo.output_operand_alias" => {
            let mut p: AttrDict = d.params.clone();
            Ok(OutputAlias {
                output_tuple_indices: list(&mut p, "output_tuple_indices")?,
                operand_index: number(&mut p, "operand_index")?,
                operand_tuple_indices: list(&mut p, "operand_tuple_indices")?,
            })
        }
        other => Err(format!("attribute `{key}` must hold #stablehlo.output_operand_alias<…>, not {other}")),
    };
    items.iter().map(one).collect()
}

/// Attribute of the middle form that records the types of a call in the original program.
const TYPES: &str = "farcall.types";

fn read_types(f: &mut Fields<'_>) -> Result<Option<Arc<FuncType>>, Bad> {
    match f.take(TYPES) {
        None => Ok(None),
        Some(Attribute::Type(Type::Function(types))) => Ok(Some(types)),
        Some(other) => Err(format!("attribute `{TYPES}` must be the type of a function, not {other}")),
    }
}

fn read_called(f: &mut Fields<'_>) -> Result<Vec<FuncId>, Bad> {
    let key = "called_computations";
    match f.take(key) {
        None => Ok(Vec::new()),
        Some(Attribute::Array(items)) => items
            .iter()
            .map(|a| a.as_symbol().map(|name| f.symbols.func(name)))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("attribute `{key}` must be a list of names")),
        Some(other) => Err(format!("attribute `{key}` must be a list of names, not {other}")),
    }
}

pub(crate) fn write_custom_call(op: &CustomCall, symbol: Symbol<'_>, put: &mut Put<'_>) {
    put("call_target_name", Attribute::string(&op.target));
    if let Some(version) = op.api_version {
        put("api_version", i32_attr(i64::from(version)));
    }
    match &op.config {
        CallConfig::Absent => {}
        CallConfig::Text(text) => put("backend_config", Attribute::String(text.clone())),
        CallConfig::Dict(d) if op.api_version == Some(4) => put("backend_config", Attribute::Dict(d.clone())),
        CallConfig::Dict(d) => put("mhlo.backend_config", Attribute::Dict(d.clone())),
    }
    if op.has_side_effect {
        put("has_side_effect", Attribute::Bool(true));
    }
    for (key, layouts) in [("operand_layouts", &op.operand_layouts), ("result_layouts", &op.result_layouts)] {
        if let Some(layouts) = layouts {
            let layouts = layouts.iter().map(|l| {
                let dims: Vec<i64> = l.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
                Attribute::DenseIndex(Literal::from_slice(DType::S64, [dims.len()], &dims))
            });
            put(key, Attribute::Array(layouts.collect()));
        }
    }
    if !op.aliases.is_empty() {
        let alias = |a: &OutputAlias| {
            let text = format!(
                "output_tuple_indices = {:?}, operand_index = {}, operand_tuple_indices = {:?}",
                a.output_tuple_indices, a.operand_index, a.operand_tuple_indices
            );
            Attribute::dialect("stablehlo.output_operand_alias", text)
        };
        put("output_operand_aliases", Attribute::Array(op.aliases.iter().map(alias).collect()));
    }
    if let Some(types) = &op.types {
        put(TYPES, Attribute::Type(Type::Function(types.clone())));
    }
    if !op.called_computations.is_empty() {
        let names = op.called_computations.iter().map(|f| symbol(*f));
        put("called_computations", Attribute::Array(names.collect()));
    }
}
