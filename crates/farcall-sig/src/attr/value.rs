//! Values of attributes, and the attributes of a call.

use std::collections::HashMap;
use std::fmt;

use super::{AttrArray, AttrElement, ScalarType, write_quoted};
use crate::{Complex, DType};

/// Value of an attribute, as the C interface passes it.
///
/// Values convert with `into()` from a number, a `bool`, a string, and a slice or vector of numbers.
/// [`AttrValue::dict`] and [`AttrValue::bytes`] create the other kinds.
///
/// ```
/// use farcall_sig::{AttrValue, ScalarType};
///
/// assert_eq!(AttrValue::from(3i32), AttrValue::Int(3, ScalarType::I32));
/// let window = AttrValue::dict([("sizes", [2i64, 3].into()), ("mode", "same".into())]);
/// assert_eq!(window.to_string(), r#"{sizes = [2, 3], mode = "same"}"#);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue {
    /// A boolean.
    Bool(bool),
    /// An integer of an integer type. [`AttrType::accepts`](super::AttrType::accepts) and the encoder reject
    /// a value outside the range of the type.
    Int(i128, ScalarType),
    /// A floating-point number of type `f32` or `f64`. If the type is `f32`, the value is exactly
    /// representable as an `f32`.
    Float(f64, ScalarType),
    /// A complex number of two `f32`. No signature declares such an attribute.
    C64(Complex<f32>),
    /// A complex number of two `f64`. No signature declares such an attribute.
    C128(Complex<f64>),
    /// A string.
    Str(String),
    /// A string that is not UTF-8 ([`AttrValue::bytes`]). No signature declares such an attribute.
    Bytes(Vec<u8>),
    /// Numbers or booleans of one type.
    Array(AttrArray),
    /// Values by name. If a name is repeated, the last value counts.
    Dict(Vec<(String, AttrValue)>),
}

impl AttrValue {
    /// Creates an `i64`.
    pub fn i64(value: i64) -> AttrValue {
        value.into()
    }

    /// Creates an `f32`.
    pub fn f32(value: f32) -> AttrValue {
        value.into()
    }

    /// Creates a dictionary.
    pub fn dict<'k>(entries: impl IntoIterator<Item = (&'k str, AttrValue)>) -> AttrValue {
        AttrValue::Dict(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Creates a string that need not be UTF-8.
    pub fn bytes(bytes: &[u8]) -> AttrValue {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => AttrValue::Bytes(bytes.to_vec()),
        }
    }

    /// Creates an array of these numbers or booleans, for languages with untyped lists. The elements are
    /// `i64` if all are integers that fit, else `u64` if all fit that type, else `f64`.
    /// [`AttrType::convert`](super::AttrType::convert) converts the array to the declared type.
    ///
    /// # Errors
    /// If the items are neither all numbers nor all booleans, or if one is a complex number.
    pub fn list(items: &[AttrValue]) -> Result<AttrValue, MixedList> {
        let booleans = items.iter().map(|item| if let AttrValue::Bool(v) = item { Some(*v) } else { None });
        let wide = items.iter().map(|item| if let AttrValue::Int(v, _) = item { Some(*v) } else { None });
        if let (Some(values), false) = (booleans.collect::<Option<Vec<bool>>>(), items.is_empty()) {
            return Ok(values.into());
        }
        if let Some(wide) = wide.collect::<Option<Vec<i128>>>() {
            if let Ok(values) = wide.iter().map(|v| i64::try_from(*v)).collect::<Result<Vec<_>, _>>() {
                return Ok(values.into());
            }
            if let Ok(values) = wide.iter().map(|v| u64::try_from(*v)).collect::<Result<Vec<_>, _>>() {
                return Ok(values.into());
            }
        }
        let number = |item: &AttrValue| match item {
            AttrValue::Int(v, _) => Some(*v as f64),
            AttrValue::Float(v, _) => Some(*v),
            _ => None,
        };
        let numbers: Option<Vec<f64>> = items.iter().map(number).collect();
        numbers.map(AttrValue::from).ok_or(MixedList)
    }

    /// Returns the value of an integer of any type.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            AttrValue::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AttrValue::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the element type of a number or boolean.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            AttrValue::Bool(_) => Some(DType::Pred),
            AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => Some(ty.dtype()),
            AttrValue::C64(_) => Some(DType::C64),
            AttrValue::C128(_) => Some(DType::C128),
            AttrValue::Str(_) | AttrValue::Bytes(_) | AttrValue::Array(_) | AttrValue::Dict(_) => None,
        }
    }

    /// Returns the name of the type, for messages: `f32`, `[i64]`, `str`, `dict`.
    pub fn type_name(&self) -> String {
        let name = |dtype: DType| ScalarType::try_from(dtype).map_or(dtype.name(), ScalarType::name);
        match self {
            AttrValue::Bool(_) => "bool".into(),
            AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => ty.name().into(),
            AttrValue::C64(_) => name(DType::C64).into(),
            AttrValue::C128(_) => name(DType::C128).into(),
            AttrValue::Str(_) => "str".into(),
            AttrValue::Bytes(_) => "a string that is not UTF-8".into(),
            AttrValue::Array(values) => format!("[{}]", name(values.dtype())),
            AttrValue::Dict(_) => "dict".into(),
        }
    }
}

/// Error for a list that cannot be an array, because it mixes numbers and booleans or contains other items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MixedList;

impl fmt::Display for MixedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list must hold real numbers only, or booleans only")
    }
}

impl std::error::Error for MixedList {}

