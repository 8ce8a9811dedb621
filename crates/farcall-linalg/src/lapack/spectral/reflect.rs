//! Householder reflections in LAPACK's form: `H = I − τ·v·vᴴ`, where the first entry of `v` is 1.
//!
//! `Hᴴ` maps a column to a real multiple of the first unit vector. For complex columns, τ is complex and
//! `H` is not Hermitian (LAPACK Users' Guide, 3rd edition, section 5.4). Several reflections are applied at
//! once as `I − V·T·Vᴴ` (Schreiber and Van Loan, *A storage-efficient WY representation for products of
//! Householder transformations*, 1989).

use crate::lapack::scalar::Scalar;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use farcall_ffi::Float;

use super::field::{axpy, block, dot, multiply, multiply_adjoint, subtract};
use crate::number::{Real, is_finite};

/// Number of reflections that are applied at once.
pub(crate) const BLOCK_REFLECTIONS: usize = 32;

/// Computes the reflection for the column `(head, tail)`. `head` becomes the real multiple β, whose sign is
/// opposite to the sign of the head's real part. `tail` becomes `v` without its leading 1. Returns τ, which
/// is 0 if there is nothing to reflect.
#[inline(always)]
pub(crate) fn reflector<T: Scalar>(head: &mut T, tail: &mut [T]) -> T {
    let squares = dot(tail, tail).re();
    let in_range = |square: T::Real| {
        square > T::Real::of(2f64.powi(-T::Real::SAFE_EXPONENT))
            && square < T::Real::of(2f64.powi(T::Real::SAFE_EXPONENT))
    };
    let square = squares + square(*head);
    if in_range(squares) && in_range(square) {
        return finish(head, tail, square.sqrt());
    }
    reflector_scaled(head, tail)
}

/// Returns the square of the absolute value.
#[inline(always)]
fn square<T: Scalar>(x: T) -> T::Real {
    x.re() * x.re() + x.im() * x.im()
}

/// Computes a [`reflector`] for a column whose sum of squares may overflow or underflow.
#[cold]
#[inline(never)]
fn reflector_scaled<T: Scalar>(head: &mut T, tail: &mut [T]) -> T {
    let largest = tail.iter().fold(T::Real::ZERO, |largest, x| largest.max(x.re().abs()).max(x.im().abs()));
    let sum = tail.iter().fold(T::Real::ZERO, |sum, x| sum + x.modulus1());
    if largest == T::Real::ZERO && head.im() == T::Real::ZERO && !Float::is_nan(sum) {
        return T::zero();
    }
    let largest = largest.max(head.re().abs()).max(head.im().abs());
    if !is_finite(largest) || Float::is_nan(sum + head.modulus1()) {
        let nan = T::Real::of(f64::NAN);
        tail.fill(T::of_real(nan));
        *head = T::of_real(nan);
        return T::of_real(nan);
    }
    // A power of two, so that scaling is exact.
    let exponent: f64 = largest.into();
    let exponent = (exponent.log2().floor() as i32).clamp(-T::Real::MAX_EXPONENT, T::Real::MAX_EXPONENT);
    let (scale, inverse) = (T::Real::of(2f64.powi(-exponent)), T::Real::of(2f64.powi(exponent)));
    tail.iter_mut().for_each(|x| *x = x.times(scale));
    *head = head.times(scale);
    let norm = (dot(tail, tail).re() + square(*head)).sqrt();
    let tau = finish(head, tail, norm);
    *head = head.times(inverse);
    tau
}

/// Computes a [`reflector`] for a column with a known norm.
#[inline(always)]
fn finish<T: Scalar>(head: &mut T, tail: &mut [T], norm: T::Real) -> T {
    let beta = if head.re() < T::Real::ZERO { norm } else { -norm };
    let tau = T::of_parts((beta - head.re()) / beta, -head.im() / beta);
    let factor = T::one().over(*head - T::of_real(beta));
    tail.iter_mut().for_each(|x| *x *= factor);
    *head = T::of_real(beta);
    tau
}

/// Applies `I − τ·v·vᴴ` from the left to the rows `row..` of columns of a column-major matrix with `ld` rows.
#[inline(always)]
pub(crate) fn reflect_left<T: Scalar>(columns: &mut [T], ld: usize, row: usize, v: &[T], tau: T) {
    for column in columns.chunks_exact_mut(ld) {
        let (head, tail) = column[row..].split_first_mut().expect("a reflection has at least one row");
        let tail = &mut tail[..v.len()];
        let along = tau * (*head + dot(v, tail));
        *head -= along;
        axpy(-along, v, tail);
    }
}

