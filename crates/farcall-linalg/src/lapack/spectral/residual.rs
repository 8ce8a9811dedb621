//! Checks of decompositions by divide and conquer, at the cost of a few products with vectors.
//!
//! `faer`'s divide and conquer gives wrong singular values for some matrices, such as those whose rank is half
//! of their order. Its QR algorithm does not, but takes longer. A decomposition is therefore tested on a vector
//! of ±1, whose product with a wrong factor is wrong, too (R. Freivalds, *Probabilistic machines can use less
//! running time*, 1977).

use faer::{MatMut, MatRef};
use farcall_ffi::Float;

use super::field::{block, block_mut, multiply, multiply_adjoint};
use crate::lapack::scalar::{RealScalar, Scalar};
use crate::number::is_finite;

/// Maximum of the ratios of LAPACK's tests: errors relative to the norm, the order and the rounding error.
const MAX_RATIO: f64 = 30.0;

/// Returns true if `u·s·vᴴ` is `a`, up to rounding errors. `s` is a diagonal, with an entry for each column of
/// `u` and `v`.
pub(crate) fn is_product<T: Scalar>(a: MatRef<'_, T>, u: MatRef<'_, T>, s: &[T], v: MatRef<'_, T>) -> bool {
    let vector = signs(a.ncols());
    let mut along = product_adjoint(v, &vector);
    along.iter_mut().zip(s).for_each(|(x, s)| *x *= *s);
    let (found, expected) = (product(u, &along), product(a, &vector));
    is_close(&found, &expected, norm(s))
}

/// Returns true if the columns of `q` are orthonormal, up to rounding errors.
pub(crate) fn is_orthonormal<T: Scalar>(q: MatRef<'_, T>) -> bool {
    let vector = signs(q.ncols());
    let found = product_adjoint(q, &product(q, &vector));
    is_close(&found, &vector, norm(&vector))
}

/// Returns true if two products with vectors of ±1 are equal, relative to the norm of the matrix, `size`.
fn is_close<T: Scalar>(found: &[T], expected: &[T], size: f64) -> bool {
    let difference: Vec<T> = found.iter().zip(expected).map(|(a, b)| *a - *b).collect();
    let epsilon: f64 = T::Real::EPSILON.into();
    norm(&difference) <= MAX_RATIO * (found.len() as f64).sqrt() * epsilon * size
}

/// Returns numbers ±1 without a pattern.
fn signs<T: Scalar>(count: usize) -> Vec<T> {
    let sign = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).count_ones().is_multiple_of(2);
    (0..count).map(|i| if sign(i) { T::one() } else { -T::one() }).collect()
}

fn product<T: Scalar>(a: MatRef<'_, T>, x: &[T]) -> Vec<T> {
    let mut out = vec![T::zero(); a.nrows()];
    multiply(column(&mut out), a, block(x, x.len(), [0, 0], [x.len(), 1]));
    out
}

fn product_adjoint<T: Scalar>(a: MatRef<'_, T>, x: &[T]) -> Vec<T> {
    let mut out = vec![T::zero(); a.ncols()];
    multiply_adjoint(column(&mut out), a, block(x, x.len(), [0, 0], [x.len(), 1]));
    out
}

fn column<T: Scalar>(x: &mut [T]) -> MatMut<'_, T> {
    let size = x.len();
    block_mut(x, size, [0, 0], [size, 1])
}

/// Returns an estimate of a Hermitian matrix' norm: a bound from below that is rarely less than half of it.
pub(crate) fn estimated_norm<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    const STEPS: usize = 8;
    let mut vector: Vec<T> = signs(a.ncols());
    let mut found = 0.0;
    for _ in 0..STEPS {
        let inverse = T::Real::of(1.0 / norm(&vector));
        if !is_finite(inverse) {
            break;
        }
        vector.iter_mut().for_each(|x| *x = x.times(inverse));
        vector = product(a, &vector);
        found = norm(&vector);
    }
    found
}

/// Returns the square root of the sum of the squares, without overflow in `f32`.
fn norm<T: Scalar>(x: &[T]) -> f64 {
    let square = |x: &T| {
        let (re, im): (f64, f64) = (x.re().into(), x.im().into());
        re * re + im * im
    };
    x.iter().map(square).sum::<f64>().sqrt()
}
