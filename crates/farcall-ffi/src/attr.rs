//! Attributes: the constants of a call, by name.
//!
//! A parameter whose type implements [`FromAttr`] receives the attribute that has the parameter's name.
//! [`Dict`] is a dictionary attribute, [`Attrs`] all the attributes of a call.
//!
//! **Invariants.** A [`Dict`] exists only behind a shared reference, to a struct whose size and tables were
//! checked ([`Dict::check`]). A `Dict` that a handler gets has no misaligned pointer to a name
//! ([`Dict::check_names`]). The value of an attribute is checked when it is read.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use farcall_sig::{AttrArray, AttrValue, DType};

use crate::abi;
use crate::element::{Complex, Element, Pred};
use crate::error::{Error, Result};
use crate::pointer::unusable;

/// A type that an attribute can be read as.
///
/// | Rust | attribute |
/// | --- | --- |
/// | `i8` … `u64`, `f32`, `f64`, [`Complex`], `bool` | scalar of exactly this type |
/// | `&str` | string, which must be UTF-8 |
/// | `&[T]` of an [`Element`], `&[bool]` | array of exactly this type; for `&[u8]` also a string |
/// | `&Dict` | dictionary |
/// | `Option<T>` as a parameter | a `T` that may be missing |
/// | a struct with `#[derive(FromAttr)]` | dictionary with exactly its fields |
/// | an enum with `#[derive(FromAttr)]` | string or integer |
///
/// Values are not converted: a program that passes an `f64` where the handler expects an `f32` is rejected.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "neither an operand, a result, an attribute nor a context",
    note = "an operand is a `&Buffer<T>` or `&AnyBuffer`, a result a `&mut Buffer<T>` or `&mut AnyBuffer`, an operand that becomes a result `&mut InOut<Buffer<T>>`",
    note = "an attribute is a number, bool, `&str`, `&[T]`, `&Dict`, or an `Option` of one",
    note = "see: farcall guide kernels"
)]
pub trait FromAttr<'a>: Sized {
    /// Expected type, for messages and descriptions: `f32`, `string`, `[s64]`, `dictionary`.
    const EXPECTS: &'static str;

    /// Reads the value of an attribute.
    ///
    /// # Errors
    /// [`Attr::mismatch`] if the attribute has another type.
    fn from_attr(attr: Attr<'a>) -> Result<Self>;

    /// States whether a value that was read once stays valid for later calls with an unchanged attribute.
    #[doc(hidden)]
    const LASTS: Lasts<Self> = Lasts::NO;
}

/// States whether a value can be handed out more than once. Only values of [`Copy`] types can.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lasts<T>(Option<fn(&T) -> T>);

impl<T> Lasts<T> {
    /// The value is read for each call.
    pub const NO: Lasts<T> = Lasts(None);

