//! `reduce_window` by one operation, with XLA's semantics: the padding and the holes of base dilation
//! contribute nothing.
//!
//! Small windows are reduced element by element, in the order of the specification ([`direct`]). Large
//! windows and growing windows (`cumsum`) are reduced along one dimension after another, in time that does
//! not depend on the window size ([`long`]); floats are then accumulated in a wider type.
//!
//! Common operations on common types have loops of their own. For each type, the other operations, such as
//! the product of integers, share a loop that calls the operation.

mod axis;
mod direct;
mod long;

use std::marker::PhantomData;

use farcall_ir::op::ReduceWindow;
use farcall_ir::{DType, Op, TensorType};
use half::{bf16, f16};
use num_complex::Complex;

use super::loops::prepared::PreparedKernel;
use super::loops::vector::combine::Combine;
use super::loops::vector::complex;
use super::number::{Integer, Number};
use super::simd::has_vectors;
use super::types::{dispatch, unsigned};
use super::{Kernel, Request, apart};

pub(super) use axis::{Axis, Run};

pub(super) static KERNEL: Kernel = Kernel { name: "reduce_window", prepare, in_place: apart, describe };

/// Minimum number of combinations of a task. Direct reductions with more than one task are marked
/// [slow](PreparedKernel::slow).
const MIN_TASK_COMBINATIONS: usize = 1 << 17;
/// Maximum number of elements under a window that is reduced element by element, accumulating in the element
/// type.
const MAX_DIRECT_ELEMENTS: usize = 64;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::ReduceWindow(w), [body]) = (request.op, request.bodies) else { return None };
    let ([x, init], [y]) = (request.inputs, request.outputs) else { return None };
    if init.dtype != x.dtype || y.dtype != x.dtype || init.elements() != Some(1) {
        return None;
    }
    let axes = axes(x, y, w)?;
    combining(Combine::of(body, x.dtype)?, x.dtype, &axes)
}

fn describe(request: &Request<'_>) -> String {
    let (Op::ReduceWindow(w), [body], [x, ..]) = (request.op, request.bodies, request.inputs) else {
        return String::new();
    };
    let text = Combine::of(body, x.dtype).map_or(String::new(), |op| format!("{op:?}").to_lowercase());
    let window: Vec<String> = w.window.iter().map(usize::to_string).collect();
    format!("{text} {}", window.join("x"))
}

/// Returns the windows along each dimension, or `None` if their number does not match the result.
fn axes(x: &TensorType, y: &TensorType, w: &ReduceWindow) -> Option<Vec<Axis>> {
    let rank = x.rank();
    let lengths = [&w.window, &w.strides, &w.base_dilations, &w.window_dilations].map(Vec::len);
    if lengths != [rank; 4] || w.padding.len() != rank || y.rank() != rank {
        return None;
    }
    // If a dimension has both dilations, the first element under a window is found by a search, which takes
    // long if the window dilation is large.
    let searches = |d: usize| w.base_dilations[d] > 1 && w.window_dilations[d] > 1024;
    if (0..rank).any(searches) {
        return None;
    }
    let axes: Vec<Axis> = (0..rank)
        .map(|d| Axis {
            size: x.sizes()[d],
            window: w.window[d],
            stride: w.strides[d],
            base_dilation: w.base_dilations[d],
            window_dilation: w.window_dilations[d],
            padding: w.padding[d],
        })
        .collect();
    fits(&axes, y).then_some(axes)
}

/// Returns true if these windows can be computed without overflow and match the sizes of the result.
pub(super) fn fits(axes: &[Axis], y: &TensorType) -> bool {
    axes.iter().all(Axis::is_sound) && axes.iter().map(Axis::windows).eq(y.sizes().iter().copied())
}

/// A binary operation on elements, and the type in which results are accumulated.
trait Fold: Copy + Send + Sync + 'static {
    type T: Copy + 'static;
    type A: Copy + 'static;
    /// True if loops are compiled for the vectors of processors
    /// ([`with_vectors`](super::simd::with_vectors)).
    const VECTORS: bool;
    fn widen(self, x: Self::T) -> Self::A;
    fn narrow(self, x: Self::A) -> Self::T;
    fn combine(self, x: Self::A, y: Self::A) -> Self::A;
}

/// A [`Fold`] made of functions. Loops for `VECTORS` are compiled for each operation; the functions are then
/// closures. Other loops are compiled once for all operations on a type, and call function pointers.
struct FnFold<T, A, W, N, C, const VECTORS: bool>(W, N, C, PhantomData<fn(T) -> A>);

/// A [`FnFold`] for any processor.
type PointerFold<T, A> = FnFold<T, A, fn(T) -> A, fn(A) -> T, fn(A, A) -> A, false>;

impl<T, A, W: Copy, N: Copy, C: Copy, const VECTORS: bool> Clone for FnFold<T, A, W, N, C, VECTORS> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A, W: Copy, N: Copy, C: Copy, const VECTORS: bool> Copy for FnFold<T, A, W, N, C, VECTORS> {}

