//! Products of reflectors.

use farcall_ffi::{Float, simd};

use super::{Alone, Group, Lanes, zero_if_finite};

/// Multiplies a column by `1 − tau·v·vᴴ`, where `v` has a leading 1 that is not stored.
#[inline(always)]
pub(super) fn reflect<L: Lanes>(v: &[L], tau: L, column: &mut [L]) {
    let (head, tail) = column.split_at_mut(1);
    let mut along = head[0];
    for (v, x) in v.iter().zip(&*tail) {
        along = along.plus(v.conjugate().times(*x));
    }
    let factor = tau.times(along);
    head[0] = head[0].minus(factor);
    for (x, v) in tail.iter_mut().zip(v) {
        *x = x.minus(factor.times(*v));
    }
}

/// Memory for reflectors of matrices.
pub(crate) struct Reflectors<L> {
    vectors: Group<L>,
    tau: Vec<L>,
}

impl<L: Lanes> Reflectors<L> {
    /// Allocates memory for `count` reflectors of matrices with `rows` rows.
    pub(crate) fn new(rows: usize, count: usize) -> Self {
        Reflectors { vectors: Group::new(rows, count), tau: vec![L::ZERO; count] }
    }

    /// Loads reflectors from below the diagonals of matrices with `len` entries. Returns the matrices that
    /// must be processed alone: matrices with infinite or NaN entries.
    fn load(&mut self, matrices: &[L::Element], len: usize, tau: &[L::Element]) -> Alone {
        let (rows, used) = (self.vectors.rows, self.vectors.entries.len());
        let mut alone = Alone::default();
        let is_used = |i: usize| i < used && i % rows > i / rows;
        self.vectors.load(matrices, len, false, |i| is_used(i).then_some(i), &mut alone);
        for ((lane, tau), alone) in tau.chunks_exact(self.tau.len()).enumerate().zip(&mut alone) {
            for (to, tau) in self.tau.iter_mut().zip(tau) {
                to.set(lane, *tau);
                *alone |= zero_if_finite(*tau) != L::Real::ZERO;
            }
        }
        alone
    }

    /// Replaces reflectors by the first columns of their product. `columns` is memory for the products.
    /// Returns the matrices that must be processed alone: matrices with infinite or NaN entries.
    pub(crate) fn generate(
        &mut self,
        matrices: &mut [L::Element],
        tau: &[L::Element],
        columns: &mut Group<L>,
    ) -> Alone {
        let len = columns.entries.len();
        let alone = self.load(matrices, len, tau);
        let Reflectors { vectors, tau } = self;
        let (rows, entries) = (vectors.rows, &mut columns.entries[..]);
        simd::vectorized!(generate(rows, &vectors.entries, tau, entries));
        columns.store(matrices, len, false, Some, &alone);
        alone
    }

    /// Multiplies the matrices `c` by the product of reflectors in `a`, or by its adjoint, from the left or
    /// from the right. `memory` is for the matrices, or for their adjoints if they are multiplied from the
    /// right. Returns the matrices that must be processed alone, because they or their reflectors have
    /// infinite or NaN entries.
    pub(crate) fn multiply(
        &mut self,
        (a, a_len): (&[L::Element], usize),
        tau: &[L::Element],
        c: &mut [L::Element],
        (left, is_adjoint): (bool, bool),
        memory: &mut Group<L>,
    ) -> Alone {
        let mut alone = self.load(a, a_len, tau);
        let Reflectors { vectors, tau } = self;
        let (rows, len) = (vectors.rows, memory.entries.len());
        // (c·h)ᴴ = hᴴ·cᴴ
        let others = len / rows;
        let at = |i: usize| Some(if left { i } else { i / others + i % others * rows });
        memory.load(c, len, !left, at, &mut alone);
        let entries = &mut memory.entries[..];
        simd::vectorized!(multiply(rows, &vectors.entries, tau, entries, left == is_adjoint));
        memory.store(c, len, !left, at, &alone);
        alone
    }
}

#[inline(always)]
fn generate<L: Lanes>(rows: usize, vectors: &[L], tau: &[L], entries: &mut [L]) {
    entries.fill(L::ZERO);
    for (j, column) in entries.chunks_exact_mut(rows).enumerate() {
        column[j] = L::ONE;
    }
    for (j, (tau, vector)) in tau.iter().zip(vectors.chunks_exact(rows)).enumerate().rev() {
        let v = &vector[j + 1..];
        for column in entries.chunks_exact_mut(rows).skip(j) {
            reflect(v, *tau, &mut column[j..]);
        }
    }
}

/// Multiplies from the left by the adjoint of the product, or by the product itself.
#[inline(always)]
fn multiply<L: Lanes>(rows: usize, vectors: &[L], tau: &[L], entries: &mut [L], is_adjoint: bool) {
    for i in 0..tau.len() {
        let j = if is_adjoint { i } else { tau.len() - 1 - i };
        let tau = if is_adjoint { tau[j].conjugate() } else { tau[j] };
        let v = &vectors[j * rows + j + 1..(j + 1) * rows];
        for column in entries.chunks_exact_mut(rows) {
            reflect(v, tau, &mut column[j..]);
        }
    }
}
