//! The lowering of a program's products to a BLAS library.

use farcall_ffi::prelude::*;

use super::Form;

/// Minimum number of arithmetic operations of a product that a library computes, for one matrix of a batch:
/// two matrices of 64 rows and columns. The engine's kernels compute smaller products, together with the
/// operations around them.
const MIN_OPERATIONS: i64 = 2 * 64 * 64 * 64;

/// Minimum number of rows, columns and summands of such a product. The memory determines the speed of others.
const MIN_SIZE: i64 = 8;

/// Lowers a large product of matrices to `blas_matmul` if the process uses a BLAS library.
pub(crate) fn lower_product(block: &Block<'_>) -> Result<Lowered> {
    let ([a, b], [out]) = (block.operands(), block.results()) else {
        return Ok(Lowered::skip("a product takes two operands and returns one result"));
    };
    if !matches!(out.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
        return Ok(Lowered::skip(format!("a BLAS library has no products of {}", out.dtype)));
    }
    let library = farcall_lapack::path().map_err(|error| Error::failed_precondition(error.to_string()))?;
    let Some(_) = library else { return Ok(Lowered::skip("the process uses no BLAS library")) };
    let ([.., p, q], [.., r, s], [.., m, n]) = (a.dims, b.dims, out.dims) else {
        return Ok(Lowered::skip("a product takes and returns matrices"));
    };
    let [_, k] = block.option::<Form>("transpose_a")?.dims([*p, *q]);
    let sizes = [*m, *n, k];
    let operations = sizes.iter().fold(2i64, |product, size| product.saturating_mul(*size));
    if operations < MIN_OPERATIONS || sizes.iter().any(|size| *size < MIN_SIZE) {
        return Ok(Lowered::skip(format!("the product of {m}×{k} and {k}×{n} matrices is small")));
    }
    if [p, q, r, s].iter().any(|size| i32::try_from(**size).is_err()) {
        return Ok(Lowered::skip("a BLAS library has 32-bit sizes"));
    }
    Ok(TargetCall::new("blas_matmul").into())
}
