//! Factorizations.

use farcall_ffi::{Float, simd};

use super::reflect::reflect;
use super::{Alone, Group, Lanes, MAX_WIDTH, reciprocals};
use crate::lapack::scalar::Scalar;
use crate::lapack::vector;

/// The first column of each matrix whose pivot is zero.
pub(crate) type Zeros = [Option<usize>; MAX_WIDTH];

impl<L: Lanes> Group<L> {
    /// Factors matrices that are stored one after the other. If `is_adjoint`, the adjoints of square matrices
    /// are factored instead, and the adjoints of the factors stored. `algorithm` receives the number of rows,
    /// the entries column by column, and the matrices to be factored alone, to which it may add.
    ///
    /// Returns the matrices that must be factored alone, and leaves these unchanged: matrices in `alone`,
    /// matrices with infinite or NaN entries, and matrices that `algorithm` adds.
    fn factor(
        &mut self,
        matrices: &mut [L::Element],
        is_adjoint: bool,
        mut alone: Alone,
        algorithm: impl FnOnce(usize, &mut [L], &mut Alone),
    ) -> Alone {
        let (rows, len) = (self.rows, self.entries.len());
        let at = |i: usize| Some(if is_adjoint { i % rows * rows + i / rows } else { i });
        self.load(matrices, len, is_adjoint, at, &mut alone);
        algorithm(rows, &mut self.entries, &mut alone);
        self.store(matrices, len, is_adjoint, at, &alone);
        alone
    }

    /// Computes the Cholesky factors of positive definite matrices. They replace the lower triangles, or the
    /// upper triangles if `is_adjoint`. Returns what [`factor`](Self::factor) returns.
    pub(crate) fn cholesky(&mut self, matrices: &mut [L::Element], is_adjoint: bool) -> Alone {
        self.factor(matrices, is_adjoint, Alone::default(), |n, entries, alone| {
            simd::vectorized!(cholesky(n, entries, alone))
        })
    }

    /// Factors matrices with partial pivoting. Row `i` of a matrix was exchanged with row `pivots[i]`.
    /// Returns the first columns whose pivots are zero, and what [`factor`](Self::factor) returns.
    pub(crate) fn lu(
        &mut self,
        matrices: &mut [L::Element],
        pivots: &mut [[usize; MAX_WIDTH]],
    ) -> (Zeros, Alone) {
        let mut zeros = Zeros::default();
        let alone = self.factor(matrices, false, Alone::default(), |rows, entries, alone| {
            simd::vectorized!(lu(rows, entries, pivots, &mut zeros, alone));
        });
        (zeros, alone)
    }

    /// Factors matrices by reflections. Returns what [`factor`](Self::factor) returns.
    pub(crate) fn qr(&mut self, matrices: &mut [L::Element], tau: &mut [L]) -> Alone {
        self.factor(matrices, false, Alone::default(), |rows, entries, alone| {
            simd::vectorized!(qr(rows, entries, tau, alone))
        })
    }

    /// Computes QR factorizations with column pivoting, except for the matrices in `has_fixed`. In the matrix
    /// of lane `l`, column `i` was exchanged with column `pivots[i][l]`, in ascending order of `i`. Returns
    /// what [`factor`](Self::factor) returns.
    pub(crate) fn pivoted_qr(
        &mut self,
        matrices: &mut [L::Element],
        has_fixed: Alone,
        pivots: &mut [[usize; MAX_WIDTH]],
        tau: &mut [L],
    ) -> Alone {
        self.factor(matrices, false, has_fixed, |rows, entries, alone| {
            simd::vectorized!(pivoted_qr(rows, entries, pivots, tau, alone));
        })
    }
}

/// Returns the number of lanes up to the last one with a matrix that is factored here.
#[inline(always)]
fn used_lanes(alone: &Alone) -> usize {
    alone.iter().rposition(|alone| !alone).map_or(0, |last| last + 1)
}

