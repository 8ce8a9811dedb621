//! Prebuilt loops that combine elements by a single operation.
//!
//! The order of combination depends only on the sizes. A row is divided into blocks. The elements of a block
//! are combined in lanes: accumulators that each combine every sixteenth element. The lanes of a block are
//! then combined pairwise, and so are the totals of blocks. Sums of `f32` and of the 16-bit floats are
//! accumulated in a wider type.

use std::marker::PhantomData;
use std::sync::Arc;

use farcall_ir::op::Binary;
use farcall_ir::{DType, Op};
use half::{bf16, f16};
use num_complex::Complex;

use super::super::vector;
use super::half_floats::Half;
use super::{Operand, VectorLoop};
use crate::Body;
use crate::cache::prefetch_ahead;
#[cfg(target_arch = "x86_64")]
use crate::cache::{PREFETCH_DISTANCE_BYTES, prefetch_to_second_level};
use crate::number::{Float, Integer, Nan, Number};
use crate::simd::{has_vectors, with_vectors};
use crate::types::{dispatch, unsigned};

/// Number of lanes: accumulators that each combine every sixteenth element of a row.
pub(crate) const LANES: usize = 16;
/// Number of elements that are combined in lanes. Blocks of this size are combined pairwise.
pub(crate) const BLOCK_ELEMENTS: usize = 1024;
/// Approximate cost of an element of a row, in picoseconds.
pub(crate) const COST: usize = 100;

/// An operation with specialized reduction loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Combine {
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
    Xor,
}

impl Combine {
    /// Returns the operation of a reducer that only applies one operation to its two arguments of this type.
    pub(crate) fn of(body: &Body, dtype: DType) -> Option<Combine> {
        let only = body.reducer()?;
        if body.args.iter().chain([&only.ty]).any(|t| t.dtype != dtype) {
            return None;
        }
        Combine::by(&only.op, dtype)
    }

    /// Returns the specialized operation that computes `op` on two elements of this type, if there is one.
    pub(crate) fn by(op: &Op, dtype: DType) -> Option<Combine> {
        Some(match (op, dtype.is_bool()) {
            (Op::Binary(Binary::Add), false) => Combine::Add,
            (Op::Binary(Binary::Multiply), false) => Combine::Multiply,
            (Op::Binary(Binary::Maximum), false) => Combine::Maximum,
            (Op::Binary(Binary::Minimum), false) => Combine::Minimum,
            (Op::Binary(Binary::And), _) | (Op::Binary(Binary::Multiply | Binary::Minimum), true) => {
                Combine::And
            }
            (Op::Binary(Binary::Or), _) | (Op::Binary(Binary::Add | Binary::Maximum), true) => Combine::Or,
            (Op::Binary(Binary::Xor), _) => Combine::Xor,
            _ => return None,
        })
    }
}

/// Prepares the reduction of rows of `columns` elements. The inputs are the elements and a single initial
/// value.
pub(crate) fn rows(op: Combine, dtype: DType, columns: usize) -> Option<VectorLoop> {
    combining(op, dtype, Rows(columns))
}

/// Prepares the combination of rows of `kept` elements into a single row, starting from an initial value.
pub(crate) fn accumulator(op: Combine, dtype: DType, kept: usize, init: [u8; 16]) -> Option<Accumulator> {
    // Totals have at most sixteen bytes, so sizes of parts do not overflow.
    kept.checked_mul(16)?.checked_next_multiple_of(64)?;
    combining(op, dtype, Accumulators { kept, init })
}

/// Functions that combine rows into one row, in several tasks. A *part* is the memory of one task for its
/// totals, aligned for the largest element type.
pub(crate) struct Accumulator {
    /// Number of elements of the result.
    pub(crate) kept: usize,
    /// Size of a part's memory in bytes.
    pub(crate) bytes: usize,
    begin: Box<dyn Fn(*mut u8) + Send + Sync>,
    add: Box<dyn Fn(*const u8, usize, usize, *mut u8) + Send + Sync>,
    end: Box<dyn Fn(*const u8, usize, *mut u8) + Send + Sync>,
}

