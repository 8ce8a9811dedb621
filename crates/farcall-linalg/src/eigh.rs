//! Eigendecompositions of symmetric matrices.

use faer::traits::ComplexField;
use farcall_ffi::prelude::*;

use crate::batch::{self, Entries, EntriesMut};
use crate::blocks::MIN_SIGN_ENTRY_RATIO;
use crate::blocks::lowering::lower_eigh;
use crate::dense::transpose;
use crate::gradient::eigh::{eigh_jvp, eigh_vjp};
use crate::lapack::options::Uplo;
use crate::lapack::scalar::Scalar;
use crate::lapack::spectral::symmetric::Solver;
use crate::number::Real;

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

fn decompose<T: Real + Scalar + ComplexField<Real = T>>(
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
    let matrices = (Entries::new(x, n * n), EntriesMut::new(w, n), EntriesMut::new(v, n * n));
    let workspace = || (vec![<T as Scalar>::zero(); n * n], Solver::new(n, true, None));
    batch::for_each(context, count, 9 * n * n * n, matrices, workspace, |(columns, solver), (x, w, v)| {
        // The lower triangle of a row-major matrix is the upper one of a column-major matrix.
        columns.copy_from_slice(x);
        if solver.decompose(columns, Uplo::Upper, w).is_none() {
            w.fill(T::of(f64::NAN));
            v.fill(T::of(f64::NAN));
            return;
        }
        for vector in columns.chunks_exact_mut(n) {
            let sign = sign(vector);
            vector.iter_mut().for_each(|entry| *entry *= sign);
        }
        transpose(v, columns, n);
    });
    Ok(())
}

/// Returns the factor for an eigenvector that makes its first large entry positive: 1 or −1.
fn sign<R: Real>(vector: &[R]) -> R {
    let largest = vector.iter().fold(R::ZERO, |largest, entry| largest.max(Float::abs(*entry)));
    let decides = |entry: &&R| Float::abs(**entry) >= R::of(MIN_SIGN_ENTRY_RATIO) * largest;
    match vector.iter().find(decides) {
        Some(entry) if *entry < R::ZERO => -R::ONE,
        _ => R::ONE,
    }
}