#[inline(always)]
fn cholesky<L: Lanes>(n: usize, entries: &mut [L], alone: &mut Alone) {
    for j in 0..n {
        let (left, right) = entries.split_at_mut((j + 1) * n);
        let column = &mut left[j * n..];
        let pivots = column[j].re();
        let pivots = pivots.as_ref();
        // A pivot that is NaN is invalid, too.
        for (alone, pivot) in alone.iter_mut().zip(pivots) {
            *alone |= *pivot <= L::Real::ZERO || pivot.is_nan();
        }
        let roots = L::reals(|l| pivots[l].sqrt());
        let inverses = L::reals(|l| L::Real::ONE / roots.as_ref()[l]);
        column[j] = L::of_real(roots);
        for x in &mut column[j + 1..n] {
            *x = x.scaled(inverses);
        }
        for (k, target) in right.chunks_exact_mut(n).enumerate() {
            let k = j + 1 + k;
            let factor = column[k].conjugate();
            for (target, x) in target[k..].iter_mut().zip(&column[k..]) {
                *target = target.minus(factor.times(*x));
            }
        }
    }
}

/// The first largest of the numbers that were compared, and its index, for each matrix.
struct Largest<L: Lanes> {
    number: L::Reals,
    index: L::Reals,
}

impl<L: Lanes> Largest<L> {
    /// The result before the first comparison.
    #[inline(always)]
    fn none() -> Self {
        Largest { number: L::reals(|_| -L::Real::ONE), index: L::reals(|_| L::Real::ZERO) }
    }

    #[inline(always)]
    fn compare(&mut self, index: usize, numbers: L::Reals) {
        let index = L::Real::of(index as f64);
        let (new, old) = (numbers.as_ref(), self.number);
        let (old, at) = (old.as_ref(), self.index);
        self.index = L::reals(|l| if new[l] > old[l] { index } else { at.as_ref()[l] });
        self.number = L::reals(|l| if new[l] > old[l] { new[l] } else { old[l] });
    }

    /// Returns an index.
    #[inline(always)]
    fn index(&self, lane: usize) -> usize {
        let index: f64 = self.index.as_ref()[lane].into();
        index as usize
    }
}

/// Records in `zeros` the first column whose pivot is zero. The column below such a pivot is zero, too.
#[inline(always)]
fn lu<L: Lanes>(
    rows: usize,
    entries: &mut [L],
    pivots: &mut [[usize; MAX_WIDTH]],
    zeros: &mut Zeros,
    alone: &mut Alone,
) {
    let used = used_lanes(alone);
    for (j, pivots) in pivots.iter_mut().enumerate() {
        let mut largest = Largest::<L>::none();
        for (i, entry) in entries[j * rows + j..(j + 1) * rows].iter().enumerate() {
            largest.compare(i, entry.modulus1());
        }
        for (lane, pivot) in pivots.iter_mut().enumerate().take(used) {
            *pivot = j + largest.index(lane);
        }
        for column in entries.chunks_exact_mut(rows) {
            for (lane, &row) in pivots.iter().enumerate().take(used) {
                if let Ok([first, second]) = column.get_disjoint_mut([j, row]) {
                    first.swap(second, lane);
                }
            }
        }
        let (left, right) = entries.split_at_mut((j + 1) * rows);
        let column = &mut left[j * rows..];
        let mut pivot = column[j];
        for (lane, zero) in zeros.iter_mut().enumerate().take(used) {
            if pivot.get(lane) == L::Element::zero() {
                *zero = zero.or(Some(j));
                pivot.set(lane, L::Element::one());
            }
        }
        let inverses = reciprocals(pivot, alone);
        for x in &mut column[j + 1..] {
            *x = x.times(inverses);
        }
        for target in right.chunks_exact_mut(rows) {
            let factor = target[j];
            for (target, x) in target[j + 1..].iter_mut().zip(&column[j + 1..]) {
                *target = target.minus(factor.times(*x));
            }
        }
    }
}

#[inline(always)]
fn qr<L: Lanes>(rows: usize, entries: &mut [L], tau: &mut [L], alone: &mut Alone) {
    let used = used_lanes(alone);
    for (j, tau) in tau.iter_mut().enumerate() {
        *tau = reflect_columns(rows, entries, j, used, alone);
    }
}

