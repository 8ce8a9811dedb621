//! Elementary reflectors `h = 1 − tau·v·vᴴ` in LAPACK's form, and products of reflectors.
//!
//! A product `h₁·h₂⋯hₖ` is `1 − v·t·vᴴ`, where the columns of `v` are the vectors and `t` is upper triangular
//! (the *compact WY form*: R. Schreiber and C. Van Loan, *A storage-efficient WY representation for products
//! of Householder transformations*, 1989). Vectors are stored below the diagonal, without the leading 1.

use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::Simd;
use faer::{Mat, MatMut, MatRef};
use farcall_ffi::Float;

use super::block::{add_product, adjoint, product};
use super::scalar::{RealScalar, Scalar};
use super::vector;
use crate::threads::Threads;

/// Maximum number of reflectors that are applied at once.
pub(crate) const MAX_BLOCK_REFLECTORS: usize = 32;

/// Maximum number of times that a vector of tiny numbers is scaled up.
const MAX_SCALINGS: usize = 20;

/// Computes the reflector whose adjoint maps the vector of `head` and `tail` to a multiple of the first unit
/// vector: `hᴴ·(head, tail) = (beta, 0)` with a real `beta`. `head` becomes `beta`, and `tail` becomes `v`
/// without its leading 1. Returns `tau`, which is 0 if there is nothing to reflect.
///
/// The method is Householder's (G. H. Golub and C. F. Van Loan, *Matrix Computations*, section 5.1), with
/// LAPACK's choice of signs: `beta` has the sign opposite to the real part of `head`.
#[inline(always)]
pub(crate) fn reflector<S: Simd, T: Scalar>(simd: S, head: &mut T, tail: &mut [T]) -> T {
    let (zero, one) = (T::Real::ZERO, T::Real::ONE);
    let mut norm = vector::norm(simd, tail);
    if norm == zero && head.im() == zero {
        return T::zero();
    }
    let safe = T::Real::MIN_NORMAL / T::Real::EPSILON;
    let beta_of = |head: T, norm: T::Real| -Float::copysign(Float::hypot(head.modulus(), norm), head.re());
    let mut beta = beta_of(*head, norm);
    let mut scalings = 0;
    while Float::abs(beta) < safe && scalings < MAX_SCALINGS {
        scalings += 1;
        tail.iter_mut().for_each(|x| *x = x.times(one / safe));
        *head = head.times(one / safe);
        beta *= one / safe;
    }
    if scalings > 0 {
        norm = vector::norm(simd, tail);
        beta = beta_of(*head, norm);
    }
    let tau = T::of_parts((beta - head.re()) / beta, -head.im() / beta);
    vector::scale(simd, tail, T::one().over(*head - T::of_real(beta)));
    (0..scalings).for_each(|_| beta *= safe);
    *head = T::of_real(beta);
    tau
}

/// Memory for a block of reflectors and its application to other matrices.
#[derive(Debug)]
pub(crate) struct Block<T> {
    /// Vectors with the leading 1, and zeros above.
    v: Mat<T>,
    t: Mat<T>,
    products: [Mat<T>; 2],
}

/// A block of reflectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockReflector<'a, T> {
    v: MatRef<'a, T>,
    t: MatRef<'a, T>,
}

impl<T: Scalar> Block<T> {
    /// Allocates memory for blocks of vectors with up to `rows` entries, and their application to matrices
    /// with up to `others` columns (from the left) or rows (from the right).
    pub(crate) fn new(rows: usize, others: usize) -> Self {
        let width = MAX_BLOCK_REFLECTORS;
        let others = others.max(width);
        Block {
            v: Mat::zeros(rows, width),
            t: Mat::zeros(width, width),
            products: [Mat::zeros(width, others), Mat::zeros(width, others)],
        }
    }