impl Accumulator {
    /// Initializes the memory of a part.
    ///
    /// # Safety
    /// `part` is valid for writes of [`Accumulator::bytes`] bytes.
    pub(crate) unsafe fn begin(&self, part: *mut u8) {
        (self.begin)(part);
    }

    /// Adds `n` elements to a part. The first element belongs to this column.
    ///
    /// # Safety
    /// `x` is valid for reads of `n` elements, `part` has been initialized, and `column` is less than
    /// [`Accumulator::kept`].
    pub(crate) unsafe fn add(&self, x: *const u8, n: usize, column: usize, part: *mut u8) {
        (self.add)(x, n, column, part);
    }

    /// Combines `count` parts, which are contiguous, and writes the result.
    ///
    /// # Safety
    /// All parts have been initialized, and `out` is valid for writes of [`Accumulator::kept`] elements.
    pub(crate) unsafe fn end(&self, parts: *const u8, count: usize, out: *mut u8) {
        (self.end)(parts, count, out);
    }
}

#[derive(Clone, Copy)]
struct Accumulators {
    kept: usize,
    init: [u8; 16],
}

impl Instantiate for Accumulators {
    type Output = Accumulator;

    fn combining<R: Reducer>(self, by: R) -> Accumulator {
        let Accumulators { kept, init } = self;
        // SAFETY: `init` has sixteen bytes, and no element is larger.
        let init = by.widen(unsafe { init.as_ptr().cast::<R::Element>().read_unaligned() });
        let identity = by.identity(init);
        let by = Arc::new(by);
        let of_end = Arc::clone(&by);
        let bytes = (kept * size_of::<R::Total>()).next_multiple_of(64);
        Accumulator {
            kept,
            bytes,
            begin: Box::new(move |to| {
                for i in 0..kept {
                    // SAFETY: the caller of `begin` provides `bytes` bytes, room for `kept` totals.
                    unsafe { to.cast::<R::Total>().add(i).write(identity) };
                }
            }),
            add: Box::new(move |x, n, column, to| {
                let (x, to) = (x.cast::<R::Element>(), to.cast::<R::Total>());
                if kept == 1 {
                    // SAFETY: the caller of `add` provides `n` elements and a part, which has one total.
                    unsafe { to.write(by.combine(to.read(), row(x, n, &*by, identity, false))) };
                    return;
                }
                let (mut done, mut column) = (0, column);
                while done < n {
                    let run = (kept - column).min(n - done);
                    by_vectors(
                        &*by,
                        #[inline(always)]
                        // SAFETY: the caller of `add` provides `n` elements and a part of `kept` totals;
                        // `column + run` is at most `kept`.
                        |by| unsafe { combine(x.add(done), to.add(column), run, by) },
                    );
                    done += run;
                    column = 0;
                }
            }),
            end: Box::new(move |parts, count, out| {
                for i in 0..kept {
                    let mut total = init;
                    for part in 0..count {
                        // SAFETY: the caller of `end` provides `count` parts, each of `kept` totals in
                        // `bytes` bytes.
                        let value = unsafe { parts.add(part * bytes).cast::<R::Total>().add(i).read() };
                        total = of_end.combine(total, value);
                    }
                    // SAFETY: the caller of `end` provides a result of `kept` elements.
                    unsafe { out.cast::<R::Element>().add(i).write(of_end.narrow(total)) };
                }
            }),
        }
    }
}

/// A builder of a kernel, a loop or an accumulator for a reducer.
pub(crate) trait Instantiate: Copy {
    type Output;

    fn combining<R: Reducer>(self, by: R) -> Self::Output;
}

/// Reduction of rows with this number of elements.
#[derive(Clone, Copy)]
struct Rows(usize);

impl Instantiate for Rows {
    type Output = VectorLoop;

