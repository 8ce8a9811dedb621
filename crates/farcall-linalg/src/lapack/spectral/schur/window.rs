//! Windows: diagonal blocks whose accumulated transformation is applied to the rest of the matrix as a matrix
//! product.

use faer::prelude::{Reborrow, ReborrowMut};

use super::super::field::{block_mut, multiply, multiply_adjoint};
use super::super::hessenberg;
use super::super::square::Square;
use super::SchurField;

/// Memory of the decomposition.
pub(crate) struct Workspace<T> {
    pub(super) window: Vec<T>,
    pub(super) vectors: Vec<T>,
    pub(super) columns: Vec<T>,
    pub(super) hessenberg: hessenberg::Workspace<T>,
}

impl<T> Default for Workspace<T> {
    fn default() -> Self {
        Workspace {
            window: Vec::new(),
            vectors: Vec::new(),
            columns: Vec::new(),
            hessenberg: Default::default(),
        }
    }
}

/// Multiplies the rows and columns outside of a window by the window's transformation.
pub(super) fn apply<T: SchurField>(
    h: &mut Square<'_, T>,
    z: Option<&mut Square<'_, T>>,
    u: &Square<'_, T>,
    window: [usize; 2],
    active: [usize; 2],
    memory: &mut Vec<T>,
) {
    let size = u.n;
    let u = u.block([0, 0], [size, size]);
    let n = h.n;
    memory.clear();
    memory.resize(size * n, T::zero());
    let right = active[1] - window[1];
    if right > 0 {
        let mut product = block_mut(memory, size, [0, 0], [size, right]);
        let mut block = h.block_mut([window[0], window[1]], [size, right]);
        multiply_adjoint(product.rb_mut(), u, block.rb());
        block.copy_from(product.rb());
    }
    let mut columns = |x: &mut Square<'_, T>, from: usize, rows: usize| {
        if rows > 0 {
            let mut product = block_mut(memory, rows, [0, 0], [rows, size]);
            let mut block = x.block_mut([from, window[0]], [rows, size]);
            multiply(product.rb_mut(), block.rb(), u);
            block.copy_from(product.rb());
        }
    };
    columns(h, active[0], window[0] - active[0]);
    if let Some(z) = z {
        columns(z, 0, z.n);
    }
}