impl<T, A, W, N, C, const VECTORS: bool> Fold for FnFold<T, A, W, N, C, VECTORS>
where
    T: Copy + 'static,
    A: Copy + 'static,
    W: Fn(T) -> A + Copy + Send + Sync + 'static,
    N: Fn(A) -> T + Copy + Send + Sync + 'static,
    C: Fn(A, A) -> A + Copy + Send + Sync + 'static,
{
    type T = T;
    type A = A;
    const VECTORS: bool = VECTORS;
    #[inline(always)]
    fn widen(self, x: T) -> A {
        self.0(x)
    }
    #[inline(always)]
    fn narrow(self, x: A) -> T {
        self.1(x)
    }
    #[inline(always)]
    fn combine(self, x: A, y: A) -> A {
        self.2(x, y)
    }
}

/// A sum with its accumulated rounding error.
#[derive(Clone, Copy)]
struct Sum {
    sum: f64,
    rest: f64,
}

impl Sum {
    #[inline(always)]
    fn of(sum: f64) -> Sum {
        Sum { sum, rest: 0.0 }
    }

    /// Adds two sums by Knuth's algorithm, which also computes the rounding error.
    #[inline(always)]
    fn add(self, b: Sum) -> Sum {
        let sum = self.sum + b.sum;
        let of_b = sum - self.sum;
        let error = (self.sum - (sum - of_b)) + (b.sum - of_b);
        Sum { sum, rest: self.rest + b.rest + error }
    }

    #[inline(always)]
    fn value(self) -> f64 {
        // The rest of an infinite sum is NaN, the result of infinity minus infinity. A zero rest must not
        // change the sign of a sum of negative zeros.
        if self.sum.is_finite() && self.rest != 0.0 { self.sum + self.rest } else { self.sum }
    }
}

/// Prepares the reduction of windows by one operation.
fn combining(op: Combine, dtype: DType, axes: &[Axis]) -> Option<PreparedKernel> {
    let wide = product(axes.iter().map(|a| a.window)) > MAX_DIRECT_ELEMENTS;
    let direct = product(axes.iter().map(|a| a.most().max(1))) <= MAX_DIRECT_ELEMENTS;
    let fast = match (wide, direct) {
        _ if !has_vectors() => None,
        (false, _) => small_windows(op, dtype, axes),
        (true, false) => large_windows(op, dtype, axes),
        // The windows are large, but the operand is small, so that each window covers few elements.
        (true, true) => None,
    };
    fast.or_else(|| any_windows(op, dtype, axes, wide, direct))
}

/// Prepares the direct reduction of windows by a common operation on a common type.
fn small_windows(op: Combine, dtype: DType, axes: &[Axis]) -> Option<PreparedKernel> {
    fn go<T: Number>(
        axes: &[Axis],
        widen: impl Fn(T) -> T + Copy + Send + Sync + 'static,
        combine: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
    ) -> PreparedKernel {
        direct::reduction(axes, FnFold::<T, T, _, _, _, true>(widen, |x| x, combine, PhantomData))
    }
    match op {
        Combine::Add => {
            dispatch!(unsigned(dtype), [common_unsigned, floats], T => go(axes, |x| x, <T as Number>::add))
        }
        Combine::Multiply => dispatch!(dtype, [floats], T => go(axes, |x| x, <T as Number>::mul)),
        Combine::Maximum => dispatch!(dtype, [common_ints, floats], T => {
            let one = T::opaque_one();
            go(axes, move |x: T| x.settle(one), <T as Number>::max)
        }),
        Combine::Minimum => dispatch!(dtype, [common_ints, floats], T => {
            let one = T::opaque_one();
            go(axes, move |x: T| x.settle(one), <T as Number>::min)
        }),
        Combine::And if dtype.is_bool() => Some(go(axes, |x| x, <u8 as Integer>::and)),
        Combine::Or if dtype.is_bool() => Some(go(axes, |x| x, <u8 as Integer>::or)),
        Combine::And | Combine::Or | Combine::Xor => None,
    }
}

/// Prepares the reduction of windows along one dimension after another, by a common operation on a common
/// type.
fn large_windows(op: Combine, dtype: DType, axes: &[Axis]) -> Option<PreparedKernel> {
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $combine:expr) => {
            long::reduction(axes, FnFold::<$T, $A, _, _, _, true>($widen, $narrow, $combine, PhantomData))
        };
    }
    let add = |a: f64, b: f64| a + b;
    match (op, dtype) {
        (Combine::Add, DType::F16) => go!(f16, f64, f16::to_f64, f16::from_f64, add),
        (Combine::Add, DType::BF16) => go!(bf16, f64, bf16::to_f64, bf16::from_f64, add),
        (Combine::Add, DType::F32) => go!(f32, f64, f64::from, |x: f64| x as f32, add),
        (Combine::Add, DType::F64) => go!(f64, Sum, Sum::of, Sum::value, Sum::add),
        (Combine::Add, _) => {
            dispatch!(unsigned(dtype), [common_unsigned], T => go!(T, T, |x| x, |x| x, <T as Number>::add))?
        }
        (Combine::Multiply, DType::F32) => {
            go!(f32, f64, f64::from, |x: f64| x as f32, |a: f64, b: f64| a * b)
        }
        (Combine::Multiply, DType::F64) => go!(f64, f64, |x| x, |x| x, |a: f64, b: f64| a * b),
        (Combine::Maximum, _) => dispatch!(dtype, [signed, floats], T => {
            let one = T::opaque_one();
            go!(T, T, move |x: T| x.settle(one), |x| x, <T as Number>::max)
        })?,
        (Combine::Minimum, _) => dispatch!(dtype, [signed, floats], T => {
            let one = T::opaque_one();
            go!(T, T, move |x: T| x.settle(one), |x| x, <T as Number>::min)
        })?,
        _ => None,
    }
}

