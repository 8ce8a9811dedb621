//! The complex Schur form: implicit QR iterations with single shifts, and exchanges of diagonal entries.

use farcall_ffi::Float;
use num_complex::Complex;

use super::super::square::Square;
use super::{Iteration, is_negligible};
use crate::lapack::scalar::{RealScalar, Scalar};

/// Reduces the rows and columns `low..high` of a Hessenberg matrix to triangular form by implicit single
/// shifts (Golub and Van Loan, *Matrix Computations*, 4th edition, section 7.5). Returns the number of
/// leading rows, from `low` on, whose eigenvalues did not converge.
#[inline(always)]
pub(crate) fn iterate<T: Scalar>(
    h: &mut Square<'_, T>,
    mut z: Option<Square<'_, T>>,
    w: &mut [Complex<T::Real>],
    Iteration { low, high, full }: Iteration,
) -> usize {
    let mut end = high;
    let mut budget = super::MAX_ITERATIONS_PER_ROW * (high - low).max(10);
    let mut stalled = 0;
    while end > low {
        let start = (low + 1..end).rev().find(|&i| is_negligible(h, i, [low, high])).unwrap_or(low);
        if start > low {
            h[[start, start - 1]] = T::zero();
        }
        if start + 1 == end {
            w[start] = complex(h[[start, start]]);
            (end, stalled) = (start, 0);
            continue;
        }
        if budget == 0 {
            return end - low;
        }
        (budget, stalled) = (budget - 1, stalled + 1);
        let active = if full { [0, h.n] } else { [start, end] };
        sweep(h, z.as_mut(), [start, end], active, stalled);
    }
    0
}

/// Converts to a complex number.
#[inline(always)]
pub(crate) fn complex<T: Scalar>(x: T) -> Complex<T::Real> {
    Complex::new(x.re(), x.im())
}

/// Returns the eigenvalue of the trailing 2×2 block that is nearer to its last entry (Wilkinson's shift).
#[inline(always)]
fn shift<T: Scalar>(h: &Square<'_, T>, last: usize) -> T {
    let corner = h[[last, last]];
    let product = [h[[last, last - 1]], h[[last - 1, last]]];
    let size = product[0].modulus1() + product[1].modulus1();
    if size == T::Real::ZERO {
        return corner;
    }
    let half = T::Real::of(0.5);
    let difference = (h[[last - 1, last - 1]] - corner).times(half);
    let size = size.max(difference.modulus1());
    let inverse = T::Real::ONE / size;
    let (x, y) = (difference.times(inverse), product[0].times(inverse) * product[1].times(inverse));
    let root = square_root(x * x + y);
    // The sum with the larger absolute value, so that no digits cancel.
    let aligned = x.re() * root.re() + x.im() * root.im() >= T::Real::ZERO;
    let denominator = if aligned { x + root } else { x - root };
    if denominator.modulus1() == T::Real::ZERO {
        return corner;
    }
    corner - y.over(denominator).times(size)
}

/// Returns the square root with a non-negative real part.
#[inline(always)]
fn square_root<T: Scalar>(x: T) -> T {
    let modulus = x.modulus();
    if modulus == T::Real::ZERO {
        return T::zero();
    }
    let half = T::Real::of(0.5);
    let larger = ((modulus + x.re().abs()) * half).sqrt();
    let smaller = x.im() * half / larger;
    match x.re() >= T::Real::ZERO {
        true => T::of_parts(larger, smaller),
        false => T::of_parts(smaller.abs(), larger.copysign(x.im())),
    }
}

/// One implicit single-shift QR sweep over the rows and columns `start..end`, of which there are at least
/// two.
#[inline(always)]
fn sweep<T: Scalar>(
    h: &mut Square<'_, T>,
    mut z: Option<&mut Square<'_, T>>,
    [start, end]: [usize; 2],
    active: [usize; 2],
    stalled: usize,
) {
    let last = end - 1;
    let shift = match stalled.is_multiple_of(10) {
        // An exceptional shift, in case the usual one repeats.
        true => h[[last, last]] + T::of_real(h[[last, last - 1]].modulus1() * T::Real::of(0.75)),
        false => shift(h, last),
    };
    let mut first = last - 1;
    let mut v;
    loop {
        v = [h[[first, first]] - shift, h[[first + 1, first]]];
        if first == start {
            break;
        }
        // Two consecutive small subdiagonal entries allow the sweep to begin below `start`.
        let size = v[0].modulus1() + v[1].modulus1();
        let diagonal = h[[first, first]].modulus1() + h[[first + 1, first + 1]].modulus1();
        let outer = h[[first, first - 1]].modulus1() * v[1].modulus1();
        if size > T::Real::ZERO && outer <= (T::Real::EPSILON * T::Real::of(2.0)) * v[0].modulus1() * diagonal
        {
            break;
        }
        first -= 1;
    }
    let size = v[0].modulus1().max(v[1].modulus1());
    if size > T::Real::ZERO {
        v = v.map(|v| v.times(T::Real::ONE / size));
    }
    for k in first..last {
        if k > first {
            v = [h[[k, k - 1]], h[[k + 1, k - 1]]];
        }
        let [head, tail] = &mut v;
        let tau = super::super::reflect::reflector(head, std::slice::from_mut(tail));
        if k > first {
            h[[k, k - 1]] = *head;
            h[[k + 1, k - 1]] = T::zero();
        } else if k > start {
            h[[k, k - 1]] *= T::one() - tau.conjugate();
        }
        let u = [v[1], T::zero()];
        super::rotate_rows(h, k, 2, u, tau, [k, active[1]]);
        super::rotate_columns(h, k, 2, u, tau, [active[0], end.min(k + 3)]);
        if let Some(z) = &mut z {
            let n = z.n;
            super::rotate_columns(z, k, 2, u, tau, [0, n]);
        }
    }
}

/// Moves the diagonal entry `from` up to the row `to`, and accumulates the transformation in `v`. Returns
/// `to`.
pub(crate) fn move_up<T: Scalar>(
    t: &mut Square<'_, T>,
    v: &mut Square<'_, T>,
    from: usize,
    to: usize,
) -> usize {
    for k in (to..from).rev() {
        let (upper, lower) = (t[[k, k]], t[[k + 1, k + 1]]);
        // The eigenvector for the lower entry.
        let mut x = [t[[k, k + 1]], lower - upper];
        let [head, tail] = &mut x;
        let tau = super::super::reflect::reflector(head, std::slice::from_mut(tail));
        let u = [x[1], T::zero()];
        let n = t.n;
        super::rotate_rows(t, k, 2, u, tau, [k, n]);
        super::rotate_columns(t, k, 2, u, tau, [0, k + 2]);
        let n = v.n;
        super::rotate_columns(v, k, 2, u, tau, [0, n]);
        (t[[k, k]], t[[k + 1, k + 1]], t[[k + 1, k]]) = (lower, upper, T::zero());
    }
    to
}
