//! Values of attributes, as rules and tests write them.

use std::collections::BTreeMap;

use farcall_sig::DType;

use crate::abi;
use crate::arena::Arena;
use crate::element::{Complex, Element, Pred};
use crate::encode::{self, AttrError, Entries};
use crate::error::{Error, Result};

/// The value of an attribute. Made with `into()` from a number, a `bool`, a string, a slice, or with
/// [`Value::dict`].
#[derive(Clone, Debug)]
pub struct Value(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Scalar(DType, Vec<u8>),
    /// The elements' bytes, and how many elements.
    Array(DType, Vec<u8>, usize),
    String(Vec<u8>),
    Dict(BTreeMap<String, Value>),
}

impl Value {
    /// A dictionary.
    pub fn dict<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
        Value(Kind::Dict(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// A string that need not be UTF-8.
    pub fn bytes(bytes: &[u8]) -> Value {
        Value(Kind::String(bytes.to_vec()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::bytes(text.as_bytes())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Pred::from(value).into()
    }
}

macro_rules! values {
    ($($ty:ty),*) => {
        $(
            impl From<$ty> for Value {
                fn from(value: $ty) -> Value {
                    let bytes = bytes_of(std::slice::from_ref(&value));
                    Value(Kind::Scalar(<$ty>::DTYPE, bytes))
                }
            }

            impl From<Vec<$ty>> for Value {
                fn from(values: Vec<$ty>) -> Value {
                    values.as_slice().into()
                }
            }

            impl From<&[$ty]> for Value {
                fn from(values: &[$ty]) -> Value {
                    let dtype = <$ty>::DTYPE;
                    Value(Kind::Array(dtype, bytes_of(values), values.len()))
                }
            }
        )*
    };
}

values!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Pred, Complex<f32>, Complex<f64>);

/// Encodes attributes into an arena.
///
/// # Errors
/// If dictionaries are nested too deep.
pub(crate) fn attrs(arena: &mut Arena, values: &BTreeMap<String, Value>) -> Result<abi::Attrs> {
    encode::encode(arena, |entries| fill(entries, values)).map_err(|e| Error::invalid_argument(e.to_string()))
}

fn fill(entries: &mut Entries<'_>, values: &BTreeMap<String, Value>) -> Result<(), AttrError> {
    values.iter().try_for_each(|(name, value)| match &value.0 {
        Kind::Scalar(dtype, bytes) => entries.scalar(name, *dtype, bytes),
        Kind::Array(dtype, bytes, size) => entries.array(name, *dtype, *size, bytes),
        Kind::String(bytes) => {
            entries.string(name, bytes);
            Ok(())
        }
        Kind::Dict(dict) => entries.dict(name, |entries| fill(entries, dict)),
    })
}

/// The memory of elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
    // SAFETY: elements are plain data without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }.to_vec()
}