/// Norms are computed from the entries in each step. (For such small matrices, updates of the norms would not
/// be faster.)
#[inline(always)]
fn pivoted_qr<L: Lanes>(
    rows: usize,
    entries: &mut [L],
    pivots: &mut [[usize; MAX_WIDTH]],
    tau: &mut [L],
    alone: &mut Alone,
) {
    let used = used_lanes(alone);
    for (j, (tau, pivots)) in tau.iter_mut().zip(pivots).enumerate() {
        let mut largest = Largest::<L>::none();
        for (c, column) in entries.chunks_exact(rows).enumerate().skip(j) {
            largest.compare(c, squares(&column[j..]));
        }
        for (alone, sum) in alone.iter_mut().zip(largest.number.as_ref()) {
            *alone |= !vector::is_accurate(*sum);
        }
        for (lane, pivot) in pivots.iter_mut().enumerate().take(used) {
            *pivot = largest.index(lane).max(j);
            let (left, right) = entries.split_at_mut(*pivot * rows);
            if *pivot > j {
                for (x, y) in left[j * rows..(j + 1) * rows].iter_mut().zip(&mut right[..rows]) {
                    x.swap(y, lane);
                }
            }
        }
        *tau = reflect_columns(rows, entries, j, used, alone);
    }
}

/// Computes the reflector of column `j`, and applies its adjoint to the columns right of it. Returns `tau`.
#[inline(always)]
fn reflect_columns<L: Lanes>(rows: usize, entries: &mut [L], j: usize, used: usize, alone: &mut Alone) -> L {
    let (left, right) = entries.split_at_mut((j + 1) * rows);
    let (head, v) = left[j * rows + j..].split_at_mut(1);
    let tau = reflector(&mut head[0], v, used, alone);
    let adjoint = tau.conjugate();
    for column in right.chunks_exact_mut(rows) {
        reflect(v, adjoint, &mut column[j..]);
    }
    tau
}

/// Returns the sums of the squares of all parts.
#[inline(always)]
fn squares<L: Lanes>(numbers: &[L]) -> L::Reals {
    let mut sums = L::reals(|_| L::Real::ZERO);
    for x in numbers {
        let (re, im) = (x.re(), x.im());
        let (re, im, old) = (re.as_ref(), im.as_ref(), sums);
        let old = old.as_ref();
        sums = L::reals(|l| old[l] + (re[l] * re[l] + im[l] * im[l]));
    }
    sums
}

/// Computes the reflectors of vectors, like [`reflector`](crate::lapack::reflector::reflector). Marks in
/// `alone` the matrices whose norm is not accurate.
#[inline(always)]
fn reflector<L: Lanes>(head: &mut L, v: &mut [L], used: usize, alone: &mut Alone) -> L {
    let zero = L::Real::ZERO;
    let sum = |a: L::Reals, b: L::Reals| L::reals(|l| a.as_ref()[l] + b.as_ref()[l]);
    let mut tail = L::reals(|_| zero);
    for x in &*v {
        tail = sum(tail, x.modulus1());
    }
    let all = sum(squares(std::slice::from_ref(head)), squares(v));
    let (re, im) = (head.re(), head.im());
    let (re, im, tail, all) = (re.as_ref(), im.as_ref(), tail.as_ref(), all.as_ref());
    let is_done = |l: usize| tail[l] == zero && im[l] == zero;
    for (l, alone) in alone.iter_mut().enumerate().take(L::WIDTH) {
        *alone |= !(is_done(l) || vector::is_accurate(all[l]));
    }
    let beta = L::reals(|l| match is_done(l) {
        true => re[l],
        false => -Float::copysign(all[l].sqrt(), re[l]),
    });
    let beta = beta.as_ref();
    let (mut taus, mut factors) = (L::ZERO, L::ZERO);
    for l in 0..used {
        let done = is_done(l);
        let (tau, factor) = match done {
            true => (L::Element::zero(), L::Element::one()),
            false => (
                L::Element::of_parts((beta[l] - re[l]) / beta[l], -im[l] / beta[l]),
                L::Element::one().over(L::Element::of_parts(re[l] - beta[l], im[l])),
            ),
        };
        taus.set(l, tau);
        factors.set(l, factor);
    }
    *head = L::of_real(L::reals(|l| beta[l]));
    for x in v {
        *x = x.times(factors);
    }
    taus
}
