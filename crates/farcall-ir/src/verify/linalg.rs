//! Checks the results of linear algebra and Fourier transforms.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn cholesky(cx: &mut Cx<'_>, types: &[Type]) {
    // cholesky_c1
    check(cx, types, Codes::one("cholesky_c1"));
}

pub(super) fn triangular_solve(cx: &mut Cx<'_>, types: &[Type]) {
    // triangular_solve_c4
    check(cx, types, Codes::one("triangular_solve_c4"));
}

pub(super) fn fft(cx: &mut Cx<'_>, types: &[Type]) {
    // fft_c2, fft_c5
    check(cx, types, Codes::two("fft_c5", "fft_c2"));
}