    fn combining<R: Reducer>(self, by: R) -> VectorLoop {
        let Rows(columns) = self;
        VectorLoop::new(move |[x, init, _]: &[Operand; 3], out, n| {
            let (x, out) = (x.at.cast::<R::Element>(), out.cast::<R::Element>());
            // SAFETY: the second operand is the initial value, one element of this type.
            let init = by.widen(unsafe { init.at.cast::<R::Element>().read() });
            let identity = by.identity(init);
            for i in 0..n {
                // SAFETY: the caller provides `n` rows of `columns` elements, and room for `n` results.
                unsafe {
                    let row = row(x.add(i * columns), columns, &by, identity, false);
                    out.add(i).write(by.narrow(by.combine(init, row)));
                }
            }
        })
    }
}

/// Calls `made` with the reducer of an operation on an element type.
pub(crate) fn combining<L: Instantiate>(op: Combine, dtype: DType, made: L) -> Option<L::Output> {
    let common = if has_vectors() { with_vectors_of(op, dtype, made) } else { None };
    common.or_else(|| for_any_processor(op, dtype, made))
}

/// Calls `made` with the reducer of a common operation on a common type. The loops of the reducer are
/// compiled for each set of vector instructions.
fn with_vectors_of<L: Instantiate>(op: Combine, dtype: DType, made: L) -> Option<L::Output> {
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $identity:expr, $combine:expr) => {{
            let how: FnReducer<$T, $A, _, _, _, true> = FnReducer {
                widen: $widen,
                narrow: $narrow,
                combine: $combine,
                identity: $identity,
                element: PhantomData,
            };
            made.combining(how)
        }};
    }
    let add = |a: f32, b: f32| a + b;
    let multiply = |a: f32, b: f32| a * b;
    let add_complex = |a: Complex<f64>, b: Complex<f64>| a + b;
    let zero = Some(-Complex::ZERO);
    Some(match (op, dtype) {
        (Combine::Add, DType::F16) => go!(f16, f32, f16::widen, f16::narrow, Some(-0.0), add),
        (Combine::Add, DType::BF16) => go!(bf16, f32, bf16::widen, bf16::narrow, Some(-0.0), add),
        (Combine::Add, DType::F32) => made.combining(SumF32),
        (Combine::Add, DType::F64) => go!(f64, f64, |x| x, |x| x, Some(-0.0), |a: f64, b: f64| a + b),
        (Combine::Add, DType::C64) => go!(Complex<f32>, Complex<f64>, wide, narrow, zero, add_complex),
        (Combine::Add, DType::C128) => go!(Complex<f64>, Complex<f64>, |x| x, |x| x, zero, add_complex),
        (Combine::Add, _) => {
            return dispatch!(unsigned(dtype), [common_unsigned], T => {
                go!(T, T, |x| x, |x| x, Some(T::ZERO), |a: T, b: T| a.add(b))
            });
        }
        (Combine::Multiply, DType::F16) => go!(f16, f32, f16::widen, f16::narrow, Some(1.0), multiply),
        (Combine::Multiply, DType::BF16) => go!(bf16, f32, bf16::widen, bf16::narrow, Some(1.0), multiply),
        (Combine::Multiply, DType::F32) => go!(f32, f32, |x| x, |x| x, Some(1.0), multiply),
        (Combine::Multiply, DType::F64) => go!(f64, f64, |x| x, |x| x, Some(1.0), |a: f64, b: f64| a * b),
        (Combine::Multiply, DType::S32 | DType::U32) => {
            go!(u32, u32, |x| x, |x| x, Some(1), |a: u32, b: u32| a.mul(b))
        }
        (Combine::Multiply, DType::S64 | DType::U64) => {
            go!(u64, u64, |x| x, |x| x, Some(1), |a: u64, b: u64| a.mul(b))
        }
        // These operations are idempotent, so the initial value may be combined more than once.
        // Floating-point numbers are converted to integer keys with the same order, and the keys are
        // compared.
        (Combine::Maximum, _) if dtype.is_float() => {
            return dispatch!(dtype, [floats], T => {
                let one = T::opaque_one();
                go!(T, <T as Float>::Key, move |x: T| x.settle(one).key(Nan::Largest), T::of_key, None, Ord::max)
            });
        }
        (Combine::Minimum, _) if dtype.is_float() => {
            return dispatch!(dtype, [floats], T => {
                let one = T::opaque_one();
                go!(T, <T as Float>::Key, move |x: T| x.settle(one).key(Nan::Smallest), T::of_key, None, Ord::min)
            });
        }
        (Combine::Maximum, _) => {
            return dispatch!(dtype, [common_ints], T => go!(T, T, |x| x, |x| x, None, <T as Number>::max));
        }
        (Combine::Minimum, _) => {
            return dispatch!(dtype, [common_ints], T => go!(T, T, |x| x, |x| x, None, <T as Number>::min));
        }
        (Combine::And, DType::Pred) => go!(u8, u8, |x| x, |x| x, None, |a: u8, b: u8| a & b),
        (Combine::Or, DType::Pred) => go!(u8, u8, |x| x, |x| x, None, |a: u8, b: u8| a | b),
        (Combine::And, DType::S32 | DType::U32) => go!(u32, u32, |x| x, |x| x, None, |a: u32, b: u32| a & b),
        (Combine::Or, DType::S32 | DType::U32) => go!(u32, u32, |x| x, |x| x, None, |a: u32, b: u32| a | b),
        (Combine::Multiply | Combine::And | Combine::Or | Combine::Xor, _) => return None,
    })
}

