//! Arrays of numbers or booleans, stored as bytes because attributes may be large.

use std::fmt;
use std::sync::Arc;

use super::{AttrValue, ScalarType};
use crate::{Complex, DType};

/// Numbers or booleans of one type: an array attribute.
///
/// The array stores only the bytes of its elements, and clones share them. Two arrays are equal if they have
/// the same type and the same bits.
///
/// ```
/// use farcall_sig::{AttrArray, AttrValue};
///
/// let array = AttrArray::from([1i64, 2, 3]);
/// assert_eq!(array.to_vec::<i64>(), Some(vec![1, 2, 3]));
/// assert_eq!(array.get(1), Some(AttrValue::i64(2)));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AttrArray {
    /// Type of one of the [`AttrElement`]s.
    dtype: DType,
    /// A whole number of elements. Bytes of `pred` elements are 0 or 1.
    bytes: Arc<Vec<u8>>,
}

/// Error for bytes that are not the elements of an array attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotElements {
    /// Array attributes cannot have this element type.
    Type(DType),
    /// The number of bytes is not a multiple of the element size.
    Length(DType, usize),
}

impl fmt::Display for NotElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotElements::Type(dtype) => write!(f, "there are no array attributes of {dtype}"),
            NotElements::Length(dtype, bytes) => {
                write!(f, "{bytes} bytes are not a whole number of elements of {dtype}")
            }
        }
    }
}

impl std::error::Error for NotElements {}

impl AttrArray {
    /// Creates an array from the bytes of its elements, in the machine's byte order. A `pred` is true if its
    /// byte is not zero.
    ///
    /// # Errors
    /// If array attributes cannot have the element type, or if the last element is incomplete.
    pub fn new(dtype: DType, mut bytes: Vec<u8>) -> Result<AttrArray, NotElements> {
        if !AttrArray::holds(dtype) {
            return Err(NotElements::Type(dtype));
        }
        if !bytes.len().is_multiple_of(dtype.size()) {
            return Err(NotElements::Length(dtype, bytes.len()));
        }
        if dtype == DType::Pred {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(AttrArray { dtype, bytes: Arc::new(bytes) })
    }

    /// Returns true if array attributes can have this element type.
    pub fn holds(dtype: DType) -> bool {
        matches!(dtype, DType::C64 | DType::C128) || ScalarType::try_from(dtype).is_ok()
    }

    /// Creates an empty array of this type.
    pub fn of_scalars(ty: ScalarType) -> AttrArray {
        AttrArray { dtype: ty.dtype(), bytes: Arc::default() }
    }

    /// Appends an element. Returns `None` and appends nothing if the value is not of exactly the array's
    /// type.
    #[must_use = "a value of another type is not appended"]
    pub fn push(&mut self, value: &AttrValue) -> Option<()> {
        if value.dtype() != Some(self.dtype) {
            return None;
        }
        let bytes = Arc::make_mut(&mut self.bytes);
        match *value {
            AttrValue::Bool(v) => v.write(bytes),
            AttrValue::Int(v, ty) => match ty {
                ScalarType::I8 => i8::try_from(v).ok()?.write(bytes),
                ScalarType::I16 => i16::try_from(v).ok()?.write(bytes),
                ScalarType::I32 => i32::try_from(v).ok()?.write(bytes),
                ScalarType::I64 => i64::try_from(v).ok()?.write(bytes),
                ScalarType::U8 => u8::try_from(v).ok()?.write(bytes),
                ScalarType::U16 => u16::try_from(v).ok()?.write(bytes),
                ScalarType::U32 => u32::try_from(v).ok()?.write(bytes),
                ScalarType::U64 => u64::try_from(v).ok()?.write(bytes),
                ScalarType::Bool | ScalarType::F32 | ScalarType::F64 => return None,
            },
            AttrValue::Float(v, ScalarType::F32) => (v as f32).write(bytes),
            AttrValue::Float(v, ScalarType::F64) => v.write(bytes),
            AttrValue::C64(v) => v.write(bytes),
            AttrValue::C128(v) => v.write(bytes),
            _ => return None,
        }
        Some(())
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Returns true if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of the elements, in the machine's byte order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns an element.
    pub fn get(&self, i: usize) -> Option<AttrValue> {
        self.bytes.chunks_exact(self.dtype.size()).nth(i).map(|bytes| element(self.dtype, bytes))
    }

    /// Elements, each as a separate attribute value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = AttrValue> + '_ {
        self.bytes.chunks_exact(self.dtype.size()).map(|bytes| element(self.dtype, bytes))
    }

    /// Returns the elements if they are of exactly this type.
    pub fn to_vec<T: AttrElement>(&self) -> Option<Vec<T>> {
        let elements = || self.bytes.chunks_exact(self.dtype.size()).map(T::read);
        (self.dtype == T::DTYPE).then(|| elements().collect())
    }
}

fn element(dtype: DType, bytes: &[u8]) -> AttrValue {
    match dtype {
        DType::Pred => bool::read(bytes).into(),
        DType::S8 => i8::read(bytes).into(),
        DType::S16 => i16::read(bytes).into(),
        DType::S32 => i32::read(bytes).into(),
        DType::S64 => i64::read(bytes).into(),
        DType::U8 => u8::read(bytes).into(),
        DType::U16 => u16::read(bytes).into(),
        DType::U32 => u32::read(bytes).into(),
        DType::U64 => u64::read(bytes).into(),
        DType::F32 => f32::read(bytes).into(),
        DType::F64 => f64::read(bytes).into(),
        DType::C64 => Complex::<f32>::read(bytes).into(),
        DType::C128 => Complex::<f64>::read(bytes).into(),
        _ => unreachable!("`AttrArray::new` refuses elements of {dtype}"),
    }
}

/// `[1, 2]`
impl fmt::Debug for AttrArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A Rust type of number or boolean attributes and of elements of array attributes.
pub trait AttrElement: Copy + Into<AttrValue> + sealed::Bytes {
    /// Element type.
    const DTYPE: DType;
}

mod sealed {
    pub trait Bytes: Sized {
        /// Appends the element's bytes.
        fn write(self, bytes: &mut Vec<u8>);