    /// Copies a block of at most [`MAX_BLOCK_REFLECTORS`] reflectors, whose vectors are below the diagonal of
    /// `a`. Returns the block, and memory for its application.
    pub(crate) fn load(&mut self, a: MatRef<'_, T>, tau: &[T]) -> (BlockReflector<'_, T>, &mut [Mat<T>; 2]) {
        let (rows, width) = (a.nrows(), tau.len());
        let mut v = self.v.get_mut(..rows, ..width);
        copy_vectors(v.rb_mut(), a);
        let mut t = self.t.get_mut(..width, ..width);
        let mut gram = self.products[0].get_mut(..width, ..width);
        product(gram.rb_mut(), T::one(), adjoint(v.rb()), v.rb());
        triangle(t.rb_mut(), gram.rb(), tau);
        let block = BlockReflector { v: self.v.get(..rows, ..width), t: self.t.get(..width, ..width) };
        (block, &mut self.products)
    }

    /// Factors the columns of a matrix with at least as many rows, and at most [`MAX_BLOCK_REFLECTORS`]
    /// columns: `a = h₁·h₂⋯hₖ·r`. The upper triangle of `a` becomes `r`, and the vectors are stored below.
    /// Returns the block of reflectors, and memory for its application.
    ///
    /// The algorithm is recursive: E. Elmroth and F. G. Gustavson, *Applying recursion to serial and parallel
    /// QR factorization leads to better performance*, 2000.
    pub(crate) fn factor(
        &mut self,
        a: MatMut<'_, T>,
        tau: &mut [T],
    ) -> (BlockReflector<'_, T>, &mut [Mat<T>; 2]) {
        let (rows, width) = (a.nrows(), tau.len());
        let mut t = self.t.get_mut(..width, ..width);
        t.rb_mut().fill(T::zero());
        let v = self.v.get_mut(..rows, ..width);
        factor_recursively(a, tau, v, t, &mut self.products);
        let block = BlockReflector { v: self.v.get(..rows, ..width), t: self.t.get(..width, ..width) };
        (block, &mut self.products)
    }
}

impl<'a, T: Scalar> BlockReflector<'a, T> {
    /// Multiplies `c` from the left by the block, or by its adjoint.
    pub(crate) fn apply_left(
        self,
        threads: Threads<'_>,
        is_adjoint: bool,
        c: MatMut<'_, T>,
        products: &mut [Mat<T>; 2],
    ) {
        let (rows, columns, width) = (c.nrows(), c.ncols(), self.v.ncols());
        if columns == 0 || width == 0 {
            return;
        }
        let [first, second] = products.each_mut().map(|product| product.get_mut(..width, ..columns));
        let operations = 2 * rows * columns * width;
        threads.by_columns(columns, operations, (c, first, second), |_, (c, mut first, mut second), _| {
            product(first.rb_mut(), T::one(), adjoint(self.v), c.rb());
            match is_adjoint {
                true => product(second.rb_mut(), T::one(), adjoint(self.t), first.rb()),
                false => product(second.rb_mut(), T::one(), self.t, first.rb()),
            }
            add_product(c, -T::one(), self.v, second.rb());
        });
    }

    /// Multiplies `c` from the right by the block, or by its adjoint.
    pub(crate) fn apply_right(
        self,
        threads: Threads<'_>,
        is_adjoint: bool,
        c: MatMut<'_, T>,
        products: &mut [Mat<T>; 2],
    ) {
        let (rows, columns, width) = (c.nrows(), c.ncols(), self.v.ncols());
        if rows == 0 || width == 0 {
            return;
        }
        let [first, second] = products.each_mut().map(|product| product.get_mut(..width, ..rows));
        let operations = 2 * rows * columns * width;
        threads.by_columns(rows, operations, (c.transpose_mut(), first, second), |_, parts, _| {
            let (c, first, second) = parts;
            let (c, mut first, mut second) =
                (c.transpose_mut(), first.transpose_mut(), second.transpose_mut());
            product(first.rb_mut(), T::one(), c.rb(), self.v);
            match is_adjoint {
                true => product(second.rb_mut(), T::one(), first.rb(), adjoint(self.t)),
                false => product(second.rb_mut(), T::one(), first.rb(), self.t),
            }
            add_product(c, -T::one(), second.rb(), adjoint(self.v));
        });
    }

