//! Reduction of a Hermitian matrix to tridiagonal form, as by LAPACK's `sytrd` and `hetrd`: `A = Q·T·Qᴴ`,
//! with real `T`.
//!
//! Large matrices are reduced in panels of columns, whose rank-2 updates of the rest are applied at once
//! (Dongarra, Sorensen and Hammarling, *Block reduction of matrices to condensed forms for eigenvalue
//! computations*, LAPACK Working Note 2, 1987).

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use farcall_ffi::Float;

use super::field::{axpy, block, block_mut, dot, multiply_adjoint, subtract, vectorized};
use super::reflect::{BLOCK_REFLECTIONS, reflector};
use crate::lapack::scalar::Scalar;

/// Maximum number of rows that are reduced one column at a time.
const MAX_UNBLOCKED_ROWS: usize = 64;

/// The triangle of a Hermitian matrix that is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Triangle {
    Lower,
    Upper,
}

/// Memory of the reduction.
pub(crate) struct Workspace<T> {
    vectors: Vec<T>,
    products: Vec<T>,
    along: Vec<T>,
}

impl<T> Default for Workspace<T> {
    fn default() -> Self {
        Workspace { vectors: Vec::new(), products: Vec::new(), along: Vec::new() }
    }
}

/// Reduces a Hermitian column-major `n`×`n` matrix. One triangle of `a` is read, and receives the vectors of
/// the reflections, with the diagonal and off-diagonal entries of `T` next to them. The other triangle stays
/// as it is.
pub(crate) fn reduce<T: Scalar>(
    a: &mut [T],
    triangle: Triangle,
    diagonal: &mut [T::Real],
    off_diagonal: &mut [T::Real],
    tau: &mut [T],
    work: &mut Workspace<T>,
) {
    if triangle == Triangle::Lower {
        return reduce_lower(a, diagonal, off_diagonal, tau, work);
    }
    // With rows and columns in reverse order, the upper triangle becomes the lower one, and the reflections
    // of LAPACK's upper form become those of its lower form.
    a.reverse();
    reduce_lower(a, diagonal, off_diagonal, tau, work);
    a.reverse();
    diagonal.reverse();
    off_diagonal.reverse();
    tau.reverse();
}

fn reduce_lower<T: Scalar>(
    a: &mut [T],
    diagonal: &mut [T::Real],
    off_diagonal: &mut [T::Real],
    tau: &mut [T],
    work: &mut Workspace<T>,
) {
    let n = diagonal.len();
    let mut at = 0;
    while n - at > MAX_UNBLOCKED_ROWS {
        reduce_panel(a, n, at, &mut off_diagonal[at..], &mut tau[at..at + BLOCK_REFLECTIONS], work);
        at += BLOCK_REFLECTIONS;
    }
    work.along.clear();
    work.along.resize(n, T::zero());
    let along = &mut work.along;
    vectorized(
        #[inline(always)]
        || reduce_columns(a, n, at, off_diagonal, tau, along),
    );
    for j in 0..n {
        let entry = &mut a[j + j * n];
        *entry = T::of_real(entry.re());
        diagonal[j] = entry.re();
    }
}

/// Reduces the columns from `from` on one by one.
#[inline(always)]
fn reduce_columns<T: Scalar>(
    a: &mut [T],
    n: usize,
    from: usize,
    off_diagonal: &mut [T::Real],
    tau: &mut [T],
    along: &mut [T],
) {
    for j in from..n.saturating_sub(1) {
        let (before, right) = a.split_at_mut((j + 1) * n);
        let column = &mut before[j * n + j + 1..];
        let (head, tail) = column.split_first_mut().expect("a row remains");
        tau[j] = reflector(head, tail);
        off_diagonal[j] = head.re();
        if tau[j] == T::zero() {
            continue;
        }
        let beta = std::mem::replace(head, T::one());
        let w = &mut along[j + 1..n];
        hermitian_product(right, n, j + 1, column, w);
        finish_product(column, w, tau[j]);
        // The rank-2 update of the lower triangle.
        for (l, part) in right.chunks_exact_mut(n).enumerate() {
            let (v, w) = (&column[l..], &w[l..]);
            let (a, b) = (-w[0].conjugate(), -v[0].conjugate());
            for ((x, v), w) in part[j + 1 + l..].iter_mut().zip(v).zip(w) {
                *x += a * *v + b * *w;
            }
        }
        column[0] = beta;
    }
}