        /// Reads an element from exactly as many bytes as it has.
        fn read(bytes: &[u8]) -> Self;
    }
}

use sealed::Bytes;

macro_rules! numbers {
    ($($ty:ty => $dtype:ident,)*) => {
        $(
            impl AttrElement for $ty {
                const DTYPE: DType = DType::$dtype;
            }

            impl Bytes for $ty {
                fn write(self, bytes: &mut Vec<u8>) {
                    bytes.extend_from_slice(&self.to_ne_bytes());
                }

                fn read(bytes: &[u8]) -> $ty {
                    <$ty>::from_ne_bytes(bytes.try_into().expect("as many bytes as an element has"))
                }
            }
        )*
    };
}

numbers! {
    i8 => S8, i16 => S16, i32 => S32, i64 => S64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
}

impl AttrElement for bool {
    const DTYPE: DType = DType::Pred;
}

impl Bytes for bool {
    fn write(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }

    fn read(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
}

macro_rules! complex_numbers {
    ($($ty:ty => $dtype:ident,)*) => {
        $(
            impl AttrElement for Complex<$ty> {
                const DTYPE: DType = DType::$dtype;
            }

            impl Bytes for Complex<$ty> {
                fn write(self, bytes: &mut Vec<u8>) {
                    self.re.write(bytes);
                    self.im.write(bytes);
                }

                fn read(bytes: &[u8]) -> Complex<$ty> {
                    let (re, im) = bytes.split_at(size_of::<$ty>());
                    Complex::new(<$ty>::read(re), <$ty>::read(im))
                }
            }
        )*
    };
}

complex_numbers! { f32 => C64, f64 => C128, }

impl<T: AttrElement> FromIterator<T> for AttrArray {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> AttrArray {
        let elements = elements.into_iter();
        let mut bytes = Vec::with_capacity(elements.size_hint().0.saturating_mul(T::DTYPE.size()));
        elements.for_each(|element| element.write(&mut bytes));
        AttrArray { dtype: T::DTYPE, bytes: Arc::new(bytes) }
    }
}

impl<T: AttrElement> From<&[T]> for AttrArray {
    fn from(elements: &[T]) -> AttrArray {
        elements.iter().copied().collect()
    }
}

impl<T: AttrElement, const N: usize> From<[T; N]> for AttrArray {
    fn from(elements: [T; N]) -> AttrArray {
        elements.into_iter().collect()
    }
}

impl<T: AttrElement> From<Vec<T>> for AttrArray {
    fn from(elements: Vec<T>) -> AttrArray {
        elements.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<T: AttrElement + PartialEq + fmt::Debug>(elements: &[T]) {
        let array = AttrArray::from(elements);
        assert_eq!((array.dtype(), array.len()), (T::DTYPE, elements.len()));
        assert_eq!(array.to_vec::<T>().as_deref(), Some(elements));
        let values: Vec<AttrValue> = elements.iter().map(|e| (*e).into()).collect();
        assert_eq!(array.iter().collect::<Vec<_>>(), values);
        assert_eq!(AttrArray::new(T::DTYPE, array.bytes().to_vec()), Ok(array.clone()));
        let mut pushed = AttrArray::new(T::DTYPE, Vec::new()).unwrap();
        values.iter().for_each(|value| pushed.push(value).unwrap());
        assert_eq!(pushed, array);
    }

    #[test]
    fn elements_of_every_type_come_back() {
        comes_back(&[i8::MIN, 7]);
        comes_back(&[i16::MIN, 7]);
        comes_back(&[i32::MIN, 7]);
        comes_back(&[i64::MIN, 7]);
        comes_back(&[u8::MAX, 7]);
        comes_back(&[u16::MAX, 7]);
        comes_back(&[u32::MAX, 7]);
        comes_back(&[u64::MAX, 7]);
        comes_back(&[0.1f32, f32::NEG_INFINITY]);
        comes_back(&[0.1f64, -0.0]);
        comes_back(&[true, false]);
        comes_back(&[Complex::new(0.1f32, -2.0)]);
        comes_back(&[Complex::new(0.1f64, -2.0)]);
        comes_back::<i64>(&[]);
    }

    #[test]
    fn elements_are_of_one_type_and_whole() {
        let mut array = AttrArray::from([1i8]);
        let others =
            [AttrValue::i64(1), AttrValue::Int(300, ScalarType::I8), "1".into(), true.into(), 1u8.into()];
        assert!(others.iter().all(|other| array.push(other).is_none()));
        assert_eq!(array, [1i8].into());
        assert_eq!(array.to_vec::<u8>(), None);
        assert_eq!(array.get(1), None);
        assert_eq!(AttrArray::new(DType::F16, vec![]), Err(NotElements::Type(DType::F16)));
        assert_eq!(AttrArray::new(DType::S32, vec![0; 6]), Err(NotElements::Length(DType::S32, 6)));
        assert_eq!(AttrArray::new(DType::Pred, vec![7, 0]), Ok([true, false].into()));
    }
}
