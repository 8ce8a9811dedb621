//! Operations on contiguous vectors (level 1 of the BLAS). All functions are inlined into kernels, which run
//! with the processor's vectors.

use faer::traits::pulp::Simd;
use farcall_ffi::Float;

use super::scalar::{RealScalar, Scalar};

/// Number of independent maxima, so that vectors can hold them.
const LANES: usize = 16;

/// Numbers of maxima that remain after each step of comparing them in pairs.
const HALVES: [usize; 4] = [8, 4, 2, 1];

/// Number of independent sums of a product, each a vector, so that an addition need not wait for the one
/// before.
const SUMS: usize = 4;

/// Adds `factor·x` to `y`. `factor` is a vector of equal numbers. To negate or conjugate a complex factor
/// from memory, broadcast it first: a broadcast of the changed number would wait until it is stored.
#[inline(always)]
pub(crate) fn axpy<S: Simd, T: Scalar>(simd: S, y: &mut [T], factor: T::Vector<S>, x: &[T]) {
    let ((y, y_rest), (x, x_rest)) = (T::split_mut::<S>(y), T::split::<S>(x));
    y.iter_mut().zip(x).for_each(|(y, x)| *y = T::mul_add(simd, factor, *x, *y));
    if !y_rest.is_empty() {
        let sum = T::mul_add(simd, factor, T::load(simd, x_rest), T::load(simd, y_rest));
        T::store(simd, y_rest, sum);
    }
}

/// Multiplies `x` by a number.
#[inline(always)]
pub(crate) fn scale<S: Simd, T: Scalar>(simd: S, x: &mut [T], factor: T) {
    let splat = T::splat(simd, factor);
    let (x, rest) = T::split_mut::<S>(x);
    x.iter_mut().for_each(|x| *x = T::product(simd, *x, splat));
    rest.iter_mut().for_each(|x| *x *= factor);
}

/// Returns the inner product of `x`, conjugated, and `y`, which have the same length.
#[inline(always)]
pub(crate) fn dot<S: Simd, T: Scalar>(simd: S, x: &[T], y: &[T]) -> T {
    let ((x, x_rest), (y, y_rest)) = (T::split::<S>(x), T::split::<S>(y));
    let ((x, x_few), (y, y_few)) = (x.as_chunks::<SUMS>(), y.as_chunks::<SUMS>());
    let mut sums = [T::splat(simd, T::zero()); SUMS];
    for (x, y) in x.iter().zip(y) {
        for l in 0..SUMS {
            sums[l] = T::conj_mul_add(simd, x[l], y[l], sums[l]);
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(x_few.iter().zip(y_few)) {
        *sum = T::conj_mul_add(simd, *x, *y, *sum);
    }
    if !x_rest.is_empty() {
        let (x, y) = (T::load(simd, x_rest), T::load(simd, y_rest));
        sums[SUMS - 1] = T::conj_mul_add(simd, x, y, sums[SUMS - 1]);
    }
    let [a, b, c, d] = sums;
    T::sum(simd, T::plus(simd, T::plus(simd, a, b), T::plus(simd, c, d)))
}

/// Returns the largest [`modulus1`](Scalar::modulus1) and the first index where it occurs. NaNs are skipped;
/// the result for a vector of NaNs is index 0.
#[inline(always)]
pub(crate) fn largest<T: Scalar>(x: &[T]) -> (usize, T::Real) {
    let none = -T::Real::ONE;
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    let mut lanes = [none; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane = larger(*lane, x.modulus1()));
    }
    lanes.iter_mut().zip(rest).for_each(|(lane, x)| *lane = larger(*lane, x.modulus1()));
    for width in HALVES {
        let (left, right) = lanes.split_at_mut(width);
        left.iter_mut().zip(right).for_each(|(left, right)| *left = larger(*left, *right));
    }
    let found = lanes[0];
    match x.iter().position(|x| x.modulus1() == found) {
        Some(at) => (at, found),
        None => (0, x.first().map_or(none, |x| x.modulus1())),
    }
}

/// Returns the Euclidean norm, without intermediate overflow or underflow.
#[inline(always)]
pub(crate) fn norm<S: Simd, T: Scalar>(simd: S, x: &[T]) -> T::Real {
    let sum = dot(simd, x, x).re();
    if is_accurate(sum) { sum.sqrt() } else { scaled_norm(x) }
}

/// Returns true if a sum of squares is accurate: no square that matters was subnormal, and none was infinite.
#[inline(always)]
pub(crate) fn is_accurate<R: RealScalar>(sum: R) -> bool {
    sum > R::MIN_NORMAL / (R::EPSILON * R::EPSILON) && sum <= R::MAX_FINITE
}

/// Returns the Euclidean norm, computed from entries that are scaled by the largest part.
#[cold]
fn scaled_norm<T: Scalar>(x: &[T]) -> T::Real {
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    let mut largest = zero;
    for part in x.iter().flat_map(|x| [x.re(), x.im()]) {
        if part.is_nan() {
            return part;
        }
        largest = largest.max(Float::abs(part));
    }
    if largest == zero || largest > T::Real::MAX_FINITE {
        return largest;
    }
    let mut sum = zero;
    for part in x.iter().flat_map(|x| [x.re(), x.im()]) {
        let scaled = part / largest;
        sum += scaled * scaled;
    }
    debug_assert!(sum >= one);
    largest * sum.sqrt()
}
