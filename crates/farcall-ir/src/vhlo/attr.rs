//! Decodes VHLO's attributes into the attributes of StableHLO text.

use std::fmt::Display;
use std::sync::Arc;

use farcall_sig::DType;

use super::dense;
use super::table::Table;
use super::ty::Ty;
use super::types::{self, BOUNDS, bounds_text, first_message};
use crate::attr::{AttrDict, Attribute, DialectAttr, IntKind};
use crate::bytecode::{Cursor, Reading};
use crate::scalar::Scalar;

/// An enumeration: its code in VHLO, the kind of attribute that represents it in StableHLO, and the keyword
/// for each of its numbers.
pub(super) struct Enumeration {
    pub(super) code: u64,
    pub(super) kind: &'static str,
    pub(super) words: &'static [&'static str],
}

pub(super) const fn words(code: u64, kind: &'static str, words: &'static [&'static str]) -> Enumeration {
    Enumeration { code, kind, words }
}

pub(super) static ENUMS: &[Enumeration] = &[
    words(3, "comparison_direction", &["EQ", "NE", "GE", "GT", "LE", "LT"]),
    words(4, "comparison_type", &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]),
    words(7, "fft_type", &["FFT", "IFFT", "RFFT", "IRFFT"]),
    words(11, "precision", &["DEFAULT", "HIGH", "HIGHEST"]),
    words(12, "rng_algorithm", &["DEFAULT", "THREE_FRY", "PHILOX"]),
    words(13, "rng_distribution", &["", "UNIFORM", "NORMAL"]),
    words(16, "transpose", &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]),
    words(19, "result_accuracy_mode", &["DEFAULT", "HIGHEST", "TOLERANCE"]),
];

pub(super) const ARRAY: u64 = 1;
pub(super) const BOOLEAN: u64 = 2;
pub(super) const API_VERSION: u64 = 5;
pub(super) const DICTIONARY: u64 = 6;
pub(super) const FLOAT: u64 = 8;
pub(super) const INTEGER: u64 = 9;
pub(super) const ALIAS: u64 = 10;
pub(super) const STRING: u64 = 14;
pub(super) const TENSOR: u64 = 15;
pub(super) const TYPE: u64 = 17;
pub(super) const TYPE_EXTENSIONS: u64 = 18;
pub(super) const RESULT_ACCURACY: u64 = 20;
const SUB_AXIS: u64 = 21;
const AXIS_REF: u64 = 22;
const MESH_GROUPS: u64 = 23;
const MESH_AXIS: u64 = 24;
const MESH: u64 = 25;

/// Newest API version of custom calls.
const MAX_API_VERSION: u64 = 4;

/// Decodes an attribute of VHLO.
pub(super) fn read<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let code = from.number()?;
    if let Some(kind) = ENUMS.iter().find(|e| e.code == code) {
        return word(kind, from, &before);
    }
    match code {
        ARRAY => Ok(Attribute::Array(from.list(|from| table.attr(from))?)),
        BOOLEAN => match from.number()? {
            0 => Ok(Attribute::Bool(false)),
            1 => Ok(Attribute::Bool(true)),
            other => before.damaged(format!("a boolean that is {other}")),
        },
        API_VERSION => match from.number()? {
            version @ 0..=MAX_API_VERSION => {
                Ok(Attribute::Int(i128::from(version), IntKind::Typed(DType::S32)))
            }
            other => Err(before.error("unsupported", format!("version {other} of custom calls"))),
        },
        DICTIONARY => dictionary(table, from),
        FLOAT => float(table, from),
        INTEGER => integer(table, from),
        ALIAS => alias(from),
        STRING => table.string(from),
        TENSOR => dense::read(table, from),
        TYPE => {
            let ty = table.ty(from)?;
            table.written(ty, from).map(Attribute::Type)
        }
        TYPE_EXTENSIONS => Ok(Attribute::dialect(BOUNDS, bounds_text(&from.list(Cursor::signed)?))),
        RESULT_ACCURACY => result_accuracy(table, from),
        SUB_AXIS => Ok(Attribute::dialect(
            "stablehlo.sub_axis_info",
            format!("({}){}", from.signed()?, from.signed()?),
        )),
        AXIS_REF => axis_ref(table, from),
        MESH_GROUPS => mesh_groups(table, from),
        MESH_AXIS => {
            let name = Attribute::string(table.name(from)?);
            written("stablehlo.mesh_axis", format!("name = {name}, size = {}", from.signed()?), &before)
        }
        MESH => mesh(table, from),
        _ => Err(before.error("unsupported", format!("a VHLO attribute with the unknown code {code}"))),
    }
}

