//! Eigenvectors of Schur forms, by substitution (Golub and Van Loan, *Matrix Computations*, 4th edition,
//! section 7.6.4).

use std::ops::Mul;

use faer::MatMut;
use farcall_ffi::Float;
use num_complex::Complex;

use super::field::{block, block_mut, multiply};
use super::square::Square;
use crate::lapack::scalar::{RealScalar, Scalar};
use crate::number::Real;

/// Number of eigenvectors that are multiplied by the Schur vectors at once.
const BLOCK_VECTORS: usize = 64;

/// The side of eigenvectors: `A·x = w·x` or `yᴴ·A = w·yᴴ`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A triangular or quasi-triangular system `(T − w·I)·x = b`, or `(T − w·I)ᴴ·y = b`.
struct System<'a, T: Scalar, S> {
    t: &'a Square<'a, T>,
    shift: S,
    /// Least absolute value of a pivot.
    floor: T::Real,
    /// Largest absolute value of an entry of the solution.
    bound: T::Real,
}

impl<T, S> System<'_, T, S>
where
    T: Scalar,
    S: Scalar<Real = T::Real> + Mul<T, Output = S>,
{
    /// Returns an entry of the matrix, as a number of the solution's type.
    #[inline(always)]
    fn entry(&self, i: usize, j: usize, side: Side) -> S {
        let (i, j) = if side == Side::Left { (j, i) } else { (i, j) };
        let entry = self.t[[i, j]];
        let entry = if side == Side::Left { entry.conjugate() } else { entry };
        S::one() * entry
    }

    /// Solves for the rows before `end`, from the last to the first. `x` has the right-hand side there, and
    /// is scaled as a whole to avoid overflow.
    #[inline(always)]
    fn solve_right(&self, end: usize, x: &mut [S]) {
        let (mut j, n) = (end, self.t.n);
        while j > 0 {
            let pair = j >= 2 && self.t[[j - 1, j - 2]] != T::zero();
            j -= if pair { 2 } else { 1 };
            let rows = if pair { 2 } else { 1 };
            self.solve_block(j, rows, x, Side::Right);
            for l in j..j + rows {
                let factor = -x[l];
                super::field::axpy(factor, &self.t.entries[l * n..l * n + j], x);
            }
        }
    }

    /// Solves the adjoint system for the rows from `start` on, whose right-hand side is 0 apart from the
    /// terms of the entries `from..start` of `y`.
    #[inline(always)]
    fn solve_left(&self, from: usize, start: usize, y: &mut [S]) {
        let n = self.t.n;
        let mut j = start;
        while j < n {
            let pair = j + 1 < n && self.t[[j + 1, j]] != T::zero();
            let rows = if pair { 2 } else { 1 };
            for l in j..j + rows {
                let column = &self.t.entries[l * n + from..l * n + j];
                y[l] = -adjoint_product(column, &y[from..j]);
            }
            self.solve_block(j, rows, y, Side::Left);
            j += rows;
        }
    }

    /// Solves for a diagonal block of one or two rows.
    #[inline(always)]
    fn solve_block(&self, j: usize, rows: usize, x: &mut [S], side: Side) {
        if rows == 1 {
            let mut pivot = self.entry(j, j, side) - self.shift;
            let is_invertible = pivot.modulus1() >= self.floor;
            if !is_invertible {
                pivot = S::of_real(self.floor);
            }
            self.scale(x[j].modulus1(), pivot.modulus1(), x);
            x[j] = x[j].over(pivot);
            return;
        }
        let mut a = [[S::zero(); 2]; 2];
        for (i, row) in a.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(l, a)| *a = self.entry(j + i, j + l, side));
            row[i] -= self.shift;
        }
        // Gaussian elimination with partial pivoting.
        let swapped = a[1][0].modulus1() > a[0][0].modulus1();
        let [upper, lower] = if swapped { [a[1], a[0]] } else { a };
        let order = if swapped { [j + 1, j] } else { [j, j + 1] };
        let first = if upper[0].modulus1() >= self.floor { upper[0] } else { S::of_real(self.floor) };
        let ratio = lower[0].over(first);
        let mut second = lower[1] - ratio * upper[1];
        let is_invertible = second.modulus1() >= self.floor;
        if !is_invertible {
            second = S::of_real(self.floor);
        }
        // The solution is at most the right-hand side times the sizes of both factors.
        let right = x[j].modulus1() + x[j + 1].modulus1();
        let growth = T::Real::ONE + upper[1].modulus1() / first.modulus1();
        self.scale(right * growth, second.modulus1().min(first.modulus1()), x);
        let b = [x[order[0]], x[order[1]]];
        let last = (b[1] - ratio * b[0]).over(second);
        x[j] = (b[0] - upper[1] * last).over(first);
        x[j + 1] = last;
    }

    /// Scales the solution such that a quotient does not exceed the bound.
    #[inline(always)]
    fn scale(&self, dividend: T::Real, divisor: T::Real, x: &mut [S]) {
        if dividend > T::Real::ONE && dividend > self.bound * divisor.min(T::Real::ONE) {
            let factor = self.bound / dividend * divisor.min(T::Real::ONE);
            x.iter_mut().for_each(|x| *x = x.times(factor));
        } else if divisor < T::Real::ONE && dividend > self.bound * divisor {
            let factor = self.bound * (divisor / dividend);
            x.iter_mut().for_each(|x| *x = x.times(factor));
        }
    }
}

