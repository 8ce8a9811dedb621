//! Reduction of a matrix to Hessenberg form, as by LAPACK's `gehrd`: `A = Q·H·Qᴴ`.
//!
//! Large matrices are reduced in panels of columns (Quintana-Ortí and van de Geijn, *Improving the
//! performance of reduction to Hessenberg form*, 2006): a panel needs one product of the trailing matrix with
//! a vector for each of its columns, and the rest are products of matrices.

use crate::lapack::scalar::Scalar;
use faer::prelude::{Reborrow, ReborrowMut};

use super::field::{block, block_mut, multiply, multiply_adjoint, subtract, subtract_adjoint, vectorized};
use super::reflect::{
    BLOCK_REFLECTIONS, extend_factor, form_product, reflect_block_left, reflect_left, reflect_right,
    reflector,
};

/// Maximum number of rows that are reduced one column at a time.
const MAX_UNBLOCKED_ROWS: usize = 96;

/// Memory for reductions of matrices with up to `n` rows.
pub(crate) struct Workspace<T> {
    along: Vec<T>,
    panel: Vec<T>,
    vectors: Vec<T>,
    factor: Vec<T>,
    products: Vec<T>,
}

impl<T> Default for Workspace<T> {
    fn default() -> Self {
        Workspace {
            along: Vec::new(),
            panel: Vec::new(),
            vectors: Vec::new(),
            factor: Vec::new(),
            products: Vec::new(),
        }
    }
}

/// Reduces the rows and columns `low..high` of a column-major `n`×`n` matrix to Hessenberg form. `a` receives
/// `H`, with the vectors of the reflections below its subdiagonal. `tau` receives the `n − 1` coefficients: 0
/// outside the range.
pub(crate) fn reduce<T: Scalar>(
    a: &mut [T],
    n: usize,
    [low, high]: [usize; 2],
    tau: &mut [T],
    work: &mut Workspace<T>,
) {
    tau.fill(T::zero());
    let mut at = low;
    while high - at > MAX_UNBLOCKED_ROWS {
        reduce_panel(a, n, [at, high], &mut tau[at..at + BLOCK_REFLECTIONS], work);
        at += BLOCK_REFLECTIONS;
    }
    work.along.resize(n, T::zero());
    let along = &mut work.along;
    vectorized(
        #[inline(always)]
        || reduce_columns(a, n, [at, high], tau, along),
    );
}

/// Forms the orthogonal factor `Q` of a reduction.
pub(crate) fn form_q<T: Scalar>(
    q: &mut [T],
    n: usize,
    a: &[T],
    [low, high]: [usize; 2],
    tau: &[T],
    work: &mut Workspace<T>,
) {
    let range = [low, high.saturating_sub(1).max(low), high];
    if high - low > MAX_UNBLOCKED_ROWS / 2 {
        let mut memory = [&mut work.vectors, &mut work.factor, &mut work.products].map(std::mem::take);
        form_product(q, n, a, tau, range, &mut memory);
        [work.vectors, work.factor, work.products] = memory;
        return;
    }
    vectorized(
        #[inline(always)]
        || {
            q.fill(T::zero());
            for j in 0..n {
                q[j + j * n] = T::one();
            }
            for j in (range[0]..range[1]).rev() {
                let v = &a[j * n + j + 2..j * n + high];
                reflect_left(&mut q[(j + 1) * n..high * n], n, j + 1, v, tau[j]);
            }
        },
    );
}

/// Reduces columns one by one.
#[inline(always)]
fn reduce_columns<T: Scalar>(a: &mut [T], n: usize, [low, high]: [usize; 2], tau: &mut [T], along: &mut [T]) {
    for j in low..high.saturating_sub(1) {
        let (before, right) = a.split_at_mut((j + 1) * n);
        let (head, tail) = before[j * n + j + 1..j * n + high].split_first_mut().expect("a row remains");
        tau[j] = reflector(head, tail);
        if tau[j] == T::zero() {
            continue;
        }
        reflect_right(&mut right[..(high - j - 1) * n], n, high, tail, tau[j], along);
        reflect_left(right, n, j + 1, tail, tau[j].conjugate());
    }
}

