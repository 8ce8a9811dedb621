//! LAPACK's routines as custom calls, under the names and with the operands, results and attributes that
//! jaxlib's CPU library has. Programs that JAX exports for CPUs call these names. Programs that JAX exports
//! for TPUs call `LuDecomposition`, `Qr`, `ProductOfElementaryHouseholderReflectors` and `Eigh`, which compute
//! `getrf`, `geqrf`, `orgqr` and `syevd` on row-major matrices.
//!
//! ```text
//! options   attributes that are letters: side, triangle, transposition, diagonal
//! scalar    the element types s, d, c, z
//! vector    loops over vectors (level 1 of the BLAS)
//! interleaved  many small matrices at once
//! block     products and triangular systems of blocks (level 3 of the BLAS)
//! others    one family of routines each: its ops, then its algorithm
//! ```
//!
//! # Invariants
//!
//! - Matrices of a batch lie one after the other. Each matrix is column-major, except in the four ops of
//!   programs for TPUs.
//! - An op that overwrites an operand declares the result as an alias. The SDK copies the operand if the host
//!   passes different memory.
//! - The results for a matrix depend on this matrix alone, and not on the number of threads. A task has one
//!   workspace for all its matrices.
//! - Algorithms end for all inputs. NaNs and infinite entries give NaNs or a nonzero `info`.
//! - `info` is LAPACK's: 0 for success, a positive number for a failure of the algorithm.

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::ops;

pub(crate) mod block;
mod cholesky;
mod interleaved;
mod legacy;
mod lu;
pub(crate) mod options;
mod pivoted_qr;
pub(crate) mod qr;
pub(crate) mod reflector;
pub(crate) mod scalar;
pub(crate) mod spectral;
pub(crate) mod triangular;
mod tridiagonal;
pub(crate) mod vector;

/// Ops with the names of LAPACK's routines.
pub const OPS: &[&OpDescriptor] = ops![
    cholesky::spotrf,
    cholesky::dpotrf,
    cholesky::cpotrf,
    cholesky::zpotrf,
    lu::sgetrf,
    lu::dgetrf,
    lu::cgetrf,
    lu::zgetrf,
    lu::lu_decomposition,
    qr::sgeqrf,
    qr::dgeqrf,
    qr::cgeqrf,
    qr::zgeqrf,
    qr::sorgqr,
    qr::dorgqr,
    qr::cungqr,
    qr::zungqr,
    qr::sormqr,
    qr::dormqr,
    qr::cunmqr,
    qr::zunmqr,
    qr::qr_row_major,
    qr::reflector_product,
    pivoted_qr::sgeqp3,
    pivoted_qr::dgeqp3,
    pivoted_qr::cgeqp3,
    pivoted_qr::zgeqp3,
    triangular::strsm,
    triangular::dtrsm,
    triangular::ctrsm,
    triangular::ztrsm,
    triangular::strsm_scaled,
    triangular::dtrsm_scaled,
    triangular::ctrsm_scaled,
    triangular::ztrsm_scaled,
    tridiagonal::sgtsv,
    tridiagonal::dgtsv,
    tridiagonal::cgtsv,
    tridiagonal::zgtsv,
    tridiagonal::tridiagonal_solve_perturbed,
    spectral::singular::sgesdd,
    spectral::singular::dgesdd,
    spectral::singular::cgesdd,
    spectral::singular::zgesdd,
    spectral::singular::sgesvd,
    spectral::singular::dgesvd,
    spectral::singular::cgesvd,
    spectral::singular::zgesvd,
    spectral::symmetric::ssyevd,
    spectral::symmetric::dsyevd,
    spectral::symmetric::cheevd,
    spectral::symmetric::zheevd,
    spectral::symmetric::eigh_row_major,
    spectral::symmetric::ssytrd,
    spectral::symmetric::dsytrd,
    spectral::symmetric::chetrd,
    spectral::symmetric::zhetrd,
    spectral::general::sgeev,
    spectral::general::dgeev,
    spectral::general::cgeev,
    spectral::general::zgeev,
    spectral::general::sgees,
    spectral::general::dgees,
    spectral::general::cgees,
    spectral::general::zgees,
    spectral::general::sgehrd,
    spectral::general::dgehrd,
    spectral::general::cgehrd,
    spectral::general::zgehrd,
    legacy::factors::strsm,
    legacy::factors::dtrsm,
    legacy::factors::ctrsm,
    legacy::factors::ztrsm,
    legacy::factors::spotrf,
    legacy::factors::dpotrf,
    legacy::factors::cpotrf,
    legacy::factors::zpotrf,
    legacy::factors::sgetrf,
    legacy::factors::dgetrf,
    legacy::factors::cgetrf,
    legacy::factors::zgetrf,
    legacy::factors::sgeqrf,
    legacy::factors::dgeqrf,
    legacy::factors::cgeqrf,
    legacy::factors::zgeqrf,
    legacy::factors::sorgqr,
    legacy::factors::dorgqr,
    legacy::factors::cungqr,
    legacy::factors::zungqr,
    legacy::spectral::sgesdd,
    legacy::spectral::dgesdd,
    legacy::spectral::cgesdd,
    legacy::spectral::zgesdd,
    legacy::spectral::ssyevd,
    legacy::spectral::dsyevd,
    legacy::spectral::cheevd,
    legacy::spectral::zheevd,
    legacy::spectral::ssytrd,
    legacy::spectral::dsytrd,
    legacy::spectral::chetrd,
    legacy::spectral::zhetrd,
    legacy::spectral::sgeev,
    legacy::spectral::dgeev,
    legacy::spectral::cgeev,
    legacy::spectral::zgeev,
    legacy::spectral::sgees,
    legacy::spectral::dgees,
    legacy::spectral::cgees,
    legacy::spectral::zgees,
    legacy::spectral::sgehrd,
    legacy::spectral::dgehrd,
    legacy::spectral::cgehrd,
    legacy::spectral::zgehrd,
];
