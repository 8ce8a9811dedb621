//! Attributes that this side makes: their values, and their form in the C interface.
//!
//! **Invariant.** All that an encoded dictionary points to lives in the [`Arena`] that it was made in.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::abi;
use crate::element::{Complex, Element, Pred};

/// The value of an attribute. Made with `into()` from a number, a `bool`, a string, a slice, or with
/// [`Value::dict`].
#[derive(Clone, Debug)]
pub struct Value(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Scalar(abi::DataType, Vec<u8>),
    /// The elements' bytes, and how many elements.
    Array(abi::DataType, Vec<u8>, usize),
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
                    Value(Kind::Scalar(abi::DataType::from_dtype(<$ty>::DTYPE), bytes))
                }
            }

            impl From<Vec<$ty>> for Value {
                fn from(values: Vec<$ty>) -> Value {
                    values.as_slice().into()
                }
            }

            impl From<&[$ty]> for Value {
                fn from(values: &[$ty]) -> Value {
                    let dtype = abi::DataType::from_dtype(<$ty>::DTYPE);
                    Value(Kind::Array(dtype, bytes_of(values), values.len()))
                }
            }
        )*
    };
}

values!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Pred, Complex<f32>, Complex<f64>);

/// Owns values at addresses that do not change.
#[derive(Default)]
pub(crate) struct Arena(Vec<*mut dyn Any>);

impl Arena {
    pub(crate) fn put<T: 'static>(&mut self, value: T) -> *mut T {
        let value = Box::into_raw(Box::new(value));
        self.0.push(value);
        value
    }

    /// The values of a vector, one after the other.
    pub(crate) fn put_all<T: 'static>(&mut self, values: Vec<T>) -> *mut T {
        let values = self.put(values);
        // SAFETY: the vector lives in the arena, and is not looked at otherwise.
        unsafe { (*values).as_mut_ptr() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for value in self.0.drain(..) {
            // SAFETY: `put` made it, and nobody else frees it.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

/// Attributes, which the map has sorted by name.
pub(crate) fn attrs(arena: &mut Arena, values: &BTreeMap<String, Value>) -> abi::Attrs {
    let (mut types, mut names, mut attrs) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in values {
        let (kind, attr) = attribute(arena, value);
        types.push(kind);
        names.push(span(arena, name.as_bytes()));
        attrs.push(attr);
    }
    abi::Attrs {
        struct_size: abi::Attrs::STRUCT_SIZE,
        extension_start: null_mut(),
        size: values.len() as i64,
        types: arena.put_all(types),
        names: arena.put_all(names),
        attrs: arena.put_all(attrs),
    }
}

fn attribute(arena: &mut Arena, value: &Value) -> (abi::AttrType, *mut c_void) {
    match &value.0 {
        Kind::Scalar(dtype, bytes) => {
            let value = aligned(arena, bytes);
            (abi::AttrType::SCALAR, arena.put(abi::Scalar { dtype: *dtype, value }).cast())
        }
        Kind::Array(dtype, bytes, size) => {
            let data = aligned(arena, bytes);
            (abi::AttrType::ARRAY, arena.put(abi::Array { dtype: *dtype, size: *size, data }).cast())
        }
        Kind::String(bytes) => (abi::AttrType::STRING, span(arena, bytes).cast()),
        Kind::Dict(entries) => {
            let entries = attrs(arena, entries);
            (abi::AttrType::DICTIONARY, arena.put(entries).cast())
        }
    }
}

fn span(arena: &mut Arena, bytes: &[u8]) -> *mut abi::ByteSpan {
    let ptr = arena.put_all(bytes.to_vec()).cast_const().cast();
    arena.put(abi::ByteSpan { ptr, len: bytes.len() })
}

/// Bytes at an address that suits every element type.
fn aligned(arena: &mut Arena, bytes: &[u8]) -> *mut c_void {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(padded);
    }
    arena.put_all(words).cast()
}

/// The memory of elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
    // SAFETY: elements are plain data without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }.to_vec()
}
