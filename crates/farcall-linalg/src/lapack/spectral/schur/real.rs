//! The real Schur form: implicit QR iterations with double shifts, standard 2×2 blocks, and exchanges of
//! adjacent blocks.

use num_complex::Complex;

use super::super::square::Square;
use super::{Iteration, is_negligible};
use crate::lapack::scalar::{RealScalar, Scalar};
use crate::number::Real;

/// Reduces the rows and columns `low..high` of a Hessenberg matrix to Schur form by Francis's implicit double
/// shifts (Golub and Van Loan, *Matrix Computations*, 4th edition, section 7.5). Returns the number of
/// leading rows, from `low` on, whose eigenvalues did not converge.
#[inline(always)]
pub(crate) fn iterate<R: RealScalar + Scalar>(
    h: &mut Square<'_, R>,
    mut z: Option<Square<'_, R>>,
    w: &mut [Complex<R>],
    Iteration { low, high, full }: Iteration,
) -> usize {
    let mut end = high;
    let mut budget = super::MAX_ITERATIONS_PER_ROW * (high - low).max(10);
    let mut stalled = 0;
    while end > low {
        let start = (low + 1..end).rev().find(|&i| is_negligible(h, i, [low, high])).unwrap_or(low);
        if start > low {
            h[[start, start - 1]] = R::ZERO;
        }
        match end - start {
            1 => w[start] = Complex::new(h[[start, start]], R::ZERO),
            2 => standardize(h, z.as_mut(), start, w, if full { [0, h.n] } else { [start, end] }),
            _ => {
                if budget == 0 {
                    return end - low;
                }
                (budget, stalled) = (budget - 1, stalled + 1);
                let active = if full { [0, h.n] } else { [start, end] };
                sweep(h, z.as_mut(), [start, end], active, stalled);
                continue;
            }
        }
        (end, stalled) = (start, 0);
    }
    0
}

/// One implicit double-shift QR sweep over the rows and columns `start..end`, of which there are at least
/// three. The transformations are applied to the rows and columns of the range `active`.
#[inline(always)]
fn sweep<R: RealScalar + Scalar>(
    h: &mut Square<'_, R>,
    mut z: Option<&mut Square<'_, R>>,
    [start, end]: [usize; 2],
    active: [usize; 2],
    stalled: usize,
) {
    let last = end - 1;
    let shifts = match stalled.is_multiple_of(10) {
        // Exceptional shifts, in case the usual ones repeat.
        true => {
            let size = h[[last, last - 1]].abs() + h[[last - 1, last - 2]].abs();
            let corner = R::of(0.75) * size + h[[last, last]];
            eigenvalues([corner, R::of(-0.4375) * size, size, corner])
        }
        false => {
            eigenvalues([h[[last - 1, last - 1]], h[[last - 1, last]], h[[last, last - 1]], h[[last, last]]])
        }
    };
    let shifts = match shifts[0].im == R::ZERO {
        // Two real shifts: the one nearer to the last entry, twice.
        true => {
            let distance = |shift: Complex<R>| (shift.re - h[[last, last]]).abs();
            let nearer = if distance(shifts[0]) <= distance(shifts[1]) { shifts[0] } else { shifts[1] };
            [nearer, nearer]
        }
        false => shifts,
    };
    // Two consecutive small subdiagonal entries allow the sweep to begin below `start`.
    let mut first = last - 2;
    let mut v;
    loop {
        v = super::shifted_column(h, first, shifts);
        if first == start {
            break;
        }
        let size = v.iter().fold(R::ZERO, |size, v| size + v.abs());
        let outer = h[[first, first - 1]].abs() * (v[1].abs() + v[2].abs());
        let diagonal =
            h[[first - 1, first - 1]].abs() + h[[first, first]].abs() + h[[first + 1, first + 1]].abs();
        if size > R::ZERO && outer <= (R::EPSILON * R::of(2.0)) * v[0].abs() * diagonal {
            break;
        }
        first -= 1;
    }
    for k in first..last {
        let rows = 3.min(end - k);
        if k > first {
            for (i, v) in v.iter_mut().enumerate() {
                *v = if i < rows { h[[k + i, k - 1]] } else { R::ZERO };
            }
        }
        let [head, tail @ ..] = &mut v;
        let tau = super::super::reflect::reflector(head, &mut tail[..rows - 1]);
        if k > first {
            h[[k, k - 1]] = *head;
            (1..rows).for_each(|i| h[[k + i, k - 1]] = R::ZERO);
        } else if k > start {
            // The entry above is negligible relative to the reflection.
            h[[k, k - 1]] *= R::ONE - tau;
        }
        let u = [v[1], if rows == 3 { v[2] } else { R::ZERO }];
        super::rotate_rows(h, k, rows, u, tau, [k, active[1]]);
        super::rotate_columns(h, k, rows, u, tau, [active[0], end.min(k + 4)]);
        if let Some(z) = &mut z {
            let n = z.n;
            super::rotate_columns(z, k, rows, u, tau, [0, n]);
        }
    }
}

