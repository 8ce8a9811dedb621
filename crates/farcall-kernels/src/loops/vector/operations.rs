//! Prebuilt loops of single operations, for all element types.

use farcall_ir::eval::special as exact;
use farcall_ir::op::{Binary, Compare, CompareKind, ComparisonDirection, Unary};
use farcall_ir::{DType, Op};
use half::{bf16, f16};
use num_complex::Complex;

use super::half_floats::{Elements, Half, by_single, integer_to_odd};
use super::{
    VectorLoop, complex, map1, map1_near, map2, map2_near, map3, minifloat, reduce_precision, scalar1,
    scalar2,
};
use crate::math::{self, double};
use crate::number::{Integer, Number};
use crate::special;
use crate::types::{by_size, dispatch, unsigned};

/// Returns the loop that computes an operation on elements of these types; `None` for operations that are not
/// elementwise.
pub(crate) fn work(op: &Op, from: &[DType], to: DType) -> Option<VectorLoop> {
    match (op, from) {
        (Op::Unary(op), [x]) if op.info().result.dtype(*x) == Some(to) => unary(*op, *x),
        (Op::Binary(op), [a, b]) if a == b && op.info().result.dtype(*a) == Some(to) => binary(*op, *a),
        (Op::Compare(c), [a, b]) if a == b && to == DType::Pred => compare(*c, *a),
        (Op::Select, [DType::Pred, a, b]) if *a == to && *b == to => select(to.size()),
        (Op::Clamp, [low, x, high]) if [low, x, high].iter().all(|t| **t == to) => clamp(to),
        (Op::Convert, [x]) => convert(*x, to),
        // An element narrower than a byte is extended to a byte as its type requires. Bitcasts of whole bytes
        // are copies.
        (Op::BitcastConvert, [x]) if x.bits() == to.bits() && to.bits() < 8 => {
            let cut = cut(to);
            Some(map1::<u8, u8>(cut))
        }
        (Op::ReducePrecision { exponent_bits, mantissa_bits }, [x]) if *x == to => {
            reduce_precision::work(to, *exponent_bits, *mantissa_bits)
        }
        _ => None,
    }
}

/// Returns a rough cost: picoseconds per element of the result. Unary operations that are not listed are taken
/// for slow functions, binary operations that are not listed for a few instructions.
pub(crate) fn cost(op: &Op, dtype: DType) -> usize {
    let function = match op {
        Op::Unary(op) => !matches!(
            op,
            Unary::Abs
                | Unary::Negate
                | Unary::Not
                | Unary::Sign
                | Unary::Square
                | Unary::Sqrt
                | Unary::Rsqrt
        ),
        Op::Binary(op) => matches!(op, Binary::Power | Binary::Atan2 | Binary::Remainder),
        _ => false,
    };
    if function { 4000 } else { 25 * dtype.size() }
}

