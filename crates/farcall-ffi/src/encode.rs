//! Attributes in the form of the C interface: the one encoder, for handlers' hosts and for rules.
//!
//! Programs, signatures and tests pass their attributes one by one, by name, to [`Entries`]. The only copy is the one
//! into the memory of the [`Encoded`] dictionary.
//!
//! | written as | is passed as |
//! | --- | --- |
//! | [`Entries::scalar`] | scalar of its dtype |
//! | [`Entries::array`] | array of its dtype, aligned for every element type |
//! | [`Entries::string`] | string, which need not be UTF-8 |
//! | [`Entries::dict`] | dictionary, sorted by name; of entries of one name, the last |
//! | [`Entries::value`] | what the value of a signature is |

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

use farcall_sig::{AttrValue, DType, ScalarType};

use crate::abi::{Array, AttrType, Attrs, ByteSpan, DataType, Scalar};
use crate::arena::Arena;

/// Dictionaries in dictionaries at most.
const MAX_DEPTH: usize = 64;

/// Why attributes have no form in the C interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttrError {
    /// Name of the attribute; in dictionaries, names joined by dots.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl AttrError {
    /// An error for an attribute of the dictionary that is being encoded.
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

/// A dictionary of attributes as the other side reads it. The memory stays where it is for as long as this lives.
#[derive(Debug)]
pub struct Encoded {
    root: Attrs,
    // Declared after `root`, which points into it.
    _memory: Arena,
}

// SAFETY: `root` points into the memory, which nobody writes to after encoding.
unsafe impl Send for Encoded {}
// SAFETY: as above.
unsafe impl Sync for Encoded {}

impl Encoded {
    /// Encodes the attributes that `fill` hands over.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn new(fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>) -> Result<Encoded, AttrError> {
        let mut memory = Arena::default();
        let root = encode(&mut memory, fill)?;
        Ok(Encoded { root, _memory: memory })
    }

    /// Encodes attributes of a signature.
    ///
    /// # Errors
    /// If dictionaries are nested too deep, or there is not enough memory.
    pub fn of(attrs: &farcall_sig::Attrs) -> Result<Encoded, AttrError> {
        Encoded::new(|entries| attrs.iter().try_for_each(|(name, value)| entries.value(name, value)))
    }

    /// The dictionary in place.
    pub fn as_ptr(&self) -> *const Attrs {
        &raw const self.root
    }

    /// The dictionary; it may be copied, but not outlive `self`.
    pub fn abi(&self) -> Attrs {
        let Attrs { struct_size, extension_start, size, types, names, attrs } = self.root;
        Attrs { struct_size, extension_start, size, types, names, attrs }
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        usize::try_from(self.root.size).unwrap_or(0)
    }

    /// True if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// No attributes.
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
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
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
    /// If there are not as many bytes as an element of the type has.
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
    /// If there are not as many bytes as the elements have.
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

    /// Adds the dictionary of the attributes that `fill` hands over.
    ///
    /// # Errors
    /// Those of `fill`, and if dictionaries are nested too deep.
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

    /// Adds a value as a signature has it.
    ///
    /// # Errors
    /// If dictionaries are nested too deep, or there is not enough memory.
    pub fn value(&mut self, name: &str, value: &AttrValue) -> Result<(), AttrError> {
        let mut element = [0; 8];
        match value {
            AttrValue::Bool(_) => {
                self.scalar(name, DType::Pred, write(value, ScalarType::Bool, &mut element))
            }
            AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => {
                self.scalar(name, ty.dtype(), write(value, *ty, &mut element))
            }
            AttrValue::Str(text) => {
                self.string(name, text.as_bytes());
                Ok(())
            }
            AttrValue::Array(ty, items) => {
                let mut bytes = Vec::new();
                if bytes.try_reserve_exact(items.len().saturating_mul(ty.dtype().size())).is_err() {
                    return Err(AttrError::new(name, NO_MEMORY));
                }
                for item in items {
                    bytes.extend_from_slice(write(item, *ty, &mut element));
                }
                self.array(name, ty.dtype(), items.len(), &bytes)
            }
            AttrValue::Dict(dict) => self
                .dict(name, |entries| dict.iter().try_for_each(|(name, value)| entries.value(name, value))),
        }
    }

    fn elements(&mut self, name: &str, bytes: &[u8]) -> Result<*mut c_void, AttrError> {
        match self.arena.put_elements(bytes) {
            Ok(data) => Ok(data.cast()),
            Err(_) => Err(AttrError::new(name, NO_MEMORY)),
        }
    }

    fn add(&mut self, name: &str, kind: AttrType, value: *mut c_void) {
        let name = span(self.arena, name.as_bytes());
        self.entries.push(Entry { name, kind, value });
    }
}

