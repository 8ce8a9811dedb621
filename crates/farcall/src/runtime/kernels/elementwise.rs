//! Elementwise kernels: from an operation and element types to a loop.

use farcall_ir::DType;
use farcall_ir::op::{Binary, Compare, CompareKind, Direction, Unary};
use half::{bf16, f16};
use num_complex::Complex;

use super::map::{map1, map2, map3};
use super::number::{Integer, Number};

/// Chooses the type `T` for an element type among those that are listed; `false` for others.
macro_rules! dispatch {
    ($dtype:expr, [$($kind:ident),*], $T:ident => $body:expr) => {
        dispatch!(@go $dtype, $T, $body, [$($kind),*], [])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [ints $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)*
            S8 i8, S16 i16, S32 i32, S64 i64, U8 u8, U16 u16, U32 u32, U64 u64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [floats $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* F16 half::f16, BF16 half::bf16, F32 f32, F64 f64,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [pred $(, $rest:ident)*], [$($arms:tt)*]) => {
        dispatch!(@go $dtype, $T, $body, [$($rest),*], [$($arms)* Pred u8,])
    };
    (@go $dtype:expr, $T:ident, $body:expr, [], [$($d:ident $t:ty,)*]) => {
        match $dtype {
            $(DType::$d => {
                type $T = $t;
                $body;
                true
            })*
            _ => false,
        }
    };
}
pub(super) use dispatch;

/// Applies a unary operation; `false` if there is no kernel.
///
/// # Safety
/// As [`map1`], for `n` elements of `dtype` and of the operation's result.
pub(in crate::runtime) unsafe fn unary(
    op: Unary,
    dtype: DType,
    a: *const u8,
    out: *mut u8,
    n: usize,
) -> bool {
    macro_rules! numbers {
        ([$($kind:ident),*], $f:ident) => {
            dispatch!(dtype, [$($kind),*], T => {
                // SAFETY: the caller's promise.
                unsafe { map1::<T, T>(a, out, n, |x| x.$f()) }
            })
        };
    }
    macro_rules! float {
        ($x:ident => $e:expr) => {
            float!($x => $e, $e)
        };
        ($x:ident => $e32:expr, $e64:expr) => {
            // SAFETY: the caller's promise.
            unsafe {
                match dtype {
                    DType::F32 => map1::<f32, f32>(a, out, n, |$x| $e32),
                    DType::F64 => map1::<f64, f64>(a, out, n, |$x| $e64),
                    DType::F16 => map1::<f16, f16>(a, out, n, |x| { let $x = x.to_f32(); f16::from_f32($e32) }),
                    DType::BF16 => map1::<bf16, bf16>(a, out, n, |x| { let $x = x.to_f32(); bf16::from_f32($e32) }),
                    _ => return false,
                }
                true
            }
        };
    }
    // Functions that a library computes from the bits of its operand: where subnormal numbers are flushed,
    // the multiplications by one do that, before and after.
    let (one, one64) = (f32::opaque_one(), f64::opaque_one());
    macro_rules! function {
        ($x:ident => $e:expr) => {
            function!($x => $e, $e)
        };
        ($x:ident => $e32:expr, $e64:expr) => {
            float!($x => { let $x = $x * one; let y = $e32; y * one }, { let $x = $x * one64; let y = $e64; y * one64 })
        };
    }
    macro_rules! test {
        ($x:ident => $e32:expr, $e64:expr) => {
            // SAFETY: the caller's promise.
            unsafe {
                match dtype {
                    DType::F32 => map1::<f32, u8>(a, out, n, |$x| u8::from($e32)),
                    DType::F64 => map1::<f64, u8>(a, out, n, |$x| u8::from($e64)),
                    DType::F16 => map1::<f16, u8>(a, out, n, |x| {
                        let $x = x.to_f32();
                        u8::from($e32)
                    }),
                    DType::BF16 => map1::<bf16, u8>(a, out, n, |x| {
                        let $x = x.to_f32();
                        u8::from($e32)
                    }),
                    _ => return false,
                }
                true
            }
        };
    }
    macro_rules! complex {
        ($R:ident, $x:ident => $e:expr) => {
            // SAFETY: the caller's promise.
            unsafe {
                match dtype {
                    DType::C64 => {
                        type F = f32;
                        map1::<Complex<f32>, $R!(F)>(a, out, n, |$x| $e)
                    }
                    DType::C128 => {
                        type F = f64;
                        map1::<Complex<f64>, $R!(F)>(a, out, n, |$x| $e)
                    }
                    _ => return false,
                }
                true
            }
        };
    }
    macro_rules! real {
        ($f:ty) => {
            $f
        };
    }
    macro_rules! same { ($f:ty) => { Complex<$f> }; }
    match op {
        Unary::Abs => numbers!([ints, floats], abs),
        Unary::Sign => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            // SAFETY: the caller's promise.
            unsafe { map1::<T, T>(a, out, n, |x| x.settle(one).sign()) }
        }),
        Unary::Negate if dtype.is_complex() => complex!(same, z => -z),
        Unary::Negate => numbers!([ints, floats], neg),
        Unary::Square => dispatch!(dtype, [ints, floats], T => {
            // SAFETY: the caller's promise.
            unsafe { map1::<T, T>(a, out, n, |x| x.mul(x)) }
        }),
        Unary::Not if dtype == DType::Pred => {
            // SAFETY: the caller's promise.
            unsafe { map1::<u8, u8>(a, out, n, |x| u8::from(x == 0)) };
            true
        }
        Unary::Not => numbers!([ints], not),
        Unary::Popcnt => numbers!([ints], popcount),
        Unary::CountLeadingZeros => dispatch!(dtype, [ints], T => {
            // SAFETY: the caller's promise.
            unsafe { map1::<T, T>(a, out, n, Integer::leading_zeros) }
        }),
        Unary::Real => complex!(real, z => z.re),
        Unary::Imag => complex!(real, z => z.im),
        Unary::Conj => complex!(same, z => z.conj()),
        Unary::IsFinite => test!(x => x.is_finite(), x.is_finite()),
        Unary::IsInf => test!(x => x.is_infinite(), x.is_infinite()),
        Unary::IsNegInf => test!(x => x == f32::NEG_INFINITY, x == f64::NEG_INFINITY),
        Unary::IsPosInf => test!(x => x == f32::INFINITY, x == f64::INFINITY),
        Unary::Cbrt => function!(x => x.cbrt()),
        Unary::Ceil => float!(x => (x * one).ceil(), (x * one64).ceil()),
        Unary::Cosine => function!(x => x.cos()),
        Unary::Exponential => function!(x => x.exp()),
        Unary::ExponentialMinusOne => function!(x => x.exp_m1()),
        Unary::Floor => float!(x => (x * one).floor(), (x * one64).floor()),
        Unary::Log => function!(x => x.ln()),
        Unary::LogPlusOne => function!(x => x.ln_1p()),
        Unary::Logistic => function!(x => 1.0 / (1.0 + (-x).exp())),
        Unary::RoundNearestAfz => float!(x => (x * one).round(), (x * one64).round()),
        Unary::RoundNearestEven => float!(x => (x * one).round_ties_even(), (x * one64).round_ties_even()),
        Unary::Rsqrt => float!(x => 1.0 / x.sqrt()),
        Unary::Sine => function!(x => x.sin()),
        Unary::Sqrt => float!(x => x.sqrt()),
        Unary::Tan | Unary::ChloTan => function!(x => x.tan()),
        Unary::Tanh => function!(x => x.tanh()),
        Unary::Acos => function!(x => x.acos()),
        // The standard library's formulas for these three lose digits near zero.
        // (Below -1, `acoshf` gives a number.)
        Unary::Acosh => function!(
            x => if x < 1.0 { f32::NAN } else { libm::acoshf(x) },
            if x < 1.0 { f64::NAN } else { libm::acosh(x) }
        ),
        Unary::Asinh => function!(x => libm::asinhf(x), libm::asinh(x)),
        Unary::Atanh => function!(x => libm::atanhf(x), libm::atanh(x)),
        Unary::Asin => function!(x => x.asin()),
        Unary::Atan => function!(x => x.atan()),
        // By CHLO's formulas in `f32`, whose rounding errors known answers hold.
        Unary::Cosh => function!(x => half_exp(x) + half_exp(-x), x.cosh()),
        Unary::Sinh => function!(
            x => if x.abs() < 1.0 {
                let m = x.exp_m1();
                0.5 * (m + m / (m + 1.0))
            } else {
                half_exp(x) - half_exp(-x)
            },
            x.sinh()
        ),
        Unary::AsinAcosKernel
        | Unary::BesselI1e
        | Unary::Digamma
        | Unary::Erf
        | Unary::ErfInv
        | Unary::Erfc
        | Unary::Lgamma => false,
    }
}

