//! Attributes of a program, encoded for the C interface. The encoder is [`farcall_ffi::encode`].
//!
//! Attributes are encoded once per call site.
//!
//! | attribute | is passed as |
//! | --- | --- |
//! | `true`, `5 : i32`, `0.5 : f32` | scalar of its dtype; `index` as `s64` |
//! | `"text"` | string |
//! | `array<i64: 1, 2>`, `dense<…> : tensor<…>` | array of its dtype, row-major for any rank |
//! | `[1 : i32, 2 : i32]` | array, if all items are scalars of one dtype |
//! | `{k = v}` | dictionary, sorted by name |
//!
//! Units, symbols, types, dialect attributes and mixed lists have no counterpart in the C interface. They are
//! errors that name the attribute.

use farcall_ffi::abi::Attrs;
use farcall_ffi::encode::{Encoded, Entries};
use farcall_ir::attr::IntKind;
use farcall_ir::memory;
use farcall_ir::{AttrDict, Attribute, DType, Literal, Scalar};

pub use farcall_ffi::encode::AttrError;

/// A dictionary of attributes in the layout that handlers read. The encoded memory does not move during the
/// lifetime of the value.
#[derive(Debug, Default)]
pub struct EncodedAttrs(Encoded);

impl EncodedAttrs {
    /// Encodes a dictionary.
    ///
    /// # Errors
    /// If an attribute has no counterpart in the C interface.
    pub fn new(dict: &AttrDict) -> Result<EncodedAttrs, AttrError> {
        Encoded::new(|entries| fill(entries, dict)).map(EncodedAttrs)
    }

    /// Returns the dictionary. Copies of it must not outlive `self`.
    pub fn abi(&self) -> Attrs {
        self.0.abi()
    }

