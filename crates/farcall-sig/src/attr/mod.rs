//! Attributes: the constants of a call, their types and values.
//!
//! [`AttrValue`] is the only model of attributes as the C interface passes them: signatures, handlers, rules,
//! hosts and languages that call ops all use it. (The text of a program allows more kinds of attributes:
//! `farcall_ir::Attribute`.) A value carries its exact type: an `f32` is not an `f64`. [`AttrType::convert`]
//! converts values from a language with a single number type to the declared type.

use std::fmt;
use std::str::FromStr;

use crate::DType;
use crate::nearest::UnknownName;

mod array;
mod value;

pub use array::{AttrArray, AttrElement, NotElements};
pub use value::{AttrValue, AttrValues, MixedList};

/// Type of a number or boolean, with its Rust name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each variant is the type of the same name")]
pub enum ScalarType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl ScalarType {
    /// All scalar types.
    pub const VARIANTS: [ScalarType; 11] = [
        ScalarType::Bool,
        ScalarType::I8,
        ScalarType::I16,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U8,
        ScalarType::U16,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F32,
        ScalarType::F64,
    ];

    /// Name of the type: `bool`, `i8`, … `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "bool",
            ScalarType::I8 => "i8",
            ScalarType::I16 => "i16",
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::U8 => "u8",
            ScalarType::U16 => "u16",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
        }
    }

    /// Returns the element type with the same values.
    pub const fn dtype(self) -> DType {
        match self {
            ScalarType::Bool => DType::Pred,
            ScalarType::I8 => DType::S8,
            ScalarType::I16 => DType::S16,
            ScalarType::I32 => DType::S32,
            ScalarType::I64 => DType::S64,
            ScalarType::U8 => DType::U8,
            ScalarType::U16 => DType::U16,
            ScalarType::U32 => DType::U32,
            ScalarType::U64 => DType::U64,
            ScalarType::F32 => DType::F32,
            ScalarType::F64 => DType::F64,
        }
    }

    /// Returns true for `i8` … `u64`.
    pub const fn is_integer(self) -> bool {
        self.range().is_some()
    }

    /// Returns true for `f32` and `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F64)
    }

    /// Returns the minimum and maximum of an integer type.
    pub const fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            ScalarType::I8 => (i8::MIN as i128, i8::MAX as i128),
            ScalarType::I16 => (i16::MIN as i128, i16::MAX as i128),
            ScalarType::I32 => (i32::MIN as i128, i32::MAX as i128),
            ScalarType::I64 => (i64::MIN as i128, i64::MAX as i128),
            ScalarType::U8 => (0, u8::MAX as i128),
            ScalarType::U16 => (0, u16::MAX as i128),
            ScalarType::U32 => (0, u32::MAX as i128),
            ScalarType::U64 => (0, u64::MAX as i128),
            ScalarType::Bool | ScalarType::F32 | ScalarType::F64 => return None,
        })
    }
}

/// Parses a type's name ([`ScalarType::name`]).
impl FromStr for ScalarType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<ScalarType, UnknownName> {
        let found = ScalarType::VARIANTS.into_iter().find(|t| t.name() == name);
        found.ok_or_else(|| UnknownName::new("attribute type", name))
    }
}

/// Converts an element type to the scalar type with the same values, if attributes can have that type.
impl TryFrom<DType> for ScalarType {
    type Error = NotScalar;

    fn try_from(dtype: DType) -> Result<ScalarType, NotScalar> {
        ScalarType::VARIANTS.into_iter().find(|ty| ty.dtype() == dtype).ok_or(NotScalar(dtype))
    }
}

impl From<ScalarType> for DType {
    fn from(ty: ScalarType) -> DType {
        ty.dtype()
    }
}

/// Error for an element type that no attribute can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotScalar(DType);

impl fmt::Display for NotScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no attribute is a {}", self.0)
    }
}

