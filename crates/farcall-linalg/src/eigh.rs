//! Eigendecompositions of symmetric matrices.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{ColRef, Mat, Par};
use farcall_ffi::prelude::*;

use crate::batch::{self, Entries, EntriesMut};
use crate::blocks::MIN_SIGN_ENTRY_RATIO;
use crate::blocks::lowering::lower_eigh;
use crate::dense;
use crate::gradient::eigh::{eigh_jvp, eigh_vjp};
use crate::number::{Number, Real, scale};

/// Declares the op for an element type.
macro_rules! eigh {
    ($($(#[$meta:meta])* $name:ident, $target:literal, $ty:ident;)*) => {$(
        /// The eigenvalues `w` of symmetric matrices, in ascending order, and eigenvectors, the columns of
        /// `v`: `x·v = v·diag(w)`.
        ///
        /// Only the lower triangle of `x` is read. The columns of `v` are orthonormal. The sign of each
        /// vector is chosen such that its first large entry is positive, where large means at least 0.6 times
        /// as large as the largest entry. The results for a matrix with an infinite or NaN entry are NaN.
        ///
        /// Derivatives hold for symmetric changes of `x`, and exist where all eigenvalues differ.
        #[handler(name = $target)]
        #[signature((x: $ty[*, n, n]) -> (w: $ty[*, n], v: $ty[*, n, n]))]
        #[vjp(backward = eigh_vjp)]
        #[jvp(tangent = eigh_jvp)]
        $(#[$meta])*
        pub(crate) fn $name(context: &Context, x: &Buffer<$ty>, w: &mut Buffer<$ty>, v: &mut Buffer<$ty>) -> Result<()> {
            decompose(context, x, w, v)
        }
    )*};
}
eigh! {
    #[lowers("farcall.eigh", with = lower_eigh)]
    eigh_f32, "eigh_cpu_custom_call_f32", f32;
    eigh_f64, "eigh_cpu_custom_call_f64", f64;
}

fn decompose<T: Number>(
    context: &Context,
    x: &Buffer<T>,
    w: &mut Buffer<T>,
    v: &mut Buffer<T>,
) -> Result<()> {
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x is {x:?}: its matrices are not square");
    batch::expect_dims("w", w.dims(), x.dims(), &[n])?;
    batch::expect_dims("v", v.dims(), x.dims(), &[n, n])?;
    if x.is_empty() {
        return Ok(());
    }
    let mut x = Entries::new(x, n * n);
    let (mut w, mut v) = (EntriesMut::new(w, n), EntriesMut::new(v, n * n));
    let take = |size| (x.take(size), w.take(size), v.take(size));
    batch::in_parallel(context, count, 9 * n * n * n, take, |size, (x, mut w, mut v)| {
        let mut solver = Solver::<T::Real>::new(n);
        for i in 0..size {
            if solver.decompose(x.get(i), w.get(i), v.get(i)).is_none() {
                let nan = T::round(T::Real::of(f64::NAN));
                w.get(i).fill(nan);
                v.get(i).fill(nan);
            }
        }
    });
    Ok(())
}

/// Memory for the decomposition of a matrix.
struct Solver<R: Real> {
    x: Mat<R>,
    values: Diag<R>,
    vectors: Mat<R>,
    scratch: MemBuffer,
}

impl<R: Real> Solver<R> {
    fn new(n: usize) -> Self {
        let scratch =
            self_adjoint_evd_scratch::<R>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
        Solver {
            x: Mat::zeros(n, n),
            values: Diag::zeros(n),
            vectors: Mat::zeros(n, n),
            scratch: MemBuffer::new(scratch),
        }
    }

    /// Decomposes a row-major matrix. Returns `None` if it has no decomposition because an entry is not
    /// finite.
    fn decompose<T: Number>(&mut self, x: &[T], w: &mut [T], v: &mut [T]) -> Option<()> {
        let n = self.x.nrows();
        let lower = x.chunks_exact(n).enumerate().flat_map(|(i, row)| &row[..=i]);
        let [scale, inverse]: [R; 2] = scale(lower.copied())?;
        for (j, column) in self.x.as_mut().col_iter_mut().enumerate() {
            column.iter_mut().enumerate().for_each(|(i, entry)| *entry = x[i * n + j].widen::<R>() * scale);
        }
        self_adjoint_evd(
            self.x.as_ref(),
            self.values.as_mut(),
            Some(self.vectors.as_mut()),
            Par::Seq,
            MemStack::new(&mut self.scratch),
            Default::default(),
        )
        .ok()?;
        let values = self.values.column_vector();
        w.iter_mut().zip(values.iter()).for_each(|(w, value)| *w = T::round(*value * inverse));
        let signs: Vec<R> = self.vectors.col_iter().map(sign).collect();
        dense::write(v, n, |i, j| T::round(self.vectors[(i, j)] * signs[j]));
        Some(())
    }
}

/// Returns the factor for an eigenvector that makes its first large entry positive: 1 or −1.
fn sign<R: Real>(vector: ColRef<'_, R>) -> R {
    let largest = vector.iter().fold(R::ZERO, |largest, entry| largest.max(Float::abs(*entry)));
    let decides = |entry: &&R| Float::abs(**entry) >= R::of(MIN_SIGN_ENTRY_RATIO) * largest;
    match vector.iter().find(decides) {
        Some(entry) if *entry < R::ZERO => -R::ONE,
        _ => R::ONE,
    }
}
