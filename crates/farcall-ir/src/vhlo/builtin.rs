//! Decodes MLIR's own attributes, types and locations.

use std::sync::Arc;

use farcall_sig::DType;

use super::table::Table;
use super::ty::Ty;
use super::{attr, dense, types};
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Reading, Resource};
use crate::module::Loc;
use crate::types::Type;

// Attributes.
const ARRAY: u64 = 0;
pub(super) const DICTIONARY: u64 = 1;
pub(super) const STRING: u64 = 2;
const STRING_WITH_TYPE: u64 = 3;
pub(super) const SYMBOL: u64 = 4;
const NESTED_SYMBOL: u64 = 5;
const TYPE: u64 = 6;
pub(super) const UNIT: u64 = 7;
const INTEGER: u64 = 8;
const FLOAT: u64 = 9;
const CALL_SITE: u64 = 10;
const FILE_LINE_COLUMN: u64 = 11;
const FUSED: u64 = 12;
const FUSED_WITH_METADATA: u64 = 13;
pub(super) const NAMED: u64 = 14;
pub(super) const UNKNOWN: u64 = 15;
const DENSE_RESOURCE: u64 = 16;
const DENSE_ARRAY: u64 = 17;
const DENSE: u64 = 18;
const DENSE_STRINGS: u64 = 19;
const SPARSE: u64 = 20;
const DISTINCT: u64 = 21;
const FILE_RANGE: u64 = 22;

/// Decodes an attribute of the dialect `builtin`.
pub(super) fn attr<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let code = from.number()?;
    match code {
        ARRAY => Ok(Attribute::Array(from.list(|from| table.attr(from))?)),
        DICTIONARY => attr::dictionary(table, from),
        STRING => table.string(from),
        STRING_WITH_TYPE => {
            let string = table.string(from)?;
            table.ty(from)?;
            Ok(string)
        }
        SYMBOL => Ok(Attribute::Symbol(table.name(from)?.into())),
        NESTED_SYMBOL => {
            let mut name = table.name(from)?;
            for part in from.list(|from| table.attr(from))? {
                let Attribute::Symbol(part) = part else { return before.damaged("a name is expected") };
                name.push_str("::@");
                name.push_str(&part);
            }
            Ok(Attribute::Symbol(name.into()))
        }
        TYPE => {
            let ty = table.ty(from)?;
            table.written(ty, from).map(Attribute::Type)
        }
        UNIT => Ok(Attribute::Unit),
        INTEGER => attr::integer(table, from),
        FLOAT => attr::float(table, from),
        CALL_SITE..=UNKNOWN | FILE_RANGE => {
            from.take(from.left())?;
            Ok(Attribute::dialect("builtin.loc", "unknown"))
        }
        DENSE_RESOURCE => {
            let ty = table.ty(from)?;
            let i = from.index(table.file.resources.len(), "resource")?;
            match table.file.resources[i] {
                Resource { blob: Some(blob), .. } => dense::of_raw(table, ty, blob, &before),
                Resource { key, .. } => {
                    let key = key.escape_ascii();
                    Err(before
                        .error("resource", format!("the artifact does not have the data of resource {key}")))
                }
            }
        }
        DENSE_ARRAY => {
            let dtype = table.element(from)?;
            let n = from.size()?;
            let len = from.size()?;
            let raw = from.take(len)?;
            let ty = Type::Tensor(crate::types::TensorType::new(dtype, [n]));
            match dense::of_raw(table, Ty::Whole(ty), raw, &before)? {
                Attribute::Dense(literal) => Ok(Attribute::DenseArray(literal)),
                other => Ok(other),
            }
        }
        DENSE => dense::read(table, from),
        DENSE_STRINGS | SPARSE | DISTINCT => Err(before
            .error("unsupported", "an attribute of strings or sparse elements, or a distinct attribute")),
        _ => Err(before.error("unsupported", format!("an MLIR attribute with the unknown code {code}"))),
    }
}

