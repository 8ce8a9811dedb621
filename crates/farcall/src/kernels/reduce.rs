//! Reductions by one operation.
//!
//! The order of combination depends on the sizes alone. Rows are combined in lanes and blocks, pairwise
//! above that; sums of `f32` and the 16-bit floats are carried in a wider type.

use std::marker::PhantomData;
use std::sync::Arc;

use farcall_ir::interrupt::Pace;
use farcall_ir::op::Binary;
use farcall_ir::{DType, Op};
use half::{bf16, f16};
use num_complex::Complex;

use super::args::{Args, Prepared};
use super::halves::Half;
use super::map::{self, Operand, Work};
use super::number::{Float, Integer, Nan, Number};
use super::simd::vectorized;
use super::types::dispatch;
use super::{Body, Kernel, Request, apart};
#[cfg(target_arch = "x86_64")]
use crate::cache::{AHEAD, prefetch_to_second_level};
use crate::cache::{LARGE, prefetch_ahead};

/// Accumulators of a row.
const LANES: usize = 16;
/// Elements that are combined in lanes before blocks are paired.
const BLOCK: usize = 1024;
/// Columns that are reduced at once.
const COLUMNS: usize = 256;
/// Elements of rows at most, of several that make one result, that are worth no lanes of their own.
const SHORT: usize = 64;

/// Roughly, picoseconds for an element of a row.
pub(super) const COST: usize = 100;

/// Reductions of one operand by one operation.
pub(super) static KERNEL: Kernel = Kernel { name: "reduce", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Reduce { dims: reduced }, [x, init], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let [body] = request.bodies else { return None };
    let kept = (0..x.rank()).filter(|d| !reduced.contains(d)).map(|d| x.sizes()[d]);
    let same = init.dtype == x.dtype && y.dtype == x.dtype;
    if !same || init.elements() != Some(1) || !kept.eq(y.sizes().iter().copied()) {
        return None;
    }
    combining(Combine::of(body, x.dtype)?, x.dtype, Tensor(&joined(x.sizes(), reduced)))
}

fn describe(request: &Request<'_>) -> String {
    let (Op::Reduce { dims }, [body], [x, ..]) = (request.op, request.bodies, request.inputs) else {
        return String::new();
    };
    let mut text = Combine::of(body, x.dtype).map_or(String::new(), |op| format!("{op:?}").to_lowercase());
    for (n, reduced) in joined(x.sizes(), dims) {
        text += &format!(" {n}{}", if reduced { "!" } else { "" });
    }
    text
}

/// An operation that reductions have fast loops for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combine {
    Add,
    Multiply,
    Maximum,
    Minimum,
    And,
    Or,
    Xor,
}

impl Combine {
    /// The one operation that a reducer applies to its two arguments of this type.
    pub(super) fn of(body: &Body, dtype: DType) -> Option<Combine> {
        let only = body.reducer()?;
        if body.args.iter().chain([&only.ty]).any(|t| t.dtype != dtype) {
            return None;
        }
        Combine::by(&only.op, dtype)
    }

