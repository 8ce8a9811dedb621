//! Element types: dispatch to loops, and access to single elements.

use farcall_ir::DType;

use super::number::Integer;

/// Evaluates an expression in which `T` is the Rust type of an element type. `None` if the element type is
/// not in the list.
macro_rules! dispatch {
    ($dtype:expr, [$($kind:ident),*], $T:ident => $body:expr) => {
        dispatch!(@go $dtype, $T, $body, [$($kind),*], [])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [ints $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)*
            S8 i8, S16 i16, S32 i32, S64 i64, U8 u8, U16 u16, U32 u32, U64 u64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [unsigned $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* U8 u8, U16 u16, U32 u32, U64 u64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [common_ints $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* S8 i8, U8 u8, S32 i32, U32 u32, S64 i64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [common_unsigned $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* U8 u8, U32 u32, U64 u64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [signed $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* S8 i8, S16 i16, S32 i32, S64 i64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [floats $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* F16 half::f16, BF16 half::bf16, F32 f32, F64 f64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [floats_but_f16 $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* BF16 half::bf16, F32 f32, F64 f64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [f32_f64 $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* F32 f32, F64 f64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [complex $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)*
            C64 num_complex::Complex<f32>, C128 num_complex::Complex<f64>,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [words $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* S32 i32, U32 u32, F32 f32,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [pred $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* Pred u8,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [], [$($d:ident $t:ty,)*]) => {
        match $dtype {
            $(farcall_ir::DType::$d => {
                type $T = $t;
                Some($body)
            })*
            _ => None,
        }
    };
}
pub(super) use dispatch;

/// Evaluates an expression in which `T` is a Rust type of this size in bytes. `None` for sizes other than 1,
/// 2, 4, 8 and 16.
macro_rules! by_size {
    ($size:expr, $T:ident => $body:expr) => {
        by_size!(@go $size, $T, $body, 1 u8, 2 u16, 4 u32, 8 [u32; 2], 16 [u64; 2],)
    };
    (@go $size:expr, $T:ident, $body:expr, $($n:literal $t:ty,)*) => {
        match $size {
            $($n => {
                type $T = $t;
                Some($body)
            })*
            _ => None,
        }
    };
}
pub(super) use by_size;

/// Returns the unsigned type with as many bits as this integer type or `pred`; other types are returned
/// unchanged. Sums, products and bitwise operations have the same bits in both types.
pub(super) fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::S8 | DType::Pred => DType::U8,
        DType::S16 => DType::U16,
        DType::S32 => DType::U32,
        DType::S64 => DType::U64,
        other => other,
    }
}

/// Integers of 8 to 64 bits.
pub fn is_int(d: DType) -> bool {
    d.is_integer() && d.bits() >= 8
}

/// Reads an index, clamped to the range from 0 to a limit.
pub(super) type ReadIndex = unsafe fn(*const u8, usize) -> usize;

/// Returns the function that reads indices of a type; `None` for types that are not integers.
///
/// The function must be called with the address of an aligned element.
pub(super) fn index_reader(dtype: DType) -> Option<ReadIndex> {
    /// # Safety
    /// `x` is valid for the read of an aligned element.
    unsafe fn read<T: Integer>(x: *const u8, limit: usize) -> usize {
        // SAFETY: the caller guarantees the element (`# Safety` above).
        unsafe { x.cast::<T>().read() }.clamp_index(limit)
    }
    dispatch!(dtype, [ints], T => read::<T> as ReadIndex)
}

/// Returns the number of the branch, among `count` branches, that the index or the predicate at `x` chooses.
///
/// # Safety
/// `x` is valid for reads of an aligned element of `dtype`, which is an integer or `pred`.
pub unsafe fn branch(dtype: DType, x: *const u8, count: usize) -> usize {
    if dtype == DType::Pred {
        // SAFETY: the caller guarantees the element (`# Safety` above).
        return usize::from(unsafe { x.read() } == 0);
    }
    let last = count - 1;
    let chosen = dispatch!(dtype, [ints], T => {
        // SAFETY: the caller guarantees the element (`# Safety` above).
        let value = unsafe { x.cast::<T>().read() };
        if value.is_below_zero() { last } else { value.clamp_index(last) }
    });
    chosen.unwrap_or(last)
}
