//! Attributes: the constants that programs attach to operations, functions and modules.
//!
//! An [`Attribute`] is syntax: anything that MLIR writes as an attribute, including types, symbols and
//! shardings. The C interface passes fewer kinds of attributes to a handler; [`AttrValue`] models these
//! ([`Attribute::try_from`]).

mod dict;
mod show;

use std::sync::Arc;

use farcall_sig::{AttrValue, DType};

use crate::literal::Literal;
use crate::memory::OutOfMemory;
use crate::scalar::Scalar;
use crate::sharding::Sharding;
use crate::types::{TensorType, Type};

pub use dict::AttrDict;
pub(crate) use show::Dict;

/// Name of the resource that MLIR writes in place of the elements of a constant.
pub(crate) const ELIDED: &str = "__elided__";

/// An attribute of StableHLO text. The enum is deliberately not `non_exhaustive`: matches are exhaustive, so
/// that the compiler points out all code that a new variant affects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Attribute {
    /// `unit`, or a name without a value.
    Unit,
    /// `true`, `false`
    Bool(bool),
    /// `5 : i64`
    Int(i128, IntKind),
    /// `1.5 : f32`; the value is stored as the bits of an `f64`, already rounded to the type.
    Float(u64, DType),
    /// `"text"`; MLIR strings are bytes.
    String(Arc<[u8]>),
    /// `[a, b]`
    Array(Vec<Attribute>),
    /// `{k = v}`
    Dict(AttrDict),
    /// `dense<…> : tensor<…>`
    Dense(Literal),
    /// `dense<…> : tensor<…xindex>`. The elements of the literal are 64-bit integers.
    DenseIndex(Literal),
    /// `dense_resource<__elided__> : tensor<…>`: a constant whose elements the printer omitted.
    Elided(TensorType),
    /// `array<i64: 1, 2>`: a rank 1 literal.
    DenseArray(Literal),
    /// `@name` or `@outer::@inner`
    Symbol(Arc<str>),
    /// A type as an attribute.
    Type(Type),
    /// `#dialect.name<…>`
    Dialect(Arc<DialectAttr>),
    /// `#sdy.sharding<@mesh, [{"x"}, {}]>`
    Sharding(Arc<Sharding>),
    /// `#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>`: one sharding for each result.
    ShardingPerValue(Arc<[Sharding]>),
}

/// The type of an integer attribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntKind {
    /// An integer type.
    Typed(DType),
    /// `index`
    Index,
}

/// A dialect-specific attribute: `#stablehlo.gather<offset_dims = [0]>`.
///
/// The short form `#stablehlo<precision DEFAULT>` has the name `stablehlo.precision` and the text
/// `DEFAULT`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DialectAttr {
    /// Dialect and name, joined by a dot.
    pub name: String,
    /// The text between `<` and `>`, as written, without outer white space.
    pub text: String,
    /// The parameters, if the text is a list of `key = value` (a lone `key` is [`Attribute::Unit`]);
    /// otherwise empty.
    pub params: AttrDict,
}

impl Attribute {
    /// An `i64` attribute.
    pub fn i64(value: i64) -> Attribute {
        Attribute::Int(i128::from(value), IntKind::Typed(DType::S64))
    }

    /// A string attribute.
    pub fn string(text: impl AsRef<[u8]>) -> Attribute {
        Attribute::String(text.as_ref().into())
    }

    /// A float attribute of a type; the value is rounded to the type.
    pub fn float(value: f64, dtype: DType) -> Attribute {
        let rounded = Scalar::Float(value).round_to(dtype).as_f64();
        Attribute::Float(rounded.to_bits(), dtype)
    }

    /// `array<i64: …>`
    pub fn i64_array(values: &[i64]) -> Attribute {
        Attribute::DenseArray(Literal::from_slice(DType::S64, [values.len()], values))
    }

    /// `array<i64: …>` of sizes or dimension numbers.
    pub fn usize_array(values: &[usize]) -> Attribute {
        let values: Vec<i64> = values.iter().map(|v| i64::try_from(*v).unwrap_or(i64::MAX)).collect();
        Attribute::i64_array(&values)
    }

