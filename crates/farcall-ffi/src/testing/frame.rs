//! Call frames in memory.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use super::{Kind, Tensor, Value};
use crate::abi;
use crate::element::Element;

/// Owns values at addresses that do not change.
#[derive(Default)]
pub(super) struct Arena(Vec<*mut dyn Any>);

impl Arena {
    fn put<T: 'static>(&mut self, value: T) -> *mut T {
        let value = Box::into_raw(Box::new(value));
        self.0.push(value);
        value
    }

    /// The values of a vector, one after the other.
    fn put_all<T: 'static>(&mut self, values: Vec<T>) -> *mut T {
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

/// The operands of a call.
pub(super) fn args(arena: &mut Arena, tensors: &[Tensor]) -> abi::Args {
    let buffers: Vec<_> = tensors.iter().map(|tensor| buffer(arena, tensor)).collect();
    abi::Args {
        struct_size: abi::Args::STRUCT_SIZE,
        extension_start: null_mut(),
        size: tensors.len() as i64,
        types: arena.put_all(vec![abi::ArgType::BUFFER; tensors.len()]),
        args: arena.put_all(buffers),
    }
}

/// The results of a call.
pub(super) fn rets(arena: &mut Arena, tensors: &[Tensor]) -> abi::Rets {
    let buffers: Vec<_> = tensors.iter().map(|tensor| buffer(arena, tensor)).collect();
    abi::Rets {
        struct_size: abi::Rets::STRUCT_SIZE,
        extension_start: null_mut(),
        size: tensors.len() as i64,
        types: arena.put_all(vec![abi::RetType::BUFFER; tensors.len()]),
        rets: arena.put_all(buffers),
    }
}

fn buffer(arena: &mut Arena, tensor: &Tensor) -> *mut c_void {
    let dims = arena.put_all(tensor.dims.clone());
    let buffer = abi::Buffer {
        struct_size: abi::Buffer::STRUCT_SIZE,
        extension_start: null_mut(),
        dtype: tensor.dtype,
        data: tensor.data.cast(),
        rank: tensor.dims.len() as i64,
        dims,
    };
    arena.put(buffer).cast()
}

/// Attributes, which the map has sorted by name.
pub(super) fn attrs(arena: &mut Arena, values: &BTreeMap<String, Value>) -> abi::Attrs {
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
pub(super) fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
    // SAFETY: elements are plain data without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }.to_vec()
}
