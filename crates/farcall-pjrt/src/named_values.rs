//! Named values: options of the caller, and properties that the plugin reports.

use std::ffi::c_char;

use farcall_pjrt_abi::{NamedValue, NamedValueType};

use crate::call::slice;
use crate::status::{Outcome, Status};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Bool(bool),
}

/// Reads named values of the caller.
pub(crate) fn read(values: &[NamedValue]) -> Outcome<Vec<(String, Value)>> {
    values.iter().map(one).collect()
}

fn one(value: &NamedValue) -> Outcome<(String, Value)> {
    let text = |data: *const c_char, len| {
        // SAFETY: the caller's text has the bytes that its size states.
        let bytes: &[u8] = unsafe { slice("a named value", data.cast(), len) }?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    };
    let name = text(value.name, value.name_size)?;
    let pointer = || std::ptr::with_exposed_provenance::<c_char>(value.value as usize);
    let read = match value.r#type {
        NamedValueType::STRING => Value::Text(text(pointer(), value.value_size)?),
        NamedValueType::INT64 => Value::Int(value.value.cast_signed()),
        NamedValueType::INT64_LIST => {
            // SAFETY: the caller's list has the elements that its size states.
            Value::Ints(
                unsafe { slice("a named value", pointer().cast::<i64>(), value.value_size) }?.to_vec(),
            )
        }
        NamedValueType::FLOAT => Value::Float(f32::from_bits(value.value as u32)),
        NamedValueType::BOOL => Value::Bool(value.value as u8 != 0),
        other => {
            return Err(Status::invalid(format!("the option `{name}` has the unknown type {}", other.0)));
        }
    };
    Ok((name, read))
}

/// Named values that the plugin owns.
#[derive(Default)]
pub(crate) struct NamedValues {
    values: Box<[NamedValue]>,
    /// The memory that `values` points to.
    _owned: Vec<(String, Value)>,
}

// SAFETY: the pointers in `values` refer to memory that the object owns and never changes.
unsafe impl Send for NamedValues {}
// SAFETY: see above.
unsafe impl Sync for NamedValues {}

impl NamedValues {
    pub(crate) fn new(owned: Vec<(String, Value)>) -> NamedValues {
        let of = |(name, value): &(String, Value)| {
            let (r#type, bits, value_size) = match value {
                Value::Text(text) => {
                    (NamedValueType::STRING, text.as_ptr().expose_provenance() as u64, text.len())
                }
                Value::Int(n) => (NamedValueType::INT64, n.cast_unsigned(), 1),
                Value::Ints(list) => {
                    (NamedValueType::INT64_LIST, list.as_ptr().expose_provenance() as u64, list.len())
                }
                Value::Float(x) => (NamedValueType::FLOAT, u64::from(x.to_bits()), 1),
                Value::Bool(b) => (NamedValueType::BOOL, u64::from(*b), 1),
            };
            NamedValue {
                struct_size: size_of::<NamedValue>(),
                extension_start: std::ptr::null_mut(),
                name: name.as_ptr().cast(),
                name_size: name.len(),
                r#type,
                value: bits,
                value_size,
            }
        };
        NamedValues { values: owned.iter().map(of).collect(), _owned: owned }
    }

    /// Returns the array as the interface passes it.
    pub(crate) fn parts(&self) -> (*const NamedValue, usize) {
        (self.values.as_ptr(), self.values.len())
    }
}
