//! Encodes attributes in the form of the C interface, for the hosts of handlers and for rules.
//!
//! Programs, rules and tests pass their attributes one by one, by name, to [`Entries`]. Attributes are copied
//! only once, into the memory of the [`Encoded`] dictionary.
//!
//! | written as | encoded as |
//! | --- | --- |
//! | [`Entries::scalar`] | scalar of its dtype |
//! | [`Entries::array`] | array of its dtype, aligned for every element type |
//! | [`Entries::string`] | string, which need not be UTF-8 |
//! | [`Entries::dict`] | dictionary, sorted by name; of several entries with the same name, the last one is kept |
//! | [`Entries::value`] | the form of the [`AttrValue`] |

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

use farcall_sig::{AttrArray, AttrValue, DType};

use crate::abi::{Array, AttrType, Attrs, ByteSpan, DataType, Scalar};
use crate::arena::Arena;
use crate::attr::Dict;
use crate::error::Error;

/// Maximum nesting depth of dictionaries.
const MAX_DEPTH: usize = 64;

/// Reason why attributes cannot be encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttrError {
    /// Name of the attribute; within dictionaries, names joined by dots.
    pub path: String,
    /// Description of the problem.
    pub problem: String,
}

impl AttrError {
    /// Makes an error for an attribute of the dictionary that is being encoded.
    pub fn new(name: &str, problem: impl Into<String>) -> AttrError {
        AttrError { path: name.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for AttrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attribute `{}`: {}", self.path, self.problem)
    }
}

impl std::error::Error for AttrError {}

/// An encoded dictionary of attributes. Its memory stays in place for as long as this value lives.
#[derive(Debug)]
pub struct Encoded {
    root: Attrs,
    // Declared after `root`, which points into this memory.
    _memory: Arena,
}

// SAFETY: `root` points into the memory, which is not written to after encoding.
unsafe impl Send for Encoded {}
// SAFETY: `root` points into the memory, which is not written to after encoding.
unsafe impl Sync for Encoded {}

impl Encoded {
    /// Encodes the attributes that `fill` adds.
    ///
    /// # Errors
    /// The errors of `fill`.
    pub fn new(fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>) -> Result<Encoded, AttrError> {
        let mut memory = Arena::default();
        let root = encode(&mut memory, fill)?;
        Ok(Encoded { root, _memory: memory })
    }

    /// Encodes attributes.
    ///
    /// # Errors
    /// The errors of [`Entries::value`].
    pub fn of(attrs: &farcall_sig::AttrValues) -> Result<Encoded, AttrError> {
        Encoded::new(|entries| entries.values(attrs))
    }

    /// Returns the dictionary as a handler sees it.
    pub fn attrs(&self) -> &crate::Attrs {
        // SAFETY: `encode` wrote the dictionary. Everything reachable from it is valid and lives as long as
        // `self`.
        match unsafe { Dict::check(&raw const self.root) } {
            Ok(dict) => crate::Attrs::from_dict(dict),
            Err(what) => unreachable!("encoded attributes are well-formed: {what}"),
        }
    }

    /// Returns a pointer to the dictionary.
    pub fn as_ptr(&self) -> *const Attrs {
        &raw const self.root
    }

    /// Returns a shallow copy of the dictionary, which must not outlive `self`.
    pub fn abi(&self) -> Attrs {
        let Attrs { struct_size, extension_start, size, types, names, attrs } = self.root;
        Attrs { struct_size, extension_start, size, types, names, attrs }
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        usize::try_from(self.root.size).unwrap_or(0)
    }

    /// Returns true if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Makes an empty dictionary.
impl Default for Encoded {
    fn default() -> Encoded {
        let root = Attrs {
            struct_size: Attrs::STRUCT_SIZE,
            extension_start: null_mut(),
            size: 0,
            types: null_mut(),
            names: null_mut(),
            attrs: null_mut(),
        };
        Encoded { root, _memory: Arena::default() }
    }
}

/// A dictionary that is being encoded.
#[derive(Debug)]
pub struct Entries<'a> {
    arena: &'a mut Arena,
    depth: usize,
    entries: Vec<EncodedAttr>,
}

#[derive(Clone, Copy, Debug)]
struct EncodedAttr {
    name: *mut ByteSpan,
    kind: AttrType,
    value: *mut c_void,
}

impl Entries<'_> {
    /// Adds a number or boolean, by its bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// # Panics
    /// If the number of bytes is not the size of an element.
    pub fn scalar(&mut self, name: &str, dtype: DType, bytes: &[u8]) -> Result<(), AttrError> {
        assert_eq!(bytes.len(), dtype.size(), "{dtype}");
        let value = self.elements(name, bytes)?;
        let value = self.arena.put(Scalar { dtype: DataType::from_dtype(dtype), value }).cast();
        self.add(name, AttrType::SCALAR, value);
        Ok(())
    }

