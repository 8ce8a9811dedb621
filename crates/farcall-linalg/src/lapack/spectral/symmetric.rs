//! Hermitian (real: symmetric) matrices: eigendecompositions (`syevd`, `heevd`, `Eigh`) and reductions to tridiagonal
//! form (`sytrd`, `hetrd`).

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, SelfAdjointEvdParams, self_adjoint_evd, self_adjoint_evd_scratch,
};
use faer::{Auto, MatMut, Par};
use farcall_ffi::prelude::*;
use farcall_ffi::{AnyBuffer, dispatch};
use farcall_lapack::Routines;

use super::field::block;
use super::residual::{estimated_norm, is_orthonormal, is_product};
use super::scale::Scale;
use super::tridiagonal::{self, Triangle};
use crate::batch::{self, Entries, EntriesMut};
use crate::dense::transpose;
use crate::lapack::options::{Job, Uplo};
use crate::lapack::scalar::{Scalar, c32, c64, system_routines};

/// Declares `syevd` and `heevd`.
macro_rules! eigendecomposition {
    ($($name:ident, $target:literal, $ty:ty, $real:ty, $dtype:ident, $real_dtype:ident;)*) => {$(
        /// Eigenvalues `w` of Hermitian matrices, in ascending order, and for `mode` 86 (`V`) orthonormal
        /// eigenvectors: the columns of `x_out`. With `mode` 78 (`N`), the contents of `x_out` are not
        /// specified.
        ///
        /// Only the triangle `uplo` of `x` is read: 76 (`L`) or 85 (`U`). `info` is 0, or 1 for a matrix with
        /// an infinite or NaN entry, whose results are NaN.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, uplo: u8 = 76, mode: u8 = 86)
            -> (x_out: $dtype[*, n, n] column_major aliases x, w: $real_dtype[*, n], info: s32[*])
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            uplo: u8,
            mode: u8,
            w: &mut Buffer<$real>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            decompose_all(context, x, [uplo, mode], w, info)
        }
    )*};
}
eigendecomposition! {
    ssyevd, "lapack_ssyevd_ffi", f32, f32, f32, f32;
    dsyevd, "lapack_dsyevd_ffi", f64, f64, f64, f64;
    cheevd, "lapack_cheevd_ffi", c32, f32, c64, f32;
    zheevd, "lapack_zheevd_ffi", c64, f64, c128, f64;
}

/// Declares `sytrd` and `hetrd`.
macro_rules! tridiagonal_form {
    ($($name:ident, $target:literal, $ty:ty, $real:ty, $dtype:ident, $real_dtype:ident;)*) => {$(
        /// Tridiagonal forms of Hermitian matrices: `x = q·t·qᴴ`. `t` is real, with `diagonal` and
        /// `off_diagonal`.
        ///
        /// Only the triangle `uplo` of `x` is read: 76 (`L`) or 85 (`U`). It receives the entries of `t`, and
        /// the vectors of the reflections whose product is `q`, with the coefficients `tau`. `info` is 0.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, uplo: u8 = 76)
            -> (
                x_out: $dtype[*, n, n] column_major aliases x,
                diagonal: $real_dtype[*, n],
                off_diagonal: $real_dtype[*, n - 1],
                tau: $dtype[*, n - 1],
                info: s32[*],
            )
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            uplo: u8,
            diagonal: &mut Buffer<$real>,
            off_diagonal: &mut Buffer<$real>,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            reduce_all(context, x, uplo, [diagonal, off_diagonal], tau, info)
        }
    )*};
}
tridiagonal_form! {
    ssytrd, "lapack_ssytrd_ffi", f32, f32, f32, f32;
    dsytrd, "lapack_dsytrd_ffi", f64, f64, f64, f64;
    chetrd, "lapack_chetrd_ffi", c32, f32, c64, f32;
    zhetrd, "lapack_zhetrd_ffi", c64, f64, c128, f64;
}

/// Eigenvectors `v` and eigenvalues `w` of row-major Hermitian matrices, in programs that JAX exports for TPUs.
///
/// The eigenvalues ascend, and the eigenvectors are the orthonormal columns of `v`. Only the lower triangle of `x`
/// is read, or only the upper one if `lower` is false. The results for a matrix with an infinite or NaN entry are
/// NaN.
#[handler(name = "Eigh")]
#[signature(
    (x: T[*, n, n], lower: bool = true) -> (v: T[*, n, n], w: real(T)[*, n]) where T: f32 | f64 | c64 | c128
)]
pub(crate) fn eigh_row_major(
    context: &Context,
    x: &AnyBuffer,
    lower: bool,
    v: &mut AnyBuffer,
    w: &mut AnyBuffer,
) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | c32 | c64 =>
        decompose_row_major::<T>(context, x.typed()?, lower, v.typed_mut()?, w.typed_mut()?))
}

