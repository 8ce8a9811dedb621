//! Linear algebra as custom calls: a library of ops, written with [`farcall_ffi`] like anyone else's, on [`faer`].
//!
//! | op | what it computes | element types | derivatives |
//! | --- | --- | --- | --- |
//! | `qr_cpu_custom_call_{f16,bf16,f32,f64}` | QR decompositions, reduced or complete | one each | VJP, JVP |
//! | `eigh_cpu_custom_call_{f32,f64}` | eigenvalues and eigenvectors of symmetric matrices | one each | VJP, JVP |
//! | `qr_vjp`, `qr_jvp`, `eigh_vjp`, `eigh_jvp` | these derivatives | all of them | none |
//!
//! Names, operands and results are those of the custom calls that EXLA emits: no attributes are needed, and the type of `q`
//! says whether a QR decomposition is complete. All ops take any number of batch dimensions, and matrices without rows or
//! columns. Matrices of a batch are shared among the threads of the host's pool; one matrix is the work of one thread, so
//! results do not depend on the number of threads.
//!
//! Signs and order are LAPACK's, as far as LAPACK defines them: `q` and `r` as `geqrf` and `orgqr` compute them, eigenvalues
//! in ascending order as from `syevd`. (EXLA's own handler orders eigenvalues by their absolute values.) Which of an
//! eigenvector and its negative is returned is not LAPACK's choice, but a fixed one.
//!
//! `cargo build -p farcall-linalg --release` builds `libfarcall_linalg.so`, for farcall and for any host of XLA's FFI;
//! `farcall targets --load` lists what each op declares.

#![forbid(unsafe_code)]

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::ops;

mod batch;
pub mod blocks;
mod dense;
mod eigh;
mod gradient;
mod number;
mod qr;

/// The ops of the library, for a registry of the same process.
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

farcall_ffi::library!("farcall_linalg", [..OPS]);
