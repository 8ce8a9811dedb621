//! Attributes of operations that create or move elements.

use super::{Bad, Fields, Put};
use crate::attr::Attribute;
use crate::op::{Op, Pad, Slice};

pub(crate) fn read_constant(f: &mut Fields<'_>) -> Result<Op, Bad> {
    match f.required("value")? {
        Attribute::Dense(literal) => Ok(Op::Constant(literal)),
        Attribute::Elided(ty) => Ok(Op::Elided(ty)),
        other => Err(format!("attribute `value` must be dense<…> of a tensor, not {other}")),
    }
}

pub(crate) fn read_slice(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let start = f.usizes("start_indices")?;
    let limit = f.usizes("limit_indices")?;
    let strides = f.usizes_or("strides", start.len(), 1)?;
    Ok(Op::Slice(Slice { start, limit, strides }))
}

pub(crate) fn write_slice(op: &Slice, put: &mut Put<'_>) {
    put("start_indices", Attribute::usize_array(&op.start));
    put("limit_indices", Attribute::usize_array(&op.limit));
    put("strides", Attribute::usize_array(&op.strides));
}

pub(crate) fn read_pad(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Pad(Pad {
        low: f.i64s("edge_padding_low")?,
        high: f.i64s("edge_padding_high")?,
        interior: f.i64s("interior_padding")?,
    }))
}

pub(crate) fn write_pad(op: &Pad, put: &mut Put<'_>) {
    put("edge_padding_low", Attribute::i64_array(&op.low));
    put("edge_padding_high", Attribute::i64_array(&op.high));
    put("interior_padding", Attribute::i64_array(&op.interior));
}