/// Returns the eigenvalues of a 2×2 matrix, given by rows.
#[inline(always)]
fn eigenvalues<R: Real>([a, b, c, d]: [R; 4]) -> [Complex<R>; 2] {
    let size = a.abs() + b.abs() + c.abs() + d.abs();
    if size == R::ZERO {
        return [Complex::new(R::ZERO, R::ZERO); 2];
    }
    let [a, b, c, d] = [a, b, c, d].map(|x| x / size);
    let mean = (a + d) / R::of(2.0);
    let determinant = (a - mean) * (d - mean) - b * c;
    let root = determinant.abs().sqrt();
    match determinant >= R::ZERO {
        true => [Complex::new(mean * size, root * size), Complex::new(mean * size, -root * size)],
        false => [mean + root, mean - root].map(|x| Complex::new(x * size, R::ZERO)),
    }
}

/// Brings the 2×2 block at `at` to standard form: upper triangular, or with equal diagonal entries and
/// off-diagonal entries of opposite signs. Stores its eigenvalues.
#[inline(always)]
pub(crate) fn standardize<R: RealScalar + Scalar>(
    h: &mut Square<'_, R>,
    z: Option<&mut Square<'_, R>>,
    at: usize,
    w: &mut [Complex<R>],
    active: [usize; 2],
) {
    let next = at + 1;
    let entries = [h[[at, at]], h[[at, next]], h[[next, at]], h[[next, next]]];
    let ([a, b, c, d], [cs, sn]) = standard_form(entries);
    (h[[at, at]], h[[at, next]], h[[next, at]], h[[next, next]]) = (a, b, c, d);
    for j in next + 1..active[1].max(next + 1) {
        let (x, y) = (h[[at, j]], h[[next, j]]);
        (h[[at, j]], h[[next, j]]) = (cs * x + sn * y, cs * y - sn * x);
    }
    rotate(h.columns(at, at), active[0].min(at), [cs, sn]);
    if let Some(z) = z {
        let n = z.n;
        rotate(z.columns(at, n), 0, [cs, sn]);
    }
    let root = b.abs().sqrt() * c.abs().sqrt();
    (w[at], w[next]) = (Complex::new(a, root), Complex::new(d, -root));
}

/// Rotates two columns, from the row `first` on.
#[inline(always)]
fn rotate<R: Real>([x, y]: [&mut [R]; 2], first: usize, [cs, sn]: [R; 2]) {
    for (x, y) in x[first..].iter_mut().zip(&mut y[first..]) {
        (*x, *y) = (cs * *x + sn * *y, cs * *y - sn * *x);
    }
}

/// Computes the standard form of a 2×2 matrix, given by rows, and the cosine and sine of the rotation (Bai
/// and Demmel, *On swapping diagonal blocks in real Schur form*, 1993).
fn standard_form<R: RealScalar>([a, b, c, d]: [R; 4]) -> ([R; 4], [R; 2]) {
    let half = R::of(0.5);
    if c == R::ZERO {
        return ([a, b, c, d], [R::ONE, R::ZERO]);
    }
    if b == R::ZERO {
        return ([d, -c, R::ZERO, a], [R::ZERO, R::ONE]);
    }
    let difference = a - d;
    if difference == R::ZERO && (b < R::ZERO) != (c < R::ZERO) {
        return ([a, b, c, d], [R::ONE, R::ZERO]);
    }
    let p = half * difference;
    let (larger, smaller) = (b.abs().max(c.abs()), b.abs().min(c.abs()));
    let smaller = if (b < R::ZERO) == (c < R::ZERO) { smaller } else { -smaller };
    let scale = p.abs().max(larger);
    let discriminant = p / scale * p + larger / scale * smaller;
    if discriminant >= R::of(4.0) * (R::EPSILON * R::of(2.0)) {
        // Two real eigenvalues, clearly distinct.
        let z = p + (scale.sqrt() * discriminant.sqrt()).copysign(p);
        let tau = c.hypot(z);
        return ([d + z, b - c, R::ZERO, d - larger / z * smaller], [z / tau, c / tau]);
    }
    // Complex eigenvalues, or nearly equal real ones: the diagonal entries become equal.
    let sigma = b + c;
    let tau = sigma.hypot(difference);
    let cs = (half * (R::ONE + sigma.abs() / tau)).sqrt();
    let sn = -(p / (tau * cs)) * R::ONE.copysign(sigma);
    let (aa, bb, cc, dd) = (a * cs + b * sn, b * cs - a * sn, c * cs + d * sn, d * cs - c * sn);
    let (b, c) = (bb * cs + dd * sn, cc * cs - aa * sn);
    let mean = half * ((aa * cs + cc * sn) + (dd * cs - bb * sn));
    if c == R::ZERO {
        return ([mean, b, c, mean], [cs, sn]);
    }
    if b == R::ZERO {
        return ([mean, -c, R::ZERO, mean], [-sn, cs]);
    }
    if (b < R::ZERO) != (c < R::ZERO) {
        return ([mean, b, c, mean], [cs, sn]);
    }
    // Equal signs: real eigenvalues, and one more rotation makes the block triangular.
    let (root_b, root_c) = (b.abs().sqrt(), c.abs().sqrt());
    let p = (root_b * root_c).copysign(c);
    let tau = R::ONE / (b + c).abs().sqrt();
    let (cs1, sn1) = (root_b * tau, root_c * tau);
    ([mean + p, b - c, R::ZERO, mean - p], [cs * cs1 - sn * sn1, cs * sn1 + sn * cs1])
}

