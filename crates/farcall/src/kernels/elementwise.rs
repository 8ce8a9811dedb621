//! Elementwise kernels: from an operation and element types to a loop.

use farcall_ir::op::{Binary, Compare, CompareKind, Direction, Unary};
use farcall_ir::{DType, Op, TensorType};
use half::{bf16, f16};
use num_complex::Complex;

use super::args::Prepared;
use super::map::{map1, map2, map3, map3_some};
use super::number::{Integer, Number};
use super::types::{by_size, dispatch};
use super::{Kernel, Request, short_name};

/// Operations on corresponding elements.
pub(super) static KERNEL: Kernel = Kernel { name: "elementwise", prepare, in_place: |_, _| true, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let [y] = request.outputs else { return None };
    let n = y.elements()?;
    let all = |xs: &[&TensorType]| xs.iter().all(|x| x.elements() == Some(n)).then_some(());
    match (request.op, request.inputs) {
        (Op::Unary(op), [x]) if op.info().result.dtype(x.dtype) == Some(y.dtype) => {
            all(&[x])?;
            unary(*op, x.dtype, n)
        }
        (Op::Binary(op), [a, b])
            if a.dtype == b.dtype && op.info().result.dtype(a.dtype) == Some(y.dtype) =>
        {
            all(&[a, b])?;
            binary(*op, a.dtype, n)
        }
        (Op::Compare(c), [a, b]) if a.dtype == b.dtype && y.dtype == DType::Pred => {
            all(&[a, b])?;
            compare(*c, a.dtype, n)
        }
        (Op::Select, [p, a, b]) if p.dtype == DType::Pred && a.dtype == y.dtype && b.dtype == y.dtype => {
            all(&[a, b])?;
            let many = p.elements() == Some(n);
            if many || p.elements() == Some(1) { select(y.dtype.size(), many, n) } else { None }
        }
        (Op::Clamp, [low, x, high]) if [low, x, high].iter().all(|t| t.dtype == y.dtype) => {
            all(&[x])?;
            let fits = |bound: &TensorType| bound.elements() == Some(1) || bound.elements() == Some(n);
            let many = |bound: &TensorType| bound.elements() != Some(1);
            if fits(low) && fits(high) { clamp(y.dtype, n, [many(low), true, many(high)]) } else { None }
        }
        (Op::Convert, [x]) => {
            all(&[x])?;
            convert(x.dtype, y.dtype, n)
        }
        _ => None,
    }
}

/// The conversion of a tensor's elements.
pub(super) fn converted(x: &TensorType, to: DType) -> Option<Prepared> {
    convert(x.dtype, to, x.elements()?)
}

fn describe(request: &Request<'_>) -> String {
    let name = short_name(request.op);
    match request.op {
        Op::Compare(c) => format!("{name}.{}", c.direction.name().to_lowercase()),
        _ => name.to_owned(),
    }
}

