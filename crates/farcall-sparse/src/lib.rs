//! Sparse matrices as custom calls: a library of ops, written with [`farcall_ffi`] like any third-party
//! library.
//!
//! | ops | results | derivatives |
//! | --- | --- | --- |
//! | `csr_matvec`, `csr_matmul`, and the same for `csc`, `bsr` | products with dense vectors and matrices | first and second order |
//! | `coo_matvec`, `sparse_matmul` | the same for COO | first and second order |
//! | `dense_csr_matmul`, and the same for `csc`, `coo`, `bsr` | products of dense and sparse matrices | first and second order |
//! | `csr_sddmm` | a product of dense matrices at the entries of a pattern | first and second order |
//! | `csr_csr_matmul` | a product of sparse matrices at the entries of a pattern | first and second order |
//! | `csr_add`, `csr_diagonal`, `csr_row_sums` | linear functions of the values | of any order |
//! | `csr_to_dense`, `csr_from_dense`, `sparse_permute` | the same | of any order |
//! | `csr_triangular_solve` | solutions of triangular systems | first and second order |
//! | `csr_to_csc_pattern`, … | index arrays of other formats, sums and products | none |
//! | `cpu_csr_sparse_dense_ffi` | jaxlib's op of this name | none |
//!
//! A matrix consists of values, which may have batch dimensions, and of index arrays, which the whole batch
//! shares. Elements are `f32`, `f64`, `c64` or `c128`, and indices `s32` or `s64`. Indices need not be
//! sorted, and repeated entries add up. Malformed indices are an error that names the first wrong entry.
//!
//! The threads of the host's pool share the rows or entries of a matrix. No result depends on the number of
//! threads.
//!
//! - `products` declares the products, with `bilinear` for the derivatives. `form` checks their operands and
//!   chooses a loop in `compressed`, `coordinates` or `blocks`.
//! - `convert`, `patterns`, `reduce`, `solve` and `matrix_product` contain the other ops with their loops.
//! - `parallel` divides work among threads.
//!
//! farcall's engine includes the ops. `cargo build -p farcall-sparse-library --release` builds
//! `libfarcall_sparse.so`, for any other host of XLA's FFI.

#![forbid(unsafe_code)]

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::ops;

mod bilinear;
mod blocks;
mod compressed;
pub mod convert;
mod coordinates;
mod form;
pub mod jaxlib;
mod malformed;
pub mod matrix_product;
mod number;
mod parallel;
pub mod patterns;
pub mod products;
pub mod reduce;
mod samples;
pub mod solve;
#[cfg(test)]
mod tests;

/// All ops, which the crate `farcall-sparse-library` exports as a shared library.
pub const OPS: &[&OpDescriptor] = ops![
    ..jaxlib::OPS,
    ..products::csr_matmul::OPS,
    ..products::csr_matvec::OPS,
    ..products::csr_sddmm::OPS,
    ..products::csc_matmul::OPS,
    ..products::csc_matvec::OPS,
    ..products::sparse_matmul::OPS,
    ..products::coo_matvec::OPS,
    ..products::bsr_matmul::OPS,
    ..products::bsr_matvec::OPS,
    ..products::dense_csr_matmul::OPS,
    ..products::dense_csc_matmul::OPS,
    ..products::dense_coo_matmul::OPS,
    ..products::dense_bsr_matmul::OPS,
    ..matrix_product::csr_csr_matmul::OPS,
    ..patterns::OPS,
    ..solve::OPS,
    ..convert::OPS,
    ..reduce::OPS,
];