    /// Adds an array, by the bytes of its `size` elements.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// # Panics
    /// If the number of bytes is not the size of the elements.
    pub fn array(&mut self, name: &str, dtype: DType, size: usize, bytes: &[u8]) -> Result<(), AttrError> {
        assert_eq!(Some(bytes.len()), size.checked_mul(dtype.size()), "{size} of {dtype}");
        let data = self.elements(name, bytes)?;
        let value = self.arena.put(Array { dtype: DataType::from_dtype(dtype), size, data }).cast();
        self.add(name, AttrType::ARRAY, value);
        Ok(())
    }

    /// Adds a string.
    pub fn string(&mut self, name: &str, bytes: &[u8]) {
        let value = span(self.arena, bytes).cast();
        self.add(name, AttrType::STRING, value);
    }

    /// Adds a dictionary of the attributes that `fill` adds to it.
    ///
    /// # Errors
    /// The errors of `fill`, and an error if dictionaries are nested too deep.
    pub fn dict(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>,
    ) -> Result<(), AttrError> {
        if self.depth == MAX_DEPTH {
            return Err(AttrError::new(name, "dictionaries are nested too deep"));
        }
        let dict = encode_at(self.arena, self.depth + 1, fill);
        let dict = dict.map_err(|e| AttrError { path: format!("{name}.{}", e.path), ..e })?;
        let value = self.arena.put(dict).cast();
        self.add(name, AttrType::DICTIONARY, value);
        Ok(())
    }

    /// Adds a value.
    ///
    /// # Errors
    /// If an integer is out of the range of its type, dictionaries are nested too deep, or there is not
    /// enough memory.
    pub fn value(&mut self, name: &str, value: &AttrValue) -> Result<(), AttrError> {
        match value {
            AttrValue::Bool(v) => self.one(name, AttrArray::from([*v])),
            AttrValue::C64(v) => self.one(name, AttrArray::from([*v])),
            AttrValue::C128(v) => self.one(name, AttrArray::from([*v])),
            AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => {
                let mut element = AttrArray::of_scalars(*ty);
                let wrong = || AttrError::new(name, format!("{value} is out of range for {ty}"));
                element.push(value).ok_or_else(wrong)?;
                self.one(name, element)
            }
            AttrValue::Str(text) => {
                self.string(name, text.as_bytes());
                Ok(())
            }
            AttrValue::Bytes(bytes) => {
                self.string(name, bytes);
                Ok(())
            }
            AttrValue::Array(values) => self.array(name, values.dtype(), values.len(), values.bytes()),
            AttrValue::Dict(dict) => self
                .dict(name, |entries| dict.iter().try_for_each(|(name, value)| entries.value(name, value))),
        }
    }

    fn values(&mut self, attrs: &farcall_sig::AttrValues) -> Result<(), AttrError> {
        attrs.iter().try_for_each(|(name, value)| self.value(name, value))
    }

    /// Adds the only element of an array, as a scalar.
    fn one(&mut self, name: &str, element: AttrArray) -> Result<(), AttrError> {
        self.scalar(name, element.dtype(), element.bytes())
    }

    fn elements(&mut self, name: &str, bytes: &[u8]) -> Result<*mut c_void, AttrError> {
        match self.arena.put_elements(bytes) {
            Ok(data) => Ok(data.cast()),
            Err(_) => Err(AttrError::new(name, NO_MEMORY)),
        }
    }

    fn add(&mut self, name: &str, kind: AttrType, value: *mut c_void) {
        let name = span(self.arena, name.as_bytes());
        self.entries.push(EncodedAttr { name, kind, value });
    }
}

const NO_MEMORY: &str = "there is not enough memory for it";

/// Encodes a dictionary into an arena, which owns everything that the dictionary points to.
fn encode(
    arena: &mut Arena,
    fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>,
) -> Result<Attrs, AttrError> {
    encode_at(arena, 0, fill)
}

/// Encodes attributes into an arena.
///
/// # Errors
/// `INVALID_ARGUMENT` for values that [`Entries::value`] rejects.
pub(crate) fn encode_attrs(
    arena: &mut Arena,
    attrs: &farcall_sig::AttrValues,
) -> crate::error::Result<Attrs> {
    encode(arena, |entries| entries.values(attrs)).map_err(|e| Error::invalid_argument(e.to_string()))
}

