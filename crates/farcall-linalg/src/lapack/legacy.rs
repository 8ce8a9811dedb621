//! The targets of programs that JAX exported until 2024: the names of LAPACK's routines without the suffix
//! `_ffi`. Such calls pass sizes and options as operands, and workspaces as results.
//!
//! The sizes follow from the shapes of the matrices, so their operands are not read. Workspaces become zeros.
//! These ops have no signatures, because no operand determines the size of a workspace.

use farcall_ffi::prelude::*;

use super::options::{Diagonal, Side, Transpose, Uplo};
use super::scalar::{Scalar, c32, c64};
use super::triangular::System;
use super::{cholesky, lu, qr};

macro_rules! legacy {
    ($($ty:ty: $trsm:ident $trsm_target:literal, $potrf:ident $potrf_target:literal,
       $getrf:ident $getrf_target:literal, $geqrf:ident $geqrf_target:literal,
       $orgqr:ident $orgqr_target:literal;)*) => {$(
        /// Solutions of triangular systems: `op(a)·x = alpha·b` if `left` is not 0, otherwise
        /// `x·op(a) = alpha·b`. `transpose` is 0, 1 or 2 for `a`, its transpose or its conjugate transpose.
        #[handler(name = $trsm_target)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option")]
        pub(crate) fn $trsm(
            context: &Context,
            left: &Buffer<i32, 0>,
            lower: &Buffer<i32, 0>,
            transpose: &Buffer<i32, 0>,
            unit_diagonal: &Buffer<i32, 0>,
            _rows: &Buffer<i32, 0>,
            _columns: &Buffer<i32, 0>,
            _batch: &Buffer<i32, 0>,
            alpha: &Buffer<$ty, 0>,
            a: &Buffer<$ty>,
            b: &mut InOut<Buffer<$ty>>,
        ) -> Result<()> {
            let options = [left[0], lower[0], transpose[0], unit_diagonal[0]];
            solve(context, options, alpha[0], a, b)
        }

        /// Cholesky factors of positive definite matrices, as from the op of the same name with the suffix
        /// `_ffi`.
        #[handler(name = $potrf_target)]
        pub(crate) fn $potrf(
            context: &Context,
            lower: &Buffer<i32, 0>,
            _batch: &Buffer<i32, 0>,
            _order: &Buffer<i32, 0>,
            x: &mut InOut<Buffer<$ty>>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            cholesky::factor_all(context, x, if lower[0] != 0 { b'L' } else { b'U' }, info)
        }

        /// LU factorizations, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $getrf_target)]
        pub(crate) fn $getrf(
            context: &Context,
            _batch: &Buffer<i32, 0>,
            _rows: &Buffer<i32, 0>,
            _columns: &Buffer<i32, 0>,
            x: &mut InOut<Buffer<$ty>>,
            ipiv: &mut Buffer<i32>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            lu::factor_all(context, x, ipiv, info)
        }

        /// QR factorizations, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $geqrf_target)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each size")]
        pub(crate) fn $geqrf(
            context: &Context,
            _batch: &Buffer<i32, 0>,
            _rows: &Buffer<i32, 0>,
            _columns: &Buffer<i32, 0>,
            _work_size: &Buffer<i32, 0>,
            x: &mut InOut<Buffer<$ty>>,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            info.fill(0);
            work.fill(<$ty as Scalar>::zero());
            qr::factor_all(context, x, tau)
        }

        /// Orthogonal factors, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $orgqr_target)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each size")]
        pub(crate) fn $orgqr(
            context: &Context,
            _batch: &Buffer<i32, 0>,
            _rows: &Buffer<i32, 0>,
            _columns: &Buffer<i32, 0>,
            _reflectors: &Buffer<i32, 0>,
            _work_size: &Buffer<i32, 0>,
            x: &mut InOut<Buffer<$ty>>,
            tau: &Buffer<$ty>,
            info: &mut Buffer<i32>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            info.fill(0);
            work.fill(<$ty as Scalar>::zero());
            qr::generate_all(context, x, tau)
        }
    )*};
}
legacy! {
    f32: strsm "blas_strsm", spotrf "lapack_spotrf", sgetrf "lapack_sgetrf", sgeqrf "lapack_sgeqrf",
        sorgqr "lapack_sorgqr";
    f64: dtrsm "blas_dtrsm", dpotrf "lapack_dpotrf", dgetrf "lapack_dgetrf", dgeqrf "lapack_dgeqrf",
        dorgqr "lapack_dorgqr";
    c32: ctrsm "blas_ctrsm", cpotrf "lapack_cpotrf", cgetrf "lapack_cgetrf", cgeqrf "lapack_cgeqrf",
        cungqr "lapack_cungqr";
    c64: ztrsm "blas_ztrsm", zpotrf "lapack_zpotrf", zgetrf "lapack_zgetrf", zgeqrf "lapack_zgeqrf",
        zungqr "lapack_zungqr";
}

fn solve<T: Scalar>(
    context: &Context,
    [left, lower, transpose, unit_diagonal]: [i32; 4],
    alpha: T,
    a: &Buffer<T>,
    b: &mut Buffer<T>,
) -> Result<()> {
    let system = System {
        side: if left != 0 { Side::Left } else { Side::Right },
        uplo: if lower != 0 { Uplo::Lower } else { Uplo::Upper },
        transpose: match transpose {
            0 => Transpose::No,
            1 => Transpose::Transposed,
            2 => Transpose::Adjoint,
            _ => {
                return Err(Error::invalid_argument(format!(
                    "transpose is {transpose}, but must be 0, 1 or 2"
                )));
            }
        },
        diagonal: if unit_diagonal != 0 { Diagonal::Unit } else { Diagonal::Stored },
    };
    system.solve_all(context, a, b, Some(alpha))
}