/// Functions that convert elements to totals, and totals to elements.
type Conversions<T, A> = (fn(T) -> A, fn(A) -> T);

/// Calls `made` with the reducer of any operation on any type. The loops of the reducer are compiled once for
/// all operations on a type.
fn for_any_processor<L: Instantiate>(op: Combine, dtype: DType, made: L) -> Option<L::Output> {
    fn go<L: Instantiate, T: Copy + 'static, A: Copy + Send + Sync + 'static>(
        made: L,
        (widen, narrow): Conversions<T, A>,
        identity: Option<A>,
        combine: fn(A, A) -> A,
    ) -> L::Output {
        let how: PointerReducer<T, A> = FnReducer { widen, narrow, combine, identity, element: PhantomData };
        made.combining(how)
    }
    // Signed and unsigned integers share the loops over unsigned ones.
    macro_rules! ordered {
        ($name:ident, $nan:expr) => {
            match dtype {
                DType::S8 => go(made, (same, same), None, |a, b| Number::$name(a as i8, b as i8) as u8),
                DType::S16 => go(made, (same, same), None, |a, b| Number::$name(a as i16, b as i16) as u16),
                DType::S32 => go(made, (same, same), None, |a, b| Number::$name(a as i32, b as i32) as u32),
                DType::S64 => go(made, (same, same), None, |a, b| Number::$name(a as i64, b as i64) as u64),
                _ if dtype.is_float() => {
                    return dispatch!(dtype, [floats], T => {
                        let widen = |x: T| x.settle(T::opaque_one()).key($nan);
                        go(made, (widen, T::of_key), None, Ord::$name)
                    });
                }
                _ => {
                    return dispatch!(dtype, [unsigned], T => {
                        go(made, (same, same), None, <T as Number>::$name)
                    });
                }
            }
        };
    }
    let narrow_f32 = |x: f64| x as f32;
    let complex_one = Some(Complex { re: 1.0, im: 0.0 });
    Some(match (op, dtype) {
        (Combine::Add, DType::F16) => go(made, (f16::widen, f16::narrow), Some(-0.0), |a, b| a + b),
        (Combine::Add, DType::BF16) => go(made, (bf16::widen, bf16::narrow), Some(-0.0), |a, b| a + b),
        (Combine::Add, DType::F32) => go(made, (f64::from, narrow_f32), Some(-0.0), |a, b| a + b),
        (Combine::Add, DType::F64) => go(made, (same::<f64>, same), Some(-0.0), |a, b| a + b),
        (Combine::Add, DType::C64) => go(made, (wide, narrow), Some(-Complex::ZERO), |a, b| a + b),
        (Combine::Add, DType::C128) => {
            go(made, (same::<Complex<f64>>, same), Some(-Complex::ZERO), |a, b| a + b)
        }
        (Combine::Add, _) => {
            return dispatch!(unsigned(dtype), [unsigned], T => {
                go(made, (same, same), Some(T::ZERO), <T as Number>::add)
            });
        }
        (Combine::Multiply, DType::F16) => go(made, (f16::widen, f16::narrow), Some(1.0), |a, b| a * b),
        (Combine::Multiply, DType::BF16) => go(made, (bf16::widen, bf16::narrow), Some(1.0), |a, b| a * b),
        (Combine::Multiply, DType::C64) => go(made, (wide, narrow), complex_one, |a, b| a * b),
        (Combine::Multiply, DType::C128) => go(made, (same::<Complex<f64>>, same), complex_one, |a, b| a * b),
        (Combine::Multiply, _) => {
            return dispatch!(unsigned(dtype), [unsigned, floats], T => {
                go(made, (same, same), Some(T::UNIT), <T as Number>::mul)
            });
        }
        (Combine::Maximum, _) => ordered!(max, Nan::Largest),
        (Combine::Minimum, _) => ordered!(min, Nan::Smallest),
        (Combine::And, _) => {
            return dispatch!(unsigned(dtype), [unsigned], T => go(made, (same, same), None, <T as Integer>::and));
        }
        (Combine::Or, _) => {
            return dispatch!(unsigned(dtype), [unsigned], T => go(made, (same, same), None, <T as Integer>::or));
        }
        (Combine::Xor, _) => {
            return dispatch!(unsigned(dtype), [unsigned], T => {
                go(made, (same, same), Some(T::ZERO), <T as Integer>::xor)
            });
        }
    })
}

