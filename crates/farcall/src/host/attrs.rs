//! Attributes in the form of the C interface.
//!
//! Encoded once per call site; the memory stays where it is for as long as the [`EncodedAttrs`].
//!
//! | attribute | is passed as |
//! | --- | --- |
//! | `true`, `5 : i32`, `0.5 : f32` | scalar of its dtype; `index` as `s64` |
//! | `"text"` | string |
//! | `array<i64: 1, 2>`, `dense<…> : tensor<…>` | array of its dtype, elements row-major whatever the rank |
//! | `[1 : i32, 2 : i32]` | array, if all items are scalars of one dtype |
//! | `{k = v}` | dictionary, sorted by name |
//!
//! Units, symbols, types, dialect attributes and mixed lists have no form there: they are an error
//! that names the attribute.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use farcall_ffi::abi::{Array, AttrType, Attrs, ByteSpan, DataType, Scalar as AbiScalar};
use farcall_ir::attr::IntKind;
use farcall_ir::memory::{self, OutOfMemory};
use farcall_ir::{Attr, AttrDict, DType, Literal, Scalar};

/// Dictionaries in dictionaries at most.
const MAX_DEPTH: usize = 64;

/// Why attributes have no form in the C interface.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("attribute `{path}`: {problem}")]
pub struct AttrError {
    /// Name of the attribute; in dictionaries, names joined by dots.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A dictionary of attributes as handlers read it.
#[derive(Debug)]
pub struct EncodedAttrs {
    root: Attrs,
    // Declared after `root`, which points into it.
    memory: Memory,
}

// SAFETY: `root` points into `memory`, which nobody writes to after encoding.
unsafe impl Send for EncodedAttrs {}
// SAFETY: as above.
unsafe impl Sync for EncodedAttrs {}

impl EncodedAttrs {
    /// Encodes a dictionary.
    ///
    /// # Errors
    /// If an attribute has no form there.
    pub fn new(dict: &AttrDict) -> Result<EncodedAttrs, AttrError> {
        let mut memory = Memory::default();
        let root = memory.dict(dict, "", 0)?;
        Ok(EncodedAttrs { root, memory })
    }

    /// The dictionary; it may be copied, but not outlive `self`.
    pub(crate) fn abi(&self) -> Attrs {
        let Attrs { struct_size, extension_start, size, types, names, attrs } = self.root;
        Attrs { struct_size, extension_start, size, types, names, attrs }
    }

    /// The dictionary in place.
    pub(crate) fn as_ptr(&self) -> *const Attrs {
        &raw const self.root
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        usize::try_from(self.root.size).unwrap_or(0)
    }

    /// True if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.memory.0.is_empty()
    }
}

impl Default for EncodedAttrs {
    fn default() -> EncodedAttrs {
        let root = Attrs {
            struct_size: Attrs::STRUCT_SIZE,
            extension_start: null_mut(),
            size: 0,
            types: null_mut(),
            names: null_mut(),
            attrs: null_mut(),
        };
        EncodedAttrs { root, memory: Memory::default() }
    }
}

/// Objects that stay where they are.
#[derive(Default)]
struct Memory(Vec<Kept>);

/// An object on the heap, owned, of a type that is no longer known but droppable.
struct Kept {
    object: NonNull<c_void>,
    drop: unsafe fn(NonNull<c_void>),
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory({} objects)", self.0.len())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for kept in &self.0 {
            // SAFETY: `keep` made both for each other, and this is the only drop.
            unsafe { (kept.drop)(kept.object) };
        }
    }
}

/// A scalar's bytes, aligned for any element type.
#[repr(align(16))]
struct Value([u8; 16]);

