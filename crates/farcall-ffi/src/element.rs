//! Rust types that can be elements of a buffer.

use farcall_sig::{AttrValue, DType};

pub use farcall_sig::Complex;

/// A Rust type of the elements of a typed [`Buffer`](crate::Buffer).
///
/// | Rust | element type |
/// | --- | --- |
/// | `i8` … `i64`, `u8` … `u64` | `s8` … `s64`, `u8` … `u64` |
/// | `f32`, `f64` | `f32`, `f64` |
/// | [`Pred`] | `pred` |
/// | [`Complex<f32>`], [`Complex<f64>`] | `c64`, `c128` |
/// | `half::f16`, `half::bf16` (feature `half`) | `f16`, `bf16` |
/// | `num_complex::Complex<f32>`, `…<f64>` (feature `num-complex`) | `c64`, `c128` |
///
/// Other element types are only accessible as bytes, through [`AnyBuffer`](crate::AnyBuffer).
///
/// # Safety
/// Every pattern of `DTYPE.size()` bytes is a valid value of the type, and `size_of::<Self>()` is that size.
/// (Hence [`Pred`] instead of `bool`: a buffer's memory is foreign and may hold any byte.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of buffers",
    label = "not an element type",
    note = "element types are i8…i64, u8…u64, f32, f64, Pred (not bool), Complex<f32>, Complex<f64>; f16 and bf16 with the feature `half`",
    note = "any other is reached as bytes, through AnyBuffer"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// Element type of buffers.
    const DTYPE: DType;
}

/// An element of type `pred`: a byte, true unless it is zero.
#[repr(transparent)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Pred(u8);

impl Pred {
    /// Value as a `bool`.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Pred {
    fn from(value: bool) -> Pred {
        Pred(value.into())
    }
}

impl From<Pred> for bool {
    fn from(value: Pred) -> bool {
        value.get()
    }
}

impl From<Pred> for AttrValue {
    fn from(value: Pred) -> AttrValue {
        value.get().into()
    }
}

impl PartialEq for Pred {
    fn eq(&self, other: &Pred) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Pred {}

macro_rules! elements {
    ($($ty:ty => $dtype:ident,)*) => {
        $(
            // SAFETY: plain data of this size, without invalid bit patterns.
            unsafe impl Element for $ty {
                const DTYPE: DType = {
                    assert!(size_of::<$ty>() == DType::$dtype.size());
                    DType::$dtype
                };
            }
        )*
    };
}

elements! {
    i8 => S8, i16 => S16, i32 => S32, i64 => S64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
    Pred => Pred,
}

#[cfg(feature = "half")]
elements! {
    half::f16 => F16, half::bf16 => BF16,
}

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32> => C64, num_complex::Complex<f64> => C128,
}
