//! Constant tensors.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use farcall_sig::DType;
use half::{bf16, f16};
use num_complex::Complex;

use crate::interrupt::Pace;
use crate::memory::{self, Charge, OutOfMemory};
use crate::scalar::Scalar;
use crate::types::TensorType;

/// A tensor with its elements, in row-major order. Cloning shares the elements.
///
/// The elements are stored in 64-bit words, so that they can be viewed as any native type
/// ([`Literal::as_slice`]). They begin at a multiple of [`Literal::ALIGNMENT`], except when they are borrowed
/// ([`Literal::borrowed`]). Element types narrower than a byte take a byte each; `pred` is 0 or 1.
///
/// A large tensor created by [`Literal::splat`], whose elements are all equal, stores only one element until
/// its bytes are requested. Reading elements, comparing and hashing never expand it.
#[derive(Clone)]
pub struct Literal {
    dtype: DType,
    dims: Arc<[usize]>,
    data: Data,
}

/// Storage of the elements.
#[derive(Clone)]
enum Data {
    /// Up to [`MAX_SMALL_BYTES`] bytes of elements, and the number of words that are skipped to align the
    /// first element. The words are one allocation; converting a vector to an `Arc` would copy them.
    Small(Arc<[u64]>, usize),
    /// Any number of elements.
    Large(Arc<Words>),
    /// One value shared by all elements, of which there is at least one.
    Splat(Arc<Splat>),
    /// Elements that another object owns; never written to.
    Borrowed(Arc<BorrowedBytes>),
}

/// Maximum size, in bytes, of tensors that use ordinary allocations.
const MAX_SMALL_BYTES: usize = 1 << 14;

/// Elements whose number the program determines: allocating them may fail.
struct Words {
    words: Box<[u64]>,
    /// Words before the first element.
    start: usize,
    charge: Charge,
}

impl Drop for Words {
    fn drop(&mut self) {
        memory::give((std::mem::take(&mut self.words), std::mem::replace(&mut self.charge, Charge::EMPTY)));
    }
}

struct BorrowedBytes {
    bytes: &'static [u8],
    /// Owner of the bytes, kept alive with them.
    _owner: Arc<dyn Any + Send + Sync>,
}

struct Splat {
    /// One element, padded with zeros.
    element: [u8; 16],
    /// All elements, once their bytes have been requested.
    expanded: OnceLock<Words>,
}

/// A Rust type with the memory layout of one element.
///
/// `pred` is viewed as `u8`, narrow integers and floats as the byte that holds them.
pub trait Native: Pod {
    /// Returns true if elements of `dtype` can be viewed as this type.
    fn views(dtype: DType) -> bool;
}

macro_rules! native {
    ($($t:ty: $($d:ident)|+;)*) => {$(
        impl Native for $t {
            fn views(dtype: DType) -> bool {
                matches!(dtype, $(DType::$d)|+)
            }
        }
    )*};
}

native! {
    i8: S8 | S4 | S2;
    i16: S16;
    i32: S32;
    i64: S64;
    u16: U16 | BF16 | F16;
    u32: U32;
    u64: U64;
    bf16: BF16;
    f16: F16;
    f32: F32;
    f64: F64;
    Complex<f32>: C64;
    Complex<f64>: C128;
}

impl Native for u8 {
    fn views(dtype: DType) -> bool {
        dtype.size() == 1
    }
}

/// The reason why bytes do not form a literal of a type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiteralError {
    /// The type has a dynamic dimension, or its size in bytes exceeds the address space.
    #[error("a constant needs a static shape of representable size, not {0}")]
    Size(TensorType),
    /// The elements do not fit into memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// Too many or too few bytes.
    #[error("{ty} holds {expected} bytes of elements, not {found}")]
    Length {
        /// The requested type.
        ty: TensorType,
        /// Number of bytes that the type holds.
        expected: usize,
        /// Number of bytes given.
        found: usize,
    },
    /// A boolean that is neither 0 nor 1.
    #[error("element {index} is {byte}, but a boolean is 0 or 1")]
    Boolean {
        /// Row-major index of the element.
        index: usize,
        /// The byte given for the element.
        byte: u8,
    },
}

