//! Named values: attributes of a plugin, and options of a client.

use std::mem::offset_of;

use farcall_pjrt_abi::{NamedValue, NamedValueType};

use super::table::{array, text};

/// A value of an attribute of a plugin, or of an option of a client.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PluginValue {
    /// Text.
    Text(String),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A floating-point number.
    Float(f32),
    /// A boolean.
    Bool(bool),
}

/// End of the last member that is read.
const MIN_BYTES: usize = offset_of!(NamedValue, value_size) + size_of::<usize>();

/// Copies values of a plugin. Values of unknown types are left out. The values end early if one states an
/// impossible size.
///
/// # Safety
/// The pointer is null, or the start of `count` values. Each one is as large as its first member states.
pub(super) unsafe fn read(values: *const NamedValue, count: usize) -> Vec<(String, PluginValue)> {
    let mut read = Vec::new();
    let mut at = values.cast::<u8>();
    for _ in 0..count {
        let value = at.cast::<NamedValue>();
        if value.is_null() || !value.is_aligned() {
            break;
        }
        // SAFETY: every value begins with its size (`# Safety` above).
        let bytes = unsafe { (*value).struct_size };
        if bytes < MIN_BYTES {
            break;
        }
        // SAFETY: the members that are read lie within the size of the value.
        read.extend(unsafe { one(&*value) });
        // A plugin of another version has values of another size.
        at = at.wrapping_add(bytes.next_multiple_of(align_of::<NamedValue>()));
    }
    read
}

/// # Safety
/// The pointers of the value are valid for the sizes that it states.
unsafe fn one(value: &NamedValue) -> Option<(String, PluginValue)> {
    // SAFETY: the caller guarantees the name (`# Safety` above).
    let name = unsafe { text(value.name, value.name_size) }?;
    let address = value.value as usize;
    let read = match value.r#type {
        NamedValueType::STRING => {
            // SAFETY: the caller guarantees the text (`# Safety` above).
            PluginValue::Text(unsafe { text(std::ptr::with_exposed_provenance(address), value.value_size) }?)
        }
        NamedValueType::INT64 => PluginValue::Int(value.value.cast_signed()),
        NamedValueType::INT64_LIST => {
            // SAFETY: the caller guarantees the list (`# Safety` above).
            let list = unsafe { array(std::ptr::with_exposed_provenance(address), value.value_size) }?;
            PluginValue::Ints(list.to_vec())
        }
        NamedValueType::FLOAT => PluginValue::Float(f32::from_bits(value.value as u32)),
        NamedValueType::BOOL => PluginValue::Bool(value.value as u8 != 0),
        _ => return None,
    };
    Some((name, read))
}

/// Returns options as the interface passes them. They point into `options`.
pub(super) fn lent(options: &[(String, PluginValue)]) -> Vec<NamedValue> {
    let one = |(name, value): &(String, PluginValue)| {
        let (r#type, bits, value_size) = match value {
            PluginValue::Text(text) => {
                (NamedValueType::STRING, text.as_ptr().expose_provenance() as u64, text.len())
            }
            PluginValue::Int(number) => (NamedValueType::INT64, number.cast_unsigned(), 1),
            PluginValue::Ints(list) => {
                (NamedValueType::INT64_LIST, list.as_ptr().expose_provenance() as u64, list.len())
            }
            PluginValue::Float(number) => (NamedValueType::FLOAT, u64::from(number.to_bits()), 1),
            PluginValue::Bool(flag) => (NamedValueType::BOOL, u64::from(*flag), 1),
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
    options.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<(String, PluginValue)> {
        let options = [
            ("a", PluginValue::Text("text".to_owned())),
            ("b", PluginValue::Int(-7)),
            ("c", PluginValue::Ints(vec![1, 20, 0])),
            ("d", PluginValue::Float(0.75)),
            ("e", PluginValue::Bool(true)),
            ("f", PluginValue::Text(String::new())),
        ];
        options.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    #[test]
    fn values_are_read_as_they_are_lent() {
        let options = options();
        let lent = lent(&options);
        // SAFETY: the values point into `options`.
        assert_eq!(unsafe { read(lent.as_ptr(), lent.len()) }, options);
    }

    #[test]
    fn values_of_other_sizes_are_read_and_unknown_types_left_out() {
        #[repr(C)]
        struct Longer {
            value: NamedValue,
            more: u64,
        }
        let options = options();
        let mut longer: Vec<Longer> =
            lent(&options).into_iter().map(|value| Longer { value, more: 1 }).collect();
        longer.iter_mut().for_each(|longer| longer.value.struct_size = size_of::<Longer>());
        longer[1].value.r#type = NamedValueType(77);
        let mut expected = options.clone();
        expected.remove(1);
        // SAFETY: the values point into `options`.
        assert_eq!(unsafe { read(longer.as_ptr().cast(), longer.len()) }, expected);
        longer[3].value.struct_size = 8;
        // SAFETY: as above; reading ends at the value with the impossible size.
        assert_eq!(unsafe { read(longer.as_ptr().cast(), longer.len()) }, expected[..2]);
        assert_eq!(longer[5].more, 1);
    }
}
