//! Constant tensors.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytemuck::Pod;
use farcall_sig::DType;
use half::{bf16, f16};
use num_complex::Complex;

use crate::scalar::Scalar;
use crate::types::TensorType;

/// A tensor with its elements, in row-major order. Cloning shares the elements.
///
/// Elements lie in 64-bit words, so that they can be viewed as any native type
/// ([`Literal::as_slice`]), and begin at a multiple of [`Literal::ALIGNMENT`]. Types narrower than a
/// byte take a byte each; `pred` is 0 or 1.
#[derive(Clone)]
pub struct Literal {
    dtype: DType,
    dims: Arc<[usize]>,
    words: Arc<[u64]>,
    /// Words before the first element, which is aligned.
    start: usize,
}

/// A Rust type whose memory is that of one element.
///
/// `pred` is viewed as `u8`, narrow integers and floats as the byte that holds them.
pub trait Native: Pod {
    /// True if elements of `dtype` can be viewed as this type.
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

/// Why bytes are not a literal of a type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LiteralError {
    /// The type has a dynamic dimension, or more bytes than memory has addresses.
    #[error("a constant needs a static shape of representable size, not {0}")]
    Size(TensorType),
    /// Too many or too few bytes.
    #[error("{ty} holds {expected} bytes of elements, not {found}")]
    Length {
        /// The type asked for.
        ty: TensorType,
        /// Bytes that it holds.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
}

impl Literal {
    /// The address of the first element is a multiple of this, in bytes: a cache line, what functions
    /// on whole arrays like best.
    pub const ALIGNMENT: usize = 64;

    /// A tensor of zeros.
    ///
    /// # Panics
    /// If the number of bytes overflows `usize`; check [`TensorType::bytes`] for untrusted shapes.
    pub fn zeros(dtype: DType, dims: impl Into<Arc<[usize]>>) -> Literal {
        let dims = dims.into();
        let bytes = TensorType::new(dtype, Arc::clone(&dims)).bytes().expect("size of a literal fits");
        // One allocation: a vector's would be copied. It is as aligned as a word, so room is left.
        let spare = Literal::ALIGNMENT / size_of::<u64>() - 1;
        let words: Arc<[u64]> = std::iter::repeat_n(0, bytes.div_ceil(8) + spare).collect();
        let start = words.as_ptr().align_offset(Literal::ALIGNMENT).min(spare);
        Literal { dtype, dims, words, start }
    }

    /// A tensor whose element number `i` (row-major) is `f(i)`, rounded to `dtype`.
    ///
    /// # Panics
    /// As [`Literal::zeros`].
    pub fn from_fn(
        dtype: DType,
        dims: impl Into<Arc<[usize]>>,
        mut f: impl FnMut(usize) -> Scalar,
    ) -> Literal {
        let mut out = Literal::zeros(dtype, dims);
        let size = dtype.size();
        for (i, chunk) in out.bytes_mut().chunks_exact_mut(size).enumerate() {
            f(i).write(dtype, chunk);
        }
        out
    }

    /// A tensor of one value everywhere.
    ///
    /// # Panics
    /// As [`Literal::zeros`].
    pub fn splat(dtype: DType, dims: impl Into<Arc<[usize]>>, value: Scalar) -> Literal {
        Literal::from_fn(dtype, dims, |_| value)
    }

    /// A rank 0 tensor.
    pub fn scalar(dtype: DType, value: Scalar) -> Literal {
        Literal::splat(dtype, [], value)
    }

    /// A tensor with these elements.
    ///
    /// # Panics
    /// If the number of elements is not that of `dims`, or `T` does not view `dtype`.
    pub fn from_slice<T: Native>(dtype: DType, dims: impl Into<Arc<[usize]>>, values: &[T]) -> Literal {
        assert!(T::views(dtype), "{} does not hold elements of {dtype}", std::any::type_name::<T>());
        let mut out = Literal::zeros(dtype, dims);
        out.bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        out
    }

    /// A tensor whose elements are these little-endian bytes, row-major.
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
        let mut out = Literal::zeros(dtype, ty.dims);
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
        self.dims.iter().product()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// The elements' bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        let n = self.len() * self.dtype.size();
        &bytemuck::cast_slice(&self.words[self.start..])[..n]
    }

    /// The elements' bytes to write to; copies them first if they are shared.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let n = self.len() * self.dtype.size();
        if Arc::get_mut(&mut self.words).is_none() {
            // The copy's elements may begin at another word.
            let mut copy = Literal::zeros(self.dtype, Arc::clone(&self.dims));
            copy.bytes_mut().copy_from_slice(self.bytes());
            *self = copy;
        }
        let words = Arc::get_mut(&mut self.words).expect("what is shared was copied");
        &mut bytemuck::cast_slice_mut(&mut words[self.start..])[..n]
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

    /// The elements as a native type, to write to; copies them first if they are shared.
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
    /// If there is no such element.
    pub fn get(&self, i: usize) -> Scalar {
        let size = self.dtype.size();
        Scalar::from_bytes(self.dtype, &self.bytes()[i * size..(i + 1) * size])
    }

    /// Sets element number `i`, rounded to the element type; copies the elements first if shared.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, i: usize, value: Scalar) {
        let (size, dtype) = (self.dtype.size(), self.dtype);
        value.write(dtype, &mut self.bytes_mut()[i * size..(i + 1) * size]);
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Scalar> + '_ {
        let dtype = self.dtype;
        self.bytes().chunks_exact(dtype.size()).map(move |b| Scalar::from_bytes(dtype, b))
    }

    /// The same elements under other dimensions.
    ///
    /// # Panics
    /// If the number of elements differs.
    pub fn reshape(&self, dims: impl Into<Arc<[usize]>>) -> Literal {
        let dims = dims.into();
        assert_eq!(dims.iter().product::<usize>(), self.len(), "a reshape keeps the number of elements");
        Literal { dtype: self.dtype, dims, words: Arc::clone(&self.words), start: self.start }
    }

    /// True if all elements are the same bits (and there is at least one).
    pub fn is_splat(&self) -> bool {
        let size = self.dtype.size();
        let bytes = self.bytes();
        bytes.len() >= size && bytes.chunks_exact(size).all(|c| *c == bytes[..size])
    }
}

/// Of the same type, and with the same bits.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.dtype == other.dtype && self.dims == other.dims && self.bytes() == other.bytes()
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
        self.dims.hash(state);
        self.bytes().hash(state);
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
}
