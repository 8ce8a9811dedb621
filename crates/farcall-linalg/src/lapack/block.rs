//! Products of blocks, and triangular systems of blocks, for the blocked algorithms of the other modules.

use faer::linalg::matmul::{matmul_with_conj, triangular};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::{Arch, Simd, WithSimd};
use faer::{Accum, Conj, MatMut, MatRef, Par};

use super::options::Uplo;
use super::scalar::Scalar;
use crate::threads::{MIN_PART_COLUMNS, MIN_PART_OPERATIONS, Split, Threads};

/// Maximum order of a triangular matrix whose system is solved without products of blocks.
const MAX_LEAF_ORDER: usize = 32;

/// Maximum number of right-hand sides of such a system that are copied at once.
const MAX_LEAF_COLUMNS: usize = 64;

/// A factor of a product: a matrix or its complex conjugate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor<'a, T> {
    /// Matrix with any strides.
    pub(crate) matrix: MatRef<'a, T>,
    /// Conjugation of the entries.
    pub(crate) conjugated: Conj,
}

impl<T> Factor<'_, T> {
    /// Returns the transpose.
    pub(crate) fn transpose(self) -> Self {
        Factor { matrix: self.matrix.transpose(), ..self }
    }
}

impl<'a, T: Scalar> From<MatRef<'a, T>> for Factor<'a, T> {
    fn from(matrix: MatRef<'a, T>) -> Self {
        Factor { matrix, conjugated: Conj::No }
    }
}

/// Returns the adjoint (conjugate transpose) of a matrix.
pub(crate) fn adjoint<T: Scalar>(matrix: MatRef<'_, T>) -> Factor<'_, T> {
    Factor { matrix: matrix.transpose(), conjugated: Conj::Yes }
}

/// Stores `alpha·a·b` in `c`.
pub(crate) fn product<'a, T: Scalar>(
    c: MatMut<'_, T>,
    alpha: T,
    a: impl Into<Factor<'a, T>>,
    b: impl Into<Factor<'a, T>>,
) {
    multiply(c, Accum::Replace, alpha, a.into(), b.into());
}

/// Adds `alpha·a·b` to `c`.
pub(crate) fn add_product<'a, T: Scalar>(
    c: MatMut<'_, T>,
    alpha: T,
    a: impl Into<Factor<'a, T>>,
    b: impl Into<Factor<'a, T>>,
) {
    multiply(c, Accum::Add, alpha, a.into(), b.into());
}

/// Adds `alpha·a·b` to `c`. Threads share the rows or the columns of `c`.
pub(crate) fn add_product_on<'a, T: Scalar>(
    threads: Threads<'_>,
    c: MatMut<'_, T>,
    alpha: T,
    a: impl Into<Factor<'a, T>>,
    b: impl Into<Factor<'a, T>>,
) {
    let (a, b) = (a.into(), b.into());
    if c.nrows() > c.ncols() {
        return add_product_by_columns(threads, c.transpose_mut(), alpha, b.transpose(), a.transpose());
    }
    add_product_by_columns(threads, c, alpha, a, b);
}

fn add_product_by_columns<T: Scalar>(
    threads: Threads<'_>,
    c: MatMut<'_, T>,
    alpha: T,
    a: Factor<'_, T>,
    b: Factor<'_, T>,
) {
    let (columns, operations) = (c.ncols(), c.nrows() * c.ncols() * a.matrix.ncols());
    threads.by_columns(columns, operations, c, |start, c, _| {
        let columns = b.matrix.subcols(start, c.ncols());
        multiply(c, Accum::Add, alpha, a, Factor { matrix: columns, ..b });
    });
}

/// The only instance of `faer`'s product for each type.
#[inline(never)]
fn multiply<T: Scalar>(c: MatMut<'_, T>, accum: Accum, alpha: T, a: Factor<'_, T>, b: Factor<'_, T>) {
    if c.nrows() == 0 || c.ncols() == 0 {
        return;
    }
    matmul_with_conj(c, accum, a.matrix, a.conjugated, b.matrix, b.conjugated, alpha, Par::Seq);
}