/// Prepares the reduction of windows by any operation, with loops for any processor.
fn any_windows(op: Combine, dtype: DType, axes: &[Axis], wide: bool, direct: bool) -> Option<PreparedKernel> {
    fn go<T: Copy + 'static, A: Copy + 'static>(
        axes: &[Axis],
        direct: bool,
        widen: fn(T) -> A,
        narrow: fn(A) -> T,
        combine: fn(A, A) -> A,
    ) -> Option<PreparedKernel> {
        let fold: PointerFold<T, A> = FnFold(widen, narrow, combine, PhantomData);
        if direct { Some(direct::reduction(axes, fold)) } else { long::reduction(axes, fold) }
    }
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $combine:expr) => {
            go::<$T, $A>(axes, direct, $widen, $narrow, $combine)
        };
    }
    // Signed integers share the loops for unsigned integers.
    macro_rules! ordered {
        ($name:ident) => {
            match dtype {
                DType::S8 => go!(u8, u8, |x| x, |x| x, |a, b| Number::$name(a as i8, b as i8) as u8),
                DType::S16 => go!(u16, u16, |x| x, |x| x, |a, b| Number::$name(a as i16, b as i16) as u16),
                DType::S32 => go!(u32, u32, |x| x, |x| x, |a, b| Number::$name(a as i32, b as i32) as u32),
                DType::S64 => go!(u64, u64, |x| x, |x| x, |a, b| Number::$name(a as i64, b as i64) as u64),
                _ => dispatch!(dtype, [unsigned, floats], T => {
                    go!(T, T, |x: T| x.settle(T::opaque_one()), |x| x, <T as Number>::$name)
                })?,
            }
        };
    }
    macro_rules! wide {
        ($combine:expr) => {
            match dtype {
                DType::F32 => go!(f32, f64, f64::from, |x: f64| x as f32, $combine),
                DType::F16 => go!(f16, f64, f16::to_f64, f16::from_f64, $combine),
                DType::BF16 => go!(bf16, f64, bf16::to_f64, bf16::from_f64, $combine),
                _ => None,
            }
        };
    }
    let double = |z: Complex<f32>| Complex::new(f64::from(z.re), f64::from(z.im));
    let single = |z: Complex<f64>| Complex::new(z.re as f32, z.im as f32);
    match op {
        Combine::Add if wide && dtype == DType::C64 => {
            go!(Complex<f32>, Complex<f64>, double, single, |a, b| a + b)
        }
        Combine::Multiply if wide && dtype == DType::C64 => {
            go!(Complex<f32>, Complex<f64>, double, single, complex::product)
        }
        Combine::Add if dtype.is_complex() => {
            dispatch!(dtype, [complex], T => go!(T, T, |x| x, |x| x, |a, b| a + b))?
        }
        Combine::Multiply if dtype.is_complex() => {
            dispatch!(dtype, [complex], T => go!(T, T, |x| x, |x| x, complex::product))?
        }
        Combine::Add if wide && dtype == DType::F64 => go!(f64, Sum, Sum::of, Sum::value, Sum::add),
        Combine::Add if wide && dtype.is_float() => wide!(|a, b| a + b),
        Combine::Multiply if wide && dtype.is_float() && dtype != DType::F64 => wide!(|a, b| a * b),
        Combine::Add => {
            dispatch!(unsigned(dtype), [unsigned, floats], T => go!(T, T, |x| x, |x| x, <T as Number>::add))?
        }
        Combine::Multiply => {
            dispatch!(unsigned(dtype), [unsigned, floats], T => go!(T, T, |x| x, |x| x, <T as Number>::mul))?
        }
        Combine::Maximum => ordered!(max),
        Combine::Minimum => ordered!(min),
        Combine::And => {
            dispatch!(unsigned(dtype), [unsigned], T => go!(T, T, |x| x, |x| x, <T as Integer>::and))?
        }
        Combine::Or => {
            dispatch!(unsigned(dtype), [unsigned], T => go!(T, T, |x| x, |x| x, <T as Integer>::or))?
        }
        Combine::Xor => {
            dispatch!(unsigned(dtype), [unsigned], T => go!(T, T, |x| x, |x| x, <T as Integer>::xor))?
        }
    }
}

/// Product of sizes, saturating.
pub(super) fn product(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(1, usize::saturating_mul)
}
