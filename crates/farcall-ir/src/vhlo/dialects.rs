//! Decodes the attributes and types of an artifact, each by the dialect that defines it.

use super::table::{Decoders, Table};
use super::ty::Ty;
use super::{attr, builtin, plain, shardy, types};
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Entry, Reading};

/// Decoders for all supported dialects.
pub(super) const DECODERS: Decoders = Decoders { attr: attribute, ty, location: builtin::location };

fn attribute<'a>(table: &mut Table<'_, 'a>, entry: &Entry, from: &mut Cursor<'a>) -> Reading<Attribute> {
    match table.file.dialect(entry) {
        _ if !entry.custom => attr::of_text(table, from),
        "vhlo" => attr::read(table, from),
        "builtin" => builtin::attr(table, from),
        "sdy" => shardy::read(table, from),
        "stablehlo" => plain::attr(table, from),
        dialect => Err(unsupported(from, "an attribute", dialect)),
    }
}

fn ty<'a>(table: &mut Table<'_, 'a>, entry: &Entry, from: &mut Cursor<'a>) -> Reading<Ty> {
    match table.file.dialect(entry) {
        _ if !entry.custom => types::of_text(from),
        "vhlo" => types::read(table, from),
        "builtin" => builtin::ty(table, from),
        "stablehlo" => plain::ty(from),
        dialect => Err(unsupported(from, "a type", dialect)),
    }
}

fn unsupported(from: &Cursor<'_>, what: &str, dialect: &str) -> crate::bytecode::Error {
    from.error("unsupported", format!("{what} of dialect {dialect} in a custom encoding"))
}