impl std::error::Error for NotScalar {}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Type of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrType {
    /// A number or boolean: `f32`
    Scalar(ScalarType),
    /// `[i64]`
    Array(ScalarType),
    /// Any string: `str`
    Str,
    /// One of these strings: `"left" | "right"`
    Choice(Vec<String>),
    /// `dict`
    Dict,
}

/// Maximum number of array elements that a message shows.
const MAX_SHOWN_ELEMENTS: usize = 16;

impl AttrType {
    /// Returns true if the value has exactly this type.
    pub fn accepts(&self, value: &AttrValue) -> bool {
        match (self, value) {
            (AttrType::Scalar(ScalarType::Bool), AttrValue::Bool(_)) => true,
            (AttrType::Scalar(ty), AttrValue::Int(v, is)) => {
                ty == is && ty.range().is_some_and(|(low, high)| (low..=high).contains(v))
            }
            (AttrType::Scalar(ty), AttrValue::Float(_, is)) => ty == is && ty.is_float(),
            (AttrType::Array(ty), AttrValue::Array(values)) => ty.dtype() == values.dtype(),
            (AttrType::Str, AttrValue::Str(_)) | (AttrType::Dict, AttrValue::Dict(_)) => true,
            (AttrType::Choice(choices), AttrValue::Str(value)) => choices.contains(value),
            _ => false,
        }
    }

    /// Converts a value to this type, if nothing is lost except the last digits of a fraction. An integer
    /// converts to an integer type whose range includes it and to a float, and an `f64` is rounded to `f32`.
    /// Arrays of such values also convert.
    ///
    /// # Errors
    /// A message such as `must be i32, but is 3000000000`.
    pub fn convert(&self, value: &AttrValue) -> Result<AttrValue, String> {
        let converted = match (self, value) {
            _ if self.accepts(value) => Some(value.clone()),
            (AttrType::Scalar(ty), value) => convert_scalar(*ty, value),
            (AttrType::Array(ty), AttrValue::Array(values)) => {
                convert_array(*ty, values).map(AttrValue::Array)
            }
            _ => None,
        };
        converted.ok_or_else(|| self.complaint(value))
    }

    /// Explains why a value is not of this type: `must be f32, but is f64`.
    pub(crate) fn complaint(&self, value: &AttrValue) -> String {
        let shown = match value {
            AttrValue::Str(_) if matches!(self, AttrType::Choice(_)) => value.to_string(),
            _ if self.is_out_of_range(value) => format!("{value}, which is out of range"),
            AttrValue::Int(_, is) if matches!(self, AttrType::Scalar(ty) if ty.is_integer()) => {
                format!("{value} ({is})")
            }
            AttrValue::Array(values) if values.len() > MAX_SHOWN_ELEMENTS => {
                format!("{} with {} elements", value.type_name(), values.len())
            }
            AttrValue::Array(..) => format!("{value} ({})", value.type_name()),
            _ => value.type_name(),
        };
        match self {
            AttrType::Choice(_) => {
                format!("must be {}, but is {shown}", self.to_string().replace(" | ", " or "))
            }
            _ => format!("must be {self}, but is {shown}"),
        }
    }

    /// Returns true if a number is of the right kind, but too large or too small.
    fn is_out_of_range(&self, value: &AttrValue) -> bool {
        let AttrType::Scalar(ty) = self else { return false };
        let kind = match value {
            AttrValue::Int(..) => ty.is_integer() || ty.is_float(),
            AttrValue::Float(..) => ty.is_float(),
            _ => false,
        };
        kind && convert_scalar(*ty, value).is_none()
    }
}

fn convert_scalar(ty: ScalarType, value: &AttrValue) -> Option<AttrValue> {
    match *value {
        AttrValue::Bool(v) if ty == ScalarType::Bool => Some(AttrValue::Bool(v)),
        AttrValue::Int(v, _) if ty.is_float() => Some(AttrValue::Float(round(v as f64, ty)?, ty)),
        AttrValue::Int(v, _) => {
            let (low, high) = ty.range()?;
            (low..=high).contains(&v).then_some(AttrValue::Int(v, ty))
        }
        AttrValue::Float(v, _) if ty.is_float() => Some(AttrValue::Float(round(v, ty)?, ty)),
        _ => None,
    }
}