    /// Stores the first columns of the block, as many as it has reflectors, in `q`.
    pub(crate) fn first_columns(self, mut q: MatMut<'_, T>, products: &mut [Mat<T>; 2]) {
        let width = self.v.ncols();
        let mut coefficients = products[0].get_mut(..width, ..width);
        product(coefficients.rb_mut(), T::one(), self.t, adjoint(self.v.get(..width, ..)));
        product(q.rb_mut(), -T::one(), self.v, coefficients.rb());
        (0..width).for_each(|i| q[(i, i)] += T::one());
    }
}

/// Copies vectors from below the diagonal of `a`, with their leading 1 and zeros above.
fn copy_vectors<T: Scalar>(mut v: MatMut<'_, T>, a: MatRef<'_, T>) {
    for j in 0..v.ncols() {
        let (mut to, from) = (v.rb_mut().col_mut(j), a.col(j));
        to.rb_mut().get_mut(..j).fill(T::zero());
        to[j] = T::one();
        to.get_mut(j + 1..).copy_from(from.get(j + 1..));
    }
}

/// Computes the triangle `t` of a block from the products `gram` of its vectors.
fn triangle<T: Scalar>(mut t: MatMut<'_, T>, gram: MatRef<'_, T>, tau: &[T]) {
    for (j, tau) in tau.iter().enumerate() {
        for i in 0..t.nrows() {
            // −tau·(row `i` of the triangle so far)·(column `j` of the products).
            let mut sum = T::zero();
            (i..j).for_each(|l| sum += t[(i, l)] * gram[(l, j)]);
            t[(i, j)] = match i.cmp(&j) {
                std::cmp::Ordering::Less => -*tau * sum,
                std::cmp::Ordering::Equal => *tau,
                std::cmp::Ordering::Greater => T::zero(),
            };
        }
    }
}

/// Factors a block: the left half, then the right half after the reflections of the left.
fn factor_recursively<T: Scalar>(
    mut a: MatMut<'_, T>,
    tau: &mut [T],
    v: MatMut<'_, T>,
    mut t: MatMut<'_, T>,
    products: &mut [Mat<T>; 2],
) {
    let width = tau.len();
    if width <= leaf::MAX_COLUMNS {
        leaf::factor(a.rb_mut(), tau, t.rb_mut());
        copy_vectors(v, a.rb());
        return;
    }
    let half = (width / 2).next_multiple_of(leaf::MAX_COLUMNS).min(width - 1);
    let rest = width - half;
    let (left_tau, right_tau) = tau.split_at_mut(half);
    let (mut left, mut right) = a.split_at_col_mut(half);
    let (mut v1, mut v2) = v.split_at_col_mut(half);
    factor_recursively(left.rb_mut(), left_tau, v1.rb_mut(), t.rb_mut().get_mut(..half, ..half), products);
    let block = BlockReflector { v: v1.rb(), t: t.rb().get(..half, ..half) };
    block.apply_left(Threads::ONE, true, right.rb_mut(), products);
    v2.rb_mut().get_mut(..half, ..).fill(T::zero());
    let mut v2 = v2.get_mut(half.., ..);
    let right = right.get_mut(half.., ..);
    factor_recursively(right, right_tau, v2.rb_mut(), t.rb_mut().get_mut(half.., half..), products);
    // The upper right part of t: −t₁·(v₁ᴴ·v₂)·t₂.
    let [first, second] = products;
    let (mut first, mut second) = (first.get_mut(..half, ..rest), second.get_mut(..half, ..rest));
    product(first.rb_mut(), T::one(), adjoint(v1.rb().get(half.., ..)), v2.rb());
    product(second.rb_mut(), -T::one(), t.rb().get(..half, ..half), first.rb());
    product(first.rb_mut(), T::one(), second.rb(), t.rb().get(half.., half..));
    t.get_mut(..half, half..).copy_from(first.rb());
}

