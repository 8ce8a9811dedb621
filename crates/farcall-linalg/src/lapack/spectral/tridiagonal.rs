//! Reduction of a Hermitian matrix to tridiagonal form, as by LAPACK's `sytrd` and `hetrd`: `A = Q·T·Qᴴ`,
//! with real `T`.
//!
//! Large matrices are reduced in panels of columns, whose rank-2 updates of the rest are applied at once
//! (Dongarra, Sorensen and Hammarling, *Block reduction of matrices to condensed forms for eigenvalue
//! computations*, LAPACK Working Note 2, 1987).

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::{Arch, Simd, WithSimd};
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
    reduce_columns(a, n, at, off_diagonal, tau, along);
    for j in 0..n {
        let entry = &mut a[j + j * n];
        *entry = T::of_real(entry.re());
        diagonal[j] = entry.re();
    }
}

/// Reduces the columns from `from` on one by one.
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
        Arch::new().dispatch(HermitianProduct { columns: right, n, first: j + 1, v: column, w });
        vectorized(
            #[inline(always)]
            || {
                finish_product(column, w, tau[j]);
                // The rank-2 update of the lower triangle.
                for (l, part) in right.chunks_exact_mut(n).enumerate() {
                    let (v, w) = (&column[l..], &w[l..]);
                    let (a, b) = (-w[0].conjugate(), -v[0].conjugate());
                    for ((x, v), w) in part[j + 1 + l..].iter_mut().zip(v).zip(w) {
                        *x += a * *v + b * *w;
                    }
                }
            },
        );
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

/// Product of a Hermitian matrix and a vector: `w = A·v`. The lower triangle is read once.
struct HermitianProduct<'a, T> {
    /// Columns of the matrix, which begin at row `first`.
    columns: &'a [T],
    n: usize,
    first: usize,
    v: &'a [T],
    w: &'a mut [T],
}

impl<T: Scalar> WithSimd for HermitianProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let HermitianProduct { columns, n, first, v, w } = self;
        w.fill(T::zero());
        let rows = v.len();
        let mut j = 0;
        while j + 1 < rows {
            let (a, b) = (&columns[j * n + first..(j + 1) * n], &columns[(j + 1) * n + first..(j + 2) * n]);
            // The 2×2 block on the diagonal.
            let lower = a[j + 1];
            w[j] += v[j].times(a[j].re()) + lower.conjugate() * v[j + 1];
            w[j + 1] += v[j + 1].times(b[j + 1].re()) + lower * v[j];
            let (factors, below) = ([v[j], v[j + 1]], j + 2);
            let sums = add_columns(simd, [&a[below..], &b[below..]], factors, &v[below..], &mut w[below..]);
            w[j] += sums[0];
            w[j + 1] += sums[1];
            j += 2;
        }
        if j < rows {
            w[j] += v[j].times(columns[j * n + first + j].re());
        }
    }
}

/// Adds the products of two columns with their factors to `w`. Returns the products of the conjugated columns
/// with `v`.
#[inline(always)]
fn add_columns<T: Scalar, S: Simd>(
    simd: S,
    [a, b]: [&[T]; 2],
    factors: [T; 2],
    v: &[T],
    w: &mut [T],
) -> [T; 2] {
    let factors = [T::splat(simd, factors[0]), T::splat(simd, factors[1])];
    let zero = T::splat(simd, T::zero());
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let ((v, v_rest), (w, w_rest)) = (T::split::<S>(v), T::split_mut::<S>(w));
    // Two sums for each column, since a sum takes several cycles.
    let mut sums = [[zero; 2]; 2];
    let ((a_pairs, a_last), (b_pairs, b_last)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    let ((v_pairs, v_last), (w_pairs, w_last)) = (v.as_chunks::<2>(), w.as_chunks_mut::<2>());
    for (((a, b), v), w) in a_pairs.iter().zip(b_pairs).zip(v_pairs).zip(w_pairs) {
        w[0] = add_vectors::<T, S>(simd, factors, [a[0], b[0], v[0], w[0]], &mut sums[0]);
        w[1] = add_vectors::<T, S>(simd, factors, [a[1], b[1], v[1], w[1]], &mut sums[1]);
    }
    for (((a, b), v), w) in a_last.iter().zip(b_last).zip(v_last).zip(w_last) {
        *w = add_vectors::<T, S>(simd, factors, [*a, *b, *v, *w], &mut sums[0]);
    }
    if !w_rest.is_empty() {
        let (a, b) = (T::load(simd, a_rest), T::load(simd, b_rest));
        let w = add_vectors::<T, S>(
            simd,
            factors,
            [a, b, T::load(simd, v_rest), T::load(simd, w_rest)],
            &mut sums[1],
        );
        T::store(simd, w_rest, w);
    }
    let [[a, b], [other_a, other_b]] = sums;
    [T::sum(simd, T::plus(simd, a, other_a)), T::sum(simd, T::plus(simd, b, other_b))]
}

/// Returns `w + a·factors[0] + b·factors[1]`, and adds `conj(a)·v` and `conj(b)·v` to the sums.
#[inline(always)]
fn add_vectors<T: Scalar, S: Simd>(
    simd: S,
    factors: [T::Vector<S>; 2],
    [a, b, v, w]: [T::Vector<S>; 4],
    sums: &mut [T::Vector<S>; 2],
) -> T::Vector<S> {
    sums[0] = T::conj_mul_add(simd, a, v, sums[0]);
    sums[1] = T::conj_mul_add(simd, b, v, sums[1]);
    T::mul_add(simd, b, factors[1], T::mul_add(simd, a, factors[0], w))
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
        Arch::new().dispatch(HermitianProduct {
            columns: right,
            n,
            first: column + 1,
            v: reflection,
            w: product,
        });
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