fn same<T>(x: T) -> T {
    x
}

fn wide(z: Complex<f32>) -> Complex<f64> {
    Complex::new(z.re.into(), z.im.into())
}

fn narrow(z: Complex<f64>) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// A binary operation on elements, and the type in which totals are accumulated.
pub(crate) trait Reducer: Send + Sync + 'static {
    type Element: Copy;
    /// Type of the accumulators.
    type Total: Copy + Send + Sync + 'static;
    /// True if `lanes` prefetches elements that come from memory.
    const FETCHES: bool = false;
    /// True if [`by_vectors`] compiles the loops for each set of vector instructions.
    const VECTORS: bool;

    fn widen(&self, x: Self::Element) -> Self::Total;
    fn narrow(&self, total: Self::Total) -> Self::Element;
    fn combine(&self, a: Self::Total, b: Self::Total) -> Self::Total;
    /// Returns a value that leaves a total unchanged when it is combined with the total, if the total
    /// includes `init`.
    fn identity(&self, init: Self::Total) -> Self::Total;

    /// Combines elements that are `LANES` apart, starting from the identity. `far` is true if the elements
    /// come from memory rather than the cache.
    ///
    /// # Safety
    /// `x` must be valid for reads of `n` elements, and `n` must be a multiple of `LANES`.
    #[inline(always)]
    unsafe fn lanes(
        &self,
        x: *const Self::Element,
        n: usize,
        identity: Self::Total,
        _far: bool,
    ) -> [Self::Total; LANES] {
        // SAFETY: the contract is the same.
        unsafe { lanes(self, x, n, identity) }
    }
}

/// Combines elements in lanes: the loop of reducers that have no special one.
///
/// # Safety
/// Same requirements as [`Reducer::lanes`].
#[inline(always)]
unsafe fn lanes<R: Reducer + ?Sized>(
    by: &R,
    x: *const R::Element,
    n: usize,
    identity: R::Total,
) -> [R::Total; LANES] {
    let mut lanes = [identity; LANES];
    for i in (0..n).step_by(LANES) {
        // SAFETY: `i + LANES <= n`.
        let values = unsafe { x.add(i).cast::<[R::Element; LANES]>().read() };
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = by.combine(*lane, by.widen(value));
        }
    }
    lanes
}

