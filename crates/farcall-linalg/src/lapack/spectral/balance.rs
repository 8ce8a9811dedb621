//! Balancing: permutations that isolate eigenvalues, and a diagonal scaling by powers of two that makes the
//! norms of corresponding rows and columns similar.
//!
//! The scaling compares Euclidean norms, as LAPACK does since version 3.5.0 (James, Langou and Lowery, *On
//! matrix balancing and eigenvector computation*, 2014).

use farcall_ffi::Float;

use super::square::Square;
use crate::lapack::scalar::Scalar;
use crate::number::Real;

/// Maximum number of passes over the rows and columns. A few passes suffice.
const MAX_PASSES: usize = 100;

/// A balanced matrix's transformation.
pub(crate) struct Balance<R> {
    /// Rows and columns whose eigenvalues are not isolated.
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// Scaling factors of the rows `low..high`, and elsewhere the exchanged rows.
    scales: Vec<R>,
    exchanged: Vec<usize>,
}

impl<R: Real> Balance<R> {
    /// Permutes a matrix, and scales it if `scaled` is true.
    pub(crate) fn new<T: Scalar<Real = R>>(mut a: Square<'_, T>, scaled: bool) -> Self {
        let n = a.n;
        let mut balance = Balance { low: 0, high: n, scales: vec![R::ONE; n], exchanged: (0..n).collect() };
        balance.isolate(&mut a);
        if scaled {
            balance.scale(&mut a);
        }
        balance
    }

    /// Moves rows with isolated eigenvalues to the bottom, and columns to the left.
    fn isolate<T: Scalar<Real = R>>(&mut self, a: &mut Square<'_, T>) {
        let zero = T::zero();
        while self.high > 0 {
            let isolated = |i: &usize| (0..self.high).all(|j| j == *i || a[[*i, j]] == zero);
            let Some(row) = (0..self.high).rev().find(isolated) else { break };
            self.high -= 1;
            self.exchanged[self.high] = row;
            exchange(a, row, self.high);
        }
        while self.low < self.high {
            let isolated = |j: &usize| (self.low..self.high).all(|i| i == *j || a[[i, *j]] == zero);
            let Some(column) = (self.low..self.high).find(isolated) else { break };
            self.exchanged[self.low] = column;
            exchange(a, column, self.low);
            self.low += 1;
        }
    }

    /// Scales the rows and columns that are not isolated.
    fn scale<T: Scalar<Real = R>>(&mut self, a: &mut Square<'_, T>) {
        let range = self.low..self.high;
        let (two, half) = (R::of(2.0), R::of(0.5));
        let least = R::MIN_NORMAL / (R::EPSILON * R::of(2.0));
        let bounds = [least * two, R::ONE / (least * two)];
        for _ in 0..MAX_PASSES {
            let mut changed = false;
            for i in range.clone() {
                let mut column = norm(range.clone().map(|l| a[[l, i]]));
                let mut row = norm(range.clone().map(|l| a[[i, l]]));
                let mut largest_in_column = largest((0..self.high).map(|l| a[[l, i]]));
                let mut largest_in_row = largest((self.low..a.n).map(|l| a[[i, l]]));
                if !(column > R::ZERO && row > R::ZERO && (column + row) < R::MAX_FINITE) {
                    continue;
                }
                let (mut factor, before) = (R::ONE, column + row);
                while column < row * half
                    && factor.max(column).max(largest_in_column) < bounds[1]
                    && row.min(largest_in_row) > bounds[0]
                {
                    (factor, column, largest_in_column) =
                        (factor * two, column * two, largest_in_column * two);
                    (row, largest_in_row) = (row * half, largest_in_row * half);
                }
                while column * half >= row
                    && row.max(largest_in_row) < bounds[1]
                    && factor.min(column).min(largest_in_column) > bounds[0]
                {
                    (factor, column, largest_in_column) =
                        (factor * half, column * half, largest_in_column * half);
                    (row, largest_in_row) = (row * two, largest_in_row * two);
                }
                let scale = self.scales[i] * factor;
                let extreme = !(scale > least && scale < R::ONE / least);
                if column + row >= R::of(0.95) * before || extreme {
                    continue;
                }
                self.scales[i] = scale;
                changed = true;
                let inverse = R::ONE / factor;
                (self.low..a.n).for_each(|j| a[[i, j]] = a[[i, j]].times(inverse));
                (0..self.high).for_each(|l| a[[l, i]] = a[[l, i]].times(factor));
            }
            if !changed {
                break;
            }
        }
    }

    /// Transforms eigenvectors of the balanced matrix, or Schur vectors of the permuted matrix, to those of
    /// the matrix: the columns of `v`. Left eigenvectors have the inverse scaling.
    pub(crate) fn restore<T: Scalar<Real = R>>(&self, mut v: Square<'_, T>, left: bool) {
        let n = v.n;
        for i in self.low..self.high {
            let scale = if left { R::ONE / self.scales[i] } else { self.scales[i] };
            if scale != R::ONE {
                (0..n).for_each(|j| v[[i, j]] = v[[i, j]].times(scale));
            }
        }
        for i in (0..self.low).rev().chain(self.high..n) {
            let other = self.exchanged[i];
            if other != i {
                v.entries.chunks_exact_mut(n).for_each(|column| column.swap(i, other));
            }
        }
    }
}

/// Exchanges two rows, and the columns with the same indices.
fn exchange<T: Scalar>(a: &mut Square<'_, T>, i: usize, j: usize) {
    if i == j {
        return;
    }
    let n = a.n;
    (0..n).for_each(|row| a.entries.swap(row + i * n, row + j * n));
    a.entries.chunks_exact_mut(n).for_each(|column| column.swap(i, j));
}

/// Returns the Euclidean norm, without intermediate overflow.
fn norm<T: Scalar>(entries: impl Iterator<Item = T> + Clone) -> T::Real {
    let largest = largest(entries.clone());
    if largest == T::Real::ZERO {
        return largest;
    }
    let sum = entries.fold(T::Real::ZERO, |sum, x| {
        let (re, im) = (x.re() / largest, x.im() / largest);
        sum + re * re + im * im
    });
    largest * sum.sqrt()
}

/// Returns the largest absolute value of real and imaginary parts.
fn largest<T: Scalar>(entries: impl Iterator<Item = T>) -> T::Real {
    entries.fold(T::Real::ZERO, |largest, x| largest.max(x.re().abs()).max(x.im().abs()))
}
