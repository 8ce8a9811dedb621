//! Rank-k updates of symmetric and Hermitian matrices.

use faer::{MatMut, MatRef};
use farcall_ffi::prelude::*;

use super::{Form, scale};
use crate::batch::{self, Entries, EntriesMut};
use crate::lapack::block::{Factor, add_product_to_triangle, adjoint};
use crate::lapack::options::Uplo;
use crate::lapack::scalar::{Scalar, c32, c64};
use crate::threads::Threads;

/// Symmetric rank-k updates `out = alpha·op(a)·op(a)ᵀ + beta·c`, where `op(a)` is `a` or, with `transpose`, its
/// transpose.
///
/// Only the lower or the upper triangle, with the diagonal, is computed; the other triangle is that of `c`.
/// With `beta = 0`, the default, the entries of the triangle do not count.
#[handler(name = "blas_syrk")]
#[signature(
    (a: T[*, p, q], c: T[*, n, n], alpha: f64 = 1.0, beta: f64 = 0.0, lower: bool = true,
     transpose: bool = false)
    -> (out: T[*, n, n] aliases c)
    where T: f32 | f64 | c64 | c128
)]
pub(crate) fn syrk(
    context: &Context,
    a: &AnyBuffer,
    c: &mut InOut<AnyBuffer>,
    alpha: f64,
    beta: f64,
    lower: bool,
    transpose: bool,
) -> Result<()> {
    let update = Update {
        alpha,
        beta,
        lower,
        form: if transpose { Form::Transpose } else { Form::No },
        is_hermitian: false,
    };
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => update.compute::<T>(context, a.typed()?, c.typed_mut()?))
}

/// Hermitian rank-k updates `out = alpha·op(a)·op(a)ᴴ + beta·c`, where `op(a)` is `a` or, with `transpose`, its
/// conjugate transpose. The same as `blas_syrk` for real matrices.
///
/// Only the lower or the upper triangle, with a real diagonal, is computed; the other triangle is that of `c`.
/// With `beta = 0`, the default, the entries of the triangle do not count.
#[handler(name = "blas_herk")]
#[signature(
    (a: T[*, p, q], c: T[*, n, n], alpha: f64 = 1.0, beta: f64 = 0.0, lower: bool = true,
     transpose: bool = false)
    -> (out: T[*, n, n] aliases c)
    where T: f32 | f64 | c64 | c128
)]
pub(crate) fn herk(
    context: &Context,
    a: &AnyBuffer,
    c: &mut InOut<AnyBuffer>,
    alpha: f64,
    beta: f64,
    lower: bool,
    transpose: bool,
) -> Result<()> {
    let update = Update {
        alpha,
        beta,
        lower,
        form: if transpose { Form::Adjoint } else { Form::No },
        is_hermitian: true,
    };
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => update.compute::<T>(context, a.typed()?, c.typed_mut()?))
}

/// Options of an update.
#[derive(Clone, Copy, Debug)]
struct Update {
    alpha: f64,
    beta: f64,
    lower: bool,
    form: Form,
    is_hermitian: bool,
}

impl Update {
    fn compute<T: Scalar>(self, context: &Context, a: &Buffer<T>, c: &mut Buffer<T>) -> Result<()> {
        let [count, n, columns] = batch::matrices("c", c.dims())?;
        ensure!(n == columns, "c has {n}×{columns} matrices, but an update needs square ones");
        let [_, p, q] = batch::matrices("a", a.dims())?;
        batch::expect_dims("a", a.dims(), c.dims(), &[p, q])?;
        let [rows, inner] = self.form.dims([p, q]);
        ensure!(rows == n, "op(a) has {rows} rows, but c has {n}");
        if c.is_empty() {
            return Ok(());
        }
        let alpha = T::of_f64(self.alpha);
        let threads = Threads::from(context);
        let matrices = (Entries::new(a, p * q), EntriesMut::new(c, n * n));
        batch::for_each(
            context,
            count,
            n * n * inner,
            matrices,
            || (),
            |(), (a, c)| {
                for (i, row) in c.chunks_exact_mut(n).enumerate() {
                    scale(if self.lower { &mut row[..=i] } else { &mut row[i..] }, self.beta);
                }
                let a = self.form.of(MatRef::from_row_major_slice(a, p, q));
                let Factor { matrix, conjugated } = a;
                let other = match self.is_hermitian {
                    true if conjugated == faer::Conj::Yes => Factor::from(matrix.transpose()),
                    true => adjoint(matrix),
                    false => Factor { matrix: matrix.transpose(), conjugated },
                };
                let uplo = if self.lower { Uplo::Lower } else { Uplo::Upper };
                add_product_to_triangle(
                    threads,
                    MatMut::from_row_major_slice_mut(c, n, n),
                    uplo,
                    alpha,
                    a,
                    other,
                );
                if self.is_hermitian {
                    (0..n).for_each(|i| c[i * n + i] = T::of_real(c[i * n + i].re()));
                }
            },
        );
        Ok(())
    }
}