    /// `#dialect.name<text>` without parameters.
    pub fn dialect(name: &str, text: impl Into<String>) -> Attribute {
        Attribute::Dialect(Arc::new(DialectAttr {
            name: name.to_owned(),
            text: text.into(),
            params: AttrDict::new(),
        }))
    }

    /// The integer, if the attribute is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Attribute::Int(v, _) => i64::try_from(*v).ok(),
            _ => None,
        }
    }

    /// The boolean, if the attribute is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Attribute::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The number, if the attribute is a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Attribute::Float(bits, _) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    /// The text, if the attribute is a UTF-8 string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attribute::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The symbol's name without `@`, if the attribute is a symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self {
            Attribute::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The integers of any list of integers: `[1, 2]`, `array<i64: 1, 2>`, `dense<[1, 2]> : tensor<2xi64>`
    /// (of any rank, row-major), or a list of type `index`.
    pub fn as_i64_list(&self) -> Option<Vec<i64>> {
        match self {
            Attribute::Array(items) => items.iter().map(Attribute::as_i64).collect(),
            Attribute::Dense(l) | Attribute::DenseArray(l) | Attribute::DenseIndex(l)
                if l.dtype().is_integer() && is_list(l) =>
            {
                Some(l.iter().map(|s| s.as_i64()).collect())
            }
            _ => None,
        }
    }

    /// The booleans of any list of booleans.
    pub fn as_bool_list(&self) -> Option<Vec<bool>> {
        match self {
            Attribute::Array(items) => items.iter().map(Attribute::as_bool).collect(),
            Attribute::Dense(l) | Attribute::DenseArray(l) if l.dtype().is_bool() && is_list(l) => {
                Some(l.iter().map(|s| s.as_bool()).collect())
            }
            _ => None,
        }
    }
}

/// Maximum number of elements of a splat that is read as a list; no tensor in practice has as many
/// dimensions. Other literals need no maximum, because the text lists their elements one by one.
const MAX_SPLAT_LIST: usize = 1024;

pub(crate) fn is_list(l: &Literal) -> bool {
    l.len() <= MAX_SPLAT_LIST || !l.is_splat()
}

/// The reason why a program cannot write a value as an attribute.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnwritableAttr {
    /// The elements do not fit into memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// MLIR has complex numbers only in tensors.
    #[error("a program cannot write a complex number as an attribute, only an array of complex numbers")]
    Complex,
}

/// Converts a value to the attribute that a program would write.
impl TryFrom<&AttrValue> for Attribute {
    type Error = UnwritableAttr;

    fn try_from(value: &AttrValue) -> Result<Attribute, UnwritableAttr> {
        Ok(match value {
            AttrValue::Bool(b) => Attribute::Bool(*b),
            AttrValue::Int(v, ty) => Attribute::Int(*v, IntKind::Typed(ty.dtype())),
            AttrValue::Float(v, ty) => Attribute::float(*v, ty.dtype()),
            AttrValue::C64(_) | AttrValue::C128(_) => return Err(UnwritableAttr::Complex),
            AttrValue::Str(text) => Attribute::string(text),
            AttrValue::Bytes(bytes) => Attribute::string(bytes),
            AttrValue::Array(values) => {
                let mut literal = Literal::try_for_overwrite(values.dtype(), [values.len()])?;
                literal.bytes_mut().copy_from_slice(values.bytes());
                // Neither XLA nor the Python bindings of MLIR know `array<ui8: …>`; the bindings end the process.
                if literal.dtype().is_unsigned_integer() {
                    Attribute::Dense(literal)
                } else {
                    Attribute::DenseArray(literal)
                }
            }
            AttrValue::Dict(entries) => {
                let entry =
                    |(name, value): &(String, AttrValue)| Ok((name.clone(), Attribute::try_from(value)?));
                Attribute::Dict(entries.iter().map(entry).collect::<Result<_, UnwritableAttr>>()?)
            }
        })
    }
}