fn encode_at(
    arena: &mut Arena,
    depth: usize,
    fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>,
) -> Result<Attrs, AttrError> {
    let mut entries = Entries { arena, depth, entries: Vec::new() };
    fill(&mut entries)?;
    let Entries { arena, mut entries, .. } = entries;
    // SAFETY: `add` has put the names into the arena.
    let name = |entry: &EncodedAttr| unsafe { (*entry.name).as_bytes() };
    // Readers expect names sorted by their bytes. The sort is stable, so that the last of equal names is
    // kept.
    entries.sort_by(|a, b| name(a).cmp(name(b)));
    entries.dedup_by(|later, earlier| {
        let same = name(later) == name(earlier);
        if same {
            *earlier = *later;
        }
        same
    });
    let all = |arena: &mut Arena| {
        let types: Vec<AttrType> = entries.iter().map(|e| e.kind).collect();
        let names: Vec<*mut ByteSpan> = entries.iter().map(|e| e.name).collect();
        let attrs: Vec<*mut c_void> = entries.iter().map(|e| e.value).collect();
        (arena.put_all(&types), arena.put_all(&names), arena.put_all(&attrs))
    };
    let (types, names, attrs) = all(arena);
    let size = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    Ok(Attrs { struct_size: Attrs::STRUCT_SIZE, extension_start: null_mut(), size, types, names, attrs })
}

fn span(arena: &mut Arena, bytes: &[u8]) -> *mut ByteSpan {
    let ptr = arena.put_all(bytes).cast_const().cast();
    arena.put(ByteSpan { ptr, len: bytes.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_sig::{Complex, ScalarType};

    fn read(encoded: &Encoded) -> Result<farcall_sig::AttrValues, String> {
        // SAFETY: the dictionary is well-formed and alive.
        unsafe { crate::rules::read_attrs(encoded.as_ptr()) }
    }

    #[test]
    fn values_of_every_type_can_be_read_back() {
        let number = |ty: ScalarType| match ty {
            ScalarType::Bool => AttrValue::Bool(true),
            ScalarType::F32 | ScalarType::F64 => AttrValue::Float(-0.5, ty),
            _ => AttrValue::Int(ty.range().unwrap().1, ty),
        };
        let mut attrs = farcall_sig::AttrValues::new();
        attrs.insert("text", "x\0y");
        attrs.insert("bytes", AttrValue::bytes(b"\xff"));
        attrs.insert("c64", Complex::new(0.5f32, -2.0));
        attrs.insert("c64s", [Complex::new(0.5f32, -2.0)]);
        attrs.insert("c128", Complex::new(0.5f64, -2.0));
        attrs.insert("c128s", [Complex::new(0.5f64, -2.0)]);
        for ty in ScalarType::VARIANTS {
            let mut numbers = AttrArray::of_scalars(ty);
            attrs.insert(format!("no_{ty}s"), numbers.clone());
            (0..3).for_each(|_| numbers.push(&number(ty)).unwrap());
            attrs.insert(format!("{ty}s"), numbers);
            attrs.insert(ty.name(), number(ty));
        }
        let encoded = Encoded::of(&attrs).unwrap();
        assert_eq!(encoded.len(), attrs.len());
        let back = read(&encoded).unwrap();
        assert_eq!(back.len(), attrs.len());
        assert!(
            attrs.iter().all(|(name, value)| back.get(name) == Some(value)),
            "values were read back as {back:?}"
        );
        let names: Vec<&str> = back.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted(), "{names:?} are not sorted");
    }

    #[test]
    fn the_last_entry_of_a_name_counts() {
        let encoded = Encoded::new(|entries| {
            entries.string("b", b"1");
            entries.string("a", b"2");
            entries.string("b", b"3");
            Ok(())
        });
        let back = read(&encoded.unwrap()).unwrap();
        assert_eq!(back.len(), 2);
        assert_eq!(back.get("b"), Some(&"3".into()));
    }

    #[test]
    fn errors_name_the_way_to_the_attribute() {
        let e = Encoded::new(|entries| {
            entries.dict("a", |entries| entries.dict("b", |_| Err(AttrError::new("c", "no"))))
        });
        assert_eq!(e.unwrap_err().to_string(), "attribute `a.b.c`: no");
        let wide = farcall_sig::AttrValues::from_iter([("n", AttrValue::Int(300, ScalarType::U8))]);
        assert_eq!(Encoded::of(&wide).unwrap_err().to_string(), "attribute `n`: 300 is out of range for u8");
        let deep = (0..100).fold(AttrValue::i64(1), |inner, _| AttrValue::Dict(vec![("d".into(), inner)]));
        let e = Encoded::of(&farcall_sig::AttrValues::from_iter([("x", deep)])).unwrap_err();
        assert!(e.to_string().ends_with(".d`: dictionaries are nested too deep"), "{e}");
    }
}
