//! Attributes of control flow.

use super::{Bad, Fields, Put, Symbol, collective, i32_attr};
use crate::attr::{AttrDict, Attribute};
use crate::op::{Composite, Endpoint, Op, Transfer};

pub(crate) fn read_composite(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let attrs = match f.take("composite_attributes") {
        None => AttrDict::new(),
        Some(Attribute::Dict(d)) => d,
        Some(other) => {
            return Err(format!("attribute `composite_attributes` must be a dictionary, not {other}"));
        }
    };
    Ok(Op::Composite(Box::new(Composite {
        name: f.string("name")?,
        attrs,
        decomposition: f.func("decomposition")?,
        version: f.i64_or("version", 0)?,
    })))
}

pub(crate) fn write_composite(op: &Composite, symbol: Symbol<'_>, put: &mut Put<'_>) {
    put("name", Attribute::string(&op.name));
    if !op.attrs.is_empty() {
        put("composite_attributes", Attribute::Dict(op.attrs.clone()));
    }
    put("decomposition", symbol(op.decomposition));
    if op.version != 0 {
        put("version", i32_attr(op.version));
    }
}

pub(crate) fn read_infeed(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let config = read_config(f, "infeed_config")?;
    Ok(Op::Transfer(Box::new(Transfer::Infeed { config, layout: f.take("layout") })))
}

pub(crate) fn read_outfeed(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Transfer(Box::new(Transfer::Outfeed { config: read_config(f, "outfeed_config")? })))
}

pub(crate) fn read_send(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Transfer(Box::new(Transfer::Send(read_endpoint(f)?))))
}

pub(crate) fn read_recv(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Transfer(Box::new(Transfer::Recv(read_endpoint(f)?))))
}

/// Reads a string; empty if absent.
fn read_config(f: &mut Fields<'_>, key: &str) -> Result<String, Bad> {
    if f.attrs.contains_key(key) { f.string(key) } else { Ok(String::new()) }
}

fn read_endpoint(f: &mut Fields<'_>) -> Result<Endpoint, Bad> {
    let channel = collective::read_channel(f)?.ok_or("attribute `channel_handle` is missing")?;
    let key = "source_target_pairs";
    let pairs = if f.attrs.contains_key(key) { Some(collective::read_table(f, key)?) } else { None };
    Ok(Endpoint { channel, is_host: f.flag("is_host_transfer")?, pairs })
}

pub(crate) fn write_transfer(op: &Transfer, put: &mut Put<'_>) {
    let mut config = |key: &str, text: &str| {
        if !text.is_empty() {
            put(key, Attribute::string(text));
        }
    };
    match op {
        Transfer::Infeed { config: text, layout } => {
            config("infeed_config", text);
            if let Some(layout) = layout {
                put("layout", layout.clone());
            }
        }
        Transfer::Outfeed { config: text } => config("outfeed_config", text),
        Transfer::Send(end) | Transfer::Recv(end) => {
            collective::write_channel(Some(end.channel), put);
            if end.is_host {
                put("is_host_transfer", Attribute::Bool(true));
            }
            if let Some(pairs) = &end.pairs {
                put("source_target_pairs", Attribute::Dense(pairs.clone()));
            }
        }
    }
}