    /// The operation on two elements of this type.
    pub(super) fn by(op: &Op, dtype: DType) -> Option<Combine> {
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

/// The dimensions from outer to inner, neighbours of the same kind joined: size, and whether it is reduced.
pub(super) fn joined(dims: &[usize], reduced: &[usize]) -> Vec<(usize, bool)> {
    let mut joined: Vec<(usize, bool)> = Vec::new();
    for (d, size) in dims.iter().enumerate().filter(|(_, size)| **size != 1) {
        let kind = reduced.contains(&d);
        match joined.last_mut() {
            Some((n, k)) if *k == kind => *n = n.saturating_mul(*size),
            _ => joined.push((*size, kind)),
        }
    }
    joined
}

/// What combines rows of so many elements: inputs are the elements, and one initial value.
pub(super) fn rows(op: Combine, dtype: DType, columns: usize) -> Option<Work> {
    combining(op, dtype, Rows(columns))
}

/// What combines rows with one another, so that one row of `kept` elements is left, from an initial value on.
pub(super) fn accumulator(op: Combine, dtype: DType, kept: usize, init: [u8; 16]) -> Option<Accumulator> {
    // Accumulators are of sixteen bytes at most.
    kept.checked_mul(16)?.checked_next_multiple_of(64)?;
    combining(op, dtype, Accumulators { kept, init })
}

/// Combines rows with one another in parts, each with memory of its own; aligned like the largest elements.
pub(super) struct Accumulator {
    /// Elements of the result.
    pub(super) kept: usize,
    /// Bytes of the memory of a part.
    pub(super) bytes: usize,
    /// Begins a part: its memory.
    pub(super) begin: Box<dyn Fn(*mut u8) + Send + Sync>,
    /// Takes elements in: these, so many, of which the first is this one of a row, to this memory.
    pub(super) add: Box<dyn Fn(*const u8, usize, usize, *mut u8) + Send + Sync>,
    /// Combines all parts, which lie one after the other, and writes the result.
    pub(super) end: Box<dyn Fn(*const u8, usize, *mut u8) + Send + Sync>,
}

struct Accumulators {
    kept: usize,
    init: [u8; 16],
}

impl Loop for Accumulators {
    type Made = Accumulator;

    fn combining<R: Reducer>(self, by: R) -> Accumulator {
        let Accumulators { kept, init } = self;
        // SAFETY: elements have sixteen bytes at most.
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
                    // SAFETY: there is memory for `kept` elements.
                    unsafe { to.cast::<R::Total>().add(i).write(identity) };
                }
            }),
            add: Box::new(move |x, n, column, to| {
                let (x, to) = (x.cast::<R::Element>(), to.cast::<R::Total>());
                if kept == 1 {
                    // SAFETY: `n` elements, and memory for one.
                    unsafe { to.write(by.combine(to.read(), row(x, n, &*by, identity, false))) };
                    return;
                }
                let (mut done, mut column) = (0, column);
                while done < n {
                    let run = (kept - column).min(n - done);
                    vectorized(
                        #[inline(always)]
                        // SAFETY: `n` elements, and memory for `kept` ones, of which `column` is one.
                        || unsafe { combine(x.add(done), to.add(column), run, &*by) },
                    );
                    done += run;
                    column = 0;
                }
            }),
            end: Box::new(move |parts, count, out| {
                for i in 0..kept {
                    let mut total = init;
                    for part in 0..count {
                        // SAFETY: every part has `kept` elements.
                        let value = unsafe { parts.add(part * bytes).cast::<R::Total>().add(i).read() };
                        total = of_end.combine(total, value);
                    }
                    // SAFETY: as many are the result's.
                    unsafe { out.cast::<R::Element>().add(i).write(of_end.narrow(total)) };
                }
            }),
        }
    }
}

/// What is made for a way to combine elements.
trait Loop {
    type Made;

    fn combining<R: Reducer>(self, by: R) -> Self::Made;
}

/// The reduction of a tensor with these dimensions, joined.
struct Tensor<'a>(&'a [(usize, bool)]);

impl Loop for Tensor<'_> {
    type Made = Prepared;

    fn combining<R: Reducer>(self, by: R) -> Prepared {
        reduction(Shape::new(self.0), by)
    }
}

/// The reduction of rows of so many elements.
struct Rows(usize);

impl Loop for Rows {
    type Made = Work;

    fn combining<R: Reducer>(self, by: R) -> Work {
        let Rows(columns) = self;
        Box::new(move |[x, init, _]: &[Operand; 3], out, n| {
            let (x, out) = (x.at.cast::<R::Element>(), out.cast::<R::Element>());
            // SAFETY: there is an initial value, of this type.
            let init = by.widen(unsafe { init.at.cast::<R::Element>().read() });
            let identity = by.identity(init);
            for i in 0..n {
                // SAFETY: `n` rows, and as many results.
                unsafe {
                    let row = row(x.add(i * columns), columns, &by, identity, false);
                    out.add(i).write(by.narrow(by.combine(init, row)));
                }
            }
        })
    }
}