/// Adds `alpha·a·b` to a triangle of the square matrix `c`, with its diagonal.
pub(crate) fn add_product_to_triangle<T: Scalar>(
    threads: Threads<'_>,
    c: MatMut<'_, T>,
    uplo: Uplo,
    alpha: T,
    a: Factor<'_, T>,
    b: Factor<'_, T>,
) {
    if uplo == Uplo::Upper {
        let (a, b) = (b.transpose(), a.transpose());
        return add_product_to_triangle(threads, c.transpose_mut(), Uplo::Lower, alpha, a, b);
    }
    let n = c.nrows();
    if n <= 2 * MIN_PART_COLUMNS || n * n / 2 * a.matrix.ncols() < 2 * MIN_PART_OPERATIONS {
        return add_product_to_lower(c, alpha, a, b);
    }
    let mut rest = c;
    let parts: Vec<_> = (0..n)
        .step_by(MIN_PART_COLUMNS)
        .map(|start| {
            let part = rest.split(MIN_PART_COLUMNS.min(n - start));
            (start, part.get_mut(start.., ..))
        })
        .collect();
    threads.run(parts, |(start, part)| {
        let width = part.ncols();
        let (square, below) = part.split_at_row_mut(width);
        let rows = |start: usize, count: usize| Factor { matrix: a.matrix.subrows(start, count), ..a };
        let columns = Factor { matrix: b.matrix.subcols(start, width), ..b };
        add_product_to_lower(square, alpha, rows(start, width), columns);
        add_product(below, alpha, rows(start + width, n - start - width), columns);
    });
}

/// Adds `alpha·a·b` to the lower triangle of the square matrix `c`.
#[inline(never)]
fn add_product_to_lower<T: Scalar>(c: MatMut<'_, T>, alpha: T, a: Factor<'_, T>, b: Factor<'_, T>) {
    use triangular::BlockStructure::{Rectangular, TriangularLower};
    let (a, conj_a, b, conj_b) = (a.matrix, a.conjugated, b.matrix, b.conjugated);
    triangular::matmul_with_conj(
        c,
        TriangularLower,
        Accum::Add,
        a,
        Rectangular,
        conj_a,
        b,
        Rectangular,
        conj_b,
        alpha,
        Par::Seq,
    );
}

/// A triangular matrix, of which only the triangle is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle<'a, T> {
    /// Square matrix with any strides.
    pub(crate) matrix: MatRef<'a, T>,
    /// Conjugation of the entries.
    pub(crate) conjugated: bool,
    /// Triangle that is read.
    pub(crate) uplo: Uplo,
    /// True if the diagonal consists of ones that are not stored.
    pub(crate) is_unit: bool,
}

impl<'a, T: Scalar> Triangle<'a, T> {
    /// Returns the lower triangle of a matrix.
    pub(crate) fn lower(matrix: MatRef<'a, T>) -> Self {
        Triangle { matrix, conjugated: false, uplo: Uplo::Lower, is_unit: false }
    }

    /// Returns the upper triangle of a matrix.
    pub(crate) fn upper(matrix: MatRef<'a, T>) -> Self {
        Triangle { matrix, conjugated: false, uplo: Uplo::Upper, is_unit: false }
    }

    /// Returns the triangle with ones on the diagonal.
    pub(crate) fn with_unit_diagonal(self) -> Self {
        Triangle { is_unit: true, ..self }
    }

    /// Returns the transpose.
    pub(crate) fn transpose(self) -> Self {
        let uplo = if self.uplo == Uplo::Lower { Uplo::Upper } else { Uplo::Lower };
        Triangle { matrix: self.matrix.transpose(), uplo, ..self }
    }

    /// Returns the conjugate transpose.
    pub(crate) fn adjoint(self) -> Self {
        Triangle { conjugated: !self.conjugated, ..self.transpose() }
    }

    /// Solves `self·x = b` for `x`, which replaces `b`.
    pub(crate) fn solve_in_place(self, threads: Threads<'_>, b: MatMut<'_, T>) {
        let (n, columns) = (self.matrix.nrows(), b.ncols());
        let operations = n * n / 2 * columns;
        threads.by_columns(columns, operations, b, |_, b, threads| self.solve_columns(threads, b));
    }

    fn solve_columns(self, threads: Threads<'_>, mut b: MatMut<'_, T>) {
        let n = self.matrix.nrows();
        if n <= MAX_LEAF_ORDER {
            return solve_leaf(self, b);
        }
        let half = (n / 2).next_multiple_of(MAX_LEAF_ORDER).min(n - 1);
        let (a11, a12, a21, a22) = self.matrix.split_at(half, half);
        let (first, second) = (Triangle { matrix: a11, ..self }, Triangle { matrix: a22, ..self });
        let conjugated = if self.conjugated { Conj::Yes } else { Conj::No };
        let (mut b1, mut b2) = b.rb_mut().split_at_row_mut(half);
        match self.uplo {
            Uplo::Lower => {
                first.solve_columns(threads, b1.rb_mut());
                add_product_on(threads, b2.rb_mut(), -T::one(), Factor { matrix: a21, conjugated }, b1.rb());
                second.solve_columns(threads, b2);
            }
            Uplo::Upper => {
                second.solve_columns(threads, b2.rb_mut());
                add_product_on(threads, b1.rb_mut(), -T::one(), Factor { matrix: a12, conjugated }, b2.rb());
                first.solve_columns(threads, b1);
            }
        }
    }