/// Reduces the first columns of the range `low..high`, one for each entry of `tau`.
fn reduce_panel<T: Scalar>(
    a: &mut [T],
    n: usize,
    [low, high]: [usize; 2],
    tau: &mut [T],
    work: &mut Workspace<T>,
) {
    let width = tau.len();
    // The reflections change the rows from `first` to `high`.
    let first = low + 1;
    let rows = high - first;
    let Workspace { panel: y, vectors: v, factor, along, products } = work;
    for (memory, len) in [(&mut *y, high * width), (v, rows * width), (factor, width * width)] {
        memory.clear();
        memory.resize(len, T::zero());
    }
    along.clear();
    along.resize(2 * width, T::zero());
    for j in 0..width {
        let column = low + j;
        update_column(a, n, [column, first, high], j, [y, v, factor], along);
        let (head, tail) =
            a[column * n + column + 1..column * n + high].split_first_mut().expect("a row remains");
        tau[j] = reflector(head, tail);
        v[j + j * rows] = T::one();
        v[j * rows + j + 1..(j + 1) * rows].copy_from_slice(tail);
        // The new columns of `T` and of `Y = A·V·T`.
        let (old, new) = factor.split_at_mut(j * width);
        let reflection = block(v, rows, [j, j], [rows - j, 1]);
        let products = block_mut(new, width, [0, 0], [j, 1]);
        multiply_adjoint(products, block(v, rows, [j, 0], [rows - j, j]), reflection);
        along[..j].copy_from_slice(&new[..j]);
        let (y_old, y_new) = y.split_at_mut(j * high);
        let mut y_column = block_mut(y_new, high, [first, 0], [rows, 1]);
        multiply(y_column.rb_mut(), block(a, n, [first, column + 1], [rows, rows - j]), reflection);
        subtract(
            y_column.rb_mut(),
            block(y_old, high, [first, 0], [rows, j]),
            block(along, j, [0, 0], [j, 1]),
        );
        for row in y_column.col_mut(0).iter_mut() {
            *row *= tau[j];
        }
        extend_factor(old, &mut new[..width], j, tau[j]);
    }
    // The rows of `Y` that no reflection changes from the left.
    products.clear();
    products.resize(first * width, T::zero());
    let mut along = block_mut(products, first, [0, 0], [first, width]);
    let vectors = block(v, rows, [0, 0], [rows, width]);
    // The panel's columns above the reflections still have their original entries.
    multiply(along.rb_mut(), block(a, n, [0, first], [first, rows]), vectors);
    let factor = block(factor, width, [0, 0], [width, width]);
    multiply(block_mut(y, high, [0, 0], [first, width]), along.rb(), factor);
    subtract_adjoint(
        block_mut(a, n, [0, first], [first, rows]),
        block(y, high, [0, 0], [first, width]),
        vectors,
    );
    let (from, right) = (low + width, high - low - width);
    subtract_adjoint(
        block_mut(a, n, [first, from], [rows, right]),
        block(y, high, [first, 0], [rows, width]),
        block(v, rows, [width - 1, 0], [right, width]),
    );
    reflect_block_left(block_mut(a, n, [first, from], [rows, n - from]), vectors, factor, true, products);
}

/// Applies the reflections before `j` of a panel from both sides to the panel's column `j`.
fn update_column<T: Scalar>(
    a: &mut [T],
    n: usize,
    [column, first, high]: [usize; 3],
    j: usize,
    [y, v, factor]: [&[T]; 3],
    along: &mut [T],
) {
    if j == 0 {
        return;
    }
    let rows = high - first;
    let width = along.len() / 2;
    // The row of `V` for this column, conjugated.
    for (l, along) in along[..j].iter_mut().enumerate() {
        *along = v[column - first + l * rows].conjugate();
    }
    let mut x = block_mut(a, n, [first, column], [rows, 1]);
    subtract(x.rb_mut(), block(y, high, [first, 0], [rows, j]), block(along, j, [0, 0], [j, 1]));
    let vectors = block(v, rows, [0, 0], [rows, j]);
    let (products, scaled) = along.split_at_mut(width);
    let mut products = block_mut(products, j, [0, 0], [j, 1]);
    let mut scaled = block_mut(scaled, j, [0, 0], [j, 1]);
    multiply_adjoint(products.rb_mut(), vectors, x.rb());
    multiply_adjoint(scaled.rb_mut(), block(factor, width, [0, 0], [j, j]), products.rb());
    subtract(x, vectors, scaled.rb());
}
