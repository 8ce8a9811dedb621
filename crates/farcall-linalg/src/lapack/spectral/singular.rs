//! Singular value decompositions: `gesdd` and `gesvd`.
//!
//! Both targets compute the decomposition by divide and conquer. LAPACK's `gesvd` differs in its algorithm,
//! not in its results.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, SvdParams, svd, svd_scratch};
use faer::{Auto, MatMut, Par};
use farcall_ffi::prelude::*;

use super::field::{block, block_mut};
use super::residual::{is_orthonormal, is_product};
use super::scale::Scale;
use crate::batch::{self, EntriesMut};
use crate::lapack::options::SvdMode;
use crate::lapack::scalar::{Scalar, c32, c64, system_routines};

/// Declares the targets for an element type.
macro_rules! svd {
    ($($name:ident, $target:literal, $ty:ty, $real:ty, $dtype:ident, $real_dtype:ident;)*) => {$(
        /// Singular values `s` of matrices, in descending order, and singular vectors: the columns of `u` and
        /// the rows of `vt`, such that `x = u·diag(s)·vt`.
        ///
        /// `mode` is 65 (`A`) for square `u` and `vt`, 83 (`S`) for `min(m, n)` vectors, or 78 (`N`) for
        /// singular values alone; `u` and `vt` are then 0. The contents of `x_out` are not specified. `info`
        /// is 0, or −4 for a matrix with an infinite or NaN entry, or 1 if the iteration does not converge;
        /// the results are then NaN. A call without `columns` and `rows` may have either form of `u` and
        /// `vt`.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, m, n] column_major, mode: u8 = 83, columns: i64 = 0, rows: i64 = 0)
            -> (
                x_out: $dtype[*, m, n] column_major aliases x,
                s: $real_dtype[*, min(m, n)],
                u: $dtype[*, m, max(columns, min(m, n))] column_major,
                vt: $dtype[*, max(rows, min(m, n)), n] column_major,
                info: s32[*],
            )
            where 0 <= columns; columns <= m; 0 <= rows; rows <= n
        )]
        #[expect(clippy::too_many_arguments, reason = "each operand, attribute and result is an argument")]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            mode: u8,
            columns: Option<i64>,
            rows: Option<i64>,
            s: &mut Buffer<$real>,
            u: &mut Buffer<$ty>,
            vt: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            // The sizes of `u` and `vt` imply these attributes, which JAX's calls do not have.
            let _ = (columns, rows);
            decompose_all(context, x, mode, s, [u, vt], info)
        }
    )*};
}
svd! {
    sgesdd, "lapack_sgesdd_ffi", f32, f32, f32, f32;
    dgesdd, "lapack_dgesdd_ffi", f64, f64, f64, f64;
    cgesdd, "lapack_cgesdd_ffi", c32, f32, c64, f32;
    zgesdd, "lapack_zgesdd_ffi", c64, f64, c128, f64;
    sgesvd, "lapack_sgesvd_ffi", f32, f32, f32, f32;
    dgesvd, "lapack_dgesvd_ffi", f64, f64, f64, f64;
    cgesvd, "lapack_cgesvd_ffi", c32, f32, c64, f32;
    zgesvd, "lapack_zgesvd_ffi", c64, f64, c128, f64;
}

fn decompose_all<T: Scalar<Real: Element>>(
    context: &Context,
    x: &mut Buffer<T>,
    mode: u8,
    s: &mut Buffer<T::Real>,
    [u, vt]: [&mut Buffer<T>; 2],
    info: &mut Buffer<i32>,
) -> Result<()> {
    ensure!(mode != b'O', "mode is 79 ('O'), but overwriting x with singular vectors is not supported");
    let (letter, mode) = (mode, SvdMode::decode("mode", mode)?);
    let system = system_routines::<T>()?;
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let ([_, _, columns], [_, rows, _]) =
        (batch::matrices("u", u.dims())?, batch::matrices("vt", vt.dims())?);
    let k = m.min(n);
    match mode {
        SvdMode::Full => ensure!(
            columns == m && rows == n,
            "u has {columns} columns and vt has {rows} rows, but mode 65 ('A') needs {m} and {n}"
        ),
        SvdMode::Thin => ensure!(
            columns == k && rows == k,
            "u has {columns} columns and vt has {rows} rows, but mode 83 ('S') needs {k}"
        ),
        SvdMode::Values => {}
    }
    batch::expect_dims("s", s.dims(), x.dims(), &[k])?;
    batch::expect_dims("u", u.dims(), x.dims(), &[m, columns])?;
    batch::expect_dims("vt", vt.dims(), x.dims(), &[rows, n])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    if count == 0 || k == 0 {
        info.fill(0);
        set_identity(u, m, columns);
        set_identity(vt, rows, n);
        return Ok(());
    }
    let operations = 10usize.saturating_mul(m).saturating_mul(n).saturating_mul(k);
    let matrices = (
        EntriesMut::new(x, m * n),
        EntriesMut::new(s, k),
        EntriesMut::new(u, m * columns),
        EntriesMut::new(vt, rows * n),
        EntriesMut::new(info, 1),
    );
    batch::for_each(
        context,
        count,
        operations,
        matrices,
        || (Solver::new(m, n, mode), system.clone()),
        |(solver, system), (x, s, u, vt, info)| {
            info[0] = match system {
                Some(lapack) if Scale::new(x.iter().copied()).is_some() => {
                    lapack.gesdd(letter, [m, n], x, s, u, vt)
                }
                _ => solver.decompose(x, s, u, vt),
            };
            if system.is_some() && mode == SvdMode::Values {
                u.fill(T::zero());
                vt.fill(T::zero());
            }
            if info[0] != 0 {
                let nan = T::Real::of(f64::NAN);
                s.fill(nan);
                u.fill(T::of_parts(nan, nan));
                vt.fill(T::of_parts(nan, nan));
            }
        },
    );
    Ok(())
}