/// Decomposes the row-major matrices of a batch.
fn decompose_row_major<T: Scalar<Real: Element>>(
    context: &Context,
    x: &Buffer<T>,
    lower: bool,
    v: &mut Buffer<T>,
    w: &mut Buffer<T::Real>,
) -> Result<()> {
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but an eigendecomposition needs square ones");
    batch::expect_dims("v", v.dims(), x.dims(), &[n, n])?;
    batch::expect_dims("w", w.dims(), x.dims(), &[n])?;
    if x.is_empty() {
        return Ok(());
    }
    let system = system_routines::<T>()?;
    let (letter, uplo) = if lower { (b'L', Uplo::Lower) } else { (b'U', Uplo::Upper) };
    let matrices = (Entries::new(x, n * n), EntriesMut::new(v, n * n), EntriesMut::new(w, n));
    let workspace = || (vec![T::zero(); n * n], Solver::new(n, true, system.clone()));
    let operations = 9 * n.saturating_pow(3);
    batch::for_each(context, count, operations, matrices, workspace, |(columns, solver), (x, v, w)| {
        transpose(columns, x, n);
        solver.solve(columns, [b'V', letter], uplo, w);
        transpose(v, columns, n);
    });
    Ok(())
}

fn decompose_all<T: Scalar<Real: Element>>(
    context: &Context,
    x: &mut Buffer<T>,
    [uplo, mode]: [u8; 2],
    w: &mut Buffer<T::Real>,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let letters = [mode, uplo];
    let (uplo, mode) = (Uplo::decode("uplo", uplo)?, Job::decode("mode", mode)?);
    let system = system_routines::<T>()?;
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but an eigendecomposition needs square ones");
    batch::expect_dims("w", w.dims(), x.dims(), &[n])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    if count == 0 || n == 0 {
        info.fill(0);
        return Ok(());
    }
    let operations = 9 * n.saturating_pow(3);
    let matrices = (EntriesMut::new(x, n * n), EntriesMut::new(w, n), EntriesMut::new(info, 1));
    let vectors = mode == Job::Vectors;
    batch::for_each(
        context,
        count,
        operations,
        matrices,
        || Solver::new(n, vectors, system.clone()),
        |solver, (x, w, info)| info[0] = solver.solve(x, letters, uplo, w),
    );
    Ok(())
}

/// Replaces divide and conquer by the QR algorithm.
fn by_iterations(params: SelfAdjointEvdParams) -> SelfAdjointEvdParams {
    SelfAdjointEvdParams { recursion_threshold: usize::MAX, ..params }
}

/// Memory for the decomposition of a matrix.
pub(crate) struct Solver<T: Scalar> {
    n: usize,
    system: Option<Routines<T>>,
    x: Vec<T>,
    values: Vec<T>,
    vectors: bool,
    scratch: MemBuffer,
}

impl<T: Scalar> Solver<T> {
    pub(crate) fn new(n: usize, vectors: bool, system: Option<Routines<T>>) -> Self {
        let compute = if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
        let scratch =
            |params: SelfAdjointEvdParams| self_adjoint_evd_scratch::<T>(n, compute, Par::Seq, params.into());
        let auto = <SelfAdjointEvdParams as Auto<T>>::auto();
        let scratch = scratch(auto).or(scratch(by_iterations(auto)));
        Solver {
            n,
            system,
            x: vec![T::zero(); n * n],
            values: vec![T::zero(); n],
            vectors,
            scratch: MemBuffer::new(scratch),
        }
    }

    /// Replaces a matrix by its eigenvectors, with the routine of a LAPACK library if there is one. `letters` are
    /// the routine's `jobz` and `uplo`. Returns `info`: 0, or 1 with results of NaN.
    fn solve(&mut self, x: &mut [T], letters: [u8; 2], uplo: Uplo, w: &mut [T::Real]) -> i32 {
        let found = match &mut self.system {
            Some(lapack) if Scale::new(x.iter().copied()).is_some() => {
                let info = lapack.syevd(letters[0], letters[1], self.n, x, w);
                (info == 0).then_some(())
            }
            _ => self.decompose(x, uplo, w),
        };
        if found.is_none() {
            let nan = T::Real::of(f64::NAN);
            w.fill(nan);
            x.fill(T::of_parts(nan, nan));
        }
        i32::from(found.is_none())
    }

