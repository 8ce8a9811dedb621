//! The Schur form of a Hessenberg matrix: `H = Z·T·Zᴴ`, where `T` is triangular, or quasi-triangular with
//! standard 2×2 blocks for real matrices.
//!
//! Small matrices are reduced by implicit QR iterations with one or two shifts. Large ones take many shifts
//! at once, in a chain of small bulges (Braman, Byers and Mathias, *The multishift QR algorithm*, parts I and
//! II, 2002), and deflate eigenvalues early. Most of the work is then in products of matrices.

mod complex;
mod deflation;
mod multishift;
mod real;
mod window;

use crate::lapack::scalar::{RealScalar, Scalar};
use farcall_ffi::Float;
use num_complex::Complex;

use super::square::Square;
pub(crate) use multishift::decompose;
pub(crate) use window::Workspace;

/// Maximum number of QR iterations for each row of a matrix.
const MAX_ITERATIONS_PER_ROW: usize = 30;

/// The rows and columns of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct Iteration {
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// True to transform all rows and columns: the result is then a Schur form. Otherwise, only eigenvalues
    /// are computed.
    pub(crate) full: bool,
}

/// An element type with its own form of QR iterations.
pub(crate) trait SchurField: Scalar {
    /// Reduces rows and columns by QR iterations with few shifts. Returns the number of leading rows whose
    /// eigenvalues did not converge.
    fn iterate(
        h: &mut Square<'_, Self>,
        z: Option<Square<'_, Self>>,
        w: &mut [Complex<Self::Real>],
        iteration: Iteration,
    ) -> usize;

    /// Moves the diagonal block at `from` up to the row `to`, if possible. Returns the row that it reached.
    fn move_up(t: &mut Square<'_, Self>, v: &mut Square<'_, Self>, from: usize, to: usize) -> usize;

    /// Brings a 2×2 block to standard form.
    fn standardize(
        h: &mut Square<'_, Self>,
        z: Option<&mut Square<'_, Self>>,
        at: usize,
        w: &mut [Complex<Self::Real>],
        active: [usize; 2],
    );
}