/// Computes `w = τ·A·v − ½·τ·(vᴴ·τ·A·v)ᴴ·v` from `w = A·v`, such that `Hᴴ·A·H = A − v·wᴴ − w·vᴴ`.
#[inline(always)]
fn finish_product<T: Scalar>(v: &[T], w: &mut [T], tau: T) {
    w.iter_mut().for_each(|w| *w *= tau);
    let factor = -(tau * dot(w, v)).times(T::Real::of(0.5));
    axpy(factor, v, w);
}

/// Computes the product of a Hermitian matrix and a vector: `w = A·v`. `columns` are the matrix's columns,
/// which begin at row `first`. The lower triangle is read once.
#[inline(always)]
fn hermitian_product<T: Scalar>(columns: &[T], n: usize, first: usize, v: &[T], w: &mut [T]) {
    const COLUMNS: usize = 2;
    w.fill(T::zero());
    let rows = v.len();
    let mut j = 0;
    while j + COLUMNS < rows {
        let (a, b) = (&columns[j * n + first..(j + 1) * n], &columns[(j + 1) * n + first..(j + 2) * n]);
        // The 2×2 block on the diagonal.
        let lower = a[j + 1];
        w[j] += v[j].times(a[j].re()) + lower.conjugate() * v[j + 1];
        w[j + 1] += v[j + 1].times(b[j + 1].re()) + lower * v[j];
        let sums =
            symmetric_columns([&a[j + 2..], &b[j + 2..]], &v[j + 2..], [v[j], v[j + 1]], &mut w[j + 2..]);
        w[j] += sums[0];
        w[j + 1] += sums[1];
        j += COLUMNS;
    }
    for l in j..rows {
        let a = &columns[l * n + first..(l + 1) * n];
        w[l] += v[l].times(a[l].re());
        for i in l + 1..rows {
            w[i] += a[i] * v[l];
            w[l] += a[i].conjugate() * v[i];
        }
    }
}

/// Adds the products of two columns with their factors to `w`. Returns the products of the conjugated columns
/// with `v`.
#[inline(always)]
fn symmetric_columns<T: Scalar>([a, b]: [&[T]; 2], v: &[T], factors: [T; 2], w: &mut [T]) -> [T; 2] {
    const SUMS: usize = 8;
    let len = w.len();
    let (a, b, v) = (&a[..len], &b[..len], &v[..len]);
    let mut sums = [[T::zero(); SUMS]; 2];
    let whole = len / SUMS * SUMS;
    for start in (0..whole).step_by(SUMS) {
        let (a, b) = (&a[start..start + SUMS], &b[start..start + SUMS]);
        let (v, w) = (&v[start..start + SUMS], &mut w[start..start + SUMS]);
        for l in 0..SUMS {
            w[l] += a[l] * factors[0] + b[l] * factors[1];
            sums[0][l] += a[l].conjugate() * v[l];
            sums[1][l] += b[l].conjugate() * v[l];
        }
    }
    let mut total = sums.map(|sums| sums.iter().fold(T::zero(), |total, sum| total + *sum));
    for l in whole..len {
        w[l] += a[l] * factors[0] + b[l] * factors[1];
        total[0] += a[l].conjugate() * v[l];
        total[1] += b[l].conjugate() * v[l];
    }
    total
}