/// eˣ / 2, without overflow where the half has none.
#[inline(always)]
fn half_exp(x: f32) -> f32 {
    (x - std::f32::consts::LN_2).exp()
}

/// Applies a binary operation; `false` if there is no kernel.
///
/// # Safety
/// As [`map2`], for `n` elements of `dtype` and of the operation's result.
pub(in crate::runtime) unsafe fn binary(
    op: Binary,
    dtype: DType,
    xs: [*const u8; 2],
    out: *mut u8,
    n: usize,
) -> bool {
    macro_rules! numbers {
        ([$($kind:ident),*], $f:ident) => {
            dispatch!(dtype, [$($kind),*], T => {
                // SAFETY: the caller's promise.
                unsafe { map2::<T, T, T>(xs, out, n, |x, y| x.$f(y)) }
            })
        };
    }
    macro_rules! complex {
        ($op:tt) => {
            // SAFETY: the caller's promise.
            unsafe {
                match dtype {
                    DType::C64 => map2::<Complex<f32>, Complex<f32>, Complex<f32>>(xs, out, n, |x, y| x $op y),
                    _ => map2::<Complex<f64>, Complex<f64>, Complex<f64>>(xs, out, n, |x, y| x $op y),
                }
                true
            }
        };
    }
    // `pred` is a byte of 0 or 1, on which these are bit operations.
    let op = match (op, dtype) {
        (Binary::Add | Binary::Maximum, DType::Pred) => Binary::Or,
        (Binary::Multiply | Binary::Minimum, DType::Pred) => Binary::And,
        (op, _) => op,
    };
    match op {
        Binary::Add if dtype.is_complex() => complex!(+),
        Binary::Subtract if dtype.is_complex() => complex!(-),
        Binary::Multiply if dtype.is_complex() => complex!(*),
        Binary::Add => numbers!([ints, floats], add),
        Binary::Subtract => numbers!([ints, floats], sub),
        Binary::Multiply => numbers!([ints, floats], mul),
        Binary::Divide => numbers!([ints, floats], div),
        Binary::Remainder => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            // SAFETY: the caller's promise.
            unsafe { map2::<T, T, T>(xs, out, n, |x, y| x.settle(one).rem(y.settle(one)).settle(one)) }
        }),
        Binary::Maximum => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            // SAFETY: the caller's promise.
            unsafe { map2::<T, T, T>(xs, out, n, |x, y| Number::max(x.settle(one), y.settle(one))) }
        }),
        Binary::Minimum => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            // SAFETY: the caller's promise.
            unsafe { map2::<T, T, T>(xs, out, n, |x, y| Number::min(x.settle(one), y.settle(one))) }
        }),
        Binary::Power => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            // SAFETY: the caller's promise.
            unsafe { map2::<T, T, T>(xs, out, n, |x, y| Number::pow(x.settle(one), y.settle(one)).settle(one)) }
        }),
        Binary::MulHi => numbers!([ints], mul_hi),
        Binary::And => numbers!([ints, pred], and),
        Binary::Or => numbers!([ints, pred], or),
        Binary::Xor => numbers!([ints, pred], xor),
        Binary::ShiftLeft => numbers!([ints], shl),
        Binary::ShiftRightArithmetic => numbers!([ints], shr_arithmetic),
        Binary::ShiftRightLogical => numbers!([ints], shr_logical),
        Binary::Atan2 => {
            let (one, one64) = (f32::opaque_one(), f64::opaque_one());
            let narrow = |x: f32, y: f32| (x * one).atan2(y * one) * one;
            // SAFETY: the caller's promise, for all types below.
            unsafe {
                match dtype {
                    DType::F32 => map2::<f32, f32, f32>(xs, out, n, narrow),
                    DType::F64 => {
                        map2::<f64, f64, f64>(xs, out, n, |x, y| (x * one64).atan2(y * one64) * one64)
                    }
                    DType::F16 => {
                        map2::<f16, f16, f16>(xs, out, n, |x, y| {
                            f16::from_f32(narrow(x.to_f32(), y.to_f32()))
                        });
                    }
                    DType::BF16 => map2::<bf16, bf16, bf16>(xs, out, n, |x, y| {
                        bf16::from_f32(narrow(x.to_f32(), y.to_f32()))
                    }),
                    _ => return false,
                }
            }
            true
        }
        // SAFETY: the caller's promise.
        Binary::Complex => unsafe {
            match dtype {
                DType::F32 => map2::<f32, f32, Complex<f32>>(xs, out, n, Complex::new),
                DType::F64 => map2::<f64, f64, Complex<f64>>(xs, out, n, Complex::new),
                _ => return false,
            }
            true
        },
        Binary::NextAfter | Binary::Polygamma | Binary::Zeta => false,
    }
}

