//! Attributes of calls: what a signature sees of what a program writes. (The way back is `Attr::try_from`.)

use farcall_ir::attr::IntKind;
use farcall_ir::memory;
use farcall_ir::{Attr, Scalar};
use farcall_sig::{AttrValue, ScalarType};

/// A program's attribute as a signature sees it, if it has a form there.
pub(crate) fn value(attr: &Attr) -> Option<AttrValue> {
    match attr {
        Attr::Bool(b) => Some(AttrValue::Bool(*b)),
        Attr::Int(value, IntKind::Typed(dtype)) => {
            Some(AttrValue::Int(*value, ScalarType::try_from(*dtype).ok()?))
        }
        Attr::Int(value, IntKind::Index) => Some(AttrValue::Int(*value, ScalarType::I64)),
        Attr::Float(bits, dtype) => {
            Some(AttrValue::Float(f64::from_bits(*bits), ScalarType::try_from(*dtype).ok()?))
        }
        Attr::String(_) => attr.as_str().map(|text| AttrValue::Str(text.to_owned())),
        Attr::Array(items) => {
            let items: Vec<AttrValue> = items.iter().map(value).collect::<Option<_>>()?;
            let ty = match items.first()? {
                AttrValue::Bool(_) => ScalarType::Bool,
                AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => *ty,
                _ => return None,
            };
            Some(AttrValue::Array(ty, items))
        }
        Attr::Dense(literal) | Attr::DenseArray(literal) | Attr::DenseIndex(literal) => {
            let ty = ScalarType::try_from(literal.dtype()).ok()?;
            // A few characters of text may stand for more elements than memory holds.
            memory::admit_scratch(literal.len().saturating_mul(2 * size_of::<AttrValue>())).ok()?;
            Some(AttrValue::Array(
                ty,
                literal.iter().map(|scalar| number(scalar, ty)).collect::<Option<_>>()?,
            ))
        }
        Attr::Dict(dict) => {
            let entries = dict.iter().map(|(name, attr)| Some((name.clone(), value(attr)?)));
            Some(AttrValue::Dict(entries.collect::<Option<_>>()?))
        }
        Attr::Unit
        | Attr::Symbol(_)
        | Attr::Type(_)
        | Attr::Dialect(_)
        | Attr::Sharding(_)
        | Attr::ShardingPerValue(_) => None,
    }
}

fn number(scalar: Scalar, ty: ScalarType) -> Option<AttrValue> {
    match scalar {
        Scalar::Bool(b) => Some(AttrValue::Bool(b)),
        Scalar::Signed(v) => Some(AttrValue::Int(v.into(), ty)),
        Scalar::Unsigned(v) => Some(AttrValue::Int(v.into(), ty)),
        Scalar::Float(v) => Some(AttrValue::Float(v, ty)),
        Scalar::Complex(_) => None,
    }
}
