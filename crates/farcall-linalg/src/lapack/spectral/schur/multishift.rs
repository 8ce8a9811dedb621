//! QR sweeps with many shifts.

use farcall_ffi::Float;
use num_complex::Complex;

use super::super::field::vectorized;
use super::super::reflect::reflector;
use super::super::square::Square;
use super::deflation::deflate;
use super::window::{Workspace, apply};
use super::{Iteration, SchurField, is_negligible, rotate_columns, rotate_rows, shifted_column};
use crate::number::Real;

/// Maximum number of rows that are reduced by iterations with one or two shifts.
const MAX_SMALL_ROWS: usize = 80;
/// Number of iterations without a deflated eigenvalue after which exceptional shifts are used.
const STALLED_ITERATIONS: usize = 6;
/// Rows between the bulges of a chain.
const BULGE_SPACING: usize = 3;

/// Returns the number of shifts for a sweep over this many rows, and the rows of the window in which
/// eigenvalues are deflated early.
fn parameters(rows: usize) -> [usize; 2] {
    match rows {
        0..150 => [10, 20],
        150..400 => [16, 36],
        400..1000 => [24, 56],
        1000..3000 => [48, 96],
        _ => [96, 192],
    }
}

/// Reduces the rows and columns `low..high` of a Hessenberg matrix to Schur form, and multiplies `z` by the
/// transformation from the right. `w` receives the eigenvalues. Returns the number of leading rows, from
/// `low` on, whose eigenvalues did not converge.
pub(crate) fn decompose<T: SchurField>(
    mut h: Square<'_, T>,
    mut z: Option<Square<'_, T>>,
    w: &mut [Complex<T::Real>],
    Iteration { low, high, full }: Iteration,
    work: &mut Workspace<T>,
) -> usize {
    let outside = (0..low).chain(high..h.n);
    outside.for_each(|i| w[i] = Complex::new(h[[i, i]].re(), h[[i, i]].im()));
    let mut end = high;
    let mut budget = super::MAX_ITERATIONS_PER_ROW * (high - low).max(10);
    let mut stalled = 0;
    while end > low {
        let start = (low + 1..end).rev().find(|&i| is_negligible(&h, i, [low, high])).unwrap_or(low);
        if start > low {
            h[[start, start - 1]] = T::zero();
        }
        if end - start <= MAX_SMALL_ROWS {
            let z = z.as_mut().map(|z| z.reborrow());
            let left = T::iterate(&mut h, z, w, Iteration { low: start, high: end, full });
            if left > 0 {
                return start + left - low;
            }
            (end, stalled) = (start, 0);
            continue;
        }
        if budget == 0 {
            return end - low;
        }
        budget -= 1;
        let [shifts, window] = parameters(end - start);
        let active = if full { [0, h.n] } else { [start, end] };
        let (deflated, available) = deflate(&mut h, z.as_mut(), w, [start, end], active, window, work);
        end -= deflated;
        stalled = if deflated > 0 { 0 } else { stalled + 1 };
        // A successful deflation is cheaper than a sweep, and the next one may succeed too.
        if 100 * deflated > 20 * window || end - start <= MAX_SMALL_ROWS {
            continue;
        }
        let count = shifts.min(available).min(end - start - 2) / 2 * 2;
        let exceptional = stalled > 0 && stalled % STALLED_ITERATIONS == 0;
        let shifts = match count < 2 || exceptional {
            true => exceptional_shifts(&h, [start, end], shifts),
            false => pair(&w[end - available..end], count),
        };
        sweep(&mut h, z.as_mut(), [start, end], active, &shifts, work);
    }
    0
}

/// Returns shifts from the sizes of the trailing subdiagonal entries.
fn exceptional_shifts<T: SchurField>(
    h: &Square<'_, T>,
    [start, end]: [usize; 2],
    count: usize,
) -> Vec<[Complex<T::Real>; 2]> {
    let rows = (start + 2..end).rev().step_by(2).take(count / 2);
    let shift = |i: usize| {
        let size = h[[i, i - 1]].modulus1() + h[[i - 1, i - 2]].modulus1();
        let center = Complex::new(h[[i, i]].re() + T::Real::of(0.75) * size, h[[i, i]].im());
        match T::IS_REAL {
            true => {
                let distance = T::Real::of(0.4375f64.sqrt()) * size;
                [Complex::new(center.re, distance), Complex::new(center.re, -distance)]
            }
            false => [center, center],
        }
    };
    rows.map(shift).collect()
}