/// Checks that the elements of a `pred` are 0 or 1. Code that reads them relies on this.
fn check_booleans(dtype: DType, bytes: &[u8]) -> Result<(), LiteralError> {
    match bytes.iter().position(|byte| *byte > 1) {
        Some(index) if dtype == DType::Pred => Err(LiteralError::Boolean { index, byte: bytes[index] }),
        _ => Ok(()),
    }
}

impl Literal {
    /// Alignment of the first element in bytes: a cache line, the best alignment for functions on whole
    /// arrays.
    pub const ALIGNMENT: usize = 64;

    /// A tensor of zeros.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn try_zeros(dtype: DType, dims: impl Into<Arc<[usize]>>) -> Result<Literal, OutOfMemory> {
        let dims = dims.into();
        let bytes = byte_len(dtype, &dims)?;
        let data = if bytes <= MAX_SMALL_BYTES {
            let words: Arc<[u64]> = std::iter::repeat_n(0, bytes.div_ceil(8) + SPARE_WORDS).collect();
            let start = aligned_start(&words);
            Data::Small(words, start)
        } else {
            Data::Large(Arc::new(Words::zeros(bytes)?))
        };
        Ok(Literal { dtype, dims, data })
    }

    /// A tensor of zeros.
    ///
    /// # Panics
    /// If there is not enough memory; use [`Literal::try_zeros`] for untrusted shapes.
    pub fn zeros(dtype: DType, dims: impl Into<Arc<[usize]>>) -> Literal {
        Literal::try_zeros(dtype, dims).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A tensor whose elements the caller will all overwrite. Until then, the elements are zeros or left over
    /// from an earlier tensor. Large tensors are allocated faster than with [`Literal::try_zeros`].
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn try_for_overwrite(dtype: DType, dims: impl Into<Arc<[usize]>>) -> Result<Literal, OutOfMemory> {
        let dims = dims.into();
        let bytes = byte_len(dtype, &dims)?;
        if bytes <= MAX_SMALL_BYTES {
            return Literal::try_zeros(dtype, dims);
        }
        Ok(Literal { dtype, dims, data: Data::Large(Arc::new(Words::for_overwrite(bytes)?)) })
    }

    /// A tensor whose element number `i` (row-major) is `f(i)`, rounded to `dtype`.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn try_from_fn(
        dtype: DType,
        dims: impl Into<Arc<[usize]>>,
        mut f: impl FnMut(usize) -> Scalar,
    ) -> Result<Literal, OutOfMemory> {
        let mut out = Literal::try_for_overwrite(dtype, dims)?;
        let size = dtype.size();
        for (i, chunk) in Pace::until_due(out.bytes_mut().chunks_exact_mut(size).enumerate()) {
            f(i).write(dtype, chunk);
        }
        Ok(out)
    }

    /// A tensor whose element number `i` (row-major) is `f(i)`, rounded to `dtype`.
    ///
    /// # Panics
    /// If there is not enough memory; use [`Literal::try_from_fn`] for untrusted shapes.
    pub fn from_fn(dtype: DType, dims: impl Into<Arc<[usize]>>, f: impl FnMut(usize) -> Scalar) -> Literal {
        Literal::try_from_fn(dtype, dims, f).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A tensor whose elements all equal `value`, rounded to `dtype`. Large tensors store the value once
    /// until their bytes are requested.
    ///
    /// # Panics
    /// If the size in bytes overflows; check [`TensorType::bytes`] for untrusted shapes.
    pub fn splat(dtype: DType, dims: impl Into<Arc<[usize]>>, value: Scalar) -> Literal {
        let mut element = [0; 16];
        value.write(dtype, &mut element[..dtype.size()]);
        Literal::splat_of(dtype, dims.into(), element).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A tensor whose elements all have the bytes of `element`, which is padded with zeros.
    ///
    /// # Errors
    /// If the size in bytes overflows, or if the tensor is small and does not fit into memory.
    pub fn splat_of(dtype: DType, dims: Arc<[usize]>, element: [u8; 16]) -> Result<Literal, OutOfMemory> {
        if byte_len(dtype, &dims)? > MAX_SMALL_BYTES {
            let data = Data::Splat(Arc::new(Splat { element, expanded: OnceLock::new() }));
            return Ok(Literal { dtype, dims, data });
        }
        let mut out = Literal::try_zeros(dtype, dims)?;
        fill(out.bytes_mut(), &element[..dtype.size()]);
        Ok(out)
    }

    /// A rank 0 tensor.
    pub fn scalar(dtype: DType, value: Scalar) -> Literal {
        Literal::from_fn(dtype, [], |_| value)
    }

    /// A tensor with these elements.
    ///
    /// # Panics
    /// If the number of elements does not match `dims`, or `T` does not view `dtype`.
    pub fn from_slice<T: Native>(dtype: DType, dims: impl Into<Arc<[usize]>>, values: &[T]) -> Literal {
        assert!(T::views(dtype), "{} does not hold elements of {dtype}", std::any::type_name::<T>());
        let mut out = Literal::zeros(dtype, dims);
        out.bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        out
    }

    /// A tensor whose elements are these little-endian bytes, row-major.
    ///
    /// # Errors
    /// If the number of bytes does not match the type, a boolean is neither 0 nor 1, or the tensor does not
    /// fit into memory.
    pub fn from_bytes(
        dtype: DType,
        dims: impl Into<Arc<[usize]>>,
        bytes: &[u8],
    ) -> Result<Literal, LiteralError> {
        let ty = TensorType::new(dtype, dims);
        let expected = ty.bytes().ok_or_else(|| LiteralError::Size(ty.clone()))?;
        if bytes.len() != expected {
            return Err(LiteralError::Length { ty, expected, found: bytes.len() });
        }
        check_booleans(dtype, bytes)?;
        let mut out = Literal::try_for_overwrite(dtype, ty.shared_sizes())?;
        out.bytes_mut().copy_from_slice(bytes);
        Ok(out)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Sizes of the dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The tensor type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, Arc::clone(&self.dims))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        if self.is_empty() { 0 } else { self.dims.iter().product() }
    }

    /// Returns true if the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Size of the elements in bytes.
    pub fn byte_len(&self) -> usize {
        self.len() * self.dtype.size()
    }

    /// A tensor whose elements belong to `owner`, which lives as long as the tensor does. The elements are
    /// copied only before a write, or if they do not begin at a multiple of 16 bytes.
    ///
    /// # Errors
    /// If the number of bytes does not match the type, a boolean is neither 0 nor 1, or a copy does not fit
    /// into memory.
    pub fn borrowed(
        dtype: DType,
        dims: impl Into<Arc<[usize]>>,
        bytes: &'static [u8],
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Literal, LiteralError> {
        let dims = dims.into();
        let ty = TensorType::new(dtype, &*dims);
        let expected = ty.bytes().ok_or_else(|| LiteralError::Size(ty.clone()))?;
        if expected != bytes.len() {
            return Err(LiteralError::Length { ty, expected, found: bytes.len() });
        }
        check_booleans(dtype, bytes)?;
        if !bytes.as_ptr().addr().is_multiple_of(16) {
            return Literal::from_bytes(dtype, dims, bytes);
        }
        Ok(Literal { dtype, dims, data: Data::Borrowed(Arc::new(BorrowedBytes { bytes, _owner: owner })) })
    }

    /// Makes the elements begin at a multiple of [`Literal::ALIGNMENT`].
    ///
    /// # Errors
    /// If a copy does not fit into memory.
    pub fn align(&mut self) -> Result<(), OutOfMemory> {
        if self.is_aligned() { Ok(()) } else { self.unshare() }
    }

    /// Returns true if the elements begin at a multiple of [`Literal::ALIGNMENT`].
    pub fn is_aligned(&self) -> bool {
        match &self.data {
            Data::Borrowed(borrowed) => borrowed.bytes.as_ptr().addr().is_multiple_of(Literal::ALIGNMENT),
            _ => true,
        }
    }

    /// The elements' bytes, little-endian.
    ///
    /// # Panics
    /// If this is a splat that does not fit into memory; see [`Literal::expand`].
    pub fn bytes(&self) -> &[u8] {
        let n = self.byte_len();
        match &self.data {
            Data::Small(words, start) => &bytemuck::cast_slice(&words[*start..])[..n],
            Data::Large(words) => &words.bytes()[..n],
            Data::Borrowed(borrowed) => borrowed.bytes,
            Data::Splat(splat) => {
                self.expand().unwrap_or_else(|e| panic!("{e}"));
                &splat.expanded.get().expect("it was expanded").bytes()[..n]
            }
        }
    }

    /// Writes the elements' bytes to `out` without expanding a splat.
    ///
    /// # Panics
    /// If `out` is not [`Literal::byte_len`] bytes long.
    pub fn write_to(&self, out: &mut [u8]) {
        assert_eq!(out.len(), self.byte_len(), "the bytes of {}", self.ty());
        match self.splat_element() {
            Some(element) => fill(out, element),
            None => out.copy_from_slice(self.bytes()),
        }
    }

    /// Allocates the elements of a splat, so that [`Literal::bytes`] can return them; all clones share the
    /// allocation.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn expand(&self) -> Result<(), OutOfMemory> {
        if let Data::Splat(splat) = &self.data
            && splat.expanded.get().is_none()
        {
            let words = Words::filled(self.byte_len(), &splat.element[..self.dtype.size()])?;
            // Another thread may have expanded the splat first.
            let _ = splat.expanded.set(words);
        }
        Ok(())
    }

    /// Ensures that the elements are not shared, so that [`Literal::bytes_mut`] does not copy them.
    ///
    /// # Errors
    /// If a copy does not fit into memory.
    pub fn unshare(&mut self) -> Result<(), OutOfMemory> {
        let bytes = self.byte_len();
        let shared = match &mut self.data {
            Data::Small(words, _) => Arc::get_mut(words).is_none(),
            Data::Large(words) => Arc::get_mut(words).is_none(),
            Data::Borrowed(..) => true,
            Data::Splat(splat) => {
                let words = Words::filled(bytes, &splat.element[..self.dtype.size()])?;
                self.data = Data::Large(Arc::new(words));
                return Ok(());
            }
        };
        if shared {
            // The copy's elements may begin at a different word.
            let mut copy = Literal::try_for_overwrite(self.dtype, Arc::clone(&self.dims))?;
            copy.bytes_mut().copy_from_slice(self.bytes());
            *self = copy;
        }
        Ok(())
    }

    /// Returns the tensor with memory of its own: a copy if the elements are shared. A splat stays one element.
    ///
    /// # Errors
    /// If a copy does not fit into memory.
    pub fn detached(mut self) -> Result<Literal, OutOfMemory> {
        match &self.data {
            Data::Splat(splat) => Literal::splat_of(self.dtype, self.dims, splat.element),
            _ => self.unshare().map(|()| self),
        }
    }

    /// Mutable bytes of the elements; copies the elements first if they are shared.
    ///
    /// # Panics
    /// If a copy does not fit into memory; see [`Literal::unshare`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.unshare().unwrap_or_else(|e| panic!("{e}"));
        let n = self.byte_len();
        let words = match &mut self.data {
            Data::Small(words, start) => Arc::get_mut(words).map(|w| &mut w[*start..]),
            Data::Large(words) => Arc::get_mut(words).map(|w| &mut w.words[w.start..]),
            Data::Splat(_) | Data::Borrowed(..) => None,
        };
        &mut bytemuck::cast_slice_mut(words.expect("shared elements were copied"))[..n]
    }

    /// The elements as a native type.
    ///
    /// # Panics
    /// If `T` does not view this literal's element type.
    pub fn as_slice<T: Native>(&self) -> &[T] {
        assert!(
            T::views(self.dtype),
            "{} does not hold elements of {}",
            std::any::type_name::<T>(),
            self.dtype
        );
        bytemuck::cast_slice(self.bytes())
    }

    /// The elements as a mutable slice of a native type; copies the elements first if they are shared.
    ///
    /// # Panics
    /// If `T` does not view this literal's element type.
    pub fn as_slice_mut<T: Native>(&mut self) -> &mut [T] {
        assert!(
            T::views(self.dtype),
            "{} does not hold elements of {}",
            std::any::type_name::<T>(),
            self.dtype
        );
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// Element number `i` in row-major order.
    ///
    /// # Panics
    /// If `i` is out of bounds.
    pub fn get(&self, i: usize) -> Scalar {
        Scalar::from_bytes(self.dtype, self.element(i))
    }

    /// The bytes of element number `i`.
    ///
    /// # Panics
    /// If `i` is out of bounds.
    pub fn element(&self, i: usize) -> &[u8] {
        if let Some(element) = self.splat_element() {
            assert!(i < self.len(), "element {i} of {}", self.len());
            return element;
        }
        let size = self.dtype.size();
        &self.bytes()[i * size..(i + 1) * size]
    }

    /// Sets element number `i`, rounded to the element type; copies the elements first if shared.
    ///
    /// # Panics
    /// If `i` is out of bounds.
    pub fn set(&mut self, i: usize, value: Scalar) {
        let (size, dtype) = (self.dtype.size(), self.dtype);
        value.write(dtype, &mut self.bytes_mut()[i * size..(i + 1) * size]);
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Scalar> + '_ {
        let (dtype, size) = (self.dtype, self.dtype.size());
        let (bytes, step) = match self.splat_element() {
            Some(element) => (element, 0),
            None => (self.bytes(), size),
        };
        (0..self.len()).map(move |i| Scalar::from_bytes(dtype, &bytes[i * step..][..size]))
    }

    /// Bytes of the one element that a splat stores; `None` for a literal that stores all of its elements,
    /// even if they are equal.
    fn splat_element(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Splat(splat) => Some(&splat.element[..self.dtype.size()]),
            Data::Small(..) | Data::Large(_) | Data::Borrowed(..) => None,
        }
    }

    /// A tensor with the same elements and different dimensions.
    ///
    /// # Panics
    /// If the number of elements differs.
    pub fn reshape(&self, dims: impl Into<Arc<[usize]>>) -> Literal {
        let dims = dims.into();
        let reshaped = Literal { dtype: self.dtype, dims, data: self.data.clone() };
        assert_eq!(reshaped.len(), self.len(), "a reshape keeps the number of elements");
        reshaped
    }

    /// Returns true if there is at least one element and all elements have the same bits.
    pub fn is_splat(&self) -> bool {
        self.one_element().is_some()
    }

    /// Bytes of the common value if all elements are equal.
    pub(crate) fn one_element(&self) -> Option<&[u8]> {
        if let Some(element) = self.splat_element() {
            return Some(element);
        }
        let (size, bytes) = (self.dtype.size(), self.bytes());
        let first = bytes.get(..size)?;
        // Every element equals its predecessor.
        (bytes[size..] == bytes[..bytes.len() - size]).then_some(first)
    }
}