/// What is made for an operation on elements of a type.
fn combining<L: Loop>(op: Combine, dtype: DType, made: L) -> Option<L::Made> {
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $identity:expr, $combine:expr) => {{
            let how: How<$T, $A, _, _, _> = How {
                widen: $widen,
                narrow: $narrow,
                combine: $combine,
                identity: $identity,
                element: PhantomData,
            };
            made.combining(how)
        }};
    }
    Some(match (op, dtype) {
        (Combine::Add, DType::F32) => made.combining(SumF32),
        (Combine::Add, DType::F16) => {
            go!(f16, f32, f16::widen, f16::narrow, Some(-0.0), |a: f32, b: f32| a + b)
        }
        (Combine::Add, DType::BF16) => {
            go!(bf16, f32, bf16::widen, bf16::narrow, Some(-0.0), |a: f32, b: f32| a + b)
        }
        (Combine::Add, DType::F64) => go!(f64, f64, |x| x, |x| x, Some(-0.0), |a: f64, b: f64| a + b),
        (Combine::Add, DType::C64) => {
            go!(
                Complex<f32>,
                Complex<f64>,
                wide,
                narrow,
                Some(-Complex::ZERO),
                |a: Complex<f64>, b: Complex<f64>| a + b
            )
        }
        (Combine::Add, DType::C128) => {
            go!(
                Complex<f64>,
                Complex<f64>,
                |x| x,
                |x| x,
                Some(-Complex::ZERO),
                |a: Complex<f64>, b: Complex<f64>| a + b
            )
        }
        (Combine::Add, _) => {
            return dispatch!(dtype, [ints], T => go!(T, T, |x| x, |x| x, Some(T::ZERO), |a: T, b: T| a.add(b)));
        }
        (Combine::Multiply, DType::F16) => {
            go!(f16, f32, f16::widen, f16::narrow, Some(1.0), |a: f32, b: f32| a * b)
        }
        (Combine::Multiply, DType::BF16) => {
            go!(bf16, f32, bf16::widen, bf16::narrow, Some(1.0), |a: f32, b: f32| a * b)
        }
        (Combine::Multiply, DType::C64) => {
            let one = Complex { re: 1.0, im: 0.0 };
            go!(Complex<f32>, Complex<f64>, wide, narrow, Some(one), |a: Complex<f64>, b: Complex<f64>| a * b)
        }
        (Combine::Multiply, DType::C128) => {
            let one = Complex { re: 1.0, im: 0.0 };
            go!(Complex<f64>, Complex<f64>, |x| x, |x| x, Some(one), |a: Complex<f64>, b: Complex<f64>| a * b)
        }
        (Combine::Multiply, _) => {
            return dispatch!(dtype, [ints, floats], T => {
                go!(T, T, |x| x, |x| x, Some(T::ONE), |a: T, b: T| a.mul(b))
            });
        }
        // These give the same however often the initial value is taken in. Floating-point numbers are compared as
        // integers in the same order.
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
            return dispatch!(dtype, [ints], T => go!(T, T, |x| x, |x| x, None, <T as Number>::max));
        }
        (Combine::Minimum, _) => {
            return dispatch!(dtype, [ints], T => go!(T, T, |x| x, |x| x, None, <T as Number>::min));
        }
        (Combine::And, _) => {
            return dispatch!(dtype, [ints, pred], T => {
                go!(T, T, |x| x, |x| x, None, |a: T, b: T| a.and(b))
            });
        }
        (Combine::Or, _) => {
            return dispatch!(dtype, [ints, pred], T => {
                go!(T, T, |x| x, |x| x, None, |a: T, b: T| a.or(b))
            });
        }
        (Combine::Xor, DType::Pred) => go!(u8, u8, |x| x, |x| x, Some(0), |a: u8, b: u8| a ^ b),
        (Combine::Xor, _) => {
            return dispatch!(dtype, [ints], T => {
                go!(T, T, |x| x, |x| x, Some(T::ZERO), |a: T, b: T| a.xor(b))
            });
        }
    })
}