/// Returns the loop of a unary operation on elements of a type.
fn unary(op: Unary, dtype: DType) -> Option<VectorLoop> {
    if dtype.is_complex() {
        return complex::unary(op, dtype);
    }
    let moves = matches!(op, Unary::Abs | Unary::Negate | Unary::Real | Unary::Imag | Unary::Conj);
    if dtype == DType::F16 && !moves {
        return by_f32(unary(op, DType::F32)?, 1, op.info().result.dtype(dtype)?);
    }
    // If an operation gives the same bits for signed and unsigned integers, both share a loop.
    let bits = if dtype.is_bool() { dtype } else { unsigned(dtype) };
    // `numbers!` is for methods of `Number` and `Integer` on these kinds of elements.
    macro_rules! numbers {
        ([$($kind:ident),*], $f:ident) => {
            dispatch!(bits, [$($kind),*], T => {
                map1::<T, T>(move |x| x.$f())
            })
        };
    }
    // `float!` is for expressions of vector instructions, for which the compiler generates vector code.
    // Always inlined: a closure that is not inlined is not compiled for the processor's vector instructions.
    macro_rules! float {
        ($x:ident => $e:expr) => {
            float!($x => $e, $e)
        };
        ($x:ident => $e32:expr, $e64:expr) => {
            float!(map1, $x => $e32, $e64)
        };
        ($map64:ident, $x:ident => $e32:expr, $e64:expr) => {
            Some(match dtype {
                    DType::F32 => map1::<f32, f32>(#[inline(always)] move |$x| $e32),
                    DType::F64 => $map64::<f64, f64>(#[inline(always)] move |$x| $e64),
                    DType::BF16 => map1::<bf16, bf16>(#[inline(always)] move |x| { let $x = x.widen(); bf16::narrow($e32) }),
                    _ => return None,
                })
        };
    }
    // `function!` is for functions that a library computes from the bits of its operand. Multiplying by one
    // before and after flushes subnormal numbers if the processor is set to flush them.
    let (one, one64) = (f32::opaque_one(), f64::opaque_one());
    macro_rules! function {
        ($x:ident => $e:expr) => {
            function!($x => $e, $e)
        };
        ($x:ident => $e32:expr, $e64:expr) => {
            function!(map1, $x => $e32, $e64)
        };
        ($map64:ident, $x:ident => $e32:expr, $e64:expr) => {
            float!(
                $map64,
                $x => { let $x = $x * one; let y = $e32; y * one },
                { let $x = $x * one64; let y = $e64; y * one64 }
            )
        };
    }
    // Like `function!`, for functions that call another function for each `f64`.
    macro_rules! scalar64 {
        ($x:ident => $e32:expr, $e64:expr) => {
            function!(scalar1, $x => $e32, $e64)
        };
    }
    // Like `function!`, for functions of `f32` that flush subnormal numbers themselves.
    macro_rules! flushing {
        ($x:ident => $e32:expr, $e64:expr) => {
            flushing!(map1, $x => $e32, $e64)
        };
        ($map64:ident, $x:ident => $e32:expr, $e64:expr) => {
            float!($map64, $x => $e32, { let $x = $x * one64; let y = $e64; y * one64 })
        };
    }
    // Like `function!`, for functions of an angle.
    macro_rules! angle {
        (of $half:ty, $x:ident => $near:expr, $far:expr) => {
            map1_near::<$half, $half>(
                #[inline(always)]
                move |x| { let $x = x.widen() * one; let y = $near; <$half>::narrow(y * one) },
                |x| x.widen().abs() <= math::MAX_ANGLE,
                move |x| { let $x = x.widen() * one; let y = $far; <$half>::narrow(y * one) },
            )
        };
        ($x:ident => $near:expr, $far:expr, $near64:expr) => {
            angle!($x => $near, $far, f64 by map1_near::<f64, f64>(
                #[inline(always)] move |x| { let $x = x * one64; let y = $near64; y * one64 },
                |x| x.abs() <= double::MAX_ANGLE,
                move |x| { let $x = x * one64; let y = $far; y * one64 },
            ))
        };
        ($x:ident => $near:expr, $far:expr, f64 by $of64:expr) => {
            match dtype {
                DType::F32 => Some(map1_near::<f32, f32>(
                    #[inline(always)] move |x| { let $x = x * one; let y = $near; y * one },
                    |x| x.abs() <= math::MAX_ANGLE,
                    move |x| { let $x = x * one; let y = $far; y * one },
                )),
                DType::F64 => Some($of64),
                DType::BF16 => Some(angle!(of bf16, $x => $near, $far)),
                _ => None,
            }
        };
    }
    // `above_zero!` is for functions that use another formula, in `f64`, for numbers that are not positive.
    macro_rules! above_zero {
        ($x:ident => $near:expr, $exact:expr) => {
            match dtype {
                DType::F32 => Some(map1_near::<f32, f32>(
                    #[inline(always)] move |x| { let $x = x * one; let y = $near; y * one },
                    |x| x > 0.0,
                    move |x| { let $x = f64::from(x * one); let y = $exact as f32; y * one },
                )),
                _ => scalar64!(
                    $x => if $x > 0.0 { $near } else { let $x = f64::from($x); $exact as f32 },
                    $exact
                ),
            }
        };
    }
    // `test!` is for functions of floats whose result is a `pred`.
    macro_rules! test {
        ($x:ident => $e32:expr, $e64:expr) => {
            Some(match dtype {
                DType::F32 => map1::<f32, u8>(move |$x| u8::from($e32)),
                DType::F64 => map1::<f64, u8>(move |$x| u8::from($e64)),
                DType::BF16 => map1::<bf16, u8>(move |x| {
                    let $x = x.widen();
                    u8::from($e32)
                }),
                _ => return None,
            })
        };
    }
    match op {
        // Names the trait, because the inherent `abs` of a signed integer does not wrap.
        Unary::Abs => dispatch!(dtype, [signed, floats], T => map1::<T, T>(Number::abs)),
        Unary::Sign => dispatch!(dtype, [signed, floats_but_f16], T => {
            let one = T::opaque_one();
            map1::<T, T>(move |x| x.settle(one).sign())
        }),
        Unary::Negate => numbers!([unsigned, floats], neg),
        Unary::Square => dispatch!(bits, [unsigned, floats_but_f16], T => {
            map1::<T, T>(move |x| x.mul(x))
        }),
        Unary::Not if dtype == DType::Pred => Some(map1::<u8, u8>(|x| u8::from(x == 0))),
        Unary::Not => numbers!([unsigned], not),
        Unary::Popcnt => numbers!([unsigned], popcount),
        Unary::CountLeadingZeros => dispatch!(bits, [unsigned], T => {
            map1::<T, T>(Integer::leading_zeros)
        }),
        Unary::Real | Unary::Conj => by_size!(dtype.size(), T => map1::<T, T>(|x| x)),
        // All numbers of this type are powers of two, so zero cannot be represented.
        Unary::Imag if dtype == DType::F8E8M0FNU => None,
        Unary::Imag => by_size!(dtype.size(), T => map1::<T, T>(|_| T::default())),
        Unary::IsFinite => test!(x => x.is_finite(), x.is_finite()),
        Unary::IsInf => test!(x => x.is_infinite(), x.is_infinite()),
        Unary::IsNegInf => test!(x => x == f32::NEG_INFINITY, x == f64::NEG_INFINITY),
        Unary::IsPosInf => test!(x => x == f32::INFINITY, x == f64::INFINITY),
        Unary::Cbrt => match dtype {
            DType::F32 => Some(scalar1::<f32, f32>(move |x| (x * one).cbrt() * one)),
            _ => scalar64!(x => x.cbrt(), x.cbrt()),
        },
        Unary::Ceil => float!(x => (x * one).ceil(), (x * one64).ceil()),
        Unary::Cosine => angle!(x => math::cos(x), x.cos(), double::cos(x)),
        Unary::Exponential => flushing!(x => math::exp(x), double::exp(x)),
        Unary::ExponentialMinusOne => flushing!(x => math::exp_m1(x), double::exp_m1(x)),
        Unary::Floor => float!(x => (x * one).floor(), (x * one64).floor()),
        Unary::Log => function!(x => math::ln(x), double::ln(x)),
        Unary::LogPlusOne => function!(x => math::ln_1p(x), double::ln_1p(x)),
        Unary::Logistic => flushing!(scalar1, x => math::logistic(x), exact::logistic(x)),
        Unary::RoundNearestAfz => float!(x => (x * one).round(), (x * one64).round()),
        Unary::RoundNearestEven => float!(x => (x * one).round_ties_even(), (x * one64).round_ties_even()),
        Unary::Rsqrt => float!(x => 1.0 / x.sqrt()),
        Unary::Sine => angle!(x => math::sin(x), x.sin(), double::sin(x)),
        Unary::Sqrt => float!(x => x.sqrt()),
        Unary::Tan | Unary::ChloTan => angle!(
            x => math::tan(x), x.tan(), f64 by scalar1::<f64, f64>(move |x| (x * one64).tan() * one64)
        ),
        Unary::Tanh => flushing!(x => math::tanh(x), double::tanh(x)),
        Unary::Acos => scalar64!(x => math::acos(x), x.acos()),
        // The standard library's formulas for the inverse hyperbolic functions lose digits near zero, so
        // `libm` computes them. `acosh` handles operands below 1 itself, because some versions of `libm`
        // return a number for operands below -1.
        Unary::Acosh => scalar64!(x => math::acosh(x), if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        Unary::Asinh => scalar64!(x => math::asinh(x), libm::asinh(x)),
        Unary::Atanh => scalar64!(x => math::atanh(x), libm::atanh(x)),
        Unary::Asin => scalar64!(x => math::asin(x), x.asin()),
        Unary::Atan => scalar64!(x => math::atan(x), x.atan()),
        Unary::Cosh => scalar64!(x => math::cosh(x), x.cosh()),
        Unary::Sinh => scalar64!(x => math::sinh(x), x.sinh()),
        Unary::BesselI1e => scalar64!(x => special::bessel_i1e(x), exact::bessel_i1e(x)),
        Unary::Digamma => above_zero!(x => special::digamma(x), exact::digamma(x)),
        Unary::Erf => function!(x => math::erf(x), libm::erf(x)),
        Unary::ErfInv => scalar64!(x => special::erf_inv(x), exact::erf_inv(x)),
        Unary::Erfc => scalar64!(x => special::erfc(x), libm::erfc(x)),
        Unary::Lgamma => above_zero!(x => special::lgamma(x), exact::lgamma(x)),
        Unary::AsinAcosKernel => None,
    }
}

/// Returns the loop of a binary operation on pairs of elements of a type.
fn binary(op: Binary, dtype: DType) -> Option<VectorLoop> {
    if dtype.is_complex() {
        return complex::binary(op, dtype);
    }
    macro_rules! numbers {
        ($of:expr, [$($kind:ident),*], $f:ident) => {
            dispatch!($of, [$($kind),*], T => {
                map2::<T, T, T>(move |x, y| x.$f(y))
            })
        };
    }
    // `pred` is a byte of 0 or 1, for which these operations are bit operations.
    let op = match (op, dtype) {
        (Binary::Add | Binary::Maximum, DType::Pred) => Binary::Or,
        (Binary::Multiply | Binary::Minimum, DType::Pred) => Binary::And,
        (op, _) => op,
    };
    let by_bits = matches!(op, Binary::Complex | Binary::NextAfter | Binary::Polygamma | Binary::Zeta);
    if dtype == DType::F16 && !by_bits {
        return by_f32(binary(op, DType::F32)?, 2, dtype);
    }
    // If an operation gives the same bits for signed and unsigned integers, both share a loop.
    let bits = if dtype.is_bool() { dtype } else { unsigned(dtype) };
    match op {
        Binary::Add => numbers!(bits, [unsigned, floats_but_f16], add),
        Binary::Subtract => numbers!(bits, [unsigned, floats_but_f16], sub),
        Binary::Multiply => numbers!(bits, [unsigned, floats_but_f16], mul),
        Binary::Divide => numbers!(dtype, [ints, floats_but_f16], div),
        Binary::Remainder if dtype.is_float() => dispatch!(dtype, [floats_but_f16], T => {
            let one = T::opaque_one();
            scalar2::<T, T, T>(move |x, y| x.settle(one).rem(y.settle(one)).settle(one))
        }),
        Binary::Remainder => numbers!(dtype, [ints], rem),
        Binary::Maximum => dispatch!(dtype, [ints, floats_but_f16], T => {
            let one = T::opaque_one();
            map2::<T, T, T>(move |x, y| Number::max(x.settle(one), y.settle(one)))
        }),
        Binary::Minimum => dispatch!(dtype, [ints, floats_but_f16], T => {
            let one = T::opaque_one();
            map2::<T, T, T>(move |x, y| Number::min(x.settle(one), y.settle(one)))
        }),
        Binary::Power if dtype == DType::F32 => {
            let one = f32::opaque_one();
            Some(map2_near::<f32, f32>(
                move |x, y| math::pow(x * one, y * one) * one,
                |x, y| (f32::MIN_POSITIVE..f32::INFINITY).contains(&x) && y.abs() < f32::INFINITY,
                move |x, y| Number::pow(x.settle(one), y.settle(one)).settle(one),
            ))
        }
        Binary::Power => dispatch!(dtype, [ints, floats_but_f16], T => {
            let one = T::opaque_one();
            scalar2::<T, T, T>(move |x, y| Number::pow(x.settle(one), y.settle(one)).settle(one))
        }),
        Binary::MulHi => numbers!(dtype, [ints], mul_hi),
        Binary::And => numbers!(bits, [unsigned, pred], and),
        Binary::Or => numbers!(bits, [unsigned, pred], or),
        Binary::Xor => numbers!(bits, [unsigned, pred], xor),
        Binary::ShiftLeft => numbers!(bits, [unsigned], shl),
        Binary::ShiftRightArithmetic => numbers!(bits, [unsigned], shr_arithmetic),
        Binary::ShiftRightLogical => numbers!(bits, [unsigned], shr_logical),
        Binary::Atan2 => {
            let (one, one64) = (f32::opaque_one(), f64::opaque_one());
            let narrow = move |x: f32, y: f32| (x * one).atan2(y * one) * one;
            Some(match dtype {
                DType::F32 => map2_near::<f32, f32>(
                    move |y, x| math::atan2(y * one, x * one) * one,
                    move |y, x| {
                        let largest = (y * one).abs().max((x * one).abs());
                        largest > 0.0 && largest < f32::INFINITY && !(y + x).is_nan()
                    },
                    narrow,
                ),
                DType::F64 => scalar2::<f64, f64, f64>(move |x, y| (x * one64).atan2(y * one64) * one64),
                DType::BF16 => {
                    scalar2::<bf16, bf16, bf16>(move |x, y| bf16::narrow(narrow(x.widen(), y.widen())))
                }
                _ => return None,
            })
        }
        Binary::Complex => Some(match dtype {
            DType::F32 => map2::<f32, f32, Complex<f32>>(Complex::new),
            DType::F64 => map2::<f64, f64, Complex<f64>>(Complex::new),
            _ => return None,
        }),
        Binary::Polygamma => rounded(dtype, exact::polygamma),
        Binary::Zeta => rounded(dtype, exact::zeta),
        Binary::NextAfter => None,
    }
}

/// Creates an operation on `f16` operands from the operation on `f32`, with results of type `to`.
fn by_f32(work: VectorLoop, operands: usize, to: DType) -> Option<VectorLoop> {
    let to = if to == DType::F16 { Elements::Halves } else { Elements::Bytes(to.size()) };
    Some(by_single(work, operands, Elements::Halves, to))
}

/// Returns the loop of a function of two numbers that is computed in `f64` and rounded.
fn rounded(dtype: DType, f: fn(f64, f64) -> f64) -> Option<VectorLoop> {
    let (one, one64) = (f32::opaque_one(), f64::opaque_one());
    let narrow = move |x: f32, y: f32| f((x * one).into(), (y * one).into());
    Some(match dtype {
        DType::F64 => scalar2::<f64, f64, f64>(move |x, y| f(x * one64, y * one64) * one64),
        DType::F32 => scalar2::<f32, f32, f32>(move |x, y| narrow(x, y) as f32 * one),
        DType::F16 => scalar2::<f16, f16, f16>(move |x, y| f16::narrow64(narrow(x.widen(), y.widen()))),
        DType::BF16 => scalar2::<bf16, bf16, bf16>(move |x, y| bf16::narrow64(narrow(x.widen(), y.widen()))),
        _ => return None,
    })
}

/// Returns the loop that compares pairs of elements.
fn compare(c: Compare, dtype: DType) -> Option<VectorLoop> {
    if dtype.is_complex() {
        return complex::compare(c, dtype);
    }
    macro_rules! relation {
        ($of:expr, [$($kind:ident),*], $x:ident, $y:ident, $e:expr) => {
            dispatch!($of, [$($kind),*], T => {
                map2::<T, T, u8>(move |$x, $y| u8::from($e))
            })
        };
    }
    // `bf16` is compared as `f32`: comparing bits would not treat flushed subnormal numbers as zero.
    macro_rules! numbers {
        ($of:expr, $ints:ident, $x:ident, $y:ident, $e:expr) => {
            if dtype == DType::BF16 {
                Some(map2::<bf16, bf16, u8>(move |x, y| {
                    let ($x, $y) = (x.widen(), y.widen());
                    u8::from($e)
                }))
            } else {
                relation!($of, [$ints, f32_f64], $x, $y, $e)
            }
        };
    }
    // Integers are equal if their bits are.
    let bits = unsigned(dtype);
    let dtype = if dtype == DType::Pred { DType::U8 } else { dtype };
    let total = c.kind == Some(CompareKind::TotalOrder) && dtype.is_float();
    if dtype == DType::F16 && !total {
        return by_f32(compare(c, DType::F32)?, 2, DType::Pred);
    }
    match (c.direction, total) {
        (ComparisonDirection::Eq, false) => numbers!(bits, unsigned, x, y, x == y),
        (ComparisonDirection::Ne, false) => numbers!(bits, unsigned, x, y, x != y),
        (ComparisonDirection::Ge, false) => numbers!(dtype, ints, x, y, x >= y),
        (ComparisonDirection::Gt, false) => numbers!(dtype, ints, x, y, x > y),
        (ComparisonDirection::Le, false) => numbers!(dtype, ints, x, y, x <= y),
        (ComparisonDirection::Lt, false) => numbers!(dtype, ints, x, y, x < y),
        (ComparisonDirection::Eq, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_eq()),
        (ComparisonDirection::Ne, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_ne()),
        (ComparisonDirection::Ge, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_ge()),
        (ComparisonDirection::Gt, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_gt()),
        (ComparisonDirection::Le, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_le()),
        (ComparisonDirection::Lt, true) => relation!(dtype, [floats], x, y, Number::total_cmp(x, y).is_lt()),
    }
}

/// Returns the loop that selects elements of `size` bytes.
fn select(size: usize) -> Option<VectorLoop> {
    by_size!(size, T => map3::<u8, T, T, T>(|p, x, y| if p != 0 { x } else { y }))
}

/// Returns the loop that clamps elements.
fn clamp(dtype: DType) -> Option<VectorLoop> {
    if dtype == DType::F16 {
        return by_f32(clamp(DType::F32)?, 3, dtype);
    }
    dispatch!(dtype, [ints, floats_but_f16, pred], T => {
        let one = T::opaque_one();
        map3::<T, T, T, T>(move |low: T, x: T, high: T| {
            Number::min(Number::max(low.settle(one), x.settle(one)), high.settle(one))
        })
    })
}

/// Returns the loop that converts elements, each with a single rounding.
fn convert(from: DType, to: DType) -> Option<VectorLoop> {
    if let Some(small) = minifloat::convert(from, to).or_else(|| parts_of_bytes(from, to)) {
        return Some(small);
    }
    if from.is_complex() || to.is_complex() {
        return complex::convert(from, to);
    }
    let exact = from != DType::F64 && !(from.is_integer() && from.bits() > 16);
    match to {
        DType::F16 if !exact => return to_half::<f16>(from),
        DType::BF16 if !exact => return to_half::<bf16>(from),
        _ => {}
    }
    match (from, to) {
        (DType::F16, DType::F16) => return Some(map1::<u16, u16>(|x| x)),
        (DType::F16, _) => return by_f32(convert(DType::F32, to)?, 1, to),
        (_, DType::F16) => {
            let work = convert(from, DType::F32)?;
            return Some(by_single(work, 1, Elements::Bytes(from.size()), Elements::Halves));
        }
        _ => {}
    }
    if from.is_float()
        && let Some(work) = to_integer(from, to)
    {
        return Some(work);
    }
    let one = f32::opaque_one();
    macro_rules! to {
        (integer $s:ty, $x:ident) => {
            match to {
                // Conversion to a signed type gives the same bits as conversion to the unsigned type.
                DType::S8 | DType::U8 => Some(map1::<$s, u8>(move |$x| $x as u8)),
                DType::S16 | DType::U16 => Some(map1::<$s, u16>(move |$x| $x as u16)),
                DType::S32 | DType::U32 => Some(map1::<$s, u32>(move |$x| $x as u32)),
                DType::S64 | DType::U64 => Some(map1::<$s, u64>(move |$x| $x as u64)),
                _ => to!($s, $x, $x, 0),
            }
        };
        (float $s:ty, $x:ident, $wide:expr) => {
            // `to_integer` has the loops for the other integers.
            match to {
                DType::S64 => Some(map1::<$s, i64>(move |$x| $wide as i64)),
                DType::U32 => Some(map1::<$s, u32>(move |$x| $wide as u32)),
                DType::U64 => Some(map1::<$s, u64>(move |$x| $wide as u64)),
                _ => to!($s, $x, $wide, 0.0),
            }
        };
        ($s:ty, $x:ident, $wide:expr, $zero:expr) => {
            Some(match to {
                DType::Pred => map1::<$s, u8>(move |$x| u8::from($wide != $zero)),
                DType::F32 => map1::<$s, f32>(move |$x| $wide as f32),
                DType::F64 => map1::<$s, f64>(move |$x| $wide as f64),
                DType::BF16 => map1::<$s, bf16>(move |$x| bf16::narrow($wide as f32)),
                _ => return None,
            })
        };
    }
    match from {
        DType::Pred | DType::U8 => to!(integer u8, x),
        DType::S8 => to!(integer i8, x),
        DType::S16 => to!(integer i16, x),
        DType::S32 => to!(integer i32, x),
        DType::S64 => to!(integer i64, x),
        DType::U16 => to!(integer u16, x),
        DType::U32 => to!(integer u32, x),
        DType::U64 => to!(integer u64, x),
        // The multiplication flushes subnormal numbers if the processor is set to flush them; the conversion
        // of `bf16` only moves bits.
        DType::BF16 => to!(float bf16, x, x.widen() * one),
        DType::F32 if to == DType::BF16 => Some(map1::<f32, bf16>(move |x| bf16::narrow(x * one))),
        DType::F32 => to!(float f32, x, x),
        DType::F64 => to!(float f64, x, x),
        _ => None,
    }
}

/// Converts integers between a byte and narrower types, which are stored in a byte each, sign-extended if
/// signed.
fn parts_of_bytes(from: DType, to: DType) -> Option<VectorLoop> {
    let is_byte = |d: DType| d.is_integer() && d.bits() <= 8;
    if !is_byte(from) || !is_byte(to) || (from.bits() == 8 && to.bits() == 8) {
        return None;
    }
    let (from, to) = (cut(from), cut(to));
    Some(map1::<u8, u8>(move |x| to(from(x))))
}

/// Returns the function that truncates a byte to an element of at most eight bits, and extends it to a byte
/// again as its type requires.
fn cut(dtype: DType) -> impl Fn(u8) -> u8 + Copy + Send + Sync + 'static {
    let (unused, signed) = (8 - dtype.bits(), dtype.is_signed_integer());
    #[inline(always)]
    move |x: u8| {
        let top = x << unused;
        if signed { (top.cast_signed() >> unused).cast_unsigned() } else { top >> unused }
    }
}

/// Converts floats to integers of 32 bits or fewer: truncated, saturating, and 0 for NaN. Values are clamped
/// first, so that the compiler can vectorize the conversion.
fn to_integer(from: DType, to: DType) -> Option<VectorLoop> {
    /// Truncates a number after clamping it.
    macro_rules! between {
        ($x:expr, $low:expr, $high:expr) => {{
            let x = if $x.is_nan() { 0.0 } else { $x };
            let x = if x < $low { $low } else { x };
            let x = if x > $high { $high } else { x };
            // SAFETY: the clamped number is in the range of `i32`.
            unsafe { x.to_int_unchecked::<i32>() }
        }};
    }
    macro_rules! to {
        ($s:ty, $f:ty, $x:ident => $wide:expr, $most:expr, $($dtype:ident $t:ty),*) => {
            match to {
                $(DType::$dtype => Some(map1::<$s, $t>(move |$x| {
                    between!($wide, <$f>::from(<$t>::MIN), <$f>::from(<$t>::MAX)) as $t
                })),)*
                DType::S32 => Some(map1::<$s, i32>(move |$x| {
                    let x: $f = $wide;
                    let truncated = between!(x, i32::MIN as $f, $most);
                    if x > $most { i32::MAX } else { truncated }
                })),
                _ => None,
            }
        };
        ($s:ty, $f:ty, $x:ident => $wide:expr, $most:expr) => {
            to!($s, $f, $x => $wide, $most, S8 i8, S16 i16, U8 u8, U16 u16)
        };
    }
    // The largest `f32` that is an `i32`.
    const MAX_F32_IN_I32: f32 = 2_147_483_520.0;
    match from {
        DType::BF16 => to!(bf16, f32, x => x.widen(), MAX_F32_IN_I32),
        DType::F32 => to!(f32, f32, x => x, MAX_F32_IN_I32),
        DType::F64 => to!(f64, f64, x => x, 2_147_483_647.0),
        _ => None,
    }
}

/// Converts elements that may not fit in an `f32` to 16-bit floats.
fn to_half<T: Half>(from: DType) -> Option<VectorLoop> {
    let signed = |x: i64| {
        let magnitude = integer_to_odd(x.unsigned_abs());
        T::narrow64(if x < 0 { -magnitude } else { magnitude })
    };
    Some(match from {
        DType::F64 => map1::<f64, T>(T::narrow64),
        DType::S32 => map1::<i32, T>(|x| T::narrow64(x.into())),
        DType::U32 => map1::<u32, T>(|x| T::narrow64(x.into())),
        DType::S64 => map1::<i64, T>(signed),
        DType::U64 => map1::<u64, T>(|x| T::narrow64(integer_to_odd(x))),
        _ => return None,
    })
}
