//! Decodes Shardy's attributes, of the dialect `sdy`, into their text.

use std::fmt::Write;

use super::attr::written;
use super::table::Table;
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Reading};
use crate::sharding::is_plain;

const MANUAL_AXES: u64 = 0;
const MESH_AXIS: u64 = 1;
const MESH: u64 = 2;
const SUB_AXIS: u64 = 3;
const AXIS_REF: u64 = 4;
const DIMENSION: u64 = 5;
const SHARDING: u64 = 6;
const PER_VALUE: u64 = 7;
const DIMENSION_MAPPING: u64 = 8;
const TENSOR_MAPPING: u64 = 9;
const RULE: u64 = 10;
const SHARDING_WITH_UNREDUCED: u64 = 15;
const PER_VALUE_WITH_UNREDUCED: u64 = 16;

// Internal names for the parts of shardings, which never appear by themselves in text.
const AXIS_PART: &str = "sdy.mesh_axis";
const SUB_AXIS_PART: &str = "sdy.sub_axis_info";
const AXIS_REF_PART: &str = "sdy.axis_ref";
const DIMENSION_PART: &str = "sdy.dimension_sharding";
const SHARDING_NAME: &str = "sdy.sharding";
const DIMENSION_MAPPING_PART: &str = "sdy.dim_mapping";
const TENSOR_MAPPING_PART: &str = "sdy.tensor_mapping";

/// Decodes an attribute of Shardy.
pub(super) fn read<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    match from.number()? {
        MANUAL_AXES => {
            let names = from.list(|from| {
                let at = *from;
                let name = table.attr(from)?;
                let plain = name.as_str().filter(|name| is_plain(name));
                match plain {
                    Some(name) => Ok(format!("\"{name}\"")),
                    None => at.damaged(format!("the name of an axis is expected, not {name}")),
                }
            })?;
            written("sdy.manual_axes", format!("{{{}}}", names.join(", ")), &before)
        }
        MESH_AXIS => {
            let name = axis_name(table, from)?;
            written(AXIS_PART, format!("\"{name}\"={}", from.signed()?), &before)
        }
        MESH => {
            let axes = parts(table, from, AXIS_PART)?;
            let ids = from.list(Cursor::signed)?;
            let ids = if ids.is_empty() { String::new() } else { format!(", device_ids={ids:?}") };
            written("sdy.mesh", format!("[{axes}]{ids}"), &before)
        }
        SUB_AXIS => written(SUB_AXIS_PART, format!("({}){}", from.signed()?, from.signed()?), &before),
        AXIS_REF => {
            let name = axis_name(table, from)?;
            let part =
                optional(table, from, SUB_AXIS_PART)?.map_or_else(String::new, |part| format!(":{part}"));
            written(AXIS_REF_PART, format!("\"{name}\"{part}"), &before)
        }
        DIMENSION => {
            let mut axes = parts(table, from, AXIS_REF_PART)?;
            if from.byte()? == 0 {
                axes.push_str(if axes.is_empty() { "?" } else { ", ?" });
            }
            let (priority, present) = from.flagged()?;
            let priority = if present { format!("p{priority}") } else { String::new() };
            written(DIMENSION_PART, format!("{{{axes}}}{priority}"), &before)
        }
        SHARDING => sharding(table, from, false),
        SHARDING_WITH_UNREDUCED => sharding(table, from, true),
        PER_VALUE | PER_VALUE_WITH_UNREDUCED => {
            let shardings = from.list(|from| part(table, from, SHARDING_NAME))?;
            let shardings: Vec<String> = shardings.into_iter().map(|s| format!("<{s}>")).collect();
            written("sdy.sharding_per_value", format!("[{}]", shardings.join(", ")), &before)
        }
        DIMENSION_MAPPING => {
            let factors = from.list(factor)?;
            written(DIMENSION_MAPPING_PART, factors.concat(), &before)
        }
        TENSOR_MAPPING => written(TENSOR_MAPPING_PART, parts(table, from, DIMENSION_MAPPING_PART)?, &before),
        RULE => rule(table, from),
        code => Err(before.error("unsupported", format!("Shardy's attributes with code {code}"))),
    }
}