/// Sets matrices of a batch to the identity.
fn set_identity<T: Scalar>(x: &mut [T], rows: usize, columns: usize) {
    x.fill(T::zero());
    for matrix in x.chunks_exact_mut((rows * columns).max(1)) {
        (0..rows.min(columns)).for_each(|j| matrix[j + j * rows] = T::one());
    }
}

/// Replaces divide and conquer by the QR algorithm.
fn by_iterations(params: SvdParams) -> SvdParams {
    SvdParams { recursion_threshold: usize::MAX, ..params }
}

/// Memory for the decomposition of a matrix.
pub(crate) struct Solver<T: Scalar> {
    m: usize,
    n: usize,
    mode: SvdMode,
    values: Vec<T>,
    v: Vec<T>,
    scratch: MemBuffer,
}

impl<T: Scalar> Solver<T> {
    pub(crate) fn new(m: usize, n: usize, mode: SvdMode) -> Self {
        let (compute, columns) = match mode {
            SvdMode::Full => (ComputeSvdVectors::Full, n),
            SvdMode::Thin => (ComputeSvdVectors::Thin, m.min(n)),
            SvdMode::Values => (ComputeSvdVectors::No, 0),
        };
        let scratch = |params: SvdParams| svd_scratch::<T>(m, n, compute, compute, Par::Seq, params.into());
        let auto = <SvdParams as Auto<T>>::auto();
        let scratch = scratch(auto).or(scratch(by_iterations(auto)));
        Solver {
            m,
            n,
            mode,
            values: vec![T::zero(); m.min(n)],
            v: vec![T::zero(); n * columns],
            scratch: MemBuffer::new(scratch),
        }
    }

    /// Decomposes a matrix. Returns `info`.
    pub(crate) fn decompose(&mut self, x: &mut [T], s: &mut [T::Real], u: &mut [T], vt: &mut [T]) -> i32 {
        let (m, n) = (self.m, self.n);
        let Some(scale) = Scale::new(x.iter().copied()) else { return -4 };
        scale.apply(x);
        let vectors = self.mode != SvdMode::Values;
        let auto = <SvdParams as Auto<T>>::auto();
        let is_divided = vectors && m.min(n) >= auto.recursion_threshold;
        // Without vectors, the QR algorithm takes less time than the reduction to bidiagonal form.
        let mut is_found = self.decompose_scaled(x, u, if is_divided { auto } else { by_iterations(auto) });
        if is_divided && !(is_found && self.is_accurate(x, u)) {
            is_found = self.decompose_scaled(x, u, by_iterations(auto));
        }
        if !is_found {
            return 1;
        }
        let columns = self.v.len() / n;
        for (s, value) in s.iter_mut().zip(&self.values) {
            *s = scale.restore_real(value.re());
        }
        match vectors {
            true => {
                let v = block(&self.v, n, [0, 0], [n, columns]);
                block_mut(vt, columns, [0, 0], [columns, n]).copy_from(v.adjoint());
            }
            false => {
                u.fill(T::zero());
                vt.fill(T::zero());
            }
        }
        0
    }

    /// Computes singular values, `u` and `v`. Returns false if the iterations do not converge.
    fn decompose_scaled(&mut self, x: &[T], u: &mut [T], params: SvdParams) -> bool {
        let (m, n) = (self.m, self.n);
        let vectors = self.mode != SvdMode::Values;
        // For many rows, faer writes only a part of the columns that complete `u`.
        u.fill(T::zero());
        self.v.fill(T::zero());
        let (columns, u_columns) = (self.v.len() / n, u.len() / m);
        let result = svd(
            block(x, m, [0, 0], [m, n]),
            DiagMut::from_slice_mut(&mut self.values),
            vectors.then(|| MatMut::from_column_major_slice_mut(u, m, u_columns)),
            vectors.then(|| MatMut::from_column_major_slice_mut(&mut self.v, n, columns)),
            Par::Seq,
            MemStack::new(&mut self.scratch),
            params.into(),
        );
        result.is_ok()
    }

    fn is_accurate(&self, x: &[T], u: &[T]) -> bool {
        let (m, n, k) = (self.m, self.n, self.values.len());
        let (u, v) = (block(u, m, [0, 0], [m, k]), block(&self.v, n, [0, 0], [n, k]));
        is_product(block(x, m, [0, 0], [m, n]), u, &self.values, v) && is_orthonormal(u) && is_orthonormal(v)
    }
}
