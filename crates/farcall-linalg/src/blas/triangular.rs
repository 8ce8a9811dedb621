//! Products with triangular matrices, and triangular systems.

use faer::{MatMut, MatRef};
use farcall_ffi::prelude::*;

use super::{Form, scale};
use crate::batch::{self, Entries, EntriesMut};
use crate::lapack::options::{Diagonal, Side, System, Uplo};
use crate::lapack::scalar::{Scalar, c32, c64};
use crate::threads::Threads;

/// Products with triangular matrices: `out = alpha·op(a)·b`, or `out = alpha·b·op(a)` unless `left`.
///
/// `op(a)` is `a`, or its transpose or conjugate transpose (`transpose_a`). Only the lower or upper triangle
/// of `a` counts; with `unit_diagonal`, its diagonal counts as ones.
#[handler(name = "blas_trmm")]
#[signature(
    (a: T[*, k, k], b: T[*, m, n], alpha: f64 = 1.0, left: bool = true, lower: bool = true,
     transpose_a: "no" | "transpose" | "adjoint" = "no", unit_diagonal: bool = false)
    -> (out: T[*, m, n] aliases b)
    where T: f32 | f64 | c64 | c128
)]
#[expect(clippy::too_many_arguments, reason = "an op has a parameter for each operand and attribute")]
pub(crate) fn trmm(
    context: &Context,
    a: &AnyBuffer,
    b: &mut InOut<AnyBuffer>,
    alpha: f64,
    left: bool,
    lower: bool,
    transpose_a: Form,
    unit_diagonal: bool,
) -> Result<()> {
    let system = system(left, lower, transpose_a, unit_diagonal);
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => compute_all::<T>(
        context, a.typed()?, b.typed_mut()?, alpha, system, System::multiply,
    ))
}

/// Solutions of triangular systems: `op(a)·out = alpha·b`, or `out·op(a) = alpha·b` unless `left`.
///
/// The parameters are those of `blas_trmm`. A singular `a` gives infinite entries and NaNs.
#[handler(name = "blas_trsm")]
#[signature(
    (a: T[*, k, k], b: T[*, m, n], alpha: f64 = 1.0, left: bool = true, lower: bool = true,
     transpose_a: "no" | "transpose" | "adjoint" = "no", unit_diagonal: bool = false)
    -> (out: T[*, m, n] aliases b)
    where T: f32 | f64 | c64 | c128
)]
#[expect(clippy::too_many_arguments, reason = "an op has a parameter for each operand and attribute")]
pub(crate) fn trsm(
    context: &Context,
    a: &AnyBuffer,
    b: &mut InOut<AnyBuffer>,
    alpha: f64,
    left: bool,
    lower: bool,
    transpose_a: Form,
    unit_diagonal: bool,
) -> Result<()> {
    let system = system(left, lower, transpose_a, unit_diagonal);
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => compute_all::<T>(
        context, a.typed()?, b.typed_mut()?, alpha, system, System::solve,
    ))
}

fn system(left: bool, lower: bool, form: Form, unit_diagonal: bool) -> System {
    System {
        side: if left { Side::Left } else { Side::Right },
        uplo: if lower { Uplo::Lower } else { Uplo::Upper },
        transpose: form.into(),
        diagonal: if unit_diagonal { Diagonal::Unit } else { Diagonal::Stored },
    }
}

fn compute_all<T: Scalar>(
    context: &Context,
    a: &Buffer<T>,
    b: &mut Buffer<T>,
    alpha: f64,
    system: System,
    compute: fn(System, Threads<'_>, MatRef<'_, T>, MatMut<'_, T>),
) -> Result<()> {
    let [count, m, n] = batch::matrices("b", b.dims())?;
    let order = if system.side == Side::Left { m } else { n };
    batch::expect_dims("a", a.dims(), b.dims(), &[order, order])?;
    if b.is_empty() {
        return Ok(());
    }
    let threads = Threads::from(context);
    let matrices = (Entries::new(a, order * order), EntriesMut::new(b, m * n));
    batch::for_each(
        context,
        count,
        m * n * order,
        matrices,
        || (),
        |(), (a, b)| {
            scale(b, alpha);
            let a = MatRef::from_row_major_slice(a, order, order);
            compute(system, threads, a, MatMut::from_row_major_slice_mut(b, m, n));
        },
    );
    Ok(())
}