/// Sums of `f32`, accumulated in `f64`.
struct SumF32;

impl Reducer for SumF32 {
    type Element = f32;
    type Total = f64;
    const FETCHES: bool = true;
    const VECTORS: bool = true;

    #[inline(always)]
    fn widen(&self, x: f32) -> f64 {
        x.into()
    }

    #[inline(always)]
    fn narrow(&self, total: f64) -> f32 {
        total as f32
    }

    #[inline(always)]
    fn combine(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn identity(&self, _: f64) -> f64 {
        -0.0
    }

    // The compiler would turn the generic loop into a loop that converts only two elements at a time.
    #[inline(always)]
    unsafe fn lanes(&self, x: *const f32, n: usize, identity: f64, far: bool) -> [f64; LANES] {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F, and the caller guarantees `n` elements, a multiple of
            // `LANES`.
            return unsafe {
                if far { sum_lanes::<true>(x, n, identity) } else { sum_lanes::<false>(x, n, identity) }
            };
        }
        if far {
            prefetch_ahead(x.cast(), size_of::<f32>() * n);
        }
        // SAFETY: the contract is the same.
        unsafe { lanes(self, x, n, identity) }
    }
}

/// Sums elements in two vectors of eight lanes.
///
/// # Safety
/// Same requirements as [`Reducer::lanes`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn sum_lanes<const IS_FAR: bool>(x: *const f32, n: usize, identity: f64) -> [f64; LANES] {
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm512_add_pd, _mm512_cvtps_pd, _mm512_set1_pd, _mm512_storeu_pd,
    };
    let (mut low, mut high) = (_mm512_set1_pd(identity), _mm512_set1_pd(identity));
    for i in (0..n).step_by(LANES) {
        if IS_FAR {
            prefetch_to_second_level(x.wrapping_add(i).wrapping_byte_add(PREFETCH_DISTANCE_BYTES).cast());
        }
        // SAFETY: `i + LANES <= n`.
        let (a, b) = unsafe { (_mm256_loadu_ps(x.add(i)), _mm256_loadu_ps(x.add(i + LANES / 2))) };
        low = _mm512_add_pd(low, _mm512_cvtps_pd(a));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(b));
    }
    let mut lanes = [0.0; LANES];
    // SAFETY: each vector fills half of `lanes`.
    unsafe {
        _mm512_storeu_pd(lanes.as_mut_ptr(), low);
        _mm512_storeu_pd(lanes.as_mut_ptr().add(LANES / 2), high);
    }
    lanes
}

/// A reducer made of functions. If `VECTORS` is true, the functions are closures, and loops are compiled for
/// each operation. Otherwise they are function pointers, and loops are compiled once for all operations on a
/// type.
struct FnReducer<T, A, W, N, C, const VECTORS: bool> {
    widen: W,
    narrow: N,
    combine: C,
    /// The identity; `None` if the initial value serves as one.
    identity: Option<A>,
    element: PhantomData<fn(T)>,
}

/// A [`FnReducer`] for any processor.
type PointerReducer<T, A> = FnReducer<T, A, fn(T) -> A, fn(A) -> T, fn(A, A) -> A, false>;

impl<T, A, W, N, C, const VECTORS: bool> Reducer for FnReducer<T, A, W, N, C, VECTORS>
where
    T: Copy + 'static,
    A: Copy + Send + Sync + 'static,
    W: Fn(T) -> A + Send + Sync + 'static,
    N: Fn(A) -> T + Send + Sync + 'static,
    C: Fn(A, A) -> A + Send + Sync + 'static,
{
    type Element = T;
    type Total = A;
    const VECTORS: bool = VECTORS;

    #[inline(always)]
    fn widen(&self, x: T) -> A {
        (self.widen)(x)
    }

    #[inline(always)]
    fn narrow(&self, total: A) -> T {
        (self.narrow)(total)
    }

    #[inline(always)]
    fn combine(&self, a: A, b: A) -> A {
        (self.combine)(a, b)
    }

    #[inline(always)]
    fn identity(&self, init: A) -> A {
        self.identity.unwrap_or(init)
    }
}

