//! Tests of the ops through the SDK's test calls. Elements are small integers, so that all sums are exact.

use farcall_ffi::{Random, Result};

use crate::number::{Index, Scalar};

mod conversions;
mod malformed;
mod patterns;
mod products;
mod solve;

/// A source of random numbers.
struct Numbers {
    random: Random,
    next: u64,
}

impl Numbers {
    fn new(seed: u64) -> Self {
        Numbers { random: Random::new(seed), next: 0 }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next += 1;
        self.random.stream(self.next).next_u32() as usize % limit
    }

    /// Returns numbers from -3 to 3.
    fn numbers<T: Scalar>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| integer(self.below(7) as i64 - 3)).collect()
    }
}

/// Returns an integer as an element.
fn integer<T: Scalar>(value: i64) -> T {
    let ones = (0..value.abs()).fold(T::ZERO, |sum, _| sum.plus(T::ONE));
    if value < 0 { T::ZERO.minus(ones) } else { ones }
}

/// Memory of a result before the call.
fn unwritten<T: Scalar>(count: usize) -> Vec<T> {
    vec![integer(99); count]
}

fn indices<I: Index>(values: &[usize]) -> Vec<I> {
    values.iter().map(|value| I::of(*value)).collect()
}

/// A sparse matrix in all formats but BSR. Some rows are empty, columns are in any order, and entries repeat.
/// In compressed form, the matrix has two entries that belong to no row: the first and the last.
struct Matrix {
    shape: [usize; 2],
    /// Row and column of each entry but these two, row by row.
    entries: Vec<[usize; 2]>,
}

impl Matrix {
    fn random(numbers: &mut Numbers, shape: [usize; 2], count: usize) -> Self {
        let count = if shape.contains(&0) { 0 } else { count };
        let mut entries: Vec<_> =
            (0..count).map(|_| [numbers.below(shape[0]), numbers.below(shape[1])]).collect();
        entries.sort_by_key(|[row, _]| *row);
        Matrix { shape, entries }
    }

    /// Returns indices and starts of the compressed form along the rows.
    fn compressed<I: Index>(&self) -> (Vec<I>, Vec<I>) {
        let columns: Vec<usize> = self.entries.iter().map(|[_, column]| *column).collect();
        let start = |row: usize| 1 + self.entries.iter().filter(|[own, _]| *own < row).count();
        let starts: Vec<usize> = (0..=self.shape[0]).map(start).collect();
        // Indices of the entries that belong to no row are never read.
        (indices(&[&[usize::MAX >> 40], &columns[..], &[77]].concat()), indices(&starts))
    }

    /// Returns `[position of the value, row, column]` of each entry of the compressed form.
    fn terms(&self) -> Vec<[usize; 3]> {
        self.entries.iter().enumerate().map(|(at, [row, column])| [at + 1, *row, *column]).collect()
    }
}

/// Returns the message of a call's error.
fn message(outcome: Result<()>) -> String {
    outcome.expect_err("the call is malformed").message().to_owned()
}
