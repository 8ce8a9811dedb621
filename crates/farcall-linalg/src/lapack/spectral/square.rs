//! Square matrices in column-major order.

use crate::lapack::scalar::Scalar;
use std::ops::{Index, IndexMut};

use faer::{MatMut, MatRef};

use super::field::{block, block_mut};

/// A mutable square matrix: `n`² entries in column-major order.
pub(crate) struct Square<'a, T> {
    pub(crate) entries: &'a mut [T],
    pub(crate) n: usize,
}

impl<T> Index<[usize; 2]> for Square<'_, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, [i, j]: [usize; 2]) -> &T {
        &self.entries[i + j * self.n]
    }
}

impl<T> IndexMut<[usize; 2]> for Square<'_, T> {
    #[inline(always)]
    fn index_mut(&mut self, [i, j]: [usize; 2]) -> &mut T {
        &mut self.entries[i + j * self.n]
    }
}

impl<'a, T: Scalar> Square<'a, T> {
    /// Creates a matrix.
    pub(crate) fn new(entries: &'a mut [T], n: usize) -> Self {
        Square { entries, n }
    }

    /// Borrows the matrix.
    pub(crate) fn reborrow(&mut self) -> Square<'_, T> {
        Square { entries: self.entries, n: self.n }
    }

    /// Sets the matrix to the identity.
    pub(crate) fn set_identity(&mut self) {
        self.entries.fill(T::zero());
        for j in 0..self.n {
            self[[j, j]] = T::one();
        }
    }

    /// Returns a block.
    pub(crate) fn block(&self, at: [usize; 2], size: [usize; 2]) -> MatRef<'_, T> {
        block(self.entries, self.n, at, size)
    }

    /// Returns a mutable block.
    pub(crate) fn block_mut(&mut self, at: [usize; 2], size: [usize; 2]) -> MatMut<'_, T> {
        block_mut(self.entries, self.n, at, size)
    }

    /// Returns the first `rows` entries of the columns `j..j + N`.
    #[inline(always)]
    pub(crate) fn columns<const N: usize>(&mut self, j: usize, rows: usize) -> [&mut [T]; N] {
        let n = self.n;
        let mut rest = &mut self.entries[j * n..(j + N) * n];
        std::array::from_fn(|_| {
            let (column, after) = std::mem::take(&mut rest).split_at_mut(n);
            rest = after;
            &mut column[..rows]
        })
    }
}
