//! Attributes of calls: converts between a program's attributes and a signature's.

use farcall_ir::attr::IntKind;
use farcall_ir::memory;
use farcall_ir::{Attr, Literal, Scalar};
use farcall_sig::{AttrValue, ScalarType};

/// A program's attribute as a signature sees it, if it has a form there.
pub(crate) fn value(attr: &Attr) -> Option<AttrValue> {
    match attr {
        Attr::Bool(b) => Some(AttrValue::Bool(*b)),
        Attr::Int(value, IntKind::Typed(dtype)) => {
            Some(AttrValue::Int(*value, ScalarType::from_dtype(*dtype)?))
        }
        Attr::Int(value, IntKind::Index) => Some(AttrValue::Int(*value, ScalarType::I64)),
        Attr::Float(bits, dtype) => {
            Some(AttrValue::Float(f64::from_bits(*bits), ScalarType::from_dtype(*dtype)?))
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
            let ty = ScalarType::from_dtype(literal.dtype())?;
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

/// A value as a program would write it.
pub fn attr(value: &AttrValue) -> Attr {
    match value {
        AttrValue::Bool(b) => Attr::Bool(*b),
        AttrValue::Int(v, ty) => Attr::Int(*v, IntKind::Typed(ty.dtype())),
        AttrValue::Float(v, ty) => Attr::float(*v, ty.dtype()),
        AttrValue::Str(text) => Attr::string(text),
        AttrValue::Array(ty, items) => {
            let scalar = |i: usize| match &items[i] {
                AttrValue::Bool(b) => Scalar::Bool(*b),
                AttrValue::Int(v, ty) if ty.dtype().is_unsigned_integer() => Scalar::Unsigned(*v as u64),
                AttrValue::Int(v, _) => Scalar::Signed(*v as i64),
                AttrValue::Float(v, _) => Scalar::Float(*v),
                _ => Scalar::Bool(false),
            };
            Attr::DenseArray(Literal::from_fn(ty.dtype(), [items.len()], scalar))
        }
        AttrValue::Dict(entries) => {
            Attr::Dict(entries.iter().map(|(name, value)| (name.clone(), attr(value))).collect())
        }
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