/// Compares; `false` if there is no kernel.
///
/// # Safety
/// As [`map2`], for `n` elements of `dtype`, and `n` bytes of output.
pub(in crate::runtime) unsafe fn compare(
    c: Compare,
    dtype: DType,
    xs: [*const u8; 2],
    out: *mut u8,
    n: usize,
) -> bool {
    macro_rules! relation {
        ($x:ident, $y:ident, $e:expr) => {
            dispatch!(dtype, [ints, floats, pred], T => {
                // SAFETY: the caller's promise.
                unsafe { map2::<T, T, u8>(xs, out, n, |$x, $y| u8::from($e)) }
            })
        };
    }
    let total = c.kind == Some(CompareKind::TotalOrder) && dtype.is_float();
    match (c.direction, total) {
        (Direction::Eq, false) => relation!(x, y, x == y),
        (Direction::Ne, false) => relation!(x, y, x != y),
        (Direction::Ge, false) => relation!(x, y, x >= y),
        (Direction::Gt, false) => relation!(x, y, x > y),
        (Direction::Le, false) => relation!(x, y, x <= y),
        (Direction::Lt, false) => relation!(x, y, x < y),
        (Direction::Eq, true) => relation!(x, y, Number::total_cmp(x, y).is_eq()),
        (Direction::Ne, true) => relation!(x, y, Number::total_cmp(x, y).is_ne()),
        (Direction::Ge, true) => relation!(x, y, Number::total_cmp(x, y).is_ge()),
        (Direction::Gt, true) => relation!(x, y, Number::total_cmp(x, y).is_gt()),
        (Direction::Le, true) => relation!(x, y, Number::total_cmp(x, y).is_le()),
        (Direction::Lt, true) => relation!(x, y, Number::total_cmp(x, y).is_lt()),
    }
}