    /// Replaces a matrix by its eigenvectors. Returns `None` if an entry is not finite, or if the iterations
    /// do not converge.
    pub(crate) fn decompose(&mut self, a: &mut [T], uplo: Uplo, w: &mut [T::Real]) -> Option<()> {
        let n = self.n;
        for j in 0..n {
            // Imaginary parts on the diagonal do not count.
            self.x[j + j * n] = T::of_real(a[j + j * n].re());
            for i in j + 1..n {
                let entry = match uplo {
                    Uplo::Lower => a[i + j * n],
                    Uplo::Upper => a[j + i * n].conjugate(),
                };
                (self.x[i + j * n], self.x[j + i * n]) = (entry, entry.conjugate());
            }
        }
        let scale = Scale::new(self.x.iter().copied())?;
        scale.apply(&mut self.x);
        let auto = <SelfAdjointEvdParams as Auto<T>>::auto();
        let is_divided = self.vectors && n >= auto.recursion_threshold;
        // Divide and conquer has absolute tolerances, for matrices whose norm is about 1.
        let unit = match is_divided {
            true => Scale::to_unit(estimated_norm(block(&self.x, n, [0, 0], [n, n]))),
            false => Scale::none(),
        };
        unit.apply(&mut self.x);
        let mut found = self.decompose_scaled(a, auto);
        if is_divided {
            let (x, v) = (block(&self.x, n, [0, 0], [n, n]), block(a, n, [0, 0], [n, n]));
            if found.is_none() || !(is_product(x, v, &self.values, v) && is_orthonormal(v)) {
                found = self.decompose_scaled(a, by_iterations(auto));
            }
        }
        found?;
        for (w, value) in w.iter_mut().zip(&self.values) {
            *w = scale.restore_real(unit.restore_real(value.re()));
        }
        Some(())
    }

    /// Decomposes `x`, and writes the eigenvectors to `a`.
    fn decompose_scaled(&mut self, a: &mut [T], params: SelfAdjointEvdParams) -> Option<()> {
        let n = self.n;
        let vectors = self.vectors.then(|| MatMut::from_column_major_slice_mut(a, n, n));
        self_adjoint_evd(
            block(&self.x, n, [0, 0], [n, n]),
            DiagMut::from_slice_mut(&mut self.values),
            vectors,
            Par::Seq,
            MemStack::new(&mut self.scratch),
            params.into(),
        )
        .ok()
    }
}

fn reduce_all<T: Scalar<Real: Element>>(
    context: &Context,
    x: &mut Buffer<T>,
    uplo: u8,
    [diagonal, off_diagonal]: [&mut Buffer<T::Real>; 2],
    tau: &mut Buffer<T>,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let system = system_routines::<T>()?;
    let triangle = match Uplo::decode("uplo", uplo)? {
        Uplo::Lower => Triangle::Lower,
        Uplo::Upper => Triangle::Upper,
    };
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but a tridiagonal form needs square ones");
    ensure!(n > 0, "x has 0×0 matrices, but a tridiagonal form needs at least one row");
    batch::expect_dims("diagonal", diagonal.dims(), x.dims(), &[n])?;
    batch::expect_dims("off_diagonal", off_diagonal.dims(), x.dims(), &[n - 1])?;
    batch::expect_dims("tau", tau.dims(), x.dims(), &[n - 1])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    info.fill(0);
    let operations = 2 * n.saturating_pow(3);
    let matrices = (
        EntriesMut::new(x, n * n),
        EntriesMut::new(diagonal, n),
        EntriesMut::new(off_diagonal, n - 1),
        EntriesMut::new(tau, n - 1),
    );
    batch::for_each(
        context,
        count,
        operations,
        matrices,
        || (tridiagonal::Workspace::default(), system.clone()),
        |(work, system), (x, diagonal, off_diagonal, tau)| {
            if let Some(lapack) = system {
                lapack.sytrd(uplo, n, x, diagonal, off_diagonal, tau);
                return;
            }
            tridiagonal::reduce(x, triangle, diagonal, off_diagonal, tau, work);
        },
    );
    Ok(())
}