/// Maximum number of words skipped to align the first element: the allocator aligns only to a word.
const SPARE_WORDS: usize = Literal::ALIGNMENT / size_of::<u64>() - 1;

fn aligned_start(words: &[u64]) -> usize {
    words.as_ptr().align_offset(Literal::ALIGNMENT).min(SPARE_WORDS)
}

/// Size of the elements in bytes.
fn byte_len(dtype: DType, dims: &[usize]) -> Result<usize, OutOfMemory> {
    let elements = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    // A dimension of size zero makes the product zero even if the other sizes overflow.
    let elements = if dims.contains(&0) { Some(0) } else { elements };
    let bytes = elements.and_then(|n| n.checked_mul(dtype.size()));
    bytes.filter(|b| *b <= isize::MAX as usize - Literal::ALIGNMENT).ok_or_else(OutOfMemory::uncountable)
}

/// Fills memory with copies of an element.
fn fill(bytes: &mut [u8], element: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    bytes[..element.len()].copy_from_slice(element);
    let mut filled = element.len();
    while filled < bytes.len() {
        let n = filled.min(bytes.len() - filled);
        bytes.copy_within(..n, filled);
        filled += n;
    }
}

impl Words {
    /// Allocates zeroed pages. Pages that are never written to take no memory.
    fn zeros(bytes: usize) -> Result<Words, OutOfMemory> {
        let charge = Charge::new(bytes)?;
        let allocate = || bytemuck::allocation::try_zeroed_slice_box(bytes.div_ceil(8) + SPARE_WORDS).ok();
        let words = memory::or_release(allocate).ok_or(OutOfMemory::refused(bytes))?;
        let start = aligned_start(&words);
        Ok(Words { words, start, charge })
    }

