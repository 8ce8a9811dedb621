//! Reductions by one operation.
//!
//! The order of combination depends on the sizes alone. Rows are combined in lanes and blocks, pairwise
//! above that; sums of `f32` and the 16-bit floats are carried in a wider type.

use farcall_ir::DType;
use half::{bf16, f16};

use super::elementwise::dispatch;
use super::number::{Integer, Number};
use crate::plan::{Reduce, ReduceOp};

/// Accumulators of a row.
const LANES: usize = 16;
/// Elements that are combined in lanes before blocks are paired.
const BLOCK: usize = 1024;
/// Columns that are reduced at once.
const COLUMNS: usize = 256;

/// Reduces; `false` if there is no kernel.
///
/// # Safety
/// `x` is valid for reads of all elements of `r.dims`, `init` of one, `out` for writes of the kept
/// ones; all of type `dtype` and aligned, the output apart from the inputs.
pub(in crate::runtime) unsafe fn run(
    r: &Reduce,
    dtype: DType,
    x: *const u8,
    init: *const u8,
    out: *mut u8,
) -> bool {
    macro_rules! go {
        ($T:ty, $A:ty, $widen:expr, $narrow:expr, $identity:expr, $combine:expr) => {{
            // SAFETY: the caller's promise.
            unsafe {
                let init = init.cast::<$T>().read();
                let how = How { widen: $widen, narrow: $narrow, combine: $combine, identity: $identity };
                reduce::<$T, $A, _, _, _>(&r.dims, x.cast(), init, out.cast(), &how)
            }
        }};
    }
    match (r.op, dtype) {
        (ReduceOp::Add, DType::F32) => {
            go!(f32, f64, f64::from, |x: f64| x as f32, -0.0, |a: f64, b: f64| a + b)
        }
        (ReduceOp::Add, DType::F16) => {
            go!(f16, f32, f16::to_f32, f16::from_f32, -0.0, |a: f32, b: f32| a + b)
        }
        (ReduceOp::Add, DType::BF16) => {
            go!(bf16, f32, bf16::to_f32, bf16::from_f32, -0.0, |a: f32, b: f32| a + b)
        }
        (ReduceOp::Add, DType::F64) => go!(f64, f64, |x| x, |x| x, -0.0, |a: f64, b: f64| a + b),
        (ReduceOp::Add, _) => {
            dispatch!(dtype, [ints], T => go!(T, T, |x| x, |x| x, T::ZERO, |a: T, b: T| a.add(b)))
        }
        (ReduceOp::Multiply, DType::F16) => {
            go!(f16, f32, f16::to_f32, f16::from_f32, 1.0, |a: f32, b: f32| a * b)
        }
        (ReduceOp::Multiply, DType::BF16) => {
            go!(bf16, f32, bf16::to_f32, bf16::from_f32, 1.0, |a: f32, b: f32| a * b)
        }
        (ReduceOp::Multiply, _) => {
            dispatch!(dtype, [ints, floats], T => go!(T, T, |x| x, |x| x, T::ONE, |a: T, b: T| a.mul(b)))
        }
        // These give the same however often the initial value is taken in.
        (ReduceOp::Maximum, _) => dispatch!(dtype, [ints, floats], T => {
            // SAFETY: the caller's promise.
            let first = unsafe { init.cast::<T>().read() };
            let one = T::opaque_one();
            go!(T, T, |x: T| x.settle(one), |x| x, first, <T as Number>::max)
        }),
        (ReduceOp::Minimum, _) => dispatch!(dtype, [ints, floats], T => {
            // SAFETY: the caller's promise.
            let first = unsafe { init.cast::<T>().read() };
            let one = T::opaque_one();
            go!(T, T, |x: T| x.settle(one), |x| x, first, <T as Number>::min)
        }),
        (ReduceOp::And, _) => dispatch!(dtype, [ints, pred], T => {
            // SAFETY: the caller's promise.
            let first = unsafe { init.cast::<T>().read() };
            go!(T, T, |x| x, |x| x, first, |a: T, b: T| a.and(b))
        }),
        (ReduceOp::Or, _) => dispatch!(dtype, [ints, pred], T => {
            // SAFETY: the caller's promise.
            let first = unsafe { init.cast::<T>().read() };
            go!(T, T, |x| x, |x| x, first, |a: T, b: T| a.or(b))
        }),
    }
}

/// How elements are combined.
struct How<W, N, C, A> {
    widen: W,
    narrow: N,
    combine: C,
    /// Combining with it changes nothing.
    identity: A,
}

/// Sizes with the strides of a row-major tensor.
fn strided(dims: &[(usize, bool)], kind: bool) -> Vec<(usize, usize)> {
    let mut stride = 1;
    let mut out = Vec::with_capacity(dims.len());
    for (n, reduced) in dims.iter().rev() {
        if *reduced == kind {
            out.push((*n, stride));
        }
        stride *= n;
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

/// # Safety
/// As [`run`].
unsafe fn reduce<T: Copy, A: Copy, W: Fn(T) -> A, N: Fn(A) -> T, C: Fn(A, A) -> A>(
    dims: &[(usize, bool)],
    x: *const T,
    init: T,
    out: *mut T,
    how: &How<W, N, C, A>,
) -> bool {
    let (mut kept, mut reduced) = (strided(dims, false), strided(dims, true));
    let init = (how.widen)(init);
    let mut written = 0;
    if dims.last().is_some_and(|d| d.1) {
        let (length, _) = reduced.pop().unwrap_or((1, 1));
        offsets(&kept, 0, &mut |base| {
            let mut total = init;
            offsets(&reduced, base, &mut |at| {
                // SAFETY: a row of the operand.
                total = (how.combine)(total, unsafe { row(x.add(at), length, how) });
            });
            // SAFETY: one element per index of the kept dimensions.
            unsafe { out.add(written).write((how.narrow)(total)) };
            written += 1;
        });
    } else {
        let (length, _) = kept.pop().unwrap_or((1, 1));
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
    }
    true
}

/// # Safety
/// `n` elements can be read from `x`.
unsafe fn row<T: Copy, A: Copy, W: Fn(T) -> A, N: Fn(A) -> T, C: Fn(A, A) -> A>(
    x: *const T,
    n: usize,
    how: &How<W, N, C, A>,
) -> A {
    if n > BLOCK {
        // Whole blocks on the left, so that the lanes stay full.
        let half = (n / 2).next_multiple_of(BLOCK);
        // SAFETY: `half < n`, as `n > BLOCK`.
        return unsafe { (how.combine)(row(x, half, how), row(x.add(half), n - half, how)) };
    }
    let mut lanes = [how.identity; LANES];
    let whole = n / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: `i + LANES <= n`.
        let values = unsafe { x.add(i).cast::<[T; LANES]>().read() };
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = (how.combine)(*lane, (how.widen)(value));
        }
    }
    let mut total = how.identity;
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