fn wide(z: Complex<f32>) -> Complex<f64> {
    Complex::new(z.re.into(), z.im.into())
}

fn narrow(z: Complex<f64>) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// How elements are combined.
trait Reducer: Send + Sync + 'static {
    type Element: Copy;
    /// What totals are carried in.
    type Total: Copy + Send + Sync + 'static;
    /// Its loop brings near what is ahead of elements that come from memory.
    const FETCHES: bool = false;

    fn widen(&self, x: Self::Element) -> Self::Total;
    fn narrow(&self, total: Self::Total) -> Self::Element;
    fn combine(&self, a: Self::Total, b: Self::Total) -> Self::Total;
    /// Combining with it changes nothing, of a total that has `init` in it.
    fn identity(&self, init: Self::Total) -> Self::Total;

    /// Combines elements that are `LANES` apart, from the identity on. They are `far` if they come from memory.
    ///
    /// # Safety
    /// `n` elements can be read from `x`, a multiple of `LANES`.
    #[inline(always)]
    unsafe fn lanes(
        &self,
        x: *const Self::Element,
        n: usize,
        identity: Self::Total,
        _far: bool,
    ) -> [Self::Total; LANES] {
        // SAFETY: the caller's promise.
        unsafe { lanes(self, x, n, identity) }
    }
}

/// # Safety
/// As [`Reducer::lanes`].
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

/// Sums of `f32`, carried in `f64`.
struct SumF32;

impl Reducer for SumF32 {
    type Element = f32;
    type Total = f64;
    const FETCHES: bool = true;

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

    // Of the loop for all types, the compiler makes one that converts two elements at a time.
    #[inline(always)]
    unsafe fn lanes(&self, x: *const f32, n: usize, identity: f64, far: bool) -> [f64; LANES] {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions; the caller promises the rest.
            return unsafe {
                if far { sum_lanes::<true>(x, n, identity) } else { sum_lanes::<false>(x, n, identity) }
            };
        }
        if far {
            prefetch_ahead(x.cast(), size_of::<f32>() * n);
        }
        // SAFETY: the caller's promise.
        unsafe { lanes(self, x, n, identity) }
    }
}

/// # Safety
/// As [`Reducer::lanes`], on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn sum_lanes<const FAR: bool>(x: *const f32, n: usize, identity: f64) -> [f64; LANES] {
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm512_add_pd, _mm512_cvtps_pd, _mm512_set1_pd, _mm512_storeu_pd,
    };
    let (mut low, mut high) = (_mm512_set1_pd(identity), _mm512_set1_pd(identity));
    for i in (0..n).step_by(LANES) {
        if FAR {
            prefetch_to_second_level(x.wrapping_add(i).wrapping_byte_add(AHEAD).cast());
        }
        // SAFETY: `i + LANES <= n`.
        let (a, b) = unsafe { (_mm256_loadu_ps(x.add(i)), _mm256_loadu_ps(x.add(i + LANES / 2))) };
        low = _mm512_add_pd(low, _mm512_cvtps_pd(a));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(b));
    }
    let mut lanes = [0.0; LANES];
    // SAFETY: half of the lanes each.
    unsafe {
        _mm512_storeu_pd(lanes.as_mut_ptr(), low);
        _mm512_storeu_pd(lanes.as_mut_ptr().add(LANES / 2), high);
    }
    lanes
}

/// A reducer of functions.
struct How<T, A, W, N, C> {
    widen: W,
    narrow: N,
    combine: C,
    /// `None`: the initial value will do.
    identity: Option<A>,
    element: PhantomData<fn(T)>,
}

