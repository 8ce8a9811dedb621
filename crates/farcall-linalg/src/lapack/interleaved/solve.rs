//! Triangular and tridiagonal systems.

use farcall_ffi::simd;

use super::{Alone, Group, Lanes, MAX_WIDTH, reciprocals};
use crate::lapack::options::{Diagonal, Side, System, Transpose, Uplo};

/// Memory for triangular systems.
pub(crate) struct TriangularSystems<L> {
    triangle: Group<L>,
    sides: Group<L>,
}

impl<L: Lanes> TriangularSystems<L> {
    /// Allocates memory for `n` unknowns in each of `columns` columns.
    pub(crate) fn new(n: usize, columns: usize) -> Self {
        TriangularSystems { triangle: Group::new(n, n), sides: Group::new(n, columns) }
    }

    /// Solves systems with the matrices `x`. The solutions replace the right-hand sides `y`. Returns the
    /// systems that must be solved alone: systems with an infinite or NaN entry, or with a diagonal entry
    /// that is not [invertible](crate::lapack::scalar::Scalar::is_invertible).
    pub(crate) fn solve(&mut self, system: System, x: &[L::Element], y: &mut [L::Element]) -> Alone {
        let TriangularSystems { triangle, sides } = self;
        let (n, len) = (triangle.rows, sides.entries.len());
        let is_right = system.side == Side::Right;
        // y_out·op(x) = y, so op(x)ᵀ·y_outᵀ = yᵀ.
        let is_transposed = (system.transpose != Transpose::No) != is_right;
        let is_upper = (system.uplo == Uplo::Upper) != is_transposed;
        // An upper triangle becomes a lower one if rows and columns are in reverse order.
        let unknown = |i: usize| if is_upper { n - 1 - i } else { i };
        let is_unit = system.diagonal == Diagonal::Unit;
        let mut alone = Alone::default();
        let conjugated = system.transpose == Transpose::Adjoint;
        let in_triangle = |p: usize| {
            let (i, j) = if is_transposed { (p / n, p % n) } else { (p % n, p / n) };
            let (i, j) = (unknown(i), unknown(j));
            (i > j || i == j && !is_unit).then_some(i + j * n)
        };
        triangle.load(x, n * n, conjugated, in_triangle, &mut alone);
        if is_unit {
            triangle.entries.iter_mut().step_by(n + 1).for_each(|d| *d = L::ONE);
        }
        let others = len / n;
        let at = |p: usize| match is_right {
            true => Some(unknown(p / others) + p % others * n),
            false => Some(unknown(p % n) + p / n * n),
        };
        sides.load(y, len, false, at, &mut alone);
        let (triangle, entries) = (&triangle.entries, &mut sides.entries);
        simd::vectorized!(solve(n, triangle, entries, &mut alone));
        sides.store(y, len, false, at, &alone);
        alone
    }
}

#[inline(always)]
fn solve<L: Lanes>(n: usize, triangle: &[L], sides: &mut [L], alone: &mut Alone) {
    for j in 0..n {
        let column = &triangle[j * n + j..(j + 1) * n];
        let inverse = reciprocals(column[0], alone);
        for side in sides.chunks_exact_mut(n) {
            let (head, tail) = side[j..].split_at_mut(1);
            head[0] = head[0].times(inverse);
            for (x, l) in tail.iter_mut().zip(&column[1..]) {
                *x = x.minus(l.times(head[0]));
            }
        }
    }
}

/// Memory for tridiagonal systems.
pub(crate) struct TridiagonalSystems<L> {
    diagonals: [Group<L>; 3],
    sides: Group<L>,
    /// Reciprocals of the pivots.
    inverses: Vec<L>,
}

impl<L: Lanes> TridiagonalSystems<L> {
    /// Allocates memory for `n` unknowns in each of `columns` columns.
    pub(crate) fn new(n: usize, columns: usize) -> Self {
        let diagonals = [(); 3].map(|()| Group::new(n, 1));
        TridiagonalSystems { diagonals, sides: Group::new(n, columns), inverses: vec![L::ZERO; n] }
    }

