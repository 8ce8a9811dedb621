//! A decoded type or part of a type, and its two forms: for values and in attributes.

use std::fmt;
use std::sync::Arc;

use farcall_sig::DType;

use crate::types::{Dim, Quantization, TensorType, Type};

/// A type, or a part of a type.
#[derive(Clone, Debug)]
pub(super) enum Ty {
    /// A type that the module representation has.
    Whole(Type),
    /// An element type.
    Element(DType),
    /// A quantized element type.
    Quantized(DType, Arc<Quantization>),
    /// `index`
    Index,
    /// `tensor<…xindex>` with these dimensions. Only constants have this type.
    OfIndex(Vec<Dim>),
    /// A type that only attributes may have.
    Other(&'static str),
}

impl Ty {
    /// Converts the type to the form it has for values. If values cannot have this type, the error contains
    /// its form in attributes, for a message.
    pub(super) fn into_value(self) -> Result<Type, Type> {
        match self {
            Ty::Whole(ty) if is_value_type(&ty) => Ok(ty),
            other => Err(other.into_attr()),
        }
    }

    /// Converts the type to the form it has in attributes.
    pub(super) fn into_attr(self) -> Type {
        match self {
            Ty::Whole(ty) => ty,
            Ty::Element(dtype) => Type::Scalar(dtype),
            Ty::Quantized(dtype, quant) => {
                let tensor = TensorType::scalar(dtype).with_quant(Some(quant)).to_string();
                let element = tensor.strip_prefix("tensor<").and_then(|t| t.strip_suffix('>'));
                Type::Opaque(element.unwrap_or(&tensor).into())
            }
            Ty::Index => Type::Opaque("index".into()),
            Ty::OfIndex(dims) => {
                let dims: String = dims.iter().map(|d| format!("{d}x")).collect();
                Type::Opaque(format!("tensor<{dims}index>").into())
            }
            Ty::Other(name) => Type::Opaque(name.into()),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clone().into_attr().fmt(f)
    }
}

/// Message for a value of this type.
pub(super) fn not_a_value(ty: &Type) -> String {
    format!("a value must be a tensor, a token or a tuple, not of type {ty}")
}

fn is_value_type(ty: &Type) -> bool {
    match ty {
        Type::Tensor(_) | Type::Token | Type::Future(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_value_type),
        Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => false,
    }
}