impl Memory {
    /// Moves a value to the heap.
    fn keep<T>(&mut self, value: T) -> NonNull<T> {
        /// # Safety
        /// `object` is a box's raw pointer to a `T`, dropped nowhere else.
        unsafe fn drop_box<T>(object: NonNull<c_void>) {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(object.cast::<T>().as_ptr()) });
        }
        let object = NonNull::from(Box::leak(Box::new(value)));
        self.0.push(Kept { object: object.cast(), drop: drop_box::<T> });
        object
    }

    /// Moves a vector's elements to memory that stays.
    fn keep_all<T>(&mut self, values: Vec<T>) -> *mut T {
        let kept = self.keep(values);
        // SAFETY: just made, and nobody else has it.
        unsafe { (*kept.as_ptr()).as_mut_ptr() }
    }

    fn dict(&mut self, dict: &AttrDict, prefix: &str, depth: usize) -> Result<Attrs, AttrError> {
        let mut types = Vec::with_capacity(dict.len());
        let mut names = Vec::with_capacity(dict.len());
        let mut attrs = Vec::with_capacity(dict.len());
        // The order of a `BTreeMap` of strings is bytewise, as readers expect.
        for (name, attr) in dict {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let (kind, value) = self.attr(attr, &path, depth)?;
            let name = self.span(name.as_bytes());
            types.push(kind);
            names.push(name.as_ptr());
            attrs.push(value);
        }
        Ok(Attrs {
            struct_size: Attrs::STRUCT_SIZE,
            extension_start: null_mut(),
            size: i64::try_from(dict.len()).unwrap_or(i64::MAX),
            types: self.keep_all(types),
            names: self.keep_all(names),
            attrs: self.keep_all(attrs),
        })
    }

    fn attr(&mut self, attr: &Attr, path: &str, depth: usize) -> Result<(AttrType, *mut c_void), AttrError> {
        let error = |problem: &str| Err(AttrError { path: path.to_owned(), problem: problem.to_owned() });
        if let Some((dtype, scalar)) = scalar(attr) {
            return Ok((AttrType::SCALAR, self.scalar(dtype, scalar).cast().as_ptr()));
        }
        match attr {
            Attr::String(text) => Ok((AttrType::STRING, self.span(text).cast().as_ptr())),
            Attr::Dense(literal) | Attr::DenseArray(literal) | Attr::DenseIndex(literal) => {
                match self.array(literal) {
                    Ok(array) => Ok((AttrType::ARRAY, array)),
                    Err(problem) => error(&problem.to_string()),
                }
            }
            Attr::Array(items) => {
                match list(items).and_then(|list| self.array(&list).map_err(|e| e.to_string())) {
                    Ok(array) => Ok((AttrType::ARRAY, array)),
                    Err(problem) => error(&problem),
                }
            }
            Attr::Dict(_) if depth == MAX_DEPTH => error("dictionaries are nested too deep"),
            Attr::Dict(dict) => {
                let dict = self.dict(dict, path, depth + 1)?;
                Ok((AttrType::DICTIONARY, self.keep(dict).cast().as_ptr()))
            }
            Attr::Unit => error("a unit attribute cannot be passed to a handler; write `true`"),
            Attr::Symbol(_) => error("a symbol cannot be passed to a handler; write its name as a string"),
            Attr::Type(_) => error("a type cannot be passed to a handler"),
            Attr::Sharding(_) | Attr::ShardingPerValue(_) => {
                error("a sharding cannot be passed to a handler")
            }
            Attr::Dialect(d) => error(&format!("`#{}` cannot be passed to a handler", d.name)),
            Attr::Bool(_) | Attr::Int(..) | Attr::Float(..) => error("this number has no element type"),
        }
    }

    fn span(&mut self, bytes: &[u8]) -> NonNull<ByteSpan> {
        let len = bytes.len();
        let ptr = self.keep_all(bytes.to_vec()).cast_const().cast();
        self.keep(ByteSpan { ptr, len })
    }

    fn scalar(&mut self, dtype: DType, scalar: Scalar) -> NonNull<AbiScalar> {
        let mut value = Value([0; 16]);
        scalar.write(dtype, &mut value.0);
        let value = self.keep(value).cast().as_ptr();
        self.keep(AbiScalar { dtype: DataType::from_dtype(dtype), value })
    }

    fn array(&mut self, literal: &Literal) -> Result<*mut c_void, OutOfMemory> {
        // Words of 16 bytes, so that elements of every type are aligned.
        literal.expand()?;
        let mut words: Vec<Value> = memory::reserved(literal.byte_len().div_ceil(16))?;
        words.extend(literal.bytes().chunks(16).map(|chunk| {
            let mut word = Value([0; 16]);
            word.0[..chunk.len()].copy_from_slice(chunk);
            word
        }));
        let data = self.keep_all(words).cast();
        let dtype = DataType::from_dtype(literal.dtype());
        Ok(self.keep(Array { dtype, size: literal.len(), data }).cast().as_ptr())
    }
}