    /// Returns true if the value can be handed out more than once.
    pub const fn lasts(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the value, and leaves it in the slot if it can be handed out more than once.
    #[inline(always)]
    pub(crate) fn take(&self, slot: &mut Option<T>) -> Option<T> {
        match self.0 {
            Some(copy) => slot.as_ref().map(copy),
            None => slot.take(),
        }
    }
}

impl<T: Copy> Lasts<T> {
    /// The value is read once.
    pub const YES: Lasts<T> = Lasts(Some(|value| *value));
}

/// Kind that stands for an attribute whose pointer is null.
const NO_VALUE: abi::AttrType = abi::AttrType(0);
/// Kind that stands for an attribute whose pointer is misaligned for every kind.
const MISALIGNED: abi::AttrType = abi::AttrType(u32::MAX);

/// Alignment in bytes of an attribute's struct, the same for all kinds.
const ALIGNMENT: usize = {
    let all = [align_of::<abi::Array>(), align_of::<abi::ByteSpan>(), align_of::<abi::Attrs>()];
    assert!(all[0] == align_of::<abi::Scalar>() && all[0] == all[1] && all[0] == all[2]);
    all[0]
};

/// One attribute, not yet read as a Rust type.
#[derive(Clone, Copy)]
pub struct Attr<'a> {
    kind: abi::AttrType,
    /// Pointer to a struct of this kind.
    value: *const c_void,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Attr<'a> {
    /// # Safety
    /// `value` points to a struct of this kind, unless the kind is [`NO_VALUE`] or [`MISALIGNED`]. Everything
    /// reachable from it stays valid and unchanged during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn new(kind: abi::AttrType, value: *const c_void) -> Attr<'a> {
        Attr { kind, value, lifetime: PhantomData }
    }

    /// # Safety
    /// The requirements of [`Attr::new`] hold during `'b`.
    #[inline(always)]
    pub(crate) unsafe fn with_lifetime<'b>(self) -> Attr<'b> {
        Attr { kind: self.kind, value: self.value, lifetime: PhantomData }
    }

    /// Reads the attribute as a Rust type.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the attribute has another type.
    pub fn get<T: FromAttr<'a>>(self) -> Result<T> {
        T::from_attr(self)
    }

    /// Makes the error for an attribute whose type is not `expected`.
    #[cold]
    #[inline(never)]
    pub fn mismatch(self, expected: &str) -> Error {
        Error::invalid_argument(format!("expected {expected}, found {self:?}"))
    }

    #[inline(always)]
    fn scalar<T: Element>(self) -> Option<T> {
        if self.kind != abi::AttrType::SCALAR {
            return None;
        }
        let scalar = self.value.cast::<abi::Scalar>();
        // SAFETY: `value` points to a struct of this kind (`Attr::new`).
        let (dtype, value) = unsafe { ((*scalar).dtype, (*scalar).value) };
        if dtype != abi::DataType::from_dtype(T::DTYPE) || value.is_null() {
            return None;
        }
        // SAFETY: a scalar's value points to one element of its type, perhaps misaligned.
        Some(unsafe { value.cast::<T>().read_unaligned() })
    }

    fn array<T: Element>(self) -> Option<&'a [T]> {
        if self.kind != abi::AttrType::ARRAY {
            return None;
        }
        let array = self.value.cast::<abi::Array>();
        // SAFETY: `value` points to a struct of this kind (`Attr::new`).
        let (dtype, size, data) = unsafe { ((*array).dtype, (*array).size, (*array).data.cast::<T>()) };
        if dtype != abi::DataType::from_dtype(T::DTYPE) {
            return None;
        }
        if size == 0 {
            return Some(&[]);
        }
        if data.is_null() || !data.is_aligned() || size > isize::MAX as usize / size_of::<T>() {
            return None;
        }
        // SAFETY: an array's data have `size` elements of its type; the pointer was checked to be aligned and
        // not null.
        Some(unsafe { std::slice::from_raw_parts(data, size) })
    }

    /// Returns the attribute's value, if it is a number, boolean, array or string.
    pub(crate) fn to_value(self) -> Option<AttrValue> {
        match self.kind {
            abi::AttrType::SCALAR => {
                // SAFETY: `value` points to a struct of this kind (`Attr::new`).
                let (dtype, value) = unsafe {
                    let scalar = self.value.cast::<abi::Scalar>();
                    ((*scalar).dtype.dtype()?, (*scalar).value)
                };
                // SAFETY: a scalar's value points to one element of its type.
                AttrArray::new(dtype, unsafe { copy_of(value, dtype.size()) }?).ok()?.get(0)
            }
            abi::AttrType::ARRAY => {
                // SAFETY: `value` points to a struct of this kind (`Attr::new`).
                let (dtype, size, data) = unsafe {
                    let array = self.value.cast::<abi::Array>();
                    ((*array).dtype.dtype()?, (*array).size, (*array).data)
                };
                // SAFETY: an array's data have `size` elements of its type.
                AttrArray::new(dtype, unsafe { copy_of(data, size.checked_mul(dtype.size())?) }?)
                    .ok()
                    .map(AttrValue::Array)
            }
            _ => self.bytes().map(AttrValue::bytes),
        }
    }

    fn bytes(self) -> Option<&'a [u8]> {
        if self.kind != abi::AttrType::STRING {
            return None;
        }
        // SAFETY: `value` points to a struct of this kind (`Attr::new`), here a span, whose bytes are valid
        // during `'a`.
        Some(unsafe { (*self.value.cast::<abi::ByteSpan>()).as_bytes() })
    }
}

/// Copies `len` bytes; `None` if the pointer is null or `len` exceeds `isize::MAX`.
///
/// # Safety
/// Unless null, `bytes` points to `len` bytes.
unsafe fn copy_of(bytes: *const c_void, len: usize) -> Option<Vec<u8>> {
    if len == 0 {
        return Some(Vec::new());
    }
    if bytes.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: the pointer is not null, `len` was checked, and the caller guarantees the bytes (`# Safety`
    // above).
    Some(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), len) }.to_vec())
}

