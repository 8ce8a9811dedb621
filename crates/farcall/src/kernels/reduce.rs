//! Reductions by one operation.
//!
//! The order of combination depends on the sizes alone. Rows are combined in lanes and blocks, pairwise
//! above that; sums of `f32` and the 16-bit floats are carried in a wider type.

use farcall_ir::op::Binary;
use farcall_ir::{DType, Op};
use half::{bf16, f16};

use super::args::Prepared;
use super::number::{Integer, Number};
use super::types::dispatch;
use super::{Body, Kernel, Request, apart};

/// Accumulators of a row.
const LANES: usize = 16;
/// Elements that are combined in lanes before blocks are paired.
const BLOCK: usize = 1024;
/// Columns that are reduced at once.
const COLUMNS: usize = 256;

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
    combining(Combine::of(body, x.dtype)?, x.dtype, &joined(x.sizes(), reduced))
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
}

impl Combine {
    /// The one operation that a reducer applies to its two arguments of this type.
    pub(super) fn of(body: &Body, dtype: DType) -> Option<Combine> {
        let only = body.reducer()?;
        if body.args.iter().chain([&only.ty]).any(|t| t.dtype != dtype) {
            return None;
        }
        Some(match (&only.op, dtype.is_bool()) {
            (Op::Binary(Binary::Add), false) => Combine::Add,
            (Op::Binary(Binary::Multiply), false) => Combine::Multiply,
            (Op::Binary(Binary::Maximum), false) => Combine::Maximum,
            (Op::Binary(Binary::Minimum), false) => Combine::Minimum,
            (Op::Binary(Binary::And), _) | (Op::Binary(Binary::Multiply | Binary::Minimum), true) => {
                Combine::And
            }
            (Op::Binary(Binary::Or), _) | (Op::Binary(Binary::Add | Binary::Maximum), true) => Combine::Or,
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

/// The reduction of a tensor with these dimensions by one operation.
fn combining(op: Combine, dtype: DType, dims: &[(usize, bool)]) -> Option<Prepared> {
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $identity:expr, $combine:expr) => {{
            let how = How { widen: $widen, narrow: $narrow, combine: $combine, identity: $identity };
            reduction::<$T, $A, _, _, _>(Shape::new(dims), how)
        }};
    }
    Some(match (op, dtype) {
        (Combine::Add, DType::F32) => {
            go!(f32, f64, f64::from, |x: f64| x as f32, Some(-0.0), |a: f64, b: f64| a + b)
        }
        (Combine::Add, DType::F16) => {
            go!(f16, f32, f16::to_f32, f16::from_f32, Some(-0.0), |a: f32, b: f32| a + b)
        }
        (Combine::Add, DType::BF16) => {
            go!(bf16, f32, bf16::to_f32, bf16::from_f32, Some(-0.0), |a: f32, b: f32| a + b)
        }
        (Combine::Add, DType::F64) => go!(f64, f64, |x| x, |x| x, Some(-0.0), |a: f64, b: f64| a + b),
        (Combine::Add, _) => {
            return dispatch!(dtype, [ints], T => go!(T, T, |x| x, |x| x, Some(T::ZERO), |a: T, b: T| a.add(b)));
        }
        (Combine::Multiply, DType::F16) => {
            go!(f16, f32, f16::to_f32, f16::from_f32, Some(1.0), |a: f32, b: f32| a * b)
        }
        (Combine::Multiply, DType::BF16) => {
            go!(bf16, f32, bf16::to_f32, bf16::from_f32, Some(1.0), |a: f32, b: f32| a * b)
        }
        (Combine::Multiply, _) => {
            return dispatch!(dtype, [ints, floats], T => {
                go!(T, T, |x| x, |x| x, Some(T::ONE), |a: T, b: T| a.mul(b))
            });
        }
        // These give the same however often the initial value is taken in.
        (Combine::Maximum, _) => {
            return dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                go!(T, T, move |x: T| x.settle(one), |x| x, None, <T as Number>::max)
            });
        }
        (Combine::Minimum, _) => {
            return dispatch!(dtype, [ints, floats], T => {
                let one = T::opaque_one();
                go!(T, T, move |x: T| x.settle(one), |x| x, None, <T as Number>::min)
            });
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
    })
}

/// How elements are combined.
struct How<A, W, N, C> {
    widen: W,
    narrow: N,
    combine: C,
    /// Combining with it changes nothing; `None`: the initial value will do.
    identity: Option<A>,
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

/// Calls `f` with the offset of every index, in row-major order.
fn offsets(dims: &[(usize, usize)], base: usize, f: &mut dyn FnMut(usize)) {
    match dims {
        [] => f(base),
        [(n, stride), rest @ ..] => (0..*n).for_each(|i| offsets(rest, base + i * stride, f)),
    }
}

fn reduction<T, A, W, N, C>(shape: Shape, how: How<A, W, N, C>) -> Prepared
where
    T: Copy,
    A: Copy + Send + Sync + 'static,
    W: Fn(T) -> A + Send + Sync + 'static,
    N: Fn(A) -> T + Send + Sync + 'static,
    C: Fn(A, A) -> A + Send + Sync + 'static,
{
    let Shape { kept, reduced, length, rows } = shape;
    Prepared::new(move |args| {
        if args.output_place(0).size == 0 {
            return;
        }
        let (x, out) = (args.input_ptr::<T>(0), args.output_ptr::<T>(0));
        // SAFETY: one element of this type, and the output is apart from the inputs.
        let init = (how.widen)(unsafe { args.input::<T>(1) }[0]);
        let mut written = 0;
        if rows {
            let identity = how.identity.unwrap_or(init);
            offsets(&kept, 0, &mut |base| {
                let mut total = init;
                offsets(&reduced, base, &mut |at| {
                    // SAFETY: a row of the operand.
                    total = (how.combine)(total, unsafe { row(x.add(at), length, &how, identity) });
                });
                // SAFETY: one element per index of the kept dimensions.
                unsafe { out.add(written).write((how.narrow)(total)) };
                written += 1;
            });
            return;
        }
        offsets(&kept, 0, &mut |base| {
            for begin in (0..length).step_by(COLUMNS) {
                let width = COLUMNS.min(length - begin);
                let mut totals = [init; COLUMNS];
                offsets(&reduced, base + begin, &mut |at| {
                    for (j, total) in totals[..width].iter_mut().enumerate() {
                        // SAFETY: `width` elements from column `begin` on.
                        *total = (how.combine)(*total, (how.widen)(unsafe { x.add(at + j).read() }));
                    }
                });
                for total in &totals[..width] {
                    // SAFETY: one element per index of the kept dimensions.
                    unsafe { out.add(written).write((how.narrow)(*total)) };
                    written += 1;
                }
            }
        });
    })
}

/// # Safety
/// `n` elements can be read from `x`.
unsafe fn row<T: Copy, A: Copy, W: Fn(T) -> A, N, C: Fn(A, A) -> A>(
    x: *const T,
    n: usize,
    how: &How<A, W, N, C>,
    identity: A,
) -> A {
    if n > BLOCK {
        // Whole blocks on the left, so that the lanes stay full.
        let half = (n / 2).next_multiple_of(BLOCK);
        // SAFETY: `half < n`, as `n > BLOCK`.
        return unsafe {
            (how.combine)(row(x, half, how, identity), row(x.add(half), n - half, how, identity))
        };
    }
    let mut lanes = [identity; LANES];
    let whole = n / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: `i + LANES <= n`.
        let values = unsafe { x.add(i).cast::<[T; LANES]>().read() };
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = (how.combine)(*lane, (how.widen)(value));
        }
    }
    let mut total = identity;
    for i in whole..n {
        // SAFETY: `i < n`.
        total = (how.combine)(total, (how.widen)(unsafe { x.add(i).read() }));
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = (how.combine)(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    (how.combine)(lanes[0], total)
}