impl<T, A, W, N, C> Reducer for How<T, A, W, N, C>
where
    T: Copy + 'static,
    A: Copy + Send + Sync + 'static,
    W: Fn(T) -> A + Send + Sync + 'static,
    N: Fn(A) -> T + Send + Sync + 'static,
    C: Fn(A, A) -> A + Send + Sync + 'static,
{
    type Element = T;
    type Total = A;

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

/// Where the elements of a reduction lie.
pub(super) struct Shape {
    /// Sizes and strides of the dimensions that are kept, and of those that are reduced, but for the innermost
    /// one of all.
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
    /// Size of the innermost dimension, and whether it is reduced.
    pub(super) length: usize,
    pub(super) rows: bool,
}

impl Shape {
    pub(super) fn new(dims: &[(usize, bool)]) -> Shape {
        let (mut kept, mut reduced) = (strided(dims, false), strided(dims, true));
        let rows = dims.last().is_some_and(|d| d.1);
        let inner = if rows { reduced.pop() } else { kept.pop() };
        Shape { kept, reduced, length: inner.map_or(1, |(n, _)| n), rows }
    }

    /// Results for each index of the kept dimensions: one, or as many as the innermost dimension has elements.
    pub(super) fn inner_results(&self) -> usize {
        if self.rows { 1 } else { self.length.max(1) }
    }

    /// Indices of the kept dimensions, but for the innermost dimension.
    pub(super) fn outer(&self) -> usize {
        self.kept.iter().fold(1, |n, d| n.saturating_mul(d.0))
    }

    /// The first element for the index of this number of the kept dimensions.
    pub(super) fn base(&self, number: usize) -> usize {
        nth_offset(&self.kept, number)
    }

    /// Indices of the reduced dimensions, but for the innermost dimension.
    pub(super) fn lines(&self) -> usize {
        self.reduced.iter().fold(1, |n, d| n.saturating_mul(d.0))
    }

    /// Offset of the index of this number of the reduced dimensions.
    #[inline(always)]
    pub(super) fn line(&self, number: usize) -> usize {
        match self.reduced[..] {
            [(_, stride)] => number * stride,
            _ => nth_offset(&self.reduced, number),
        }
    }
}

/// Offset of the index of this number, in row-major order.
fn nth_offset(dims: &[(usize, usize)], number: usize) -> usize {
    let (mut at, mut rest) = (0, number);
    for (n, stride) in dims.iter().rev() {
        at += rest % n * stride;
        rest /= n;
    }
    at
}

/// Sizes with the strides of a row-major tensor.
fn strided(dims: &[(usize, bool)], kind: bool) -> Vec<(usize, usize)> {
    let mut stride = 1usize;
    let mut out = Vec::with_capacity(dims.len());
    for (n, reduced) in dims.iter().rev() {
        if *reduced == kind {
            out.push((*n, stride));
        }
        stride = stride.saturating_mul(*n);
    }
    out.reverse();
    out
}

/// Elements that a task should combine at least.
const TASK: usize = 200_000;

fn reduction<R: Reducer>(shape: Shape, by: R) -> Prepared {
    let lines = shape.lines();
    let work = shape.outer().saturating_mul(lines).saturating_mul(shape.length);
    if shape.rows && lines == 1 && shape.outer() == 1 && work >= 2 * TASK {
        return long_row(shape.length, by);
    }
    // A unit is what is combined at once: a row, or some columns.
    let across = if shape.rows { 1 } else { shape.length.div_ceil(COLUMNS) };
    let units = shape.outer().saturating_mul(across);
    let tasks = (work / TASK).clamp(1, units.clamp(1, 256));
    let share = units.div_ceil(tasks);
    // What is ahead of a line is the next one's, if lines follow one another.
    let far = lines == 1 && is_far::<R>(work);
    Prepared::in_tasks(tasks, move |args, task| {
        let (x, out) = (args.input_ptr::<R::Element>(0), args.output_ptr::<R::Element>(0));
        for unit in task * share..((task + 1) * share).min(units) {
            // SAFETY: there is a result, so the initial value is one element of this type, apart from the output.
            let init = by.widen(unsafe { args.input_ptr::<R::Element>(1).read() });
            let (number, part) = (unit / across, unit % across);
            let base = shape.base(number);
            if shape.rows && lines > 1 && shape.length <= SHORT {
                // SAFETY: rows of the operand.
                let total = vectorized(
                    #[inline(always)]
                    || unsafe { short_rows(x.add(base), &shape, lines, &by, init) },
                );
                // SAFETY: one element per index of the kept dimensions.
                unsafe { out.add(number).write(by.narrow(total)) };
            } else if shape.rows {
                let identity = by.identity(init);
                let (mut total, mut pace) = (init, Pace::default());
                for l in 0..lines {
                    if pace.is_due_after(shape.length) {
                        return;
                    }
                    // SAFETY: a row of the operand.
                    let row = unsafe { row(x.add(base + shape.line(l)), shape.length, &by, identity, far) };
                    total = by.combine(total, row);
                }
                // SAFETY: one element per index of the kept dimensions.
                unsafe { out.add(number).write(by.narrow(total)) };
            } else {
                let begin = part * COLUMNS;
                let width = COLUMNS.min(shape.length - begin);
                vectorized(
                    #[inline(always)]
                    || {
                        // SAFETY: `width` columns of the operand, and as many results.
                        unsafe {
                            let out = out.add(number * shape.length + begin);
                            columns(x.add(base + begin), &shape, [lines, width], out, &by, init);
                        }
                    },
                );
            }
        }
    })
}

/// True if so many elements come from memory.
fn is_far<R: Reducer>(elements: usize) -> bool {
    elements.saturating_mul(size_of::<R::Element>()) >= LARGE
}

/// The reduction of all elements to one, in parts that several threads can have.
fn long_row<R: Reducer>(length: usize, by: R) -> Prepared {
    let by = Arc::new(by);
    let tasks = (length / TASK).clamp(1, 256);
    let share = length.div_ceil(tasks).next_multiple_of(BLOCK);
    let parts = length.div_ceil(share);
    let far = is_far::<R>(length);
    let last = Arc::clone(&by);
    let init = |args: &Args<'_>, by: &R| {
        // SAFETY: the initial value is one element of this type, apart from the output and the scratch memory.
        by.widen(unsafe { args.input_ptr::<R::Element>(1).read() })
    };
    let work = move |args: &Args<'_>, task: usize| {
        let begin = task * share;
        let identity = by.identity(init(args, &by));
        // SAFETY: a part of the operand.
        let total = unsafe {
            row(args.input_ptr::<R::Element>(0).add(begin), share.min(length - begin), &*by, identity, far)
        };
        // SAFETY: the scratch memory has an element for each task.
        unsafe { args.ptr::<R::Total>(args.scratch_place()).add(task).write(total) };
    };
    let combine = move |args: &Args<'_>| {
        let mut total = init(args, &last);
        for task in 0..parts {
            // SAFETY: the tasks have written them.
            let part = unsafe { args.ptr::<R::Total>(args.scratch_place()).add(task).read() };
            total = last.combine(total, part);
        }
        // SAFETY: the only result.
        unsafe { args.output_ptr::<R::Element>(0).write(last.narrow(total)) };
    };
    Prepared::in_tasks(parts, work).finally(combine).with_scratch(parts * size_of::<R::Total>())
}