    /// Returns a pointer to the dictionary.
    pub fn as_ptr(&self) -> *const Attrs {
        self.0.as_ptr()
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the dictionary is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn fill(entries: &mut Entries<'_>, dict: &AttrDict) -> Result<(), AttrError> {
    dict.iter().try_for_each(|(name, attr)| entry(entries, name, attr))
}

fn entry(entries: &mut Entries<'_>, name: &str, attr: &Attribute) -> Result<(), AttrError> {
    let error = |problem: &str| Err(AttrError::new(name, problem));
    if let Some((dtype, scalar)) = scalar(attr) {
        let mut element = [0; 16];
        scalar.write(dtype, &mut element);
        return entries.scalar(name, dtype, &element[..dtype.size()]);
    }
    match attr {
        Attribute::String(text) => {
            entries.string(name, text);
            Ok(())
        }
        Attribute::Dense(literal) | Attribute::DenseArray(literal) | Attribute::DenseIndex(literal) => {
            array(entries, name, literal)
        }
        Attribute::Array(items) => match list(items) {
            Ok(list) => array(entries, name, &list),
            Err(problem) => error(&problem),
        },
        Attribute::Dict(dict) => entries.dict(name, |entries| fill(entries, dict)),
        Attribute::Unit => error("a unit attribute cannot be passed to a handler; write `true`"),
        Attribute::Symbol(_) => error("a symbol cannot be passed to a handler; write its name as a string"),
        Attribute::Type(_) => error("a type cannot be passed to a handler"),
        Attribute::Sharding(_) | Attribute::ShardingPerValue(_) => {
            error("a sharding cannot be passed to a handler")
        }
        Attribute::Elided(_) => {
            error("the elements of this constant were left out when the program was printed")
        }
        Attribute::Dialect(d) => error(&format!("`#{}` cannot be passed to a handler", d.name)),
        Attribute::Bool(_) | Attribute::Int(..) | Attribute::Float(..) => {
            error("this number has no element type")
        }
    }
}

fn array(entries: &mut Entries<'_>, name: &str, literal: &Literal) -> Result<(), AttrError> {
    let room = literal.expand().and_then(|()| memory::admit_scratch(literal.byte_len()));
    room.map_err(|e| AttrError::new(name, e.to_string()))?;
    entries.array(name, literal.dtype(), literal.len(), literal.bytes())
}

/// Returns the type and value of an attribute that is a number.
fn scalar(attr: &Attribute) -> Option<(DType, Scalar)> {
    let integer = |value: i128, dtype: DType| {
        let scalar = if dtype.is_bool() {
            Scalar::Bool(value != 0)
        } else if dtype.is_unsigned_integer() {
            Scalar::Unsigned(value as u64)
        } else {
            Scalar::Signed(value as i64)
        };
        (dtype, scalar)
    };
    match attr {
        Attribute::Bool(b) => Some((DType::Pred, Scalar::Bool(*b))),
        Attribute::Int(value, IntKind::Typed(dtype)) => Some(integer(*value, *dtype)),
        Attribute::Int(value, IntKind::Index) => Some(integer(*value, DType::S64)),
        Attribute::Float(bits, dtype) => Some((*dtype, Scalar::Float(f64::from_bits(*bits)))),
        _ => None,
    }
}

/// Returns the items of `[a, b]` as one array, if they are scalars of one type.
fn list(items: &[Attribute]) -> Result<Literal, String> {
    let scalars: Option<Vec<(DType, Scalar)>> = items.iter().map(scalar).collect();
    let Some(scalars) = scalars else {
        return Err("a list can be passed to a handler only if its items are numbers".into());
    };
    let Some((dtype, _)) = scalars.first().copied() else {
        return Err("an empty list has no element type; write `array<i64>`".into());
    };
    if let Some((other, _)) = scalars.iter().find(|(d, _)| *d != dtype) {
        return Err(format!("a list of {dtype} and {other} cannot be passed to a handler"));
    }
    Literal::try_from_fn(dtype, [scalars.len()], |i| scalars[i].1).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ffi::abi::{Array, AttrType, ByteSpan, Scalar as AbiScalar};

    fn dict(entries: Vec<(&str, Attribute)>) -> AttrDict {
        entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// Formats the attributes as a handler would read them.
    fn read(attrs: &Attrs) -> String {
        let mut out = Vec::new();
        for i in 0..usize::try_from(attrs.size).unwrap() {
            // SAFETY: this module encoded the attributes, which are alive.
            let (name, kind, at) =
                unsafe { ((**attrs.names.add(i)).as_bytes(), *attrs.types.add(i), *attrs.attrs.add(i)) };
            let name = std::str::from_utf8(name).unwrap();
            // SAFETY: this module encoded the attribute, and the kind determines the type behind the pointer.
            let value = unsafe {
                match kind {
                    AttrType::SCALAR => {
                        let s = &*at.cast::<AbiScalar>();
                        let dtype = s.dtype.dtype().unwrap();
                        let bytes = std::slice::from_raw_parts(s.value.cast::<u8>(), dtype.size());
                        format!("{:?}: {dtype}", Scalar::from_bytes(dtype, bytes))
                    }
                    AttrType::ARRAY => {
                        let a = &*at.cast::<Array>();
                        let dtype = a.dtype.dtype().unwrap();
                        let bytes = std::slice::from_raw_parts(a.data.cast::<u8>(), a.size * dtype.size());
                        let items: Vec<Scalar> =
                            bytes.chunks(dtype.size()).map(|b| Scalar::from_bytes(dtype, b)).collect();
                        format!("{items:?}: {dtype}")
                    }
                    AttrType::STRING => {
                        format!("{:?}", std::str::from_utf8((*at.cast::<ByteSpan>()).as_bytes()))
                    }
                    AttrType::DICTIONARY => format!("{{{}}}", read(&*at.cast::<Attrs>())),
                    other => format!("{other:?}"),
                }
            };
            out.push(format!("{name} = {value}"));
        }
        out.join("\n")
    }

    #[test]
    fn every_kind_can_be_read_back() {
        let attrs = dict(vec![
            ("z", Attribute::Bool(true)),
            ("a", Attribute::Int(-5, IntKind::Typed(DType::S8))),
            ("u", Attribute::Int(i128::from(u64::MAX), IntKind::Typed(DType::U64))),
            ("i", Attribute::Int(7, IntKind::Index)),
            ("h", Attribute::float(1.5, DType::F16)),
            ("s", Attribute::string("x\0y")),
            ("e", Attribute::DenseArray(Literal::zeros(DType::F32, [0]))),
            ("m", Attribute::Dense(Literal::from_slice(DType::S32, [2, 2], &[1, 2, 3, 4]))),
            ("l", Attribute::Array(vec![Attribute::i64(1), Attribute::i64(2)])),
            ("d", Attribute::Dict(dict(vec![("k", Attribute::i64(9))]))),
        ]);
        let encoded = EncodedAttrs::new(&attrs).unwrap();
        expect_test::expect![[r#"
            a = Signed(-5): s8
            d = {k = Signed(9): s64}
            e = []: f32
            h = Float(1.5): f16
            i = Signed(7): s64
            l = [Signed(1), Signed(2)]: s64
            m = [Signed(1), Signed(2), Signed(3), Signed(4)]: s32
            s = Ok("x\0y")
            u = Unsigned(18446744073709551615): u64
            z = Bool(true): pred"#]]
        .assert_eq(&read(&encoded.abi()));
        assert_eq!(encoded.len(), 10);
    }

    #[test]
    fn errors_name_the_attribute() {
        let fail = |attr: Attribute| {
            let outer = dict(vec![("outer", Attribute::Dict(dict(vec![("x", attr)])))]);
            EncodedAttrs::new(&outer).unwrap_err().to_string()
        };
        assert_eq!(
            fail(Attribute::Array(vec![Attribute::i64(1), Attribute::Bool(true)])),
            "attribute `outer.x`: a list of s64 and pred cannot be passed to a handler"
        );
        assert!(fail(Attribute::Unit).starts_with("attribute `outer.x`: a unit attribute"));
        let mut deep = Attribute::i64(1);
        for _ in 0..100 {
            deep = Attribute::Dict(dict(vec![("d", deep)]));
        }
        assert!(fail(deep).ends_with("dictionaries are nested too deep"));
    }
}