/// Applies a unary operation to `n` elements of a type.
fn unary(op: Unary, dtype: DType, n: usize) -> Option<Prepared> {
    macro_rules! numbers {
        ([$($kind:ident),*], $f:ident) => {
            dispatch!(dtype, [$($kind),*], T => {
                map1::<T, T>(n, move |x| x.$f())
            })
        };
    }
    macro_rules! float {
        ($x:ident => $e:expr) => {
            float!($x => $e, $e)
        };
        ($x:ident => $e32:expr, $e64:expr) => {
            Some(match dtype {
                    DType::F32 => map1::<f32, f32>(n, move |$x| $e32),
                    DType::F64 => map1::<f64, f64>(n, move |$x| $e64),
                    DType::F16 => map1::<f16, f16>(n, move |x| { let $x = x.to_f32(); f16::from_f32($e32) }),
                    DType::BF16 => map1::<bf16, bf16>(n, move |x| { let $x = x.to_f32(); bf16::from_f32($e32) }),
                    _ => return None,
                })
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
            Some(match dtype {
                DType::F32 => map1::<f32, u8>(n, move |$x| u8::from($e32)),
                DType::F64 => map1::<f64, u8>(n, move |$x| u8::from($e64)),
                DType::F16 => map1::<f16, u8>(n, move |x| {
                    let $x = x.to_f32();
                    u8::from($e32)
                }),
                DType::BF16 => map1::<bf16, u8>(n, move |x| {
                    let $x = x.to_f32();
                    u8::from($e32)
                }),
                _ => return None,
            })
        };
    }
    macro_rules! complex {
        ($R:ident, $x:ident => $e:expr) => {
            Some(match dtype {
                DType::C64 => {
                    type F = f32;
                    map1::<Complex<f32>, $R!(F)>(n, move |$x| $e)
                }
                DType::C128 => {
                    type F = f64;
                    map1::<Complex<f64>, $R!(F)>(n, move |$x| $e)
                }
                _ => return None,
            })
        };
    }
    macro_rules! real {
        ($f:ty) => {
            $f
        };
    }
    macro_rules! same { ($f:ty) => { Complex<$f> }; }
    match op {
        // By the trait's name: that of a signed number itself does not wrap.
        Unary::Abs => dispatch!(dtype, [signed, floats], T => map1::<T, T>(n, Number::abs)),
        Unary::Sign => dispatch!(dtype, [signed, floats], T => {
            let one = T::opaque_one();
            map1::<T, T>(n, move |x| x.settle(one).sign())
        }),
        Unary::Negate if dtype.is_complex() => complex!(same, z => -z),
        Unary::Negate => numbers!([ints, floats], neg),
        Unary::Square => dispatch!(dtype, [ints, floats], T => {
            map1::<T, T>(n, move |x| x.mul(x))
        }),
        Unary::Not if dtype == DType::Pred => Some(map1::<u8, u8>(n, |x| u8::from(x == 0))),
        Unary::Not => numbers!([ints], not),
        Unary::Popcnt => numbers!([ints], popcount),
        Unary::CountLeadingZeros => dispatch!(dtype, [ints], T => {
            map1::<T, T>(n, Integer::leading_zeros)
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
        | Unary::Lgamma => None,
    }
}

/// eˣ / 2, without overflow where the half has none.
#[inline(always)]
fn half_exp(x: f32) -> f32 {
    (x - std::f32::consts::LN_2).exp()
}

/// Applies a binary operation to `n` pairs of elements of a type.
fn binary(op: Binary, dtype: DType, n: usize) -> Option<Prepared> {
    macro_rules! numbers {
        ([$($kind:ident),*], $f:ident) => {
            dispatch!(dtype, [$($kind),*], T => {
                map2::<T, T, T>(n, move |x, y| x.$f(y))
            })
        };
    }
    macro_rules! complex {
        ($op:tt) => {
            Some(match dtype {
                    DType::C64 => map2::<Complex<f32>, Complex<f32>, Complex<f32>>(n, move |x, y| x $op y),
                    _ => map2::<Complex<f64>, Complex<f64>, Complex<f64>>(n, move |x, y| x $op y),
                })
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
            map2::<T, T, T>(n, move |x, y| x.settle(one).rem(y.settle(one)).settle(one))
        }),
        Binary::Maximum => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            map2::<T, T, T>(n, move |x, y| Number::max(x.settle(one), y.settle(one)))
        }),
        Binary::Minimum => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            map2::<T, T, T>(n, move |x, y| Number::min(x.settle(one), y.settle(one)))
        }),
        Binary::Power => dispatch!(dtype, [ints, floats], T => {
            let one = T::opaque_one();
            map2::<T, T, T>(n, move |x, y| Number::pow(x.settle(one), y.settle(one)).settle(one))
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
            let narrow = move |x: f32, y: f32| (x * one).atan2(y * one) * one;
            Some(match dtype {
                DType::F32 => map2::<f32, f32, f32>(n, narrow),
                DType::F64 => map2::<f64, f64, f64>(n, move |x, y| (x * one64).atan2(y * one64) * one64),
                DType::F16 => {
                    map2::<f16, f16, f16>(n, move |x, y| f16::from_f32(narrow(x.to_f32(), y.to_f32())))
                }
                DType::BF16 => {
                    map2::<bf16, bf16, bf16>(n, move |x, y| bf16::from_f32(narrow(x.to_f32(), y.to_f32())))
                }
                _ => return None,
            })
        }
        Binary::Complex => Some(match dtype {
            DType::F32 => map2::<f32, f32, Complex<f32>>(n, Complex::new),
            DType::F64 => map2::<f64, f64, Complex<f64>>(n, Complex::new),
            _ => return None,
        }),
        Binary::NextAfter | Binary::Polygamma | Binary::Zeta => None,
    }
}