/// Writes the attribute's type: `f32`, `[s64]`, `string`, `dictionary`.
impl fmt::Debug for Attr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            // SAFETY: `value` points to a struct of this kind (`Attr::new`).
            abi::AttrType::SCALAR => write!(f, "{}", unsafe { (*self.value.cast::<abi::Scalar>()).dtype }),
            // SAFETY: `value` points to a struct of this kind (`Attr::new`).
            abi::AttrType::ARRAY => write!(f, "[{}]", unsafe { (*self.value.cast::<abi::Array>()).dtype }),
            abi::AttrType::STRING => f.write_str("string"),
            abi::AttrType::DICTIONARY => f.write_str("dictionary"),
            NO_VALUE => f.write_str("no value"),
            MISALIGNED => f.write_str("a misaligned pointer"),
            abi::AttrType(other) => write!(f, "attribute of unknown kind {other}"),
        }
    }
}

macro_rules! scalar_attributes {
    ($($ty:ty),*) => {
        $(impl<'a> FromAttr<'a> for $ty {
            const EXPECTS: &'static str = <$ty as Element>::DTYPE.name();
            const LASTS: Lasts<Self> = Lasts::YES;

            #[inline(always)]
            fn from_attr(attr: Attr<'a>) -> Result<$ty> {
                attr.scalar().ok_or_else(|| attr.mismatch(Self::EXPECTS))
            }
        })*
    };
}

scalar_attributes!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Pred, Complex<f32>, Complex<f64>);
#[cfg(feature = "half")]
scalar_attributes!(half::f16, half::bf16);
#[cfg(feature = "num-complex")]
scalar_attributes!(num_complex::Complex<f32>, num_complex::Complex<f64>);

impl<'a> FromAttr<'a> for bool {
    const EXPECTS: &'static str = DType::Pred.name();
    const LASTS: Lasts<Self> = Lasts::YES;

    #[inline(always)]
    fn from_attr(attr: Attr<'a>) -> Result<bool> {
        attr.scalar::<Pred>().map(Pred::get).ok_or_else(|| attr.mismatch(Self::EXPECTS))
    }
}

impl<'a> FromAttr<'a> for &'a str {
    const EXPECTS: &'static str = "string";
    const LASTS: Lasts<Self> = Lasts::YES;

    fn from_attr(attr: Attr<'a>) -> Result<&'a str> {
        let bytes = attr.bytes().ok_or_else(|| attr.mismatch(Self::EXPECTS))?;
        std::str::from_utf8(bytes).map_err(|_| Error::invalid_argument("the string is not UTF-8"))
    }
}

macro_rules! array_attributes {
    ($($ty:ty => $expects:literal,)*) => {
        $(impl<'a> FromAttr<'a> for &'a [$ty] {
            const EXPECTS: &'static str = $expects;
            const LASTS: Lasts<Self> = Lasts::YES;

            fn from_attr(attr: Attr<'a>) -> Result<&'a [$ty]> {
                attr.array().ok_or_else(|| attr.mismatch(Self::EXPECTS))
            }
        })*
    };
}

array_attributes! {
    i8 => "[s8]", i16 => "[s16]", i32 => "[s32]", i64 => "[s64]",
    u16 => "[u16]", u32 => "[u32]", u64 => "[u64]",
    f32 => "[f32]", f64 => "[f64]", Pred => "[pred]",
    Complex<f32> => "[c64]", Complex<f64> => "[c128]",
}
#[cfg(feature = "half")]
array_attributes! { half::f16 => "[f16]", half::bf16 => "[bf16]", }
#[cfg(feature = "num-complex")]
array_attributes! { num_complex::Complex<f32> => "[c64]", num_complex::Complex<f64> => "[c128]", }

impl<'a> FromAttr<'a> for &'a [u8] {
    const EXPECTS: &'static str = "[u8] or string";
    const LASTS: Lasts<Self> = Lasts::YES;

    fn from_attr(attr: Attr<'a>) -> Result<&'a [u8]> {
        attr.array().or_else(|| attr.bytes()).ok_or_else(|| attr.mismatch(Self::EXPECTS))
    }
}

impl<'a> FromAttr<'a> for &'a [bool] {
    const EXPECTS: &'static str = "[pred]";
    const LASTS: Lasts<Self> = Lasts::YES;

    fn from_attr(attr: Attr<'a>) -> Result<&'a [bool]> {
        let preds: &[Pred] = attr.array().ok_or_else(|| attr.mismatch(Self::EXPECTS))?;
        // SAFETY: `Pred` is `repr(transparent)` over `u8`.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(preds.as_ptr().cast(), preds.len()) };
        if bytes.iter().any(|&byte| byte > 1) {
            return Err(Error::invalid_argument("a pred is neither 0 nor 1"));
        }
        // SAFETY: `bool` has the size and alignment of `u8`, and every byte is 0 or 1.
        Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) })
    }
}