/// Selects elements of `size` bytes; `false` for an unknown size.
///
/// # Safety
/// As [`map3`]: the first input is a byte per element, or one byte.
pub(in crate::runtime) unsafe fn select(
    size: usize,
    xs: [*const u8; 3],
    many: bool,
    out: *mut u8,
    n: usize,
) -> bool {
    macro_rules! go {
        ($t:ty) => {
            // SAFETY: the caller's promise; a type of this size whose alignment is not greater.
            unsafe {
                map3::<u8, $t, $t, $t>(xs, [many, true, true], out, n, |p, x, y| if p != 0 { x } else { y })
            }
        };
    }
    match size {
        1 => go!(u8),
        2 => go!(u16),
        4 => go!(u32),
        8 => go!([u32; 2]),
        16 => go!([u64; 2]),
        _ => return false,
    }
    true
}

/// Clamps; `false` if there is no kernel.
///
/// # Safety
/// As [`map3`], for elements of `dtype`.
pub(in crate::runtime) unsafe fn clamp(
    dtype: DType,
    xs: [*const u8; 3],
    many: [bool; 3],
    out: *mut u8,
    n: usize,
) -> bool {
    dispatch!(dtype, [ints, floats, pred], T => {
        let one = T::opaque_one();
        let f = |low: T, x: T, high: T| {
            Number::min(Number::max(low.settle(one), x.settle(one)), high.settle(one))
        };
        // SAFETY: the caller's promise.
        unsafe { map3::<T, T, T, T>(xs, many, out, n, f) }
    })
}