const NO_MEMORY: &str = "there is not enough memory for it";

/// Encodes a dictionary into an arena, where all that it points to lives.
pub(crate) fn encode(
    arena: &mut Arena,
    fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>,
) -> Result<Attrs, AttrError> {
    encode_at(arena, 0, fill)
}

fn encode_at(
    arena: &mut Arena,
    depth: usize,
    fill: impl FnOnce(&mut Entries<'_>) -> Result<(), AttrError>,
) -> Result<Attrs, AttrError> {
    let mut entries = Entries { arena, depth, entries: Vec::new() };
    fill(&mut entries)?;
    let Entries { arena, mut entries, .. } = entries;
    // SAFETY: names that `add` has put into the arena.
    let name = |entry: &Entry| unsafe { (*entry.name).as_bytes() };
    // Readers expect them bytewise sorted. The order of equals is kept.
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

/// A number or boolean as an element of the type; zero if it is none.
fn write<'a>(value: &AttrValue, ty: ScalarType, element: &'a mut [u8; 8]) -> &'a [u8] {
    let (int, float) = match value {
        AttrValue::Bool(v) => (i128::from(*v), f64::from(u8::from(*v))),
        AttrValue::Int(v, _) => (*v, *v as f64),
        AttrValue::Float(v, _) => (*v as i128, *v),
        AttrValue::Str(_) | AttrValue::Array(..) | AttrValue::Dict(_) => (0, 0.0),
    };
    match ty {
        ScalarType::Bool => element[0] = u8::from(int != 0),
        ScalarType::I8 | ScalarType::U8 => element[0] = int as u8,
        ScalarType::I16 | ScalarType::U16 => element[..2].copy_from_slice(&(int as u16).to_ne_bytes()),
        ScalarType::I32 | ScalarType::U32 => element[..4].copy_from_slice(&(int as u32).to_ne_bytes()),
        ScalarType::I64 | ScalarType::U64 => *element = (int as u64).to_ne_bytes(),
        ScalarType::F32 => element[..4].copy_from_slice(&(float as f32).to_ne_bytes()),
        ScalarType::F64 => *element = float.to_ne_bytes(),
    }
    &element[..ty.dtype().size()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(encoded: &Encoded) -> Result<farcall_sig::Attrs, String> {
        // SAFETY: encoded, and there.
        unsafe { crate::rules::read_attrs(encoded.as_ptr()) }
    }

    #[test]
    fn values_of_every_type_can_be_read_back() {
        let number = |ty: ScalarType| match ty {
            ScalarType::Bool => AttrValue::Bool(true),
            ScalarType::F32 | ScalarType::F64 => AttrValue::Float(-0.5, ty),
            _ => AttrValue::Int(ty.range().unwrap().1, ty),
        };
        let mut attrs = farcall_sig::Attrs::new();
        attrs.insert("text", AttrValue::Str("x\0y".into()));
        for ty in ScalarType::ALL {
            attrs.insert(ty.name(), number(ty));
            attrs.insert(format!("{ty}s"), AttrValue::Array(ty, vec![number(ty); 3]));
            attrs.insert(format!("no_{ty}s"), AttrValue::Array(ty, vec![]));
        }
        let encoded = Encoded::of(&attrs).unwrap();
        assert_eq!(encoded.len(), attrs.len());
        let back = read(&encoded).unwrap();
        assert_eq!(back.len(), attrs.len());
        assert!(attrs.iter().all(|(name, value)| back.get(name) == Some(value)), "{back:?}");
        let names: Vec<&str> = back.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted(), "{names:?}");
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
        assert_eq!(back.get("b"), Some(&AttrValue::Str("3".into())));
    }

    #[test]
    fn errors_name_the_way_to_the_attribute() {
        let e = Encoded::new(|entries| {
            entries.dict("a", |entries| entries.dict("b", |_| Err(AttrError::new("c", "no"))))
        });
        assert_eq!(e.unwrap_err().to_string(), "attribute `a.b.c`: no");
        let deep = (0..100).fold(AttrValue::i64(1), |inner, _| AttrValue::Dict(vec![("d".into(), inner)]));
        let e = Encoded::of(&farcall_sig::Attrs::from_iter([("x", deep)])).unwrap_err();
        assert!(e.to_string().ends_with(".d`: dictionaries are nested too deep"), "{e}");
    }
}