/// Reduces the columns from `from` on, one for each entry of `tau`.
fn reduce_panel<T: Scalar>(
    a: &mut [T],
    n: usize,
    from: usize,
    off_diagonal: &mut [T::Real],
    tau: &mut [T],
    work: &mut Workspace<T>,
) {
    let width = tau.len();
    // The vectors `V` and `W` of `A − V·Wᴴ − W·Vᴴ`, for the rows after the panel's first column.
    let first = from + 1;
    let rows = n - first;
    let Workspace { vectors: v, products: w, along } = work;
    for (memory, len) in [(&mut *v, rows * width), (w, rows * width), (along, 2 * width)] {
        memory.clear();
        memory.resize(len, T::zero());
    }
    for j in 0..width {
        let column = from + j;
        if j > 0 {
            // The panel's earlier reflections change the entries from the diagonal on.
            let x = &mut a[column * n + column..(column + 1) * n];
            vectorized(
                #[inline(always)]
                || {
                    for l in 0..j {
                        let v = &v[l * rows + j - 1..(l + 1) * rows];
                        let w = &w[l * rows + j - 1..(l + 1) * rows];
                        let (a, b) = (-w[0].conjugate(), -v[0].conjugate());
                        for ((x, v), w) in x.iter_mut().zip(v).zip(w) {
                            *x += a * *v + b * *w;
                        }
                    }
                },
            );
        }
        let (before, right) = a.split_at_mut((column + 1) * n);
        let (head, tail) = before[column * n + column + 1..].split_first_mut().expect("a row remains");
        tau[j] = reflector(head, tail);
        off_diagonal[j] = head.re();
        let reflection = &mut v[j * rows + j..(j + 1) * rows];
        reflection[0] = T::one();
        reflection[1..].copy_from_slice(tail);
        let (old, new) = w.split_at_mut(j * rows);
        let product = &mut new[j..rows];
        let reflection = &v[j * rows + j..(j + 1) * rows];
        vectorized(
            #[inline(always)]
            || hermitian_product(right, n, column + 1, reflection, product),
        );
        correct(product, reflection, [v, old], [rows, j], along);
        vectorized(
            #[inline(always)]
            || finish_product(reflection, product, tau[j]),
        );
    }
    let (next, right) = (from + width, n - from - width);
    let v = block(v, rows, [width - 1, 0], [right, width]);
    let w = block(w, rows, [width - 1, 0], [right, width]);
    let mut rest = block_mut(a, n, [next, next], [right, right]);
    rank_2_update(rest.rb_mut(), v, w);
    rank_2_update(rest, w, v);
}

/// Subtracts the terms of a panel's earlier reflections from the product with a vector: `(V·Wᴴ + W·Vᴴ)·v`.
fn correct<T: Scalar>(
    product: &mut [T],
    reflection: &[T],
    [v, w]: [&[T]; 2],
    [rows, j]: [usize; 2],
    along: &mut [T],
) {
    if j == 0 {
        return;
    }
    let size = rows - j;
    let (v, w) = (block(v, rows, [j, 0], [size, j]), block(w, rows, [j, 0], [size, j]));
    let reflection = MatRef::from_column_major_slice(reflection, size, 1);
    let mut product = MatMut::from_column_major_slice_mut(product, size, 1);
    let mut along = MatMut::from_column_major_slice_mut(&mut along[..j], j, 1);
    multiply_adjoint(along.rb_mut(), w, reflection);
    subtract(product.rb_mut(), v, along.rb());
    multiply_adjoint(along.rb_mut(), v, reflection);
    subtract(product, w, along.rb());
}

/// Subtracts `v·wᴴ` from the lower triangle of a matrix.
fn rank_2_update<T: Scalar>(out: MatMut<'_, T>, v: MatRef<'_, T>, w: MatRef<'_, T>) {
    triangular::matmul(
        out,
        BlockStructure::TriangularLower,
        Accum::Add,
        v,
        BlockStructure::Rectangular,
        w.adjoint(),
        BlockStructure::Rectangular,
        T::of_real(-T::Real::ONE),
        Par::Seq,
    );
}