/// Returns the size of the diagonal block that ends in row `last`: 1 or 2.
fn block_size<R: RealScalar + Scalar>(t: &Square<'_, R>, last: usize) -> usize {
    if last > 0 && t[[last, last - 1]] != R::ZERO { 2 } else { 1 }
}

/// Moves the diagonal block that starts at `from` up to the row `to`, and accumulates the transformation in
/// `v`. Returns the row where the block is afterwards: below `to` if an exchange would be inaccurate.
pub(crate) fn move_up<R: RealScalar + Scalar>(
    t: &mut Square<'_, R>,
    v: &mut Square<'_, R>,
    from: usize,
    to: usize,
) -> usize {
    let mut at = from;
    while at > to {
        let lower = if at + 1 < t.n && t[[at + 1, at]] != R::ZERO { 2 } else { 1 };
        let upper = block_size(t, at - 1);
        if !exchange(t, v, at - upper, upper, lower) {
            break;
        }
        at -= upper;
    }
    at
}

/// Exchanges two adjacent diagonal blocks of `p` and `q` rows, the first of which starts at `at` (Bai and
/// Demmel, 1993). Returns false, and changes nothing, if the result would be inaccurate.
fn exchange<R: RealScalar + Scalar>(
    t: &mut Square<'_, R>,
    v: &mut Square<'_, R>,
    at: usize,
    p: usize,
    q: usize,
) -> bool {
    let m = p + q;
    let mut d = [[R::ZERO; 4]; 4];
    for (i, row) in d.iter_mut().enumerate().take(m) {
        row.iter_mut().enumerate().take(m).for_each(|(j, d)| *d = t[[at + i, at + j]]);
    }
    let norm = d.iter().flatten().fold(R::ZERO, |norm, x| norm.max(x.abs()));
    let Some(basis) = invariant_basis(&d, p, q) else { return false };
    // `basis` is orthogonal: its first `q` columns span the invariant subspace of the second block.
    let mut product = [[R::ZERO; 4]; 4];
    for i in 0..m {
        for j in 0..m {
            product[i][j] = (0..m).fold(R::ZERO, |sum, l| sum + d[i][l] * basis[l][j]);
        }
    }
    let mut exchanged = [[R::ZERO; 4]; 4];
    for i in 0..m {
        for j in 0..m {
            exchanged[i][j] = (0..m).fold(R::ZERO, |sum, l| sum + basis[l][i] * product[l][j]);
        }
    }
    let residual = (q..m).flat_map(|i| (0..q).map(move |j| (i, j)));
    let residual = residual.fold(R::ZERO, |largest, (i, j)| largest.max(exchanged[i][j].abs()));
    let is_accurate = residual <= R::of(20.0) * (R::EPSILON * R::of(2.0)) * norm;
    if !is_accurate {
        return false;
    }
    for j in at..t.n {
        let x: [R; 4] = std::array::from_fn(|i| if i < m { t[[at + i, j]] } else { R::ZERO });
        for i in 0..m {
            t[[at + i, j]] = (0..m).fold(R::ZERO, |sum, l| sum + basis[l][i] * x[l]);
        }
    }
    let columns = |x: &mut Square<'_, R>, rows: usize| {
        for i in 0..rows {
            let row: [R; 4] = std::array::from_fn(|j| if j < m { x[[i, at + j]] } else { R::ZERO });
            for j in 0..m {
                x[[i, at + j]] = (0..m).fold(R::ZERO, |sum, l| sum + row[l] * basis[l][j]);
            }
        }
    };
    columns(t, at + m);
    columns(v, v.n);
    for j in 0..q {
        (q..m).for_each(|i| t[[at + i, at + j]] = R::ZERO);
    }
    let mut ignored = [Complex::new(R::ZERO, R::ZERO); 2];
    for (start, size) in [(at, q), (at + q, p)] {
        if size == 2 {
            standardize_block(t, v, start, &mut ignored);
        }
    }
    true
}