    /// Solves systems as `gtsv` does, and replaces its operands: `diagonals` (`dl`, `d` and `du`) and `b`.
    /// Returns the systems that must be solved alone: systems with an infinite or NaN entry, or with a pivot
    /// that is not [invertible](crate::lapack::scalar::Scalar::is_invertible).
    pub(crate) fn solve(&mut self, diagonals: [&mut [L::Element]; 3], b: &mut [L::Element]) -> Alone {
        let TridiagonalSystems { diagonals: memory, sides, inverses } = self;
        let (n, len) = (sides.rows, sides.entries.len());
        let mut alone = Alone::default();
        // The first entry of `dl` and the last of `du` do not count.
        let used = [1..n, 0..n, 0..n - 1];
        for ((group, diagonal), used) in memory.iter_mut().zip(&diagonals).zip(&used) {
            group.load(diagonal, n, false, |i| used.contains(&i).then_some(i), &mut alone);
        }
        sides.load(b, len, false, Some, &mut alone);
        let [dl, d, du] = memory.each_mut().map(|group| &mut group.entries[..]);
        let entries = &mut sides.entries;
        simd::vectorized!(solve_tridiagonal([&mut dl[1..], d, du], inverses, entries, &mut alone));
        for ((group, diagonal), used) in memory.iter().zip(diagonals).zip(&used) {
            group.store(diagonal, n, false, |i| used.contains(&i).then_some(i), &alone);
        }
        sides.store(b, len, false, Some, &alone);
        alone
    }
}

/// Gaussian elimination with partial pivoting. `dl` has one entry less than the others; its entries become
/// the second diagonal above the main diagonal.
#[inline(always)]
fn solve_tridiagonal<L: Lanes>(
    [dl, d, du]: [&mut [L]; 3],
    inverses: &mut [L],
    b: &mut [L],
    alone: &mut Alone,
) {
    let n = d.len();
    for i in 0..n - 1 {
        let (above, below) = (d[i].modulus1(), dl[i].modulus1());
        let mut stays = [false; MAX_WIDTH];
        let sizes = above.as_ref().iter().zip(below.as_ref());
        for (stays, (above, below)) in stays.iter_mut().zip(sizes) {
            *stays = above >= below;
        }
        let pivot = L::select(&stays, d[i], dl[i]);
        inverses[i] = reciprocals(pivot, alone);
        // Not a product with the reciprocal, so that equal rows give a pivot that is exactly zero.
        let factor = L::select(&stays, dl[i], d[i]).over(pivot);
        let (first, second) = (L::select(&stays, du[i], d[i + 1]), L::select(&stays, d[i + 1], du[i]));
        (d[i], du[i], d[i + 1]) = (pivot, first, second.minus(factor.times(first)));
        if i + 2 < n {
            dl[i] = L::select(&stays, L::ZERO, du[i + 1]);
            du[i + 1] = L::select(&stays, du[i + 1], L::ZERO.minus(factor.times(dl[i])));
        }
        for b in b.chunks_exact_mut(n) {
            let (first, second) = (L::select(&stays, b[i], b[i + 1]), L::select(&stays, b[i + 1], b[i]));
            (b[i], b[i + 1]) = (first, second.minus(factor.times(first)));
        }
    }
    inverses[n - 1] = reciprocals(d[n - 1], alone);
    for b in b.chunks_exact_mut(n) {
        for i in (0..n).rev() {
            let mut sum = b[i];
            if i + 1 < n {
                sum = sum.minus(du[i].times(b[i + 1]));
            }
            if i + 2 < n {
                sum = sum.minus(dl[i].times(b[i + 2]));
            }
            b[i] = sum.times(inverses[i]);
        }
    }
}