/// Compares `n` pairs of elements.
fn compare(c: Compare, dtype: DType, n: usize) -> Option<Prepared> {
    macro_rules! relation {
        ($x:ident, $y:ident, $e:expr) => {
            dispatch!(dtype, [ints, floats, pred], T => {
                map2::<T, T, u8>(n, move |$x, $y| u8::from($e))
            })
        };
    }
    // `bf16` is compared as `f32`: by its bits, subnormal numbers that are flushed would not be zero.
    macro_rules! numbers {
        ($x:ident, $y:ident, $e:expr) => {
            if dtype == DType::BF16 {
                Some(map2::<bf16, bf16, u8>(n, move |x, y| {
                    let ($x, $y) = (x.to_f32(), y.to_f32());
                    u8::from($e)
                }))
            } else {
                relation!($x, $y, $e)
            }
        };
    }
    let total = c.kind == Some(CompareKind::TotalOrder) && dtype.is_float();
    match (c.direction, total) {
        (Direction::Eq, false) => numbers!(x, y, x == y),
        (Direction::Ne, false) => numbers!(x, y, x != y),
        (Direction::Ge, false) => numbers!(x, y, x >= y),
        (Direction::Gt, false) => numbers!(x, y, x > y),
        (Direction::Le, false) => numbers!(x, y, x <= y),
        (Direction::Lt, false) => numbers!(x, y, x < y),
        (Direction::Eq, true) => relation!(x, y, Number::total_cmp(x, y).is_eq()),
        (Direction::Ne, true) => relation!(x, y, Number::total_cmp(x, y).is_ne()),
        (Direction::Ge, true) => relation!(x, y, Number::total_cmp(x, y).is_ge()),
        (Direction::Gt, true) => relation!(x, y, Number::total_cmp(x, y).is_gt()),
        (Direction::Le, true) => relation!(x, y, Number::total_cmp(x, y).is_le()),
        (Direction::Lt, true) => relation!(x, y, Number::total_cmp(x, y).is_lt()),
    }
}

/// Selects elements of `size` bytes, by a predicate for each or for all.
fn select(size: usize, many: bool, n: usize) -> Option<Prepared> {
    by_size!(size, T => if many {
        map3::<u8, T, T, T>(n, |p, x, y| if p != 0 { x } else { y })
    } else {
        map3_some::<u8, T, T, T>(n, [false, true, true], |p, x, y| if p != 0 { x } else { y })
    })
}

/// Clamps `n` elements.
fn clamp(dtype: DType, n: usize, many: [bool; 3]) -> Option<Prepared> {
    dispatch!(dtype, [ints, floats, pred], T => {
        let one = T::opaque_one();
        let f = move |low: T, x: T, high: T| {
            Number::min(Number::max(low.settle(one), x.settle(one)), high.settle(one))
        };
        map3_some::<T, T, T, T>(n, many, f)
    })
}

/// Converts `n` elements. Those to 16-bit floats go through `f32`, which has to hold the operand exactly.
fn convert(from: DType, to: DType, n: usize) -> Option<Prepared> {
    let half = matches!(to, DType::F16 | DType::BF16);
    let exact = from != DType::F64 && !(from.is_integer() && from.bits() > 16);
    if half && !exact {
        return None;
    }
    let one = f32::opaque_one();
    macro_rules! to {
        ($s:ty, $x:ident, $wide:expr, $zero:expr) => {
            Some(match to {
                DType::Pred => map1::<$s, u8>(n, move |$x| u8::from($wide != $zero)),
                DType::S8 => map1::<$s, i8>(n, move |$x| $wide as i8),
                DType::S16 => map1::<$s, i16>(n, move |$x| $wide as i16),
                DType::S32 => map1::<$s, i32>(n, move |$x| $wide as i32),
                DType::S64 => map1::<$s, i64>(n, move |$x| $wide as i64),
                DType::U8 => map1::<$s, u8>(n, move |$x| $wide as u8),
                DType::U16 => map1::<$s, u16>(n, move |$x| $wide as u16),
                DType::U32 => map1::<$s, u32>(n, move |$x| $wide as u32),
                DType::U64 => map1::<$s, u64>(n, move |$x| $wide as u64),
                DType::F32 => map1::<$s, f32>(n, move |$x| $wide as f32),
                DType::F64 => map1::<$s, f64>(n, move |$x| $wide as f64),
                DType::F16 => map1::<$s, f16>(n, move |$x| f16::from_f32($wide as f32)),
                DType::BF16 => map1::<$s, bf16>(n, move |$x| bf16::from_f32($wide as f32)),
                _ => return None,
            })
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
        // Where subnormal numbers are flushed, the multiplication does that: `bf16` is converted by its bits.
        DType::BF16 => to!(bf16, x, x.to_f32() * one, 0.0),
        DType::F32 if to == DType::BF16 => Some(map1::<f32, bf16>(n, move |x| bf16::from_f32(x * one))),
        DType::F32 => to!(f32, x, x, 0.0),
        DType::F64 => to!(f64, x, x, 0.0),
        _ => None,
    }
}
