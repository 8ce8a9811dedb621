//! The ops of the crate `farcall-sparse` as a shared library, for farcall, XLA and other hosts.
//!
//! The crate `farcall-sparse` itself exports no functions: farcall's engine links the crate for one of its
//! ops, and the functions that a library exports must not be linked into programs.

farcall_ffi::library!(
    "farcall_sparse",
    [
        ..ops::jaxlib::OPS,
        ..ops::products::csr_matmul::OPS,
        ..ops::products::csr_matvec::OPS,
        ..ops::products::csr_sddmm::OPS,
        ..ops::products::csc_matmul::OPS,
        ..ops::products::csc_matvec::OPS,
        ..ops::products::sparse_matmul::OPS,
        ..ops::products::coo_matvec::OPS,
        ..ops::products::bsr_matmul::OPS,
        ..ops::products::bsr_matvec::OPS,
        ..ops::products::dense_csr_matmul::OPS,
        ..ops::products::dense_csc_matmul::OPS,
        ..ops::products::dense_coo_matmul::OPS,
        ..ops::products::dense_bsr_matmul::OPS,
        ..ops::matrix_product::csr_csr_matmul::OPS,
        ..ops::patterns::OPS,
        ..ops::solve::OPS,
        ..ops::convert::OPS,
        ..ops::reduce::OPS,
    ]
);