    /// Words whose elements are zeros or leftovers of an earlier tensor.
    fn for_overwrite(bytes: usize) -> Result<Words, OutOfMemory> {
        match memory::take(bytes.div_ceil(8) + SPARE_WORDS) {
            Some((words, charge)) => Ok(Words { start: aligned_start(&words), words, charge }),
            None => Words::zeros(bytes),
        }
    }

    fn filled(bytes: usize, element: &[u8]) -> Result<Words, OutOfMemory> {
        if element.iter().all(|b| *b == 0) {
            return Words::zeros(bytes);
        }
        let mut words = Words::for_overwrite(bytes)?;
        let start = words.start;
        fill(&mut bytemuck::cast_slice_mut(&mut words.words[start..])[..bytes], element);
        Ok(words)
    }

    /// The elements, followed by the unused end of the last words.
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words[self.start..])
    }
}

/// Literals are equal if their types and bits are equal.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        if self.dtype != other.dtype || self.dims != other.dims {
            return false;
        }
        match (self.splat_element(), other.splat_element()) {
            (None, None) => self.bytes() == other.bytes(),
            _ => self.one_element().is_some_and(|a| other.one_element() == Some(a)),
        }
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
        self.dims.hash(state);
        // A splat hashes the same whether it is expanded or not.
        self.one_element().unwrap_or_else(|| self.bytes()).hash(state);
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<Scalar> = self.iter().take(8).collect();
        let more = if self.len() > 8 { ", …" } else { "" };
        write!(f, "Literal({}, {shown:?}{more})", self.ty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_viewed_in_place() {
        let l = Literal::from_slice(DType::F32, [2, 2], &[1f32, 2.0, 3.0, 4.5]);
        assert_eq!(l.as_slice::<f32>(), [1.0, 2.0, 3.0, 4.5]);
        assert_eq!(l.get(3), Scalar::Float(4.5));
        let empty = Literal::zeros(DType::C128, [0, 3]);
        assert!(empty.as_slice::<Complex<f64>>().is_empty());
    }

    #[test]
    fn elements_are_aligned_also_after_a_copy() {
        for n in [0, 1, 7, 8, 9, 1000] {
            let literal = Literal::zeros(DType::F64, [n]);
            let mut copy = literal.clone();
            copy.bytes_mut();
            for literal in [&literal, &copy] {
                assert!(literal.bytes().as_ptr().addr().is_multiple_of(Literal::ALIGNMENT));
            }
            assert_eq!(literal, copy);
        }
    }

    #[test]
    fn what_is_borrowed_is_read_in_place_and_never_written() {
        static WORDS: [u64; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let bytes: &'static [u8] = bytemuck::cast_slice(&WORDS);
        let start = bytes.as_ptr().align_offset(16);
        for (start, in_place) in [(start, true), (8 - start, false)] {
            let part = &bytes[start..start + 64];
            let mut literal = Literal::borrowed(DType::U64, [8], part, Arc::new(())).unwrap();
            assert_eq!(literal.bytes().as_ptr() == part.as_ptr(), in_place);
            assert_eq!(literal, Literal::from_bytes(DType::U64, [8], part).unwrap());
            let before = literal.clone();
            literal.set(0, Scalar::Unsigned(99));
            assert_eq!((literal.get(0), before.get(0)), (Scalar::Unsigned(99), before.get(0)));
            assert!(literal.is_aligned());
        }
        let short = Literal::borrowed(DType::U64, [8], &bytes[..56], Arc::new(()));
        assert!(matches!(short, Err(LiteralError::Length { expected: 64, found: 56, .. })));
    }

    #[test]
    fn a_splat_is_one_element() {
        let huge = Literal::splat(DType::F64, [3_000_000_000, 100], Scalar::Float(0.5));
        assert_eq!(huge.get(299_999_999_999), Scalar::Float(0.5));
        assert_eq!(huge.iter().len(), 300_000_000_000);
        assert_eq!(huge.byte_len(), 2_400_000_000_000);
        assert!(huge.is_splat() && huge == huge.clone());
        let other = Literal::splat(DType::F64, [3_000_000_000, 100], Scalar::Float(0.25));
        assert_ne!(huge, other);
        assert!(format!("{huge:?}").contains("0.5"));
        assert!(huge.reshape([300_000_000_000]).get(7) == Scalar::Float(0.5));
        assert!(huge.clone().expand().is_err());
        assert!(huge.clone().unshare().is_err());
    }

    #[test]
    fn a_splat_is_what_its_elements_are() {
        let hash = |l: &Literal| {
            let mut hasher = std::hash::DefaultHasher::new();
            l.hash(&mut hasher);
            hasher.finish()
        };
        for n in [1, 2, 100, 100_000] {
            let splat = Literal::splat(DType::S16, [n], Scalar::Signed(-3));
            let mut dense = Literal::zeros(DType::S16, [n]);
            dense.as_slice_mut::<i16>().fill(-3);
            assert_eq!((&splat, hash(&splat)), (&dense, hash(&dense)));
            assert_eq!(splat.as_slice::<i16>(), dense.as_slice::<i16>());
            assert!(splat.iter().eq(dense.iter()));
            let (mut changed, mut other) = (splat.clone(), dense.clone());
            changed.set(n - 1, Scalar::Signed(4));
            other.set(n - 1, Scalar::Signed(4));
            assert_eq!(changed, other);
            assert_ne!(changed, splat);
            assert_eq!(changed.is_splat(), n == 1);
            assert_eq!(splat.get(n - 1), Scalar::Signed(-3));
        }
        assert!(!Literal::zeros(DType::F32, [0]).is_splat());
        assert_eq!(Literal::splat(DType::F32, [0, usize::MAX], Scalar::Float(1.0)).len(), 0);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let e = Literal::try_zeros(DType::F32, [1 << 40, 1 << 4]).unwrap_err();
        assert!(e.to_string().starts_with("70368744177664 bytes"), "{e}");
        assert!(Literal::try_zeros(DType::F32, [usize::MAX, 2]).is_err());
    }

    #[test]
    fn a_write_leaves_clones_alone() {
        let a = Literal::zeros(DType::S4, [3]);
        let mut b = a.clone();
        b.set(1, Scalar::Signed(-3));
        assert_eq!(a.get(1), Scalar::Signed(0));
        assert_eq!(b.get(1), Scalar::Signed(-3));
    }

    #[test]
    fn wrong_lengths_are_errors() {
        let e = Literal::from_bytes(DType::F32, [3], &[0; 8]).unwrap_err();
        assert_eq!(e.to_string(), "tensor<3xf32> holds 12 bytes of elements, not 8");
    }

    #[test]
    fn booleans_are_0_or_1() {
        static BYTES: [u8; 4] = [0, 1, 255, 2];
        assert!(Literal::from_bytes(DType::Pred, [2], &BYTES[..2]).is_ok());
        let wrong = Literal::from_bytes(DType::Pred, [2, 2], &BYTES).unwrap_err();
        assert_eq!(wrong.to_string(), "element 2 is 255, but a boolean is 0 or 1");
        let wrong = Literal::borrowed(DType::Pred, [4], &BYTES, Arc::new(())).unwrap_err();
        assert!(matches!(wrong, LiteralError::Boolean { index: 2, byte: 255 }));
        assert!(Literal::from_bytes(DType::U8, [4], &BYTES).is_ok());
    }
}