/// Decodes a sharding: a mesh, the shardings of the dimensions, and further axes.
fn sharding<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>, has_unreduced: bool) -> Reading<Attribute> {
    let before = *from;
    let mesh = match table.attr(from)? {
        Attribute::Symbol(name) => Attribute::Symbol(name).to_string(),
        Attribute::Dialect(d) if d.name == "sdy.mesh" => format!("mesh<{}>", d.text),
        other => return before.damaged(format!("a mesh is expected, not {other}")),
    };
    let mut text = format!("{mesh}, [{}]", parts(table, from, DIMENSION_PART)?);
    for (key, present) in [("replicated", true), ("unreduced", has_unreduced)] {
        let axes = if present { parts(table, from, AXIS_REF_PART)? } else { String::new() };
        if !axes.is_empty() {
            let _ = write!(text, ", {key}={{{axes}}}");
        }
    }
    table.copied(text.len(), &before)?;
    written(SHARDING_NAME, text, &before)
}

/// Decodes a propagation rule: the sizes of factors, the factors of each dimension of operands and results,
/// and the factors with special roles.
fn rule<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let sizes = from.list(Cursor::signed)?;
    let mut tensors = |from: &mut Cursor<'a>| {
        let tensors = from.list(|from| part(table, from, TENSOR_MAPPING_PART))?;
        Ok(tensors.into_iter().map(|t| format!("[{t}]")).collect::<Vec<_>>().join(", "))
    };
    let (operands, results) = (tensors(from)?, tensors(from)?);
    let sizes: Vec<String> =
        sizes.iter().zip(0..).map(|(size, i)| format!("{}={size}", factor_name(i))).collect();
    let mut text = format!("({operands})->({results}) {{{}}}", sizes.join(", "));
    for key in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
        let factors = from.list(factor)?;
        if !factors.is_empty() {
            let _ = write!(text, " {key}={{{}}}", factors.join(", "));
        }
    }
    if from.byte()? != 0 {
        text.push_str(", custom");
    }
    table.copied(text.len(), &before)?;
    written("sdy.op_sharding_rule", text, &before)
}

/// Decodes a factor into its letter.
fn factor(from: &mut Cursor<'_>) -> Reading<String> {
    let before = *from;
    match u64::try_from(from.signed()?) {
        Ok(i) => Ok(factor_name(i)),
        Err(_) => before.damaged("a factor with a negative number"),
    }
}

/// Name of a factor: `i`, `j`, … `z`, `z_1`, `z_2`, …
fn factor_name(i: u64) -> String {
    match i {
        0..=17 => char::from(b'i' + i as u8).to_string(),
        _ => format!("z_{}", i - 17),
    }
}

/// Decodes a list of parts of one kind, and joins their texts.
fn parts<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>, kind: &str) -> Reading<String> {
    Ok(from.list(|from| part(table, from, kind))?.join(", "))
}

/// Decodes a part of this kind into its text.
fn part<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>, kind: &str) -> Reading<String> {
    let before = *from;
    let attr = table.attr(from)?;
    text_of(table, &attr, kind, &before)
}

fn optional<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>, kind: &str) -> Reading<Option<String>> {
    let before = *from;
    let (i, present) = from.flagged()?;
    if !present {
        return Ok(None);
    }
    let attr = table.attr_at(before.check_index(i, table.file.attrs.len(), "attribute")?, &before)?;
    text_of(table, &attr, kind, &before).map(Some)
}

fn text_of<'a>(table: &mut Table<'_, 'a>, attr: &Attribute, kind: &str, at: &Cursor<'a>) -> Reading<String> {
    let text = match attr {
        Attribute::Dialect(d) if d.name == kind => d.text.clone(),
        Attribute::Sharding(sharding) if kind == SHARDING_NAME => sharding.to_string(),
        other => return at.damaged(format!("{kind} is expected, not {other}")),
    };
    table.copied(text.len(), at)?;
    Ok(text)
}

/// Decodes the name of an axis. A name that would need escapes is an error.
fn axis_name<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<&'a str> {
    let before = *from;
    let name = table.file.string(from)?;
    table.copied(name.len(), &before)?;
    match std::str::from_utf8(name) {
        Ok(name) if is_plain(name) => Ok(name),
        _ => before.damaged("an axis has a name that would have to be escaped"),
    }
}