/// Returns the sum of `conj(a)·y`.
#[inline(always)]
fn adjoint_product<T: Scalar, S: Scalar + Mul<T, Output = S>>(a: &[T], y: &[S]) -> S {
    const SUMS: usize = 4;
    let mut sums = [S::zero(); SUMS];
    let (xs, ys) = (a.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let rest = (xs.remainder(), ys.remainder());
    for (a, y) in xs.zip(ys) {
        for l in 0..SUMS {
            sums[l] += y[l] * a[l].conjugate();
        }
    }
    let mut sum = S::zero();
    for (a, y) in rest.0.iter().zip(rest.1) {
        sum += *y * a.conjugate();
    }
    sums.iter().fold(sum, |sum, part| sum + *part)
}

/// Computes one eigenvector of `t`, for a diagonal entry at `k` or the 2×2 block at `k` and `k + 1`. Its
/// largest entry has the size 1.
#[inline(always)]
fn eigenvector<T, S>(t: &Square<'_, T>, k: usize, value: Complex<T::Real>, x: &mut [S], side: Side)
where
    T: Scalar,
    S: Scalar<Real = T::Real> + Mul<T, Output = S>,
{
    let n = t.n;
    let pair = T::IS_REAL && value.im != T::Real::ZERO;
    let floor = ((T::Real::EPSILON * T::Real::of(2.0)) * (value.re.abs() + value.im.abs()))
        .max(T::Real::MIN_NORMAL * T::Real::of(n as f64) / (T::Real::EPSILON * T::Real::of(2.0)));
    let bound = T::Real::of(2f64.powi(T::Real::SAFE_EXPONENT));
    let im = if side == Side::Left { -value.im } else { value.im };
    let system = System { t, shift: S::of_parts(value.re, im), floor, bound };
    x.fill(S::zero());
    let after = if pair { k + 2 } else { k + 1 };
    if pair {
        // The eigenvector of a standard block.
        let (b, c, w) = (t[[k, k + 1]].re(), t[[k + 1, k]].re(), value.im);
        let upper = b.abs() >= c.abs();
        let (first, second) = match (side, upper) {
            (Side::Right, true) => (T::Real::ONE, w / b),
            (Side::Right, false) => (-w / c, T::Real::ONE),
            (Side::Left, true) => (w / b, T::Real::ONE),
            (Side::Left, false) => (T::Real::ONE, -w / c),
        };
        x[k] = S::of_real(first);
        x[k + 1] = S::of_parts(T::Real::ZERO, second);
    } else {
        x[k] = S::one();
    }
    match side {
        Side::Right => {
            for l in k..after {
                let factor = -x[l];
                super::field::axpy(factor, &t.entries[l * n..l * n + k], x);
            }
            system.solve_right(k, x);
        }
        Side::Left => system.solve_left(k, after, x),
    }
    let largest = x.iter().fold(T::Real::ZERO, |largest, x| largest.max(x.modulus1()));
    if largest > T::Real::ZERO {
        let inverse = T::Real::ONE / largest;
        x.iter_mut().for_each(|x| *x = x.times(inverse));
    }
}

/// An element type with its own storage of eigenvectors.
pub(crate) trait EigenField: Scalar {
    /// Computes the eigenvectors of a Schur form: the columns of `x`. A conjugate pair of a real matrix has
    /// the real part of its first vector in one column, and the imaginary part in the next.
    fn eigenvectors(t: &Square<'_, Self>, w: &[Complex<Self::Real>], x: &mut [Self], side: Side);

    /// Converts eigenvectors from this storage to complex vectors with the norm 1. The largest entry of a
    /// complex vector becomes real.
    fn unpack(x: &[Self], w: &[Complex<Self::Real>], out: &mut [Complex<Self::Real>]);
}

macro_rules! eigen_fields {
    ($($ty:ty)*) => {$(
        impl EigenField for $ty {
            fn eigenvectors(t: &Square<'_, $ty>, w: &[Complex<$ty>], x: &mut [$ty], side: Side) {
                super::field::vectorized(#[inline(always)] || real_eigenvectors(t, w, x, side));
            }

            fn unpack(x: &[$ty], w: &[Complex<$ty>], out: &mut [Complex<$ty>]) {
                unpack_real(x, w, out);
            }
        }

        impl EigenField for Complex<$ty> {
            fn eigenvectors(
                t: &Square<'_, Complex<$ty>>,
                w: &[Complex<$ty>],
                x: &mut [Complex<$ty>],
                side: Side,
            ) {
                super::field::vectorized(#[inline(always)] || {
                    for (k, column) in x.chunks_exact_mut(t.n).enumerate() {
                        eigenvector(t, k, w[k], column, side);
                    }
                });
            }

            fn unpack(x: &[Complex<$ty>], w: &[Complex<$ty>], out: &mut [Complex<$ty>]) {
                out.copy_from_slice(x);
                out.chunks_exact_mut(w.len()).for_each(|column| normalize(column, true));
            }
        }
    )*};
}
eigen_fields!(f32 f64);

/// Computes the eigenvectors of a real Schur form.
#[inline(always)]
fn real_eigenvectors<R>(t: &Square<'_, R>, w: &[Complex<R>], x: &mut [R], side: Side)
where
    R: RealScalar + Scalar,
    Complex<R>: Scalar<Real = R> + Mul<R, Output = Complex<R>>,
{
    let n = t.n;
    let mut both = vec![Complex::new(R::ZERO, R::ZERO); n];
    let mut k = 0;
    while k < n {
        if w[k].im == R::ZERO || k + 1 == n {
            eigenvector(t, k, w[k], &mut x[k * n..(k + 1) * n], side);
            k += 1;
            continue;
        }
        eigenvector(t, k, w[k], &mut both, side);
        let (re, im) = x[k * n..(k + 2) * n].split_at_mut(n);
        for ((re, im), x) in re.iter_mut().zip(im).zip(&both) {
            (*re, *im) = (x.re, x.im);
        }
        k += 2;
    }
}

/// Converts the eigenvectors of a real matrix to complex vectors.
fn unpack_real<R>(x: &[R], w: &[Complex<R>], out: &mut [Complex<R>])
where
    R: RealScalar + Scalar,
    Complex<R>: Scalar<Real = R>,
{
    let n = w.len();
    let mut k = 0;
    while k < n {
        let pair = w[k].im != R::ZERO && k + 1 < n;
        if !pair {
            let column = &mut out[k * n..(k + 1) * n];
            for (out, x) in column.iter_mut().zip(&x[k * n..]) {
                *out = Complex::new(*x, R::ZERO);
            }
            normalize(column, false);
            k += 1;
            continue;
        }
        let (column, other) = out[k * n..(k + 2) * n].split_at_mut(n);
        for ((out, re), im) in column.iter_mut().zip(&x[k * n..]).zip(&x[(k + 1) * n..]) {
            *out = Complex::new(*re, *im);
        }
        normalize(column, true);
        for (other, out) in other.iter_mut().zip(column) {
            *other = Complex::new(out.re, -out.im);
        }
        k += 2;
    }
}

/// Scales a vector to the norm 1, and turns its largest entry real if `turned` is true.
fn normalize<C: Scalar>(column: &mut [C], turned: bool) {
    let sizes = column.iter().map(|x| x.modulus1());
    let largest = sizes.fold(C::Real::ZERO, |largest, size| if size > largest { size } else { largest });
    if largest == C::Real::ZERO {
        return;
    }
    // The entries first get a size near 1, so that their squares neither overflow nor underflow.
    let inverse = C::Real::ONE / largest;
    column.iter_mut().for_each(|x| *x = x.times(inverse));
    let (mut sum, mut most, mut at) = (C::Real::ZERO, C::Real::ZERO, 0);
    for (i, x) in column.iter().enumerate() {
        let square = x.re() * x.re() + x.im() * x.im();
        sum += square;
        if square > most {
            (most, at) = (square, i);
        }
    }
    let inverse = C::Real::ONE / sum.sqrt();
    if !turned {
        column.iter_mut().for_each(|x| *x = x.times(inverse));
        return;
    }
    let factor = column[at].conjugate().times(inverse / most.sqrt());
    column.iter_mut().for_each(|x| *x *= factor);
    column[at] = C::of_real(column[at].re());
}

/// Multiplies eigenvectors of a Schur form by the Schur vectors `z`.
pub(crate) fn multiply_by_schur_vectors<T: Scalar>(out: &mut [T], z: &[T], x: &[T], n: usize, side: Side) {
    for from in (0..n).step_by(BLOCK_VECTORS) {
        let width = BLOCK_VECTORS.min(n - from);
        // The first vector of a block can be the imaginary part of a pair that starts one row above.
        let rows = match side {
            Side::Right => [0, (from + width + 1).min(n)],
            Side::Left => [from.saturating_sub(1), n],
        };
        let count = rows[1] - rows[0];
        let out: MatMut<'_, T> = block_mut(out, n, [0, from], [n, width]);
        let (z, x) = (block(z, n, [0, rows[0]], [n, count]), block(x, n, [rows[0], from], [count, width]));
        multiply(out, z, x);
    }
}