/// Returns the last `count` of the eigenvalues in pairs: conjugate, or two real ones.
fn pair<R: Real>(eigenvalues: &[Complex<R>], count: usize) -> Vec<[Complex<R>; 2]> {
    let mut pairs = Vec::with_capacity(count / 2);
    let mut single = None;
    let mut rest = eigenvalues;
    while pairs.len() < count / 2 {
        let [before @ .., last] = rest else { break };
        rest = before;
        match before {
            // The standard form of a real matrix has conjugate pairs next to each other.
            [before @ .., other] if other.re == last.re && other.im == -last.im && last.im != R::ZERO => {
                rest = before;
                pairs.push([*other, *last]);
            }
            _ => match single.take() {
                Some(other) => pairs.push([*last, other]),
                None => single = Some(*last),
            },
        }
    }
    if pairs.is_empty()
        && let Some(single) = single
    {
        pairs.push([single, single]);
    }
    pairs
}

/// One sweep over the rows and columns `start..end`: a bulge for each pair of shifts is introduced at the top
/// and moved off the bottom. The bulges move through windows on the diagonal. The rest of the matrix is
/// multiplied by each window's transformation.
fn sweep<T: SchurField>(
    h: &mut Square<'_, T>,
    mut z: Option<&mut Square<'_, T>>,
    [start, end]: [usize; 2],
    active: [usize; 2],
    shifts: &[[Complex<T::Real>; 2]],
    work: &mut Workspace<T>,
) {
    let count = shifts.len();
    let length = BULGE_SPACING * count;
    // Rows that the chain moves in one window.
    let distance = length.max(24);
    // The rows at which the next reflections act, from the foremost bulge to the last.
    let mut at = vec![start; count];
    let (mut from, mut lead) = (start, start + 1 + length - BULGE_SPACING);
    loop {
        let last = lead + 4 >= end;
        let window = [from, if last { end } else { lead + 3 }];
        let size = window[1] - window[0];
        work.window.clear();
        work.window.resize(size * size, T::zero());
        let mut u = Square::new(&mut work.window, size);
        u.set_identity();
        for (i, at) in at.iter_mut().enumerate() {
            let target = if last { end - 1 } else { lead - BULGE_SPACING * i };
            vectorized(
                #[inline(always)]
                || move_bulge(h, &mut u, [*at, target], window, [start, end], shifts[i]),
            );
            *at = target;
        }
        apply(h, z.as_deref_mut(), &u, window, active, &mut work.columns);
        if last {
            return;
        }
        (from, lead) = (at[count - 1] - 1, lead + distance);
    }
}

/// Moves a bulge from the row `at` to `target`, within a window.
#[inline(always)]
fn move_bulge<T: SchurField>(
    h: &mut Square<'_, T>,
    u: &mut Square<'_, T>,
    [at, target]: [usize; 2],
    window: [usize; 2],
    [start, end]: [usize; 2],
    shifts: [Complex<T::Real>; 2],
) {
    for k in at..target {
        let rows = 3.min(end - k);
        let mut v = match k == start {
            true => shifted_column(h, start, shifts),
            false => std::array::from_fn(|i| if i < rows { h[[k + i, k - 1]] } else { T::zero() }),
        };
        let [head, tail @ ..] = &mut v;
        let tau = reflector(head, &mut tail[..rows - 1]);
        if k > start {
            h[[k, k - 1]] = *head;
            (1..rows).for_each(|i| h[[k + i, k - 1]] = T::zero());
        }
        let tail = [v[1], if rows == 3 { v[2] } else { T::zero() }];
        rotate_rows(h, k, rows, tail, tau, [k, window[1]]);
        rotate_columns(h, k, rows, tail, tau, [window[0], window[1].min(k + 4)]);
        let n = u.n;
        rotate_columns(u, k - window[0], rows, tail, tau, [0, n]);
    }
}