impl<'a> FromAttr<'a> for &'a Dict {
    const EXPECTS: &'static str = "dictionary";
    const LASTS: Lasts<Self> = Lasts::YES;

    fn from_attr(attr: Attr<'a>) -> Result<&'a Dict> {
        if attr.kind != abi::AttrType::DICTIONARY {
            return Err(attr.mismatch(Self::EXPECTS));
        }
        // SAFETY: `value` points to a struct of this kind (`Attr::new`), which stays valid during `'a`.
        let dict = unsafe { Dict::check(attr.value.cast()) }.map_err(Error::invalid_argument)?;
        dict.check_names().map_err(Error::invalid_argument)?;
        Ok(dict)
    }
}

/// A dictionary attribute, as a parameter `&Dict`.
#[repr(transparent)]
pub struct Dict(abi::Attrs);

impl Dict {
    /// Checks the size and tables of a foreign struct, and returns it as a dictionary. Does not check the
    /// names.
    ///
    /// # Safety
    /// `attrs` is neither null nor misaligned, and points to as many bytes as its `struct_size` says.
    /// Everything reachable from it stays valid and unchanged during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn check<'a>(attrs: *const abi::Attrs) -> Result<&'a Dict, &'static str> {
        // SAFETY: `struct_size` is the first member.
        if unsafe { (*attrs).struct_size } < abi::Attrs::STRUCT_SIZE {
            return Err("the struct_size of attributes is too small");
        }
        // SAFETY: the size covers all members.
        let attrs = unsafe { &*attrs };
        // The pointers of empty tables may be anything.
        let tables = || unusable(attrs.types) | unusable(attrs.names) | unusable(attrs.attrs);
        if attrs.size < 0 || (attrs.size > 0 && tables() != 0) {
            return Err(unusable_table(attrs));
        }
        // SAFETY: `Dict` is `repr(transparent)`.
        Ok(unsafe { &*std::ptr::from_ref(attrs).cast::<Dict>() })
    }

    /// Checks that no pointer to a name is misaligned.
    pub(crate) fn check_names(&self) -> Result<(), &'static str> {
        let aligned = |i| {
            // SAFETY: `names` has `size` members.
            unsafe { *self.0.names.add(i) }.is_aligned()
        };
        if (0..self.len()).all(aligned) {
            Ok(())
        } else {
            Err("the pointer to the name of an attribute is misaligned")
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.size as usize
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.size == 0
    }

    /// Reads the entry of this name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming the entry, if it is missing or has another type.
    pub fn get<'a, T: FromAttr<'a>>(&'a self, name: &str) -> Result<T> {
        self.get_opt(name)?.ok_or_else(|| missing(name, T::EXPECTS))
    }

    /// Reads the entry of this name, if it exists.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming the entry, if it has another type.
    pub fn get_opt<'a, T: FromAttr<'a>>(&'a self, name: &str) -> Result<Option<T>> {
        // Entries are sorted by name. In a frame that violates this, entries may not be found, which is
        // harmless.
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(name.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let value = self.attr(middle).get();
                    return value.map(Some).map_err(|e| e.context(format_args!("attribute {name}")));
                }
            }
        }
        Ok(None)
    }

    /// Iterates over all entries with their names, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, Attr<'_>)> {
        (0..self.len()).map(|i| (String::from_utf8_lossy(self.name(i)), self.attr(i)))
    }

    /// Returns the name of entry `i < len`; empty if the pointer to it is null or misaligned.
    pub(crate) fn name(&self, i: usize) -> &[u8] {
        // SAFETY: `names` has `size` members, each null or a pointer to a span that stays valid.
        unsafe {
            let name = *self.0.names.add(i);
            if name.is_null() || !name.is_aligned() { &[] } else { (*name).as_bytes() }
        }
    }

    /// Returns true if entry `i < len` has this name.
    #[inline(always)]
    pub(crate) fn has_name(&self, i: usize, name: &str) -> bool {
        // SAFETY: `names` has `size` members, each null or a pointer to a span that stays valid. A span whose
        // pointer is null has no bytes.
        unsafe {
            let span = *self.0.names.add(i);
            if unusable(span) != 0 || (*span).len != name.len() {
                return false;
            }
            (*span).as_bytes() == name.as_bytes()
        }
    }

    /// Returns entry `i < len`.
    #[inline(always)]
    pub(crate) fn attr(&self, i: usize) -> Attr<'_> {
        // SAFETY: `types` and `attrs` have `size` members.
        let (kind, value) = unsafe { (*self.0.types.add(i), *self.0.attrs.add(i)) };
        let kind = if value.is_null() { NO_VALUE } else { kind };
        let kind = if value.addr() & (ALIGNMENT - 1) != 0 { MISALIGNED } else { kind };
        // SAFETY: the kind says that the pointer is null or misaligned, or which struct it points to.
        unsafe { Attr::new(kind, value) }
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// All the attributes of a call, as a parameter `&Attrs`, for a handler that does not name its attributes.
#[repr(transparent)]
pub struct Attrs(Dict);