/// Factorizations without products of blocks.
pub(crate) mod leaf {
    use faer::MatMut;
    use faer::prelude::ReborrowMut;
    use faer::traits::pulp::{Arch, Simd, WithSimd};

    use super::super::scalar::Scalar;
    use super::super::vector;
    use super::reflector;

    /// Maximum number of columns of a matrix that is factored with its triangle `t`.
    pub(crate) const MAX_COLUMNS: usize = 8;

    /// Factors a matrix column by column, and computes the triangle of the block.
    pub(crate) fn factor<T: Scalar>(mut a: MatMut<'_, T>, tau: &mut [T], t: MatMut<'_, T>) {
        let mut columns: [&mut [T]; MAX_COLUMNS] = Default::default();
        for (slot, column) in columns.iter_mut().zip(a.rb_mut().col_iter_mut()) {
            if let Some(column) = column.try_as_col_major_mut() {
                *slot = column.as_slice_mut();
            }
        }
        let columns = &mut columns[..tau.len()];
        Arch::new().dispatch(Panel { columns, tau, t });
    }

    /// The columns of a matrix.
    struct Panel<'a, 'b, T> {
        columns: &'a mut [&'b mut [T]],
        tau: &'a mut [T],
        t: MatMut<'a, T>,
    }

    impl<T: Scalar> WithSimd for Panel<'_, '_, T> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let Panel { columns, tau, mut t } = self;
            for j in 0..tau.len() {
                let (left, right) = columns.split_at_mut(j + 1);
                let (head, v) = left[j][j..].split_at_mut(1);
                tau[j] = reflector(simd, &mut head[0], v);
                for column in right {
                    reflect(simd, v, tau[j].conjugate(), &mut column[j..]);
                }
            }
            for (j, tau) in tau.iter().enumerate() {
                let mut products = [T::zero(); MAX_COLUMNS];
                for (product, column) in products.iter_mut().zip(&columns[..j]) {
                    *product =
                        column[j].conjugate() + vector::dot(simd, &column[j + 1..], &columns[j][j + 1..]);
                }
                for i in 0..j {
                    let mut sum = T::zero();
                    (i..j).for_each(|l| sum += t[(i, l)] * products[l]);
                    t[(i, j)] = -*tau * sum;
                }
                t[(j, j)] = *tau;
            }
        }
    }

    /// Factors a small matrix with contiguous columns of `rows` entries.
    pub(crate) fn factor_small<T: Scalar>(a: &mut [T], rows: usize, tau: &mut [T]) {
        Arch::new().dispatch(SmallMatrix { a, rows, tau });
    }

    /// A matrix with contiguous columns of `rows` entries.
    struct SmallMatrix<'a, T> {
        a: &'a mut [T],
        rows: usize,
        tau: &'a mut [T],
    }

    impl<T: Scalar> WithSimd for SmallMatrix<'_, T> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let SmallMatrix { a, rows, tau } = self;
            for (j, tau) in tau.iter_mut().enumerate() {
                let (left, right) = a.split_at_mut((j + 1) * rows);
                let (head, v) = left[j * rows + j..].split_at_mut(1);
                *tau = reflector(simd, &mut head[0], v);
                for column in right.chunks_exact_mut(rows) {
                    reflect(simd, v, tau.conjugate(), &mut column[j..]);
                }
            }
        }
    }

    /// Multiplies a column by `1 − tau·v·vᴴ`, where `v` has a leading 1 that is not stored.
    #[inline(always)]
    pub(crate) fn reflect<S: Simd, T: Scalar>(simd: S, v: &[T], tau: T, column: &mut [T]) {
        let (head, tail) = column.split_at_mut(1);
        let factor = -tau * (head[0] + vector::dot(simd, v, tail));
        head[0] += factor;
        vector::axpy(simd, tail, T::splat(simd, factor), v);
    }
}
