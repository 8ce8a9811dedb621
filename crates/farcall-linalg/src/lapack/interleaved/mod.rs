//! Algorithms for many small matrices at once: each SIMD vector has the same entry of several matrices (the
//! *interleaved* layout: J. Dongarra et al., *Optimized batched linear algebra for modern architectures*,
//! 2017). These matrices are a *group*, and the position of a matrix in its group is a *lane*.
//!
//! An algorithm marks in `alone` the matrices that it cannot process like the others, for example because a
//! pivot is not positive. The caller then processes each marked matrix alone. So the result for a matrix does
//! not depend on the other matrices of its group.
//!
//! ```text
//! factor       Cholesky, LU and QR factorizations
//! reflect      products of reflectors
//! solve        triangular and tridiagonal systems
//! ```

use farcall_ffi::Float;
use num_complex::Complex;

use super::scalar::{RealScalar, Scalar, is_invertible_size};

mod factor;
mod reflect;
mod solve;

pub(crate) use reflect::Reflectors;
pub(crate) use solve::{TriangularSystems, TridiagonalSystems};

/// Maximum number of rows and columns of a matrix in this layout.
pub(crate) const MAX_ORDER: usize = 16;

/// Maximum number of entries of a tridiagonal system in this layout: its diagonals and right-hand sides.
pub(crate) const MAX_SYSTEM_ENTRIES: usize = 128;

/// Maximum number of unknowns, and of right-hand sides, of a triangular system in this layout. For larger
/// systems, copying into the layout takes longer than the layout saves.
pub(crate) const MAX_SYSTEM_ORDER: usize = 8;

/// Maximum number of matrices in a group.
pub(crate) const MAX_WIDTH: usize = 16;

/// Matrices of a group that must be processed alone.
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
    /// One for each matrix.
    const ONE: Self;

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

    /// Returns the quotients of numbers, without intermediate overflow.
    fn over(self, divisors: Self) -> Self;

    /// Returns the entries of `a` where `condition` is true, and the entries of `b` elsewhere.
    fn select(condition: &[bool; MAX_WIDTH], a: Self, b: Self) -> Self;

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

/// Returns `number(0)`, `number(1)`, …. (`std::array::from_fn` is not always inlined.)
#[inline(always)]
fn of_lanes<R: RealScalar, const W: usize>(number: impl Fn(usize) -> R) -> [R; W] {
    let mut numbers = [R::ZERO; W];
    for (l, to) in numbers.iter_mut().enumerate() {
        *to = number(l);
    }
    numbers
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
    const ONE: Self = [R::ONE; W];

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
        of_lanes(number)
    }

    #[inline(always)]
    fn conjugate(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        of_lanes(|l| self[l] + other[l])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        of_lanes(|l| self[l] - other[l])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        of_lanes(|l| self[l] * other[l])
    }

    #[inline(always)]
    fn scaled(self, factors: [R; W]) -> Self {
        of_lanes(|l| self[l] * factors[l])
    }

    #[inline(always)]
    fn over(self, divisors: Self) -> Self {
        of_lanes(|l| self[l] / divisors[l])
    }

    #[inline(always)]
    fn select(condition: &[bool; MAX_WIDTH], a: Self, b: Self) -> Self {
        of_lanes(|l| if condition[l] { a[l] } else { b[l] })
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
    const ONE: Self = Split { re: [R::ONE; W], im: [R::ZERO; W] };

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
        of_lanes(number)
    }

    #[inline(always)]
    fn conjugate(self) -> Self {
        Split { re: self.re, im: of_lanes(|l| -self.im[l]) }
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
            re: of_lanes(|l| self.re[l] * other.re[l] - self.im[l] * other.im[l]),
            im: of_lanes(|l| self.re[l] * other.im[l] + self.im[l] * other.re[l]),
        }
    }

    #[inline(always)]
    fn scaled(self, factors: [R; W]) -> Self {
        Split { re: self.re.scaled(factors), im: self.im.scaled(factors) }
    }

    /// The method is R. L. Smith's, *Algorithm 116: Complex division*, 1962.
    #[inline(always)]
    fn over(self, divisors: Self) -> Self {
        let mut quotients = Self::ZERO;
        for l in 0..W {
            let (re, im) = (divisors.re[l], divisors.im[l]);
            let is_re = re.abs() >= im.abs();
            let (large, small) = if is_re { (re, im) } else { (im, re) };
            let ratio = small / large;
            let size = large + small * ratio;
            let (a, b) = if is_re { (self.re[l], self.im[l]) } else { (self.im[l], self.re[l]) };
            let (first, second) = ((a + b * ratio) / size, (b - a * ratio) / size);
            quotients.re[l] = first;
            quotients.im[l] = if is_re { second } else { -second };
        }
        quotients
    }

    #[inline(always)]
    fn select(condition: &[bool; MAX_WIDTH], a: Self, b: Self) -> Self {
        Split { re: <[R; W]>::select(condition, a.re, b.re), im: <[R; W]>::select(condition, a.im, b.im) }
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

    /// Loads matrices that are stored one after the other, each with `len` entries. Entry `i` of a matrix, or
    /// its conjugate if `is_conjugated`, becomes entry `at(i)` of the group; it is skipped if `at(i)` is
    /// `None`. Marks in `alone` the matrices with infinite or NaN entries, and the lanes without a matrix.
    #[inline(always)]
    fn load(
        &mut self,
        matrices: &[L::Element],
        len: usize,
        is_conjugated: bool,
        at: impl Fn(usize) -> Option<usize>,
        alone: &mut Alone,
    ) {
        alone[matrices.len() / len..].fill(true);
        for ((lane, matrix), alone) in matrices.chunks_exact(len).enumerate().zip(alone) {
            let mut finite = L::Real::ZERO;
            for (i, entry) in matrix.iter().enumerate() {
                if let Some(at) = at(i) {
                    self.entries[at].set(lane, entry.conjugate_if(is_conjugated));
                    finite += zero_if_finite(*entry);
                }
            }
            *alone |= finite != L::Real::ZERO;
        }
    }

    /// Stores the matrices that need not be processed alone: the reverse of [`load`](Self::load). Entries for
    /// which `at` returns `None` are left unchanged.
    #[inline(always)]
    fn store(
        &self,
        matrices: &mut [L::Element],
        len: usize,
        is_conjugated: bool,
        at: impl Fn(usize) -> Option<usize>,
        alone: &Alone,
    ) {
        for (lane, matrix) in matrices.chunks_exact_mut(len).enumerate().filter(|(lane, _)| !alone[*lane]) {
            for (i, entry) in matrix.iter_mut().enumerate() {
                if let Some(at) = at(i) {
                    *entry = self.entries[at].get(lane).conjugate_if(is_conjugated);
                }
            }
        }
    }
}

/// Returns 0 for a number whose parts are finite, otherwise NaN.
#[inline(always)]
fn zero_if_finite<T: Scalar>(number: T) -> T::Real {
    (number.re() - number.re()) + (number.im() - number.im())
}

/// Returns the reciprocals of numbers. Marks in `alone` the matrices whose number is not
/// [invertible](Scalar::is_invertible).
#[inline(always)]
fn reciprocals<L: Lanes>(numbers: L, alone: &mut Alone) -> L {
    let sizes = numbers.modulus1();
    for (alone, size) in alone.iter_mut().zip(sizes.as_ref()) {
        *alone |= !is_invertible_size(*size);
    }
    L::ONE.over(numbers)
}