/// Decodes a location that is nested in `outer` locations. Returns its own depth, too.
pub(super) fn location<'a>(
    table: &mut Table<'_, 'a>,
    from: &mut Cursor<'a>,
    outer: u32,
) -> Reading<(u32, Option<Arc<Loc>>)> {
    let before = *from;
    let mut depth = 0;
    let mut child = |table: &mut Table<'_, 'a>, from: &mut Cursor<'a>| {
        let before = *from;
        let i = from.index(table.file.attrs.len(), "attribute")?;
        let (d, loc) = table.loc(i, outer + 1, &before)?;
        depth = depth.max(d);
        Ok(loc)
    };
    let known = |loc: Option<Arc<Loc>>| loc.unwrap_or_else(|| Arc::new(Loc::Unknown));
    let loc = match from.number()? {
        CALL_SITE => {
            let (callee, caller) = (child(table, from)?, child(table, from)?);
            Loc::CallSite(known(callee), known(caller))
        }
        FILE_LINE_COLUMN => {
            let file = text(table, from)?;
            Loc::File { file, line: small(from)?, column: small(from)? }
        }
        FILE_RANGE => {
            let file = text(table, from)?;
            let numbers = from.list(small)?;
            let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
            Loc::File { file, line: number(0), column: number(1) }
        }
        code @ (FUSED | FUSED_WITH_METADATA) => {
            let parts = from.list(|from| child(table, from))?;
            if code == FUSED_WITH_METADATA {
                table.attr(from)?;
            }
            Loc::Fused(parts.into_iter().map(known).collect())
        }
        NAMED => {
            let name = text(table, from)?;
            Loc::Name(name, child(table, from)?)
        }
        UNKNOWN => return Ok((0, None)),
        _ => return before.damaged("a location is expected"),
    };
    Ok((depth + 1, Some(Arc::new(loc))))
}

/// Decodes a string; bytes that are not UTF-8 become replacement characters.
fn text<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Arc<str>> {
    let before = *from;
    match table.attr(from)? {
        Attribute::String(text) => {
            table.copied(text.len(), &before)?;
            Ok(String::from_utf8_lossy(&text).into())
        }
        _ => before.damaged("a string is expected"),
    }
}

fn small(from: &mut Cursor<'_>) -> Reading<u32> {
    Ok(u32::try_from(from.number()?).unwrap_or(u32::MAX))
}

/// Returns the floating-point type with this code; `None` for integers and other types.
fn float(code: u64) -> Option<Ty> {
    use DType::*;
    Some(match code {
        3 => Ty::Element(BF16),
        4 => Ty::Element(F16),
        5 => Ty::Element(F32),
        6 => Ty::Element(F64),
        21 => Ty::Other("tf32"),
        22 => Ty::Element(F8E5M2),
        23 => Ty::Element(F8E4M3),
        24 => Ty::Element(F8E4M3FN),
        25 => Ty::Element(F8E5M2FNUZ),
        26 => Ty::Element(F8E4M3FNUZ),
        27 => Ty::Element(F8E4M3B11FNUZ),
        28 => Ty::Element(F8E3M4),
        29 => Ty::Element(F4E2M1FN),
        30 => Ty::Element(F6E2M3FN),
        31 => Ty::Element(F6E3M2FN),
        32 => Ty::Element(F8E8M0FNU),
        _ => return None,
    })
}

/// Decodes a type of the dialect `builtin`.
pub(super) fn ty<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let before = *from;
    let code = from.number()?;
    if let Some(ty) = float(code) {
        return Ok(ty);
    }
    match code {
        0 => {
            let (width, unsigned) = match from.number()? {
                n if n & 3 == 2 => (n >> 2, "u"),
                n => (n >> 2, ""),
            };
            match DType::from_mlir(&format!("{unsigned}i{width}")) {
                Some(dtype) => Ok(Ty::Element(dtype)),
                None => Err(before.error("unsupported", format!("the type {unsigned}i{width}"))),
            }
        }
        1 => Ok(Ty::Index),
        2 => types::function(table, from),
        9 => types::complex(table, from),
        12 => Ok(Ty::Other("none")),
        13 => types::tensor(table, from, false),
        14 => types::tensor(table, from, true),
        15 => Ok(Ty::Whole(Type::Tuple(types::value_types(table, from)?.into()))),
        7 | 8 | 10 | 11 | 16..=20 => Err(before.error(
            "unsupported",
            "a vector, a buffer, a tensor without a rank, or a float of 80 or 128 bits",
        )),
        _ => Err(before.error("unsupported", format!("an MLIR type with the unknown code {code}"))),
    }
}