/// Combines columns of a tensor.
///
/// # Safety
/// `width` elements can be read from each line from `x` on, and written to `out`; `width` is at most [`COLUMNS`].
#[inline(always)]
unsafe fn columns<R: Reducer>(
    x: *const R::Element,
    shape: &Shape,
    [lines, width]: [usize; 2],
    out: *mut R::Element,
    by: &R,
    init: R::Total,
) {
    let (mut totals, mut pace) = ([init; COLUMNS], Pace::default());
    for l in 0..lines {
        if pace.is_due_after(width) {
            break;
        }
        // SAFETY: the caller's promise.
        let line = unsafe { x.add(shape.line(l)) };
        // SAFETY: the caller's promise.
        unsafe { combine(line, totals.as_mut_ptr(), width, by) };
    }
    for (j, total) in totals[..width].iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { out.add(j).write(by.narrow(*total)) };
    }
}

/// Takes elements into as many others.
///
/// # Safety
/// `n` elements can be read from `x`, and read and written at `to`, which is apart.
#[inline(always)]
unsafe fn combine<R: Reducer>(x: *const R::Element, to: *mut R::Total, n: usize, by: &R) {
    let whole = n / map::BLOCK * map::BLOCK;
    for i in (0..whole).step_by(map::BLOCK) {
        // SAFETY: a block from `i` on.
        unsafe {
            let values = x.add(i).cast::<[R::Element; map::BLOCK]>().read();
            let totals = to.add(i).cast::<[R::Total; map::BLOCK]>().read();
            map::write_block(
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

/// Combines rows of at most [`SHORT`] elements: as many of them as a block has elements in lanes, which are combined after
/// that.
///
/// # Safety
/// The lines can be read from `x` on.
#[inline(always)]
unsafe fn short_rows<R: Reducer>(
    x: *const R::Element,
    shape: &Shape,
    lines: usize,
    by: &R,
    init: R::Total,
) -> R::Total {
    let identity = by.identity(init);
    let (length, at_once) = (shape.length, (BLOCK / shape.length.max(1)).max(1));
    let (mut total, mut pace) = (init, Pace::default());
    for first in (0..lines).step_by(at_once) {
        if pace.is_due_after(BLOCK) {
            break;
        }
        let mut lanes = [identity; SHORT];
        for l in first..(first + at_once).min(lines) {
            // SAFETY: a line of the operand; there are as many lanes.
            unsafe { combine(x.add(shape.line(l)), lanes.as_mut_ptr(), length, by) };
        }
        total = lanes[..length].iter().fold(total, |total, lane| by.combine(total, *lane));
    }
    total
}

/// Combines elements that lie together, and are `far` if they come from memory.
///
/// # Safety
/// `n` elements can be read from `x`.
#[inline]
unsafe fn row<R: Reducer>(x: *const R::Element, n: usize, by: &R, identity: R::Total, far: bool) -> R::Total {
    if n < LANES {
        // SAFETY: the caller's promise.
        return (0..n).fold(identity, |total, i| by.combine(total, by.widen(unsafe { x.add(i).read() })));
    }
    // SAFETY: the caller's promise.
    unsafe { lane_row(x, n, by, identity, far) }
}

/// The same for elements that fill lanes. Not inlined: there are some hundred of it.
///
/// # Safety
/// As [`row`], with [`LANES`] elements at least.
#[inline(never)]
unsafe fn lane_row<R: Reducer>(
    x: *const R::Element,
    n: usize,
    by: &R,
    identity: R::Total,
    far: bool,
) -> R::Total {
    if n > BLOCK {
        // Whole blocks on the left, so that the lanes stay full.
        let half = (n / 2).next_multiple_of(BLOCK);
        // SAFETY: `half < n`, as `n > BLOCK`.
        let [left, right] =
            unsafe { [row(x, half, by, identity, far), row(x.add(half), n - half, by, identity, far)] };
        return by.combine(left, right);
    }
    if far && !R::FETCHES {
        prefetch_ahead(x.cast(), n * size_of::<R::Element>());
    }
    let whole = n / LANES * LANES;
    vectorized(
        #[inline(always)]
        || {
            // SAFETY: the caller's promise.
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
