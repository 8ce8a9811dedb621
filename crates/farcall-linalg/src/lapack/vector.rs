//! Operations on contiguous vectors (level 1 of the BLAS). All functions are inlined, so that
//! `simd::vectorized!` compiles them for the processor's vectors.

use farcall_ffi::Float;

use super::scalar::{RealScalar, Scalar};

/// Number of independent sums of a reduction, so that vectors can hold them.
const LANES: usize = 16;

/// Numbers of sums that remain after each step of adding the sums in pairs.
const HALVES: [usize; 4] = [8, 4, 2, 1];

/// Adds `factor·x` to `y`.
#[inline(always)]
pub(crate) fn axpy<T: Scalar>(y: &mut [T], factor: T, x: &[T]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * *x);
}

/// Multiplies `x` by a number.
#[inline(always)]
pub(crate) fn scale<T: Scalar>(x: &mut [T], factor: T) {
    x.iter_mut().for_each(|x| *x *= factor);
}

/// Returns the inner product of `x`, conjugated, and `y`.
#[inline(always)]
pub(crate) fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    let (x_chunks, y_chunks) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let (x_rest, y_rest) = (x_chunks.remainder(), y_chunks.remainder());
    let mut sums = [T::zero(); LANES];
    for (x, y) in x_chunks.zip(y_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x.conjugate() * *y;
        }
    }
    for ((sum, x), y) in sums.iter_mut().zip(x_rest).zip(y_rest) {
        *sum += x.conjugate() * *y;
    }
    for width in HALVES {
        let (left, right) = sums.split_at_mut(width);
        left.iter_mut().zip(right).for_each(|(left, right)| *left += *right);
    }
    sums[0]
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
pub(crate) fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let sum = dot(x, x).re();
    // The sum is accurate if no square that matters was subnormal and none was infinite.
    if sum > T::Real::MIN_NORMAL / (T::Real::EPSILON * T::Real::EPSILON) && sum <= T::Real::MAX_FINITE {
        return sum.sqrt();
    }
    scaled_norm(x)
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
