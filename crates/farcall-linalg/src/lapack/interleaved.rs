//! Factorizations of many small matrices at once: each vector of the processor has the same entry of several
//! matrices (the *interleaved* layout: J. Dongarra et al., *Optimized batched linear algebra for modern
//! architectures*, 2017).
//!
//! An algorithm reports the matrices that it cannot factor like the others, for example if a pivot is not
//! positive. The caller then factors each of them alone. So the result for a matrix does not depend on its
//! neighbors.

use farcall_ffi::{Float, simd};
use num_complex::Complex;

use super::scalar::{RealScalar, Scalar};

/// Maximum number of rows and columns of a matrix in this layout.
pub(crate) const MAX_ORDER: usize = 16;

/// Maximum number of matrices in a group.
pub(crate) const MAX_WIDTH: usize = 16;

/// Matrices of a group that must be factored alone.
pub(crate) type Alone = [bool; MAX_WIDTH];

/// The same entry of all matrices of a group: an array, or two arrays for complex numbers.
pub(crate) trait Lanes: Copy {
    /// Type of the real part of an entry.
    type Real: RealScalar;
    /// Type of an entry.
    type Element: Scalar<Real = Self::Real>;
    /// A real number for each matrix.
    type Reals: Copy + AsRef<[Self::Real]>;
    /// Number of matrices.
    const WIDTH: usize;
    /// Zero for each matrix.
    const ZERO: Self;

    fn get(&self, lane: usize) -> Self::Element;
    fn set(&mut self, lane: usize, entry: Self::Element);
    fn of_real(re: Self::Reals) -> Self;
    fn re(&self) -> Self::Reals;
    fn im(&self) -> Self::Reals;
    fn reals(number: impl Fn(usize) -> Self::Real) -> Self::Reals;
    fn conjugate(self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn scaled(self, factors: Self::Reals) -> Self;

    /// Exchanges the entries of one matrix.
    #[inline(always)]
    fn swap(&mut self, other: &mut Self, lane: usize) {
        let entry = self.get(lane);
        self.set(lane, other.get(lane));
        other.set(lane, entry);
    }

    /// Returns the sums of the absolute values of both parts.
    #[inline(always)]
    fn modulus1(&self) -> Self::Reals {
        let (re, im) = (self.re(), self.im());
        Self::reals(|l| re.as_ref()[l].abs() + im.as_ref()[l].abs())
    }
}

/// Complex numbers with their parts in different vectors.
#[derive(Clone, Copy)]
pub(crate) struct Split<R, const W: usize> {
    re: [R; W],
    im: [R; W],
}

impl<R: RealScalar + Scalar<Real = R>, const W: usize> Lanes for [R; W] {
    type Real = R;
    type Element = R;
    type Reals = [R; W];
    const WIDTH: usize = W;
    const ZERO: Self = [R::ZERO; W];

    #[inline(always)]
    fn get(&self, lane: usize) -> R {
        self[lane]
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, entry: R) {
        self[lane] = entry;
    }

    #[inline(always)]
    fn of_real(re: [R; W]) -> Self {
        re
    }

    #[inline(always)]
    fn re(&self) -> [R; W] {
        *self
    }

    #[inline(always)]
    fn im(&self) -> [R; W] {
        [R::ZERO; W]
    }

    #[inline(always)]
    fn reals(number: impl Fn(usize) -> R) -> [R; W] {
        std::array::from_fn(number)
    }

    #[inline(always)]
    fn conjugate(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|l| self[l] + other[l])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|l| self[l] - other[l])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|l| self[l] * other[l])
    }

    #[inline(always)]
    fn scaled(self, factors: [R; W]) -> Self {
        std::array::from_fn(|l| self[l] * factors[l])
    }
}