/// The number that an attribute is, if it is one.
fn scalar(attr: &Attr) -> Option<(DType, Scalar)> {
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
        Attr::Bool(b) => Some((DType::Pred, Scalar::Bool(*b))),
        Attr::Int(value, IntKind::Typed(dtype)) => Some(integer(*value, *dtype)),
        Attr::Int(value, IntKind::Index) => Some(integer(*value, DType::S64)),
        Attr::Float(bits, dtype) => Some((*dtype, Scalar::Float(f64::from_bits(*bits)))),
        _ => None,
    }
}

/// The items of `[a, b]` as one array, if they are scalars of one type.
fn list(items: &[Attr]) -> Result<Literal, String> {
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
    Ok(Literal::from_fn(dtype, [scalars.len()], |i| scalars[i].1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dict(entries: Vec<(&str, Attr)>) -> AttrDict {
        entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
    }

    /// What a handler would read.
    fn read(attrs: &Attrs) -> String {
        let mut out = Vec::new();
        for i in 0..usize::try_from(attrs.size).unwrap() {
            // SAFETY: encoded by this module, and alive.
            let (name, kind, at) =
                unsafe { ((**attrs.names.add(i)).as_bytes(), *attrs.types.add(i), *attrs.attrs.add(i)) };
            let name = std::str::from_utf8(name).unwrap();
            // SAFETY: as above; the kind says what it points to.
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
            ("z", Attr::Bool(true)),
            ("a", Attr::Int(-5, IntKind::Typed(DType::S8))),
            ("u", Attr::Int(i128::from(u64::MAX), IntKind::Typed(DType::U64))),
            ("i", Attr::Int(7, IntKind::Index)),
            ("h", Attr::float(1.5, DType::F16)),
            ("s", Attr::string("x\0y")),
            ("e", Attr::DenseArray(Literal::zeros(DType::F32, [0]))),
            ("m", Attr::Dense(Literal::from_slice(DType::S32, [2, 2], &[1, 2, 3, 4]))),
            ("l", Attr::Array(vec![Attr::i64(1), Attr::i64(2)])),
            ("d", Attr::Dict(dict(vec![("k", Attr::i64(9))]))),
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
    fn what_cannot_be_passed_is_named() {
        let fail = |attr: Attr| {
            let outer = dict(vec![("outer", Attr::Dict(dict(vec![("x", attr)])))]);
            EncodedAttrs::new(&outer).unwrap_err().to_string()
        };
        assert_eq!(
            fail(Attr::Array(vec![Attr::i64(1), Attr::Bool(true)])),
            "attribute `outer.x`: a list of s64 and pred cannot be passed to a handler"
        );
        assert!(fail(Attr::Unit).starts_with("attribute `outer.x`: a unit attribute"));
        let mut deep = Attr::i64(1);
        for _ in 0..100 {
            deep = Attr::Dict(dict(vec![("d", deep)]));
        }
        assert!(fail(deep).ends_with("dictionaries are nested too deep"));
    }
}
