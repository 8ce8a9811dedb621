//! Triangular systems (`trsm`), and the factorizations `potrf`, `getrf`, `geqrf` and `orgqr`.

use farcall_ffi::prelude::*;

use crate::lapack::interleaved::Interleave;
use crate::lapack::options::{Diagonal, Side, System, Transpose, Uplo};
use crate::lapack::scalar::{Scalar, c32, c64};
use crate::lapack::{cholesky, lu, qr};

macro_rules! legacy {
    ($($ty:ty, $dtype:ident: $trsm:ident $trsm_target:literal, $potrf:ident $potrf_target:literal,
       $getrf:ident $getrf_target:literal, $geqrf:ident $geqrf_target:literal,
       $orgqr:ident $orgqr_target:literal;)*) => {$(
        /// Solutions of triangular systems: `op(a)·x = alpha·b` if `left` is not 0, otherwise
        /// `x·op(a) = alpha·b`. `transpose` is 0, 1 or 2 for `a`, its transpose or its conjugate transpose.
        #[handler(name = $trsm_target)]
        #[signature(
            (left: s32[], lower: s32[], transpose: s32[], unit_diagonal: s32[], rows: S[], columns: S[],
             batch: B[], alpha: $dtype[], a: $dtype[*, k, k] column_major, b: $dtype[*, m, n] column_major)
            -> (out: $dtype[*, m, n] column_major aliases b)
            where B, S: s32 | s64
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option")]
        pub(crate) fn $trsm(
            context: &Context,
            left: &Buffer<i32, 0>,
            lower: &Buffer<i32, 0>,
            transpose: &Buffer<i32, 0>,
            unit_diagonal: &Buffer<i32, 0>,
            rows: &AnyBuffer,
            columns: &AnyBuffer,
            batch: &AnyBuffer,
            alpha: &Buffer<$ty, 0>,
            a: &Buffer<$ty>,
            b: &mut InOut<Buffer<$ty>>,
        ) -> Result<()> {
            let _ = (rows, columns, batch);
            let options = [left[0], lower[0], transpose[0], unit_diagonal[0]];
            solve(context, options, alpha[0], a, b)
        }

        /// Cholesky factors of positive definite matrices, as from the op of the same name with the suffix
        /// `_ffi`.
        #[handler(name = $potrf_target)]
        #[signature(
            (lower: s32[], batch: B[], order: S[], x: $dtype[*, n, n] column_major)
            -> (out: $dtype[*, n, n] column_major aliases x, info: s32[*])
            where B, S: s32 | s64
        )]
        pub(crate) fn $potrf(
            context: &Context,
            lower: &Buffer<i32, 0>,
            batch: &AnyBuffer,
            order: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (batch, order);
            cholesky::factor_all(context, x, if lower[0] != 0 { b'L' } else { b'U' }, info)
        }

        /// LU factorizations, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $getrf_target)]
        #[signature(
            (batch: B[], rows: S[], columns: S[], x: $dtype[*, m, n] column_major)
            -> (out: $dtype[*, m, n] column_major aliases x, ipiv: s32[*, min(m, n)], info: s32[*])
            where B, S: s32 | s64
        )]
        pub(crate) fn $getrf(
            context: &Context,
            batch: &AnyBuffer,
            rows: &AnyBuffer,
            columns: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            ipiv: &mut Buffer<i32>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (rows, columns, batch);
            lu::factor_all(context, x, ipiv, info)
        }

        /// QR factorizations, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $geqrf_target)]
        #[signature(
            (batch: B[], rows: S[], columns: S[], work_size: S[], x: $dtype[*, m, n] column_major,
             work_len: i64 = 1)
            -> (out: $dtype[*, m, n] column_major aliases x, tau: $dtype[*, min(m, n)], info: s32[*],
                work: $dtype[work_len])
            where B, S: s32 | s64; 0 <= work_len; *: sum
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each size")]
        pub(crate) fn $geqrf(
            context: &Context,
            batch: &AnyBuffer,
            rows: &AnyBuffer,
            columns: &AnyBuffer,
            work_size: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
            work_len: Option<i64>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            let _ = (rows, columns, batch, work_size, work_len);
            info.fill(0);
            work.fill(<$ty as Scalar>::zero());
            qr::factor_all(context, x, tau)
        }

        /// Orthogonal factors, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $orgqr_target)]
        #[signature(
            (batch: B[], rows: S[], columns: S[], reflectors: S[], work_size: S[],
             x: $dtype[*, m, n] column_major, tau: $dtype[*, k], work_len: i64 = 1)
            -> (out: $dtype[*, m, n] column_major aliases x, info: s32[*], work: $dtype[work_len])
            where B, S: s32 | s64; k <= n; n <= m; 0 <= work_len; *: sum
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each size")]
        pub(crate) fn $orgqr(
            context: &Context,
            batch: &AnyBuffer,
            rows: &AnyBuffer,
            columns: &AnyBuffer,
            reflectors: &AnyBuffer,
            work_size: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            tau: &Buffer<$ty>,
            info: &mut Buffer<i32>,
            work_len: Option<i64>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            let _ = (rows, columns, batch, work_size, reflectors, work_len);
            info.fill(0);
            work.fill(<$ty as Scalar>::zero());
            qr::generate_all(context, x, tau)
        }
    )*};
}
legacy! {
    f32, f32: strsm "blas_strsm", spotrf "lapack_spotrf", sgetrf "lapack_sgetrf", sgeqrf "lapack_sgeqrf",
        sorgqr "lapack_sorgqr";
    f64, f64: dtrsm "blas_dtrsm", dpotrf "lapack_dpotrf", dgetrf "lapack_dgetrf", dgeqrf "lapack_dgeqrf",
        dorgqr "lapack_dorgqr";
    c32, c64: ctrsm "blas_ctrsm", cpotrf "lapack_cpotrf", cgetrf "lapack_cgetrf", cgeqrf "lapack_cgeqrf",
        cungqr "lapack_cungqr";
    c64, c128: ztrsm "blas_ztrsm", zpotrf "lapack_zpotrf", zgetrf "lapack_zgetrf", zgeqrf "lapack_zgeqrf",
        zungqr "lapack_zungqr";
}

fn solve<T: Interleave>(
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