/// Decodes a value of an enumeration.
pub(super) fn word(kind: &Enumeration, from: &mut Cursor<'_>, before: &Cursor<'_>) -> Reading<Attribute> {
    let value = from.size()?;
    match kind.words.get(value) {
        Some(word) if !word.is_empty() => Ok(keyword(kind.kind, word)),
        _ => Err(before.error("unsupported", format!("VHLO's {} has the unknown value {value}", kind.kind))),
    }
}

/// Returns the attribute `#stablehlo<kind WORD>`, as parsed from text.
fn keyword(kind: &str, word: &str) -> Attribute {
    let params = AttrDict::from([(word.to_owned(), Attribute::Unit)]);
    Attribute::Dialect(Arc::new(DialectAttr {
        name: format!("stablehlo.{kind}"),
        text: word.to_owned(),
        params,
    }))
}

/// Decodes an attribute that is stored as text.
pub(super) fn of_text<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let Ok(text) = std::str::from_utf8(from.terminated()?) else {
        return before.damaged("the text of an attribute is not UTF-8");
    };
    match text.parse::<Attribute>() {
        Ok(attr) => {
            let (depth, nodes) = measure(&attr);
            table.measured(depth, nodes, &before)?;
            Ok(attr)
        }
        Err(e) => before.damaged(format!("{text:?} is not an attribute: {}", first_message(&e))),
    }
}

/// Returns the nesting depth of an attribute and the number of nodes that a use of it costs.
fn measure(attr: &Attribute) -> (u32, usize) {
    let list = |items: &mut dyn Iterator<Item = &Attribute>| {
        items.fold((1, 1), |(depth, nodes): (u32, usize), item| {
            let (d, n) = measure(item);
            (depth.max(d + 1), nodes + n)
        })
    };
    match attr {
        Attribute::Array(items) => list(&mut items.iter()),
        Attribute::Dict(entries) => list(&mut entries.values()),
        Attribute::Dialect(d) => list(&mut d.params.values()),
        Attribute::Type(ty) => types::measure(ty),
        Attribute::Dense(l) | Attribute::DenseArray(l) | Attribute::DenseIndex(l) => {
            (1, 1 + l.byte_len().min(dense::MAX_EXPANDED_BYTES) / super::BYTES_PER_NODE)
        }
        _ => (1, 1),
    }
}

/// Returns the attribute `#name<text>`.
pub(super) fn written(name: &str, text: impl Display, at: &Cursor<'_>) -> Reading<Attribute> {
    let text = text.to_string();
    if text.is_empty() {
        return Ok(Attribute::dialect(name, text));
    }
    let text = format!("#{name}<{text}>");
    text.parse::<Attribute>().or_else(|e| at.damaged(format!("{text}: {}", first_message(&e))))
}

/// Decodes names and values. Each name must be unique.
pub(super) fn dictionary<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for _ in 0..from.count()? {
        let before = *from;
        let name = table.name(from)?;
        table.named(name.len(), &before)?;
        places.push(before);
        all.push((name, table.attr(from)?));
    }
    AttrDict::unique(all).map(Attribute::Dict).map_err(|(again, name)| {
        places[again].error("redefinition", format!("attribute `{name}` is given twice"))
    })
}

/// Decodes a type and the bits of a float of that type.
pub(super) fn float<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let dtype = table.element(from)?;
    if !dtype.is_float() {
        return before.damaged(format!("a floating-point number cannot have type {}", dtype.mlir()));
    }
    let bits = bits(dtype.bits(), from)?;
    Ok(Attribute::float(Scalar::from_bytes(dtype, &bits.to_le_bytes()).as_f64(), dtype))
}