macro_rules! schur_fields {
    ($($ty:ty)*) => {$(
        impl SchurField for $ty {
            fn iterate(
                h: &mut Square<'_, $ty>,
                z: Option<Square<'_, $ty>>,
                w: &mut [Complex<$ty>],
                iteration: Iteration,
            ) -> usize {
                super::field::vectorized(#[inline(always)] || real::iterate(h, z, w, iteration))
            }

            fn move_up(t: &mut Square<'_, $ty>, v: &mut Square<'_, $ty>, from: usize, to: usize) -> usize {
                real::move_up(t, v, from, to)
            }

            fn standardize(
                h: &mut Square<'_, $ty>,
                z: Option<&mut Square<'_, $ty>>,
                at: usize,
                w: &mut [Complex<$ty>],
                active: [usize; 2],
            ) {
                real::standardize(h, z, at, w, active);
            }
        }

        impl SchurField for Complex<$ty> {
            fn iterate(
                h: &mut Square<'_, Complex<$ty>>,
                z: Option<Square<'_, Complex<$ty>>>,
                w: &mut [Complex<$ty>],
                iteration: Iteration,
            ) -> usize {
                super::field::vectorized(#[inline(always)] || complex::iterate(h, z, w, iteration))
            }

            fn move_up(
                t: &mut Square<'_, Complex<$ty>>,
                v: &mut Square<'_, Complex<$ty>>,
                from: usize,
                to: usize,
            ) -> usize {
                complex::move_up(t, v, from, to)
            }

            fn standardize(
                _h: &mut Square<'_, Complex<$ty>>,
                _z: Option<&mut Square<'_, Complex<$ty>>>,
                _at: usize,
                _w: &mut [Complex<$ty>],
                _active: [usize; 2],
            ) {
                // A complex Schur form has no 2×2 blocks.
            }
        }
    )*};
}
schur_fields!(f32 f64);

/// Returns true if the subdiagonal entry of row `i` can be set to 0 (Ahues and Tisseur, *A new deflation
/// criterion for the QR algorithm*, LAPACK Working Note 122, 1997).
#[inline(always)]
fn is_negligible<T: Scalar>(h: &Square<'_, T>, i: usize, [low, high]: [usize; 2]) -> bool {
    let entry = h[[i, i - 1]].modulus1();
    let tiny = T::Real::MIN_NORMAL / (T::Real::EPSILON * T::Real::of(2.0));
    if entry <= tiny {
        return true;
    }
    let mut neighbors = h[[i - 1, i - 1]].modulus1() + h[[i, i]].modulus1();
    if neighbors == T::Real::ZERO {
        if i >= low + 2 {
            neighbors += h[[i - 1, i - 2]].modulus1();
        }
        if i + 1 < high {
            neighbors += h[[i + 1, i]].modulus1();
        }
    }
    let is_small = entry <= (T::Real::EPSILON * T::Real::of(2.0)) * neighbors;
    if !is_small {
        return false;
    }
    let across = h[[i - 1, i]].modulus1();
    let (larger, smaller) = (entry.max(across), entry.min(across));
    let (diagonal, difference) = (h[[i, i]].modulus1(), (h[[i - 1, i - 1]] - h[[i, i]]).modulus1());
    let (upper, lower) = (diagonal.max(difference), diagonal.min(difference));
    let sum = upper + larger;
    smaller * (larger / sum) <= tiny.max((T::Real::EPSILON * T::Real::of(2.0)) * (lower * (upper / sum)))
}

/// Returns the first three entries of a multiple of the first column of `(H − s₁)·(H − s₂)`, where `H` starts
/// at row and column `at`. For a real matrix, the shifts are real or conjugate.
#[inline(always)]
fn shifted_column<T: Scalar>(h: &Square<'_, T>, at: usize, shifts: [Complex<T::Real>; 2]) -> [T; 3] {
    let [first, second] = shifts;
    let subdiagonal = [h[[at + 1, at]], h[[at + 2, at + 1]]];
    let corner = complex::complex(h[[at, at]]);
    let offset = |shift: Complex<T::Real>| Complex::new(corner.re - shift.re, corner.im - shift.im);
    let (a, b) = (offset(first), offset(second));
    let length = |x: Complex<T::Real>| x.re.abs() + x.im.abs();
    let size = length(a).max(length(b)).max(subdiagonal[0].modulus1());
    if size == T::Real::ZERO {
        return [T::zero(); 3];
    }
    let inverse = T::Real::ONE / size;
    // The product of the offsets is real for a real matrix.
    let scaled = Complex::new(b.re * inverse, b.im * inverse);
    let product = T::of_parts(a.re * scaled.re - a.im * scaled.im, a.re * scaled.im + a.im * scaled.re);
    let lower = subdiagonal[0].times(inverse);
    let next = h[[at + 1, at + 1]];
    let trace = T::of_parts(a.re - second.re, a.im - second.im) + next;
    [product + h[[at, at + 1]] * lower, lower * trace, lower * subdiagonal[1]]
}

/// Applies `(I − τ·v·vᴴ)ᴴ`, where `v` is 1 followed by `u`, from the left to two or three rows at `k`, in the
/// given columns.
#[inline(always)]
fn rotate_rows<T: Scalar>(
    h: &mut Square<'_, T>,
    k: usize,
    rows: usize,
    u: [T; 2],
    tau: T,
    [from, to]: [usize; 2],
) {
    let (n, tau) = (h.n, tau.conjugate());
    let columns = &mut h.entries[from * n..to * n];
    match rows {
        2 => {
            for column in columns.chunks_exact_mut(n) {
                let [x, y] = &mut column[k..k + 2] else { return };
                let along = tau * (*x + u[0].conjugate() * *y);
                *x -= along;
                *y -= along * u[0];
            }
        }
        _ => {
            for column in columns.chunks_exact_mut(n) {
                let [x, y, z] = &mut column[k..k + 3] else { return };
                let along = tau * (*x + u[0].conjugate() * *y + u[1].conjugate() * *z);
                *x -= along;
                *y -= along * u[0];
                *z -= along * u[1];
            }
        }
    }
}

/// Applies `I − τ·v·vᴴ`, where `v` is 1 followed by `u`, from the right to two or three columns at `k`, in
/// the given rows.
#[inline(always)]
fn rotate_columns<T: Scalar>(
    h: &mut Square<'_, T>,
    k: usize,
    columns: usize,
    u: [T; 2],
    tau: T,
    [from, to]: [usize; 2],
) {
    let weights = u.map(|u| u.conjugate());
    match columns {
        2 => {
            let [x, y] = h.columns(k, to);
            for (x, y) in x[from..].iter_mut().zip(&mut y[from..]) {
                let along = tau * (*x + u[0] * *y);
                *x -= along;
                *y -= along * weights[0];
            }
        }
        _ => {
            let [x, y, z] = h.columns(k, to);
            for ((x, y), z) in x[from..].iter_mut().zip(&mut y[from..]).zip(&mut z[from..]) {
                let along = tau * (*x + u[0] * *y + u[1] * *z);
                *x -= along;
                *y -= along * weights[0];
                *z -= along * weights[1];
            }
        }
    }
}