/// Applies `I − τ·v·vᴴ` from the right to the first `rows` rows of columns of a column-major matrix with `ld`
/// rows. `along` is memory for `rows` entries.
#[inline(always)]
pub(crate) fn reflect_right<T: Scalar>(
    columns: &mut [T],
    ld: usize,
    rows: usize,
    v: &[T],
    tau: T,
    along: &mut [T],
) {
    let along = &mut along[..rows];
    along.copy_from_slice(&columns[..rows]);
    for (column, v) in columns[ld..].chunks_exact(ld).zip(v) {
        axpy(*v, &column[..rows], along);
    }
    along.iter_mut().for_each(|x| *x *= tau);
    for (x, along) in columns[..rows].iter_mut().zip(along.iter()) {
        *x -= *along;
    }
    for (column, v) in columns[ld..].chunks_exact_mut(ld).zip(v) {
        axpy(-v.conjugate(), along, &mut column[..rows]);
    }
}

/// Copies the vectors `at..at + width` of reflections out of a matrix, where the vector `j` starts in row
/// `j + offset`. Returns a matrix with the rows from the first vector's start to `end`, with explicit ones
/// and zeros.
pub(crate) fn copy_vectors<T: Scalar>(
    out: &mut Vec<T>,
    a: &[T],
    ld: usize,
    [at, width]: [usize; 2],
    offset: usize,
    end: usize,
) {
    let rows = end - at - offset;
    out.clear();
    out.resize(rows * width, T::zero());
    for (j, column) in out.chunks_exact_mut(rows).enumerate() {
        column[j] = T::one();
        let start = (at + j) * ld + at + offset;
        column[j + 1..].copy_from_slice(&a[start + j + 1..start + rows]);
    }
}

/// Computes the triangular factor `T` of reflections: column by column from `Vᴴ·V` and the coefficients τ.
/// `factor` has as many rows as there are coefficients.
pub(crate) fn triangular_factor<T: Scalar>(factor: &mut [T], v: MatRef<'_, T>, tau: &[T]) {
    let width = tau.len();
    multiply_adjoint(MatMut::from_column_major_slice_mut(factor, width, width), v, v);
    for (j, &tau) in tau.iter().enumerate() {
        let (before, column) = factor.split_at_mut(j * width);
        extend_factor(before, &mut column[..width], j, tau);
        column[j + 1..width].fill(T::zero());
    }
}

/// Computes column `j` of a triangular factor from the columns before it. On entry, the column's first `j`
/// entries are the products of earlier vectors with vector `j`.
pub(crate) fn extend_factor<T: Scalar>(before: &[T], column: &mut [T], j: usize, tau: T) {
    let ld = column.len();
    // The product of an upper triangular matrix and a vector, in place.
    for i in 0..j {
        let mut sum = T::zero();
        for l in i..j {
            sum += before[i + l * ld] * column[l];
        }
        column[i] = -(tau * sum);
    }
    column[j] = tau;
}

/// Applies `I − V·T·Vᴴ`, or its adjoint, from the left to a block. `memory` holds two matrices of the size of
/// `V`'s columns times the block's columns.
pub(crate) fn reflect_block_left<T: Scalar>(
    mut x: MatMut<'_, T>,
    v: MatRef<'_, T>,
    factor: MatRef<'_, T>,
    adjoint: bool,
    memory: &mut Vec<T>,
) {
    let (width, n) = (v.ncols(), x.ncols());
    memory.clear();
    memory.resize(2 * width * n, T::zero());
    let (along, scaled) = memory.split_at_mut(width * n);
    let mut along = MatMut::from_column_major_slice_mut(along, width, n);
    let mut scaled = MatMut::from_column_major_slice_mut(scaled, width, n);
    multiply_adjoint(along.rb_mut(), v, x.rb());
    match adjoint {
        true => multiply_adjoint(scaled.rb_mut(), factor, along.rb()),
        false => multiply(scaled.rb_mut(), factor, along.rb()),
    }
    subtract(x.rb_mut(), v, scaled.rb());
}

/// Forms the product of the reflections `from..to` of a matrix with `n` rows. The vector of reflection `j`
/// starts in row `j + 1`, and ends before row `end`.
pub(crate) fn form_product<T: Scalar>(
    q: &mut [T],
    n: usize,
    a: &[T],
    tau: &[T],
    [from, to, end]: [usize; 3],
    memory: &mut [Vec<T>; 3],
) {
    q.fill(T::zero());
    for j in 0..n {
        q[j + j * n] = T::one();
    }
    let [v, factor, products] = memory;
    let starts: Vec<usize> = (from..to).step_by(BLOCK_REFLECTIONS).collect();
    for &at in starts.iter().rev() {
        let width = BLOCK_REFLECTIONS.min(to - at);
        let rows = end - at - 1;
        copy_vectors(v, a, n, [at, width], 1, end);
        let v = block(v, rows, [0, 0], [rows, width]);
        factor.clear();
        factor.resize(width * width, T::zero());
        triangular_factor(factor, v, &tau[at..at + width]);
        let factor = block(factor, width, [0, 0], [width, width]);
        let x = super::field::block_mut(q, n, [at + 1, at + 1], [rows, rows]);
        reflect_block_left(x, v, factor, false, products);
    }
}
