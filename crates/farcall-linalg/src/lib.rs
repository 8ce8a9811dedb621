//! Linear algebra as custom calls: a library of ops, written with [`farcall_ffi`] like any third-party
//! library, on top of [`faer`].
//!
//! | op | results | element types | derivatives |
//! | --- | --- | --- | --- |
//! | `qr_cpu_custom_call_{f16,bf16,f32,f64}` | QR decompositions, reduced or complete | the one in the op's name | VJP, JVP |
//! | `eigh_cpu_custom_call_{f32,f64}` | eigenvalues and eigenvectors of symmetric matrices | the one in the op's name | VJP, JVP |
//! | `qr_vjp`, `qr_jvp`, `eigh_vjp`, `eigh_jvp` | these derivatives | all | none |
//! | `blas_gemm`, `blas_gemm_vjp`, `blas_gemv`, `blas_syrk`, `blas_herk`, `blas_trmm`, `blas_trsm` | routines of the BLAS ([`blas`]) | `f32` to `c128`; `blas_gemm` also `f16`, `bf16` | VJP of `blas_gemm` |
//! | `LuDecomposition`, `Qr`, `ProductOfElementaryHouseholderReflectors`, `Eigh` | LAPACK's `getrf`, `geqrf`, `orgqr`, `syevd`, in programs that JAX exports for TPUs | `f32` to `c128` | none |
//! | `lapack_*_ffi`, `blas_*trsm_ffi` | LAPACK's routines, as jaxlib's library has them ([`lapack`]) | the one in the op's name | none |
//! | `lapack_*`, `blas_*trsm` | the same, as jaxlib's library had them until 2024 | the one in the op's name | none |
//!
//! Names, operands and results match the custom calls that EXLA emits. No attributes are needed: the type of
//! `q` determines whether a QR decomposition is complete. All ops accept any number of batch dimensions, and
//! matrices without rows or columns. The threads of the host's pool share the matrices of a batch, and the
//! blocks of a large matrix. No result depends on the number of threads. The decomposition of a matrix
//! depends on this matrix alone, and ends without a panic for any numbers.
//!
//! Signs and order are LAPACK's, as far as LAPACK defines them: `q` and `r` as computed by `geqrf` and
//! `orgqr`, eigenvalues in ascending order as from `syevd`. (EXLA's own handler orders eigenvalues by their
//! absolute values.) LAPACK does not define whether an eigenvector or its negative is returned; this library
//! follows a fixed rule.
//!
//! farcall's engine includes the ops. `cargo build -p farcall-linalg-library --release` builds
//! `libfarcall_linalg.so`, for any other host of XLA's FFI.

#![forbid(unsafe_code)]

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::ops;

mod batch;
pub mod blas;
pub mod blocks;
mod dense;
mod eigh;
mod gradient;
pub mod lapack;
mod number;
mod qr;
mod threads;

/// The ops, without LAPACK's routines ([`lapack::OPS`]) and those of the BLAS ([`blas::OPS`]). farcall's engine
/// includes all; the crate `farcall-linalg-library` makes a shared library of them.
pub const OPS: &[&OpDescriptor] = ops![
    qr::qr_f16,
    qr::qr_bf16,
    qr::qr_f32,
    qr::qr_f64,
    eigh::eigh_f32,
    eigh::eigh_f64,
    gradient::qr::qr_vjp,
    gradient::qr::qr_jvp,
    gradient::eigh::eigh_vjp,
    gradient::eigh::eigh_jvp,
];
