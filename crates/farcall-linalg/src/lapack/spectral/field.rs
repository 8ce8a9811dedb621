//! Loops over columns, products of blocks, and blocks of column-major matrices.

use std::ops::Mul;

use faer::traits::pulp::Arch;
use faer::{MatMut, MatRef};

use crate::lapack::block::{add_product, adjoint, product};
use crate::lapack::scalar::Scalar;

/// Runs `work` with the processor's widest vector instructions. Only code that is inlined into `work` uses
/// them.
#[inline]
pub(crate) fn vectorized<O>(work: impl FnOnce() -> O) -> O {
    Arch::new().dispatch(work)
}

/// Adds `a·x` to `y`.
#[inline(always)]
pub(crate) fn axpy<M: Copy, S: Scalar + Mul<M, Output = S>>(a: S, x: &[M], y: &mut [S]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * *x;
    }
}

/// Returns the sum of `conj(x)·y`.
#[inline(always)]
pub(crate) fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    // Several sums, so that the compiler can use vector instructions.
    const SUMS: usize = 8;
    let mut sums = [T::zero(); SUMS];
    let (x, y) = (&x[..y.len().min(x.len())], &y[..y.len().min(x.len())]);
    let (xs, ys) = (x.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let rest = (xs.remainder(), ys.remainder());
    for (x, y) in xs.zip(ys) {
        for l in 0..SUMS {
            sums[l] += x[l].conjugate() * y[l];
        }
    }
    let mut sum = T::zero();
    for (x, y) in rest.0.iter().zip(rest.1) {
        sum += x.conjugate() * *y;
    }
    sums.iter().fold(sum, |sum, part| sum + *part)
}

/// Returns a block of a column-major matrix with `ld` rows.
pub(crate) fn block<T>(a: &[T], ld: usize, at: [usize; 2], [m, n]: [usize; 2]) -> MatRef<'_, T> {
    match m == 0 || n == 0 {
        true => MatRef::from_column_major_slice(&a[..0], m, n),
        false => {
            let start = at[0] + at[1] * ld;
            MatRef::from_column_major_slice_with_stride(&a[start..start + (n - 1) * ld + m], m, n, ld)
        }
    }
}

/// Returns a mutable [`block`].
pub(crate) fn block_mut<T>(a: &mut [T], ld: usize, at: [usize; 2], [m, n]: [usize; 2]) -> MatMut<'_, T> {
    match m == 0 || n == 0 {
        true => MatMut::from_column_major_slice_mut(&mut a[..0], m, n),
        false => {
            let start = at[0] + at[1] * ld;
            MatMut::from_column_major_slice_with_stride_mut(&mut a[start..start + (n - 1) * ld + m], m, n, ld)
        }
    }
}

/// Computes `out = a·b`.
pub(crate) fn multiply<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    product(out, T::one(), a, b);
}

/// Computes `out = aᴴ·b`.
pub(crate) fn multiply_adjoint<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    product(out, T::one(), adjoint(a), b);
}

/// Computes `out −= a·b`.
pub(crate) fn subtract<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    add_product(out, -T::one(), a, b);
}

/// Computes `out −= a·bᴴ`.
pub(crate) fn subtract_adjoint<T: Scalar>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    add_product(out, -T::one(), a, adjoint(b));
}