impl<R, const W: usize> Lanes for Split<R, W>
where
    R: RealScalar + Scalar<Real = R>,
    Complex<R>: Scalar<Real = R>,
{
    type Real = R;
    type Element = Complex<R>;
    type Reals = [R; W];
    const WIDTH: usize = W;
    const ZERO: Self = Split { re: [R::ZERO; W], im: [R::ZERO; W] };

    #[inline(always)]
    fn get(&self, lane: usize) -> Complex<R> {
        Complex::new(self.re[lane], self.im[lane])
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, entry: Complex<R>) {
        (self.re[lane], self.im[lane]) = (entry.re, entry.im);
    }

    #[inline(always)]
    fn of_real(re: [R; W]) -> Self {
        Split { re, im: [R::ZERO; W] }
    }

    #[inline(always)]
    fn re(&self) -> [R; W] {
        self.re
    }

    #[inline(always)]
    fn im(&self) -> [R; W] {
        self.im
    }

    #[inline(always)]
    fn reals(number: impl Fn(usize) -> R) -> [R; W] {
        std::array::from_fn(number)
    }

    #[inline(always)]
    fn conjugate(self) -> Self {
        Split { re: self.re, im: std::array::from_fn(|l| -self.im[l]) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Split { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Split { re: self.re.minus(other.re), im: self.im.minus(other.im) }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Split {
            re: std::array::from_fn(|l| self.re[l] * other.re[l] - self.im[l] * other.im[l]),
            im: std::array::from_fn(|l| self.re[l] * other.im[l] + self.im[l] * other.re[l]),
        }
    }

    #[inline(always)]
    fn scaled(self, factors: [R; W]) -> Self {
        Split { re: self.re.scaled(factors), im: self.im.scaled(factors) }
    }
}

/// An element type with its layout.
pub(crate) trait Interleave: Scalar {
    /// An entry of all matrices of a group.
    type Lanes: Lanes<Element = Self>;
}

impl Interleave for f32 {
    type Lanes = [f32; 16];
}

impl Interleave for f64 {
    type Lanes = [f64; 8];
}

impl Interleave for Complex<f32> {
    type Lanes = Split<f32, 16>;
}

impl Interleave for Complex<f64> {
    type Lanes = Split<f64, 8>;
}

/// A group of matrices, column by column.
pub(crate) struct Group<L> {
    rows: usize,
    entries: Vec<L>,
}

impl<L: Lanes> Group<L> {
    /// Allocates memory.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        Group { rows, entries: vec![L::ZERO; rows * columns] }
    }

    /// Factors matrices that are stored one after the other, or the adjoints of square matrices. Returns the
    /// matrices that must be factored alone, which are left unchanged: those with infinite or NaN entries, and
    /// those that `algorithm` reports. It receives the number of rows and the entries, column by column.
    fn factor(
        &mut self,
        matrices: &mut [L::Element],
        is_adjoint: bool,
        algorithm: impl FnOnce(usize, &mut [L], &mut Alone),
    ) -> Alone {
        let (rows, len) = (self.rows, self.entries.len());
        let at = |i: usize| if is_adjoint { i % rows * rows + i / rows } else { i };
        let mut alone = Alone::default();
        for (lane, matrix) in matrices.chunks_exact(len).enumerate() {
            let mut finite = L::Real::ZERO;
            for (i, entry) in matrix.iter().enumerate() {
                self.entries[at(i)].set(lane, entry.conjugate_if(is_adjoint));
                finite += (entry.re() - entry.re()) + (entry.im() - entry.im());
            }
            alone[lane] = finite != L::Real::ZERO;
        }
        algorithm(rows, &mut self.entries, &mut alone);
        for (lane, matrix) in matrices.chunks_exact_mut(len).enumerate().filter(|(lane, _)| !alone[*lane]) {
            for (i, entry) in matrix.iter_mut().enumerate() {
                *entry = self.entries[at(i)].get(lane).conjugate_if(is_adjoint);
            }
        }
        alone
    }

    /// Factors positive definite matrices, of which the lower triangle is read and replaced, or those whose
    /// adjoints are stored. Returns what [`factor`](Self::factor) returns.
    pub(crate) fn cholesky(&mut self, matrices: &mut [L::Element], is_adjoint: bool) -> Alone {
        self.factor(matrices, is_adjoint, |n, entries, alone| simd::vectorized!(cholesky(n, entries, alone)))
    }

    /// Factors matrices with partial pivoting. Row `i` of a matrix was exchanged with row `pivots[i]`. Returns
    /// what [`factor`](Self::factor) returns.
    pub(crate) fn lu(&mut self, matrices: &mut [L::Element], pivots: &mut [[usize; MAX_WIDTH]]) -> Alone {
        self.factor(matrices, false, |rows, entries, alone| {
            simd::vectorized!(lu(rows, entries, pivots, alone));
        })
    }

    /// Factors matrices by reflections. Returns what [`factor`](Self::factor) returns.
    pub(crate) fn qr(&mut self, matrices: &mut [L::Element], tau: &mut [L]) -> Alone {
        self.factor(matrices, false, |rows, entries, alone| simd::vectorized!(qr(rows, entries, tau, alone)))
    }
}

/// Returns the reciprocals of numbers. Reports matrices whose number is tiny or 0.
#[inline(always)]
fn reciprocals<L: Lanes>(numbers: L, alone: &mut Alone) -> L {
    let mut inverses = L::ZERO;
    for (lane, alone) in alone.iter_mut().enumerate().take(L::WIDTH) {
        let number = numbers.get(lane);
        *alone |= number.modulus1() < L::Real::MIN_NORMAL;
        inverses.set(lane, L::Element::one().over(number));
    }
    inverses
}

#[inline(always)]
fn cholesky<L: Lanes>(n: usize, entries: &mut [L], alone: &mut Alone) {
    for j in 0..n {
        let (left, right) = entries.split_at_mut((j + 1) * n);
        let column = &mut left[j * n..];
        let pivots = column[j].re();
        let pivots = pivots.as_ref();
        // NaN is no valid pivot either.
        alone
            .iter_mut()
            .zip(pivots)
            .for_each(|(alone, pivot)| *alone |= *pivot <= L::Real::ZERO || pivot.is_nan());
        let roots = L::reals(|l| pivots[l].sqrt());
        let inverses = L::reals(|l| L::Real::ONE / roots.as_ref()[l]);
        column[j] = L::of_real(roots);
        column[j + 1..n].iter_mut().for_each(|x| *x = x.scaled(inverses));
        for (k, target) in right.chunks_exact_mut(n).enumerate() {
            let k = j + 1 + k;
            let factor = column[k].conjugate();
            for (target, x) in target[k..].iter_mut().zip(&column[k..]) {
                *target = target.minus(factor.times(*x));
            }
        }
    }
}

#[inline(always)]
fn lu<L: Lanes>(rows: usize, entries: &mut [L], pivots: &mut [[usize; MAX_WIDTH]], alone: &mut Alone) {
    for (j, pivots) in pivots.iter_mut().enumerate() {
        let mut best = L::reals(|_| -L::Real::ONE);
        let mut at = L::reals(|_| L::Real::ZERO);
        for (i, entry) in entries[j * rows + j..(j + 1) * rows].iter().enumerate() {
            let row = L::Real::of(i as f64);
            let size = entry.modulus1();
            at = L::reals(|l| if size.as_ref()[l] > best.as_ref()[l] { row } else { at.as_ref()[l] });
            best = L::reals(|l| {
                if size.as_ref()[l] > best.as_ref()[l] { size.as_ref()[l] } else { best.as_ref()[l] }
            });
        }
        for (pivot, row) in pivots.iter_mut().zip(at.as_ref()) {
            let row: f64 = (*row).into();
            *pivot = j + row as usize;
        }
        for column in entries.chunks_exact_mut(rows) {
            for (lane, &row) in pivots.iter().enumerate().take(L::WIDTH) {
                if let Ok([first, second]) = column.get_disjoint_mut([j, row]) {
                    first.swap(second, lane);
                }
            }
        }
        let (left, right) = entries.split_at_mut((j + 1) * rows);
        let column = &mut left[j * rows..];
        let inverses = reciprocals(column[j], alone);
        column[j + 1..].iter_mut().for_each(|x| *x = x.times(inverses));
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
    let zero = L::Real::ZERO;
    // The root of a sum in this range is accurate: no square that matters was subnormal, and none infinite.
    let least = L::Real::MIN_NORMAL / (L::Real::EPSILON * L::Real::EPSILON);
    for (j, tau) in tau.iter_mut().enumerate() {
        let (left, right) = entries.split_at_mut((j + 1) * rows);
        let (head, v) = left[j * rows + j..].split_at_mut(1);
        let square = |x: &L| {
            let (re, im) = (x.re(), x.im());
            L::reals(|l| re.as_ref()[l] * re.as_ref()[l] + im.as_ref()[l] * im.as_ref()[l])
        };
        let sum = |a: L::Reals, b: L::Reals| L::reals(|l| a.as_ref()[l] + b.as_ref()[l]);
        let tail = v.iter().map(L::modulus1).fold(L::reals(|_| zero), sum);
        let all = v.iter().map(square).fold(square(&head[0]), sum);
        let (re, im) = (head[0].re(), head[0].im());
        let (re, im, tail, all) = (re.as_ref(), im.as_ref(), tail.as_ref(), all.as_ref());
        let is_done = |l: usize| tail[l] == zero && im[l] == zero;
        for (l, alone) in alone.iter_mut().enumerate().take(L::WIDTH) {
            let is_accurate = all[l] > least && all[l] <= L::Real::MAX_FINITE;
            *alone |= !(is_done(l) || is_accurate);
        }
        let beta = L::reals(|l| match is_done(l) {
            true => re[l],
            false => -Float::copysign(all[l].sqrt(), re[l]),
        });
        let beta = beta.as_ref();
        let (mut taus, mut factors) = (L::ZERO, L::ZERO);
        for l in 0..L::WIDTH {
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
        head[0] = L::of_real(L::reals(|l| beta[l]));
        v.iter_mut().for_each(|x| *x = x.times(factors));
        *tau = taus;
        let adjoint = taus.conjugate();
        for column in right.chunks_exact_mut(rows) {
            let (head, tail) = column[j..].split_at_mut(1);
            let along = v.iter().zip(&*tail).fold(head[0], |sum, (v, x)| sum.plus(v.conjugate().times(*x)));
            let factor = adjoint.times(along);
            head[0] = head[0].minus(factor);
            tail.iter_mut().zip(&*v).for_each(|(x, v)| *x = x.minus(factor.times(*v)));
        }
    }
}