/// Calls `f` with a reducer, compiled for the vectors of the processor if the reducer has loops for them.
#[inline(always)]
pub(crate) fn by_vectors<R: Reducer, T>(by: &R, f: impl FnOnce(&R) -> T) -> T {
    if R::VECTORS {
        with_vectors(
            #[inline(always)]
            || f(by),
        )
    } else {
        f(by)
    }
}

/// Combines each element with the corresponding total.
///
/// # Safety
/// `x` must be valid for reads of `n` elements, `to` for reads and writes of `n` totals, and the two must not
/// overlap.
#[inline(always)]
pub(crate) unsafe fn combine<R: Reducer>(x: *const R::Element, to: *mut R::Total, n: usize, by: &R) {
    let whole = n / vector::BLOCK * vector::BLOCK;
    for i in (0..whole).step_by(vector::BLOCK) {
        // SAFETY: `i + vector::BLOCK` is at most `n`.
        unsafe {
            let values = x.add(i).cast::<[R::Element; vector::BLOCK]>().read();
            let totals = to.add(i).cast::<[R::Total; vector::BLOCK]>().read();
            vector::write_block(
                to.add(i),
                #[inline(always)]
                |i| by.combine(totals[i], by.widen(values[i])),
            );
        }
    }
    for i in whole..n {
        // SAFETY: `i < n`.
        unsafe { to.add(i).write(by.combine(to.add(i).read(), by.widen(x.add(i).read()))) };
    }
}

/// Combines contiguous elements. `far` is true if they come from memory rather than the cache.
///
/// # Safety
/// `x` must be valid for reads of `n` elements.
#[inline]
pub(crate) unsafe fn row<R: Reducer>(
    x: *const R::Element,
    n: usize,
    by: &R,
    identity: R::Total,
    far: bool,
) -> R::Total {
    if n < LANES {
        // SAFETY: `i` is below `n`, for which the caller guarantees `x`.
        return (0..n).fold(identity, |total, i| by.combine(total, by.widen(unsafe { x.add(i).read() })));
    }
    // SAFETY: the contract is the same, and `n` is at least `LANES`.
    unsafe { lane_row(x, n, by, identity, far) }
}

/// Combines elements that fill lanes. Not inlined, as there are about a hundred instances.
///
/// # Safety
/// Same requirements as [`row`]; `n` must be at least [`LANES`].
#[inline(never)]
unsafe fn lane_row<R: Reducer>(
    x: *const R::Element,
    n: usize,
    by: &R,
    identity: R::Total,
    far: bool,
) -> R::Total {
    if n > BLOCK_ELEMENTS {
        // The left half consists of whole blocks, so that its lanes stay full.
        let half = (n / 2).next_multiple_of(BLOCK_ELEMENTS);
        // SAFETY: `half < n`, as `n > BLOCK_ELEMENTS`.
        let [left, right] =
            unsafe { [row(x, half, by, identity, far), row(x.add(half), n - half, by, identity, far)] };
        return by.combine(left, right);
    }
    if far && !R::FETCHES {
        prefetch_ahead(x.cast(), n * size_of::<R::Element>());
    }
    let whole = n / LANES * LANES;
    by_vectors(
        by,
        #[inline(always)]
        |by| {
            // SAFETY: `whole` is a multiple of `LANES` and at most `n`, for which the caller guarantees `x`.
            let mut lanes = unsafe { by.lanes(x, whole, identity, far) };
            let mut total = identity;
            for i in whole..n {
                // SAFETY: `i < n`.
                total = by.combine(total, by.widen(unsafe { x.add(i).read() }));
            }
            let mut width = LANES / 2;
            while width > 0 {
                for i in 0..width {
                    lanes[i] = by.combine(lanes[i], lanes[i + width]);
                }
                width /= 2;
            }
            by.combine(lanes[0], total)
        },
    )
}
