//! Attributes of control flow.

use super::{Bad, Fields, Put, Symbol, i32_attr};
use crate::attr::{Attr, AttrDict};
use crate::op::{Composite, Op};

pub(in crate::text) fn read_composite(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let attrs = match f.take("composite_attributes") {
        None => AttrDict::new(),
        Some(Attr::Dict(d)) => d,
        Some(other) => return Err(format!("attribute `composite_attributes` is a dictionary, not {other}")),
    };
    Ok(Op::Composite(Box::new(Composite {
        name: f.string("name")?,
        attrs,
        decomposition: f.func("decomposition")?,
        version: f.i64_or("version", 0)?,
    })))
}

pub(in crate::text) fn write_composite(op: &Composite, symbol: Symbol<'_>, put: &mut Put<'_>) {
    put("name", Attr::string(&op.name));
    if !op.attrs.is_empty() {
        put("composite_attributes", Attr::Dict(op.attrs.clone()));
    }
    put("decomposition", symbol(op.decomposition));
    if op.version != 0 {
        put("version", i32_attr(op.version));
    }
}
