//! Aggressive early deflation (Braman, Byers and Mathias, part II, 2002).

use crate::lapack::scalar::RealScalar;
use farcall_ffi::Float;
use num_complex::Complex;

use super::super::hessenberg;
use super::super::reflect::{reflect_left, reflect_right, reflector};
use super::super::square::Square;
use super::window::{Workspace, apply};
use super::{Iteration, SchurField};

/// Deflates eigenvalues of the trailing rows of `start..end`. `w` receives the deflated eigenvalues, preceded
/// by shifts. Returns the number of deflated eigenvalues, and the number of shifts.
pub(super) fn deflate<T: SchurField>(
    h: &mut Square<'_, T>,
    z: Option<&mut Square<'_, T>>,
    w: &mut [Complex<T::Real>],
    [start, end]: [usize; 2],
    active: [usize; 2],
    size: usize,
    work: &mut Workspace<T>,
) -> (usize, usize) {
    let from = end - size.min(end - start);
    let size = end - from;
    let spike = if from == start { T::zero() } else { h[[from, from - 1]] };
    let mut entries = std::mem::take(&mut work.vectors);
    entries.clear();
    entries.resize(2 * size * size, T::zero());
    let (t, v) = entries.split_at_mut(size * size);
    let (mut t, mut v) = (Square::new(t, size), Square::new(v, size));
    for j in 0..size {
        (0..size.min(j + 2)).for_each(|i| t[[i, j]] = h[[from + i, from + j]]);
    }
    v.set_identity();
    let values = &mut w[from..end];
    let failed = T::iterate(&mut t, Some(v.reborrow()), values, Iteration { low: 0, high: size, full: true });
    let kept = undeflatable(&mut t, &mut v, spike, failed);
    eigenvalues(&mut t, &mut v, failed, values);
    let deflated = size - kept;
    if deflated > 0 || spike == T::zero() {
        if kept > 1 && spike != T::zero() {
            restore(&mut t, &mut v, kept, work);
        }
        if from > start {
            h[[from, from - 1]] = match kept == 0 {
                true => T::zero(),
                false => spike * v[[0, 0]].conjugate(),
            };
        }
        for j in 0..size {
            (0..size.min(j + 2)).for_each(|i| h[[from + i, from + j]] = t[[i, j]]);
        }
        apply(h, z, &v, [from, end], active, &mut work.columns);
    }
    work.vectors = entries;
    (deflated, kept.saturating_sub(failed))
}

/// Moves the eigenvalues that cannot be deflated to the top of the window. Returns their number.
fn undeflatable<T: SchurField>(
    t: &mut Square<'_, T>,
    v: &mut Square<'_, T>,
    spike: T,
    failed: usize,
) -> usize {
    let size = t.n;
    let tiny = T::Real::MIN_NORMAL * T::Real::of(size as f64) / (T::Real::EPSILON * T::Real::of(2.0));
    let (mut top, mut kept) = (failed, size);
    while top < kept {
        let last = kept - 1;
        let pair = last > top && t[[last, last - 1]] != T::zero();
        let mut scale = t[[last, last]].modulus1();
        let mut product = (spike * v[[0, last]]).modulus1();
        if pair {
            scale += t[[last, last - 1]].modulus1().sqrt() * t[[last - 1, last]].modulus1().sqrt();
            product = product.max((spike * v[[0, last - 1]]).modulus1());
        }
        let scale = if scale == T::Real::ZERO { spike.modulus1() } else { scale };
        let rows = if pair { 2 } else { 1 };
        if product <= tiny.max((T::Real::EPSILON * T::Real::of(2.0)) * scale) {
            kept -= rows;
            continue;
        }
        let first = kept - rows;
        if T::move_up(t, v, first, top) != top {
            // The exchange would be inaccurate: the rest is kept.
            break;
        }
        top += rows;
        // An exchange can split a pair.
        if pair && t[[top - 1, top - 2]] == T::zero() {
            continue;
        }
    }
    kept
}

/// Stores the eigenvalues of the window in the order of its diagonal.
fn eigenvalues<T: SchurField>(
    t: &mut Square<'_, T>,
    v: &mut Square<'_, T>,
    failed: usize,
    w: &mut [Complex<T::Real>],
) {
    let size = t.n;
    let mut at = failed;
    while at < size {
        if at + 1 < size && t[[at + 1, at]] != T::zero() {
            T::standardize(t, Some(v), at, w, [0, size]);
            at += 2;
        } else {
            w[at] = Complex::new(t[[at, at]].re(), t[[at, at]].im());
            at += 1;
        }
    }
}

/// Brings the first `kept` rows of a window, with the spike to its left, back to Hessenberg form.
fn restore<T: SchurField>(
    t: &mut Square<'_, T>,
    v: &mut Square<'_, T>,
    kept: usize,
    work: &mut Workspace<T>,
) {
    let size = t.n;
    let mut row: Vec<T> = (0..kept).map(|j| v[[0, j]].conjugate()).collect();
    let (head, tail) = row.split_first_mut().expect("at least two rows are kept");
    let tau = reflector(head, tail);
    let mut along = vec![T::zero(); size];
    reflect_left(t.entries, size, 0, tail, tau.conjugate());
    reflect_right(&mut t.entries[..kept * size], size, kept, tail, tau, &mut along);
    reflect_right(&mut v.entries[..kept * size], size, size, tail, tau, &mut along);
    let mut tau = vec![T::zero(); size - 1];
    hessenberg::reduce(t.entries, size, [0, kept], &mut tau, &mut work.hessenberg);
    // The last reflection has no tail, but makes the subdiagonal entry of a complex matrix real.
    for (j, &tau) in tau.iter().enumerate().take(kept - 1) {
        let column = &t.entries[j * size + j + 2..j * size + kept];
        reflect_right(&mut v.entries[(j + 1) * size..kept * size], size, size, column, tau, &mut along);
    }
    for j in 0..kept {
        (j + 2..kept).for_each(|i| t[[i, j]] = T::zero());
    }
}