    /// Replaces `b` by `self·b`.
    pub(crate) fn multiply_in_place(self, threads: Threads<'_>, b: MatMut<'_, T>) {
        let (n, columns) = (self.matrix.nrows(), b.ncols());
        let operations = n * n / 2 * columns;
        threads.by_columns(columns, operations, b, |_, b, threads| self.multiply_columns(threads, b));
    }

    fn multiply_columns(self, threads: Threads<'_>, mut b: MatMut<'_, T>) {
        let n = self.matrix.nrows();
        if n <= MAX_LEAF_ORDER {
            return multiply_leaf(self, b);
        }
        let half = (n / 2).next_multiple_of(MAX_LEAF_ORDER).min(n - 1);
        let (a11, a12, a21, a22) = self.matrix.split_at(half, half);
        let (first, second) = (Triangle { matrix: a11, ..self }, Triangle { matrix: a22, ..self });
        let conjugated = if self.conjugated { Conj::Yes } else { Conj::No };
        let (mut b1, mut b2) = b.rb_mut().split_at_row_mut(half);
        match self.uplo {
            Uplo::Lower => {
                second.multiply_columns(threads, b2.rb_mut());
                add_product_on(threads, b2, T::one(), Factor { matrix: a21, conjugated }, b1.rb());
                first.multiply_columns(threads, b1);
            }
            Uplo::Upper => {
                first.multiply_columns(threads, b1.rb_mut());
                add_product_on(threads, b1, T::one(), Factor { matrix: a12, conjugated }, b2.rb());
                second.multiply_columns(threads, b2);
            }
        }
    }
}

/// Multiplies by a triangle of at most [`MAX_LEAF_ORDER`] rows.
#[inline(never)]
fn multiply_leaf<T: Scalar>(triangle: Triangle<'_, T>, mut b: MatMut<'_, T>) {
    let n = triangle.matrix.nrows();
    let entry = |i: usize, j: usize| match i == j && triangle.is_unit {
        true => T::one(),
        false => triangle.matrix[(i, j)].conjugate_if(triangle.conjugated),
    };
    for column in b.rb_mut().col_iter_mut() {
        let mut column = column;
        let mut product = |i: usize, others: std::ops::Range<usize>| {
            let mut sum = T::zero();
            others.for_each(|j| sum += entry(i, j) * column[j]);
            column[i] = sum;
        };
        // Each product is stored where no later one reads.
        match triangle.uplo {
            Uplo::Lower => (0..n).rev().for_each(|i| product(i, 0..i + 1)),
            Uplo::Upper => (0..n).for_each(|i| product(i, i..n)),
        }
    }
}

/// A copy of a triangle of at most [`MAX_LEAF_ORDER`] rows, as a lower triangle, with its rows one after the
/// other.
struct Leaf<T> {
    n: usize,
    /// Rows of `n` entries. Entries below the diagonal are negated; entries above the diagonal are not used.
    /// The diagonal has the reciprocals of the triangle's diagonal if all are normal numbers, otherwise the
    /// diagonal.
    rows: Vec<T>,
    is_inverted: bool,
}

impl<T: Scalar> Leaf<T> {
    /// Copies a triangle. The rows of an upper triangle are copied in reverse order.
    fn of(triangle: Triangle<'_, T>) -> Self {
        let n = triangle.matrix.nrows();
        let mut rows = vec![T::zero(); n * n];
        let at = |i: usize| if triangle.uplo == Uplo::Lower { i } else { n - 1 - i };
        let entry = |i: usize, j: usize| triangle.matrix[(at(i), at(j))].conjugate_if(triangle.conjugated);
        let mut is_inverted = true;
        for (i, row) in rows.chunks_exact_mut(n.max(1)).enumerate() {
            row[..i].iter_mut().enumerate().for_each(|(j, x)| *x = -entry(i, j));
            row[i] = if triangle.is_unit { T::one() } else { entry(i, i) };
            is_inverted &= row[i].is_invertible();
        }
        if is_inverted {
            rows.iter_mut().step_by(n + 1).for_each(|d| *d = T::one().over(*d));
        }
        Leaf { n, rows, is_inverted }
    }

    /// Returns the entries of a row up to the diagonal, and the one on the diagonal.
    #[inline(always)]
    fn row(&self, i: usize) -> (&[T], T) {
        let start = i * self.n;
        (&self.rows[start..start + i], self.rows[start + i])
    }