/// Decodes a type and an integer of that type.
pub(super) fn integer<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    match table.ty(from)? {
        Ty::Index => Ok(Attribute::Int(i128::from(from.signed()?), IntKind::Index)),
        Ty::Element(dtype) if dtype.is_integer() || dtype.is_bool() => {
            let bits = bits(dtype.bits(), from)?;
            let value = match Scalar::from_bytes(dtype, &bits.to_le_bytes()) {
                Scalar::Bool(b) => return Ok(Attribute::Bool(b)),
                Scalar::Unsigned(v) => i128::from(v),
                other => i128::from(other.as_i64()),
            };
            Ok(Attribute::Int(value, IntKind::Typed(dtype)))
        }
        other => before.damaged(format!("an integer cannot have type {other}")),
    }
}

/// Decodes the bits of an element of this width: one byte, or a signed number.
fn bits(width: u32, from: &mut Cursor<'_>) -> Reading<u64> {
    if width <= 8 { Ok(u64::from(from.byte()?)) } else { Ok(from.signed()?.cast_unsigned()) }
}

pub(super) fn alias(from: &mut Cursor<'_>) -> Reading<Attribute> {
    let before = *from;
    let output = from.list(Cursor::signed)?;
    let operand = from.signed()?;
    let inner = from.list(Cursor::signed)?;
    let text = format!(
        "output_tuple_indices = {output:?}, operand_index = {operand}, operand_tuple_indices = {inner:?}"
    );
    written("stablehlo.output_operand_alias", text, &before)
}

/// Decodes absolute and relative tolerance, units in the last place, and the mode.
pub(super) fn result_accuracy<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let number = |from: &mut Cursor<'a>| Ok(f64::from_bits(from.signed()?.cast_unsigned()));
    let (atol, rtol) = (number(from)?, number(from)?);
    let ulps = from.signed()?;
    let mode = table.attr(from)?;
    let mut parts = Vec::new();
    for (name, value) in [("atol", atol), ("rtol", rtol)] {
        if value != 0.0 {
            let value = Attribute::float(value, DType::F64).to_string();
            parts.push(format!("{name} = {}", value.strip_suffix(" : f64").unwrap_or(&value)));
        }
    }
    if ulps != 0 {
        parts.push(format!("ulps = {ulps}"));
    }
    let Attribute::Dialect(mode) = mode else {
        return before.damaged("the mode of an accuracy is expected");
    };
    parts.push(format!("mode = #stablehlo.result_accuracy_mode<{}>", mode.text));
    written("stablehlo.result_accuracy", parts.join(", "), &before)
}

fn axis_ref<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let name = Attribute::string(table.name(from)?);
    let part = match from.number()? {
        0 => String::new(),
        1 => match table.attr(from)? {
            Attribute::Dialect(d) if d.name == "stablehlo.sub_axis_info" => {
                format!(", sub_axis_info = {}", d.text)
            }
            _ => return before.damaged("the part of an axis is expected"),
        },
        _ => return before.damaged("0 or 1 is expected"),
    };
    written("stablehlo.axis_ref", format!("name = {name}{part}"), &before)
}

/// Decodes replica groups that are given by mesh axes. The mesh is a name or an attribute.
fn mesh_groups<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let mesh = match table.attr(from)? {
        Attribute::String(name) => match std::str::from_utf8(&name) {
            Ok(name) => Attribute::Symbol(name.into()),
            Err(_) => return before.damaged("the name of a mesh is not UTF-8"),
        },
        other => other,
    };
    let axes = table.attr(from)?;
    let (mesh, axes) = (table.show(&mesh, &before)?, table.show(&axes, &before)?);
    written("stablehlo.replica_group_mesh_axes", format!("mesh = {mesh}, axes = {axes}"), &before)
}

fn mesh<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let axes = table.attr(from)?;
    let inner = *from;
    let (ids, present) = from.flagged()?;
    let ids = if present {
        let ids = inner.check_index(ids, table.file.attrs.len(), "attribute")?;
        let ids = table.attr_at(ids, &inner)?;
        format!(", device_ids = {}", table.show(&ids, &inner)?)
    } else {
        String::new()
    };
    let axes = table.show(&axes, &before)?;
    written("stablehlo.mesh", format!("axes = {axes}{ids}"), &before)
}
