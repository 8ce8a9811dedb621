//! Routines of the BLAS as ops, for row-major matrices: products, rank-k updates, triangular products and
//! solves.
//!
//! | op | result |
//! | --- | --- |
//! | `blas_gemm` | `alpha·op(a)·op(b) + beta·c` |
//! | `blas_matmul` | `op(a)·op(b)` |
//! | `blas_gemv` | `alpha·op(a)·x + beta·y` |
//! | `blas_syrk`, `blas_herk` | a triangle of `alpha·op(a)·op(a)ᵀ + beta·c`; of `alpha·op(a)·op(a)ᴴ + beta·c` |
//! | `blas_trmm` | `alpha·op(a)·b` or `alpha·b·op(a)` with a triangular `a` |
//! | `blas_trsm` | the solution of `op(a)·x = alpha·b` or `x·op(a) = alpha·b` with a triangular `a` |
//!
//! `op(a)` is `a`, its transpose or its conjugate transpose. `alpha` and `beta` are real. With `beta = 0`, the
//! entries of `c` are not read, so they may be NaN. Matrices of a batch are computed by the threads of the
//! host's pool. If the process uses a BLAS library ([`farcall_lapack`]), `blas_gemm` and `blas_matmul` call
//! its `gemm`, and large products of a program become calls of `blas_matmul` ([`lowers_products`]).

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;

use crate::lapack::block::Factor;
use crate::lapack::options::Transpose;
use crate::lapack::scalar::Scalar;

mod gemm;
mod lowering;
mod rank_k;
mod triangular;

/// The ops of this module.
pub const OPS: &[&OpDescriptor] = ops![
    gemm::gemm,
    gemm::gemm_vjp,
    gemm::matmul,
    gemm::gemv,
    rank_k::syrk,
    rank_k::herk,
    triangular::trmm,
    triangular::trsm,
];

/// Returns true if products of a program may become calls of `blas_matmul`: if the process uses a BLAS
/// library, or cannot open the requested one, which the lowering reports.
pub fn lowers_products() -> bool {
    farcall_lapack::path().map_or(true, |path| path.is_some())
}

/// The form in which a matrix is used.
#[derive(FromAttr, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The matrix itself.
    No,
    /// The transpose.
    Transpose,
    /// The conjugate transpose.
    Adjoint,
}

impl Form {
    /// Returns a matrix in this form.
    fn of<T: Scalar>(self, matrix: faer::MatRef<'_, T>) -> Factor<'_, T> {
        match self {
            Form::No => Factor::from(matrix),
            Form::Transpose => Factor::from(matrix.transpose()),
            Form::Adjoint => crate::lapack::block::adjoint(matrix),
        }
    }

    /// Returns the rows and columns of a matrix in this form.
    fn dims<N>(self, [rows, columns]: [N; 2]) -> [N; 2] {
        if self == Form::No { [rows, columns] } else { [columns, rows] }
    }

    /// Returns the BLAS's letter.
    fn letter(self) -> u8 {
        match self {
            Form::No => b'N',
            Form::Transpose => b'T',
            Form::Adjoint => b'C',
        }
    }
}

impl From<Form> for Transpose {
    fn from(form: Form) -> Transpose {
        match form {
            Form::No => Transpose::No,
            Form::Transpose => Transpose::Transposed,
            Form::Adjoint => Transpose::Adjoint,
        }
    }
}

/// Multiplies numbers by `beta`, for an accumulation. Numbers times 0 are 0, also for NaN.
fn scale<T: Scalar>(numbers: &mut [T], beta: f64) {
    if beta == 0.0 {
        numbers.fill(T::zero());
    } else if beta != 1.0 {
        let beta = T::of_f64(beta).re();
        numbers.iter_mut().for_each(|x| *x = x.times(beta));
    }
}