fn convert_array(ty: ScalarType, values: &AttrArray) -> Option<AttrArray> {
    let mut converted = AttrArray::of_scalars(ty);
    values.iter().try_for_each(|value| converted.push(&convert_scalar(ty, &value)?))?;
    Some(converted)
}

/// Rounds a number to the type. Returns `None` if a finite number becomes infinite.
pub(crate) fn round(value: f64, ty: ScalarType) -> Option<f64> {
    let rounded = if ty == ScalarType::F32 { f64::from(value as f32) } else { value };
    (rounded.is_finite() || !value.is_finite()).then_some(rounded)
}

impl fmt::Display for AttrType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrType::Scalar(ty) => write!(f, "{ty}"),
            AttrType::Array(ty) => write!(f, "[{ty}]"),
            AttrType::Str => f.write_str("str"),
            AttrType::Choice(choices) => {
                for (i, choice) in choices.iter().enumerate() {
                    f.write_str(if i > 0 { " | " } else { "" })?;
                    write_quoted(f, choice)?;
                }
                Ok(())
            }
            AttrType::Dict => f.write_str("dict"),
        }
    }
}

/// Writes text in quotes, with the escapes of the signature language.
fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_signature_declares_is_refused() {
        let complex = AttrValue::C64(crate::Complex::new(1.0, -2.0));
        let said = |ty: AttrType, value: &AttrValue| ty.convert(value).unwrap_err();
        assert_eq!(said(AttrType::Scalar(ScalarType::F32), &complex), "must be f32, but is c64");
        let complexes = [crate::Complex::new(1.0f32, -2.0)].into();
        assert_eq!(
            said(AttrType::Array(ScalarType::F32), &complexes),
            "must be [f32], but is [(1.0, -2.0)] ([c64])"
        );
        assert_eq!(
            said(AttrType::Str, &AttrValue::bytes(b"\xff")),
            "must be str, but is a string that is not UTF-8"
        );
        assert_eq!(AttrType::Str.convert(&AttrValue::bytes(b"a")), Ok("a".into()));
    }

    #[test]
    fn numbers_convert_where_nothing_is_lost() {
        let i32s = AttrType::Scalar(ScalarType::I32);
        assert_eq!(i32s.convert(&AttrValue::i64(7)), Ok(AttrValue::Int(7, ScalarType::I32)));
        assert_eq!(
            i32s.convert(&AttrValue::i64(3_000_000_000)),
            Err("must be i32, but is 3000000000, which is out of range".into())
        );
        assert_eq!(i32s.convert(&AttrValue::Bool(true)), Err("must be i32, but is bool".into()));
        let f32s = AttrType::Scalar(ScalarType::F32);
        assert_eq!(f32s.convert(&AttrValue::Float(1e-6, ScalarType::F64)), Ok(AttrValue::f32(1e-6)));
        assert_eq!(f32s.convert(&AttrValue::i64(2)), Ok(AttrValue::f32(2.0)));
        assert!(f32s.convert(&AttrValue::Float(1e300, ScalarType::F64)).is_err());
        assert!(!f32s.accepts(&AttrValue::Float(1.0, ScalarType::F64)));
        let i64s = AttrType::Array(ScalarType::I64);
        assert_eq!(i64s.convert(&Vec::<f64>::new().into()), Ok(Vec::<i64>::new().into()));
        assert_eq!(i64s.convert(&[1i8, -2].into()), Ok([1i64, -2].into()));
        assert_eq!(i64s.convert(&[0.5].into()), Err("must be [i64], but is [0.5] ([f64])".into()));
        assert_eq!(AttrType::Array(ScalarType::F32).convert(&[1u64, 2].into()), Ok([1f32, 2.0].into()));
        let side = AttrType::Choice(vec!["left".into(), "right".into()]);
        assert_eq!(side.convert(&"up".into()), Err("must be \"left\" or \"right\", but is \"up\"".into()));
    }
}