macro_rules! numbers {
    ($($kind:ident: $($ty:ty => $scalar:ident),*;)*) => {
        $($(
            impl From<$ty> for AttrValue {
                fn from(value: $ty) -> AttrValue {
                    AttrValue::$kind(value.into(), ScalarType::$scalar)
                }
            }
        )*)*
    };
}

numbers! {
    Int: i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64;
    Float: f32 => F32, f64 => F64;
}

impl From<bool> for AttrValue {
    fn from(value: bool) -> AttrValue {
        AttrValue::Bool(value)
    }
}

impl From<Complex<f32>> for AttrValue {
    fn from(value: Complex<f32>) -> AttrValue {
        AttrValue::C64(value)
    }
}

impl From<Complex<f64>> for AttrValue {
    fn from(value: Complex<f64>) -> AttrValue {
        AttrValue::C128(value)
    }
}

impl From<&str> for AttrValue {
    fn from(text: &str) -> AttrValue {
        AttrValue::Str(text.to_owned())
    }
}

impl From<String> for AttrValue {
    fn from(text: String) -> AttrValue {
        AttrValue::Str(text)
    }
}

impl From<AttrArray> for AttrValue {
    fn from(array: AttrArray) -> AttrValue {
        AttrValue::Array(array)
    }
}

impl<T: AttrElement> From<&[T]> for AttrValue {
    fn from(elements: &[T]) -> AttrValue {
        AttrValue::Array(elements.into())
    }
}

impl<T: AttrElement, const N: usize> From<[T; N]> for AttrValue {
    fn from(elements: [T; N]) -> AttrValue {
        AttrValue::Array(elements.into())
    }
}

impl<T: AttrElement> From<Vec<T>> for AttrValue {
    fn from(elements: Vec<T>) -> AttrValue {
        AttrValue::Array(elements.into())
    }
}

/// Converts to a dictionary.
impl From<AttrValues> for AttrValue {
    fn from(attrs: AttrValues) -> AttrValue {
        AttrValue::Dict(attrs.0)
    }
}

/// Prints the value in the syntax of signatures. Values that signatures cannot express are printed as
/// follows: a dictionary as `{a = 1}`, a complex number as `(1.0, 2.0)`, a string that is not UTF-8 as
/// `b"\xff"`.
impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::Bool(v) => write!(f, "{v}"),
            AttrValue::Int(v, _) => write!(f, "{v}"),
            AttrValue::Float(v, _) if v.is_nan() => f.write_str("nan"),
            AttrValue::Float(v, ScalarType::F32) => write!(f, "{:?}", *v as f32),
            AttrValue::Float(v, _) => write!(f, "{v:?}"),
            AttrValue::C64(v) => write!(f, "({}, {})", AttrValue::from(v.re), AttrValue::from(v.im)),
            AttrValue::C128(v) => write!(f, "({}, {})", AttrValue::from(v.re), AttrValue::from(v.im)),
            AttrValue::Str(v) => write_quoted(f, v),
            AttrValue::Bytes(v) => write!(f, "b\"{}\"", v.escape_ascii()),
            AttrValue::Array(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            AttrValue::Dict(entries) => {
                f.write_str("{")?;
                for (i, (name, value)) in entries.iter().enumerate() {
                    write!(f, "{}{name} = {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Attributes of a call by name, in any order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AttrValues(Vec<(String, AttrValue)>);

impl AttrValues {
    /// Creates an empty set of attributes.
    pub fn new() -> AttrValues {
        AttrValues::default()
    }

    /// Returns the attribute of this name.
    pub fn get(&self, name: &str) -> Option<&AttrValue> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Sets an attribute, replacing an earlier one of this name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<AttrValue>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Names and values, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttrValue)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<S: Into<String>> FromIterator<(S, AttrValue)> for AttrValues {
    fn from_iter<I: IntoIterator<Item = (S, AttrValue)>>(entries: I) -> AttrValues {
        let (mut attrs, mut places) = (Vec::new(), HashMap::new());
        for (name, value) in entries {
            let name = name.into();
            match places.get(&name) {
                Some(at) => attrs[*at] = (name, value),
                None => {
                    places.insert(name.clone(), attrs.len());
                    attrs.push((name, value));
                }
            }
        }
        AttrValues(attrs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_get_the_type_that_holds_all_their_numbers() {
        let int = |value: i128| AttrValue::Int(value, ScalarType::I64);
        let big = i128::from(u64::MAX);
        assert_eq!(AttrValue::list(&[]), Ok(Vec::<i64>::new().into()));
        assert_eq!(AttrValue::list(&[int(1), int(-2)]), Ok([1i64, -2].into()));
        assert_eq!(AttrValue::list(&[int(1), int(big)]), Ok([1, u64::MAX].into()));
        assert_eq!(AttrValue::list(&[int(-1), int(big)]), Ok([-1.0, u64::MAX as f64].into()));
        assert_eq!(AttrValue::list(&[int(1), 0.5.into()]), Ok([1.0, 0.5].into()));
        assert_eq!(AttrValue::list(&[true.into(), false.into()]), Ok([true, false].into()));
        for mixed in [[true.into(), int(1)], ["a".into(), "b".into()], [int(1), AttrValue::Dict(vec![])]] {
            assert_eq!(AttrValue::list(&mixed), Err(MixedList));
        }
    }

    #[test]
    fn values_print_as_they_are_written() {
        let dict = AttrValue::dict([
            ("z", AttrValue::from(Complex::new(1.0, f64::NAN))),
            ("b", AttrValue::bytes(b"a\xff\"")),
            ("t", "x\"".into()),
            ("f", [1e-6f32, 2.0].into()),
        ]);
        assert_eq!(dict.to_string(), r#"{z = (1.0, nan), b = b"a\xff\"", t = "x\"", f = [1e-6, 2.0]}"#);
    }
}