    /// Solves the system if its diagonal cannot be inverted.
    #[cold]
    fn solve_by_division(&self, b: MatMut<'_, T>) {
        for mut x in b.col_iter_mut() {
            for i in 0..self.n {
                let (row, diagonal) = self.row(i);
                let sum = row.iter().enumerate().fold(x[i], |sum, (j, factor)| sum + *factor * x[j]);
                x[i] = sum.over(diagonal);
            }
        }
    }

    /// Solves the system for the vectors from `start` to `start + COUNT` of each row of `b`, which has
    /// `per_row` vectors.
    #[inline(always)]
    fn solve<S: Simd, const COUNT: usize>(
        &self,
        simd: S,
        b: &mut [T::Vector<S>],
        per_row: usize,
        start: usize,
    ) {
        let range = start..start + COUNT;
        for i in 0..self.n {
            let (solved, rest) = b.split_at_mut(i * per_row);
            let Some(row) = rest[range.clone()].first_chunk_mut::<COUNT>() else { return };
            let (factors, diagonal) = self.row(i);
            let mut sums = *row;
            for (factor, x) in factors.iter().zip(solved.chunks_exact(per_row)) {
                let factor = T::splat(simd, *factor);
                let Some(x) = x[range.clone()].first_chunk::<COUNT>() else { return };
                for l in 0..COUNT {
                    sums[l] = T::mul_add(simd, factor, x[l], sums[l]);
                }
            }
            let d = T::splat(simd, diagonal);
            for l in 0..COUNT {
                row[l] = T::product(simd, sums[l], d);
            }
        }
    }
}

/// Solution of a system for right-hand sides, whose entries are in the rows of `b`, one after the other.
struct LeafSolution<'a, T> {
    leaf: &'a Leaf<T>,
    b: &'a mut [T],
}

impl<T: Scalar> WithSimd for LeafSolution<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LeafSolution { leaf, b } = self;
        let width = b.len() / leaf.n;
        // The width is a multiple of the size of a vector.
        let (b, _) = T::split_mut::<S>(b);
        let per_row = b.len() / leaf.n;
        debug_assert!(per_row * size_of::<T::Vector<S>>() == width * size_of::<T>());
        let mut start = 0;
        while per_row - start >= 4 {
            leaf.solve::<S, 4>(simd, b, per_row, start);
            start += 4;
        }
        while start < per_row {
            leaf.solve::<S, 1>(simd, b, per_row, start);
            start += 1;
        }
    }
}

/// Solves a system of at most [`MAX_LEAF_ORDER`] equations.
#[inline(never)]
fn solve_leaf<T: Scalar>(triangle: Triangle<'_, T>, mut b: MatMut<'_, T>) {
    let leaf = Leaf::of(triangle);
    if leaf.n == 0 {
        return;
    }
    if triangle.uplo == Uplo::Upper {
        b = b.reverse_rows_mut();
    }
    if !leaf.is_inverted {
        return leaf.solve_by_division(b);
    }
    let (n, columns) = (leaf.n, b.ncols());
    // A multiple of the size of each vector.
    let width_of = |count: usize| count.next_multiple_of(16);
    let mut rows = vec![T::zero(); n * width_of(columns.min(MAX_LEAF_COLUMNS))];
    for start in (0..columns).step_by(MAX_LEAF_COLUMNS) {
        let count = MAX_LEAF_COLUMNS.min(columns - start);
        let (width, mut b) = (width_of(count), b.rb_mut().subcols_mut(start, count));
        let rows = &mut rows[..n * width];
        if b.col_stride() == 1 {
            for (row, x) in rows.chunks_exact_mut(width).zip(b.rb().row_iter()) {
                row.iter_mut().zip(x.iter()).for_each(|(row, x)| *row = *x);
            }
        } else {
            for (j, column) in b.rb().col_iter().enumerate() {
                rows.chunks_exact_mut(width).zip(column.iter()).for_each(|(row, x)| row[j] = *x);
            }
        }
        Arch::new().dispatch(LeafSolution { leaf: &leaf, b: rows });
        if b.col_stride() == 1 {
            for (row, x) in rows.chunks_exact(width).zip(b.rb_mut().row_iter_mut()) {
                row.iter().zip(x.iter_mut()).for_each(|(row, x)| *x = *row);
            }
        } else {
            for (j, column) in b.rb_mut().col_iter_mut().enumerate() {
                rows.chunks_exact(width).zip(column.iter_mut()).for_each(|(row, x)| *x = row[j]);
            }
        }
    }
}