/// Brings a 2×2 block to standard form, with the transformation accumulated in `v`.
fn standardize_block<R: RealScalar + Scalar>(
    t: &mut Square<'_, R>,
    v: &mut Square<'_, R>,
    at: usize,
    ignored: &mut [Complex<R>; 2],
) {
    let n = t.n;
    let mut w = vec![ignored[0]; at + 2];
    standardize(t, Some(v), at, &mut w, [0, n]);
}

/// Returns an orthogonal matrix whose first `q` columns span the invariant subspace of the second diagonal
/// block of `d`; `None` if the blocks have a common eigenvalue.
fn invariant_basis<R: RealScalar + Scalar>(d: &[[R; 4]; 4], p: usize, q: usize) -> Option<[[R; 4]; 4]> {
    let m = p + q;
    let x = sylvester(d, p, q)?;
    // The QR decomposition of the columns `(−X, I)`, by Gram–Schmidt, twice, and completed by unit vectors.
    let mut basis = [[R::ZERO; 4]; 4];
    let mut count = 0;
    let candidates = q + m;
    for candidate in 0..candidates {
        if count == m {
            break;
        }
        let mut column = [R::ZERO; 4];
        match candidate < q {
            true => {
                (0..p).for_each(|i| column[i] = -x[i][candidate]);
                column[p + candidate] = R::ONE;
            }
            false => column[candidate - q] = R::ONE,
        }
        let norm = |column: &[R; 4]| column.iter().fold(R::ZERO, |norm, x| norm.hypot(*x));
        let before = norm(&column);
        column.iter_mut().for_each(|entry| *entry /= before);
        for _ in 0..2 {
            let found = |j: usize| -> [R; 4] { std::array::from_fn(|i| basis[i][j]) };
            for vector in (0..count).map(found) {
                let along = (0..m).fold(R::ZERO, |sum, i| sum + vector[i] * column[i]);
                (0..m).for_each(|i| column[i] -= along * vector[i]);
            }
        }
        let after = norm(&column);
        // A unit vector within the span is not needed: another one completes the basis.
        if candidate >= q && after < R::of(0.4) {
            continue;
        }
        (0..m).for_each(|i| basis[i][count] = column[i] / after);
        count += 1;
    }
    (count == m && basis.iter().flatten().all(|x| crate::number::is_finite(*x))).then_some(basis)
}

/// Solves `A·X − X·B = C` for the blocks `A`, `B`, `C` of `d = (A C; 0 B)` by Gaussian elimination with
/// complete pivoting.
fn sylvester<R: Real>(d: &[[R; 4]; 4], p: usize, q: usize) -> Option<[[R; 2]; 2]> {
    let size = p * q;
    let mut system = [[R::ZERO; 5]; 4];
    for i in 0..p {
        for j in 0..q {
            let row = i + j * p;
            (0..p).for_each(|l| system[row][l + j * p] += d[i][l]);
            (0..q).for_each(|l| system[row][i + l * p] -= d[p + l][p + j]);
            system[row][4] = d[i][p + j];
        }
    }
    let mut order = [0, 1, 2, 3];
    for step in 0..size {
        let mut pivot = (step, step);
        for i in step..size {
            for j in step..size {
                if system[i][j].abs() > system[pivot.0][pivot.1].abs() {
                    pivot = (i, j);
                }
            }
        }
        system.swap(step, pivot.0);
        system.iter_mut().for_each(|row| row.swap(step, pivot.1));
        order.swap(step, pivot.1);
        if system[step][step] == R::ZERO {
            return None;
        }
        for i in step + 1..size {
            let factor = system[i][step] / system[step][step];
            let pivot = system[step];
            let row = system[i].iter_mut().zip(pivot).skip(step);
            row.for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    let mut solution = [R::ZERO; 4];
    for step in (0..size).rev() {
        let sum = (step + 1..size).fold(system[step][4], |sum, j| sum - system[step][j] * solution[order[j]]);
        solution[order[step]] = sum / system[step][step];
    }
    let mut x = [[R::ZERO; 2]; 2];
    (0..size).for_each(|at| x[at % p][at / p] = solution[at]);
    Some(x)
}