impl Attrs {
    pub(crate) fn from_dict(dict: &Dict) -> &Attrs {
        // SAFETY: `repr(transparent)`.
        unsafe { &*std::ptr::from_ref(dict).cast::<Attrs>() }
    }
}

impl Attrs {
    /// Returns the dictionary in the form of the C interface, for hosts.
    pub fn as_abi(&self) -> *const abi::Attrs {
        &raw const self.0.0
    }
}

impl Deref for Attrs {
    type Target = Dict;

    fn deref(&self) -> &Dict {
        &self.0
    }
}

impl fmt::Debug for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Makes the error for a table with a null or misaligned pointer, or a negative size.
#[cold]
#[inline(never)]
fn unusable_table(attrs: &abi::Attrs) -> &'static str {
    match attrs {
        attrs if !attrs.types.is_aligned() => "attrs.types is misaligned",
        attrs if !attrs.names.is_aligned() => "attrs.names is misaligned",
        attrs if !attrs.attrs.is_aligned() => "attrs.attrs is misaligned",
        _ => "attributes without a table of names, types or values",
    }
}

#[cold]
fn missing(name: &str, expected: &str) -> Error {
    Error::invalid_argument(format!("missing attribute {name} ({expected})"))
}

/// Type of a field of a struct with `#[derive(FromAttr)]`: an attribute, or an `Option` of one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from an attribute",
    label = "not an attribute's type, nor an `Option` of one"
)]
pub trait Field<'a>: Sized {
    /// Reads the field. The second value is true if the dictionary has the entry.
    fn read(dict: &'a Dict, name: &str) -> Result<(Self, bool)>;
}

impl<'a, T: FromAttr<'a>> Field<'a> for T {
    fn read(dict: &'a Dict, name: &str) -> Result<(T, bool)> {
        dict.get(name).map(|value| (value, true))
    }
}

impl<'a, T: FromAttr<'a>> Field<'a> for Option<T> {
    fn read(dict: &'a Dict, name: &str) -> Result<(Option<T>, bool)> {
        dict.get_opt(name).map(|value: Option<T>| {
            let there = value.is_some();
            (value, there)
        })
    }
}

/// Makes the error for a dictionary with entries that are not fields of a struct.
#[doc(hidden)]
#[cold]
pub fn unknown_entry(dict: &Dict, fields: &[&str]) -> Error {
    let unknown: Vec<_> =
        dict.iter().map(|(name, _)| name).filter(|name| !fields.contains(&name.as_ref())).collect();
    let s = if unknown.len() == 1 { "y" } else { "ies" };
    let fields = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
    Error::invalid_argument(format!("unknown entr{s} {}; it takes {fields}", unknown.join(", ")))
}

/// Makes the error for a value that is not a variant of an enum.
#[doc(hidden)]
#[cold]
pub fn no_such_variant(found: &dyn fmt::Display, variants: &[&dyn fmt::Display]) -> Error {
    let variants: Vec<_> = variants.iter().map(ToString::to_string).collect();
    Error::invalid_argument(format!("expected {}, found {found}", variants.join(" or ")))
}

/// A scalar of any integer type, for enums.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Integer(pub i128);

impl<'a> FromAttr<'a> for Integer {
    const EXPECTS: &'static str = "integer";

    fn from_attr(attr: Attr<'a>) -> Result<Integer> {
        macro_rules! first_of {
            ($($ty:ty),*) => {
                $(if let Some(value) = attr.scalar::<$ty>() {
                    return Ok(Integer(value.into()));
                })*
            };
        }
        first_of!(i32, i64, u8, u32, u64, i8, i16, u16);
        Err(attr.mismatch(Self::EXPECTS))
    }
}