/// Converts; `false` if there is no kernel.
///
/// # Safety
/// As [`map1`], for elements of the two types.
pub(in crate::runtime) unsafe fn convert(
    from: DType,
    to: DType,
    a: *const u8,
    out: *mut u8,
    n: usize,
) -> bool {
    macro_rules! to {
        ($s:ty, $x:ident, $wide:expr, $zero:expr) => {
            // SAFETY: the caller's promise.
            unsafe {
                match to {
                    DType::Pred => map1::<$s, u8>(a, out, n, |$x| u8::from($wide != $zero)),
                    DType::S8 => map1::<$s, i8>(a, out, n, |$x| $wide as i8),
                    DType::S16 => map1::<$s, i16>(a, out, n, |$x| $wide as i16),
                    DType::S32 => map1::<$s, i32>(a, out, n, |$x| $wide as i32),
                    DType::S64 => map1::<$s, i64>(a, out, n, |$x| $wide as i64),
                    DType::U8 => map1::<$s, u8>(a, out, n, |$x| $wide as u8),
                    DType::U16 => map1::<$s, u16>(a, out, n, |$x| $wide as u16),
                    DType::U32 => map1::<$s, u32>(a, out, n, |$x| $wide as u32),
                    DType::U64 => map1::<$s, u64>(a, out, n, |$x| $wide as u64),
                    DType::F32 => map1::<$s, f32>(a, out, n, |$x| $wide as f32),
                    DType::F64 => map1::<$s, f64>(a, out, n, |$x| $wide as f64),
                    DType::F16 => map1::<$s, f16>(a, out, n, |$x| f16::from_f32($wide as f32)),
                    DType::BF16 => map1::<$s, bf16>(a, out, n, |$x| bf16::from_f32($wide as f32)),
                    _ => return false,
                }
            }
        };
    }
    match from {
        DType::Pred | DType::U8 => to!(u8, x, x, 0),
        DType::S8 => to!(i8, x, x, 0),
        DType::S16 => to!(i16, x, x, 0),
        DType::S32 => to!(i32, x, x, 0),
        DType::S64 => to!(i64, x, x, 0),
        DType::U16 => to!(u16, x, x, 0),
        DType::U32 => to!(u32, x, x, 0),
        DType::U64 => to!(u64, x, x, 0),
        DType::F16 => to!(f16, x, x.to_f32(), 0.0),
        DType::BF16 => to!(bf16, x, x.to_f32(), 0.0),
        DType::F32 => to!(f32, x, x, 0.0),
        DType::F64 => to!(f64, x, x, 0.0),
        _ => return false,
    }
    true
}
