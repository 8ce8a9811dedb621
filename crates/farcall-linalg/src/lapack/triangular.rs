//! Triangular systems with several right-hand sides: `trsm`.

use faer::{MatMut, MatRef};
use farcall_ffi::prelude::*;

use super::block::Triangle;
use super::interleaved::{Interleave, Lanes, MAX_SYSTEM_ORDER, TriangularSystems};
use super::options::{Diagonal, Side, System, Transpose, Uplo};
use super::scalar::{Scalar, c32, c64, system_routines};
use crate::batch::{self, Entries, EntriesMut};
use crate::threads::Threads;

macro_rules! trsm {
    ($($name:ident, $target:literal, $scaled:ident, $scaled_target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// Solutions of triangular systems: `y_out` solves `op(x)·y_out = y` for `side` 76 (`L`), and
        /// `y_out·op(x) = y` for 82 (`R`).
        ///
        /// `op(x)` is `x`, its transpose or its conjugate transpose for `trans_x` 78, 84 or 67 (`N`, `T`,
        /// `C`). `uplo`, 76 or 85 (`L`, `U`), is the triangle of `x` that is read. With `diag` 85 (`U`)
        /// instead of 78 (`N`), the diagonal of `x` counts as ones. A singular `x` gives infinite entries and
        /// NaNs.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, k, k] column_major, y: $dtype[*, m, n] column_major,
             side: u8 = 76, uplo: u8 = 76, trans_x: u8 = 78, diag: u8 = 78)
            -> (y_out: $dtype[*, m, n] column_major aliases y)
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &Buffer<$ty>,
            y: &mut InOut<Buffer<$ty>>,
            side: u8,
            uplo: u8,
            trans_x: u8,
            diag: u8,
        ) -> Result<()> {
            System::decode(side, uplo, trans_x, diag)?.solve_all(context, x, y, None)
        }

        /// Solutions of triangular systems as from the op of the same name that starts with `lapack_`, for
        /// `alpha·y` instead of `y`. jaxlib had this form until version 0.5.
        #[handler(name = $scaled_target)]
        #[signature(
            (x: $dtype[*, k, k] column_major, y: $dtype[*, m, n] column_major, alpha: $dtype[],
             side: u8 = 76, uplo: u8 = 76, trans_x: u8 = 78, diag: u8 = 78)
            -> (y_out: $dtype[*, m, n] column_major aliases y)
        )]
        #[expect(clippy::too_many_arguments, reason = "an op has a parameter for each operand and attribute")]
        pub(crate) fn $scaled(
            context: &Context,
            x: &Buffer<$ty>,
            y: &mut InOut<Buffer<$ty>>,
            alpha: &Buffer<$ty, 0>,
            side: u8,
            uplo: u8,
            trans_x: u8,
            diag: u8,
        ) -> Result<()> {
            System::decode(side, uplo, trans_x, diag)?.solve_all(context, x, y, Some(alpha[0]))
        }
    )*};
}
trsm! {
    strsm, "lapack_strsm_ffi", strsm_scaled, "blas_strsm_ffi", f32, f32;
    dtrsm, "lapack_dtrsm_ffi", dtrsm_scaled, "blas_dtrsm_ffi", f64, f64;
    ctrsm, "lapack_ctrsm_ffi", ctrsm_scaled, "blas_ctrsm_ffi", c32, c64;
    ztrsm, "lapack_ztrsm_ffi", ztrsm_scaled, "blas_ztrsm_ffi", c64, c128;
}

impl System {
    fn decode(side: u8, uplo: u8, trans_x: u8, diag: u8) -> Result<System> {
        Ok(System {
            side: Side::decode("side", side)?,
            uplo: Uplo::decode("uplo", uplo)?,
            transpose: Transpose::decode("trans_x", trans_x)?,
            diagonal: Diagonal::decode("diag", diag)?,
        })
    }

    /// Returns LAPACK's letters.
    fn letters(self) -> [u8; 4] {
        let side = if self.side == Side::Left { b'L' } else { b'R' };
        let uplo = if self.uplo == Uplo::Lower { b'L' } else { b'U' };
        let transpose = match self.transpose {
            Transpose::No => b'N',
            Transpose::Transposed => b'T',
            Transpose::Adjoint => b'C',
        };
        [side, uplo, transpose, if self.diagonal == Diagonal::Unit { b'U' } else { b'N' }]
    }

    /// Solves the systems of a batch. Right-hand sides are multiplied by `alpha` first.
    pub(crate) fn solve_all<T: Interleave>(
        self,
        context: &Context,
        x: &Buffer<T>,
        y: &mut Buffer<T>,
        alpha: Option<T>,
    ) -> Result<()> {
        let [count, m, n] = batch::matrices("y", y.dims())?;
        let order = if self.side == Side::Left { m } else { n };
        batch::expect_dims("x", x.dims(), y.dims(), &[order, order])?;
        if y.is_empty() {
            return Ok(());
        }
        let system = system_routines::<T>()?;
        if alpha == Some(T::zero()) {
            // The solution is 0 for every `x`.
            y.fill(T::zero());
            return Ok(());
        }
        let alpha = alpha.filter(|alpha| *alpha != T::one());
        let operations = m * n * order;
        let threads = Threads::from(context);
        let matrices = (Entries::new(x, order * order), EntriesMut::new(y, m * n));
        if m.max(n) <= MAX_SYSTEM_ORDER && system.is_none() {
            self.solve_groups(context, [count, m, n], matrices, alpha);
            return Ok(());
        }
        batch::for_each(
            context,
            count,
            operations,
            matrices,
            || (),
            |(), (x, y)| {
                if let Some(lapack) = &system {
                    return lapack.trsm(self.letters(), [m, n], alpha.unwrap_or(T::one()), x, y);
                }
                scale(y, alpha);
                let x = MatRef::from_column_major_slice(x, order, order);
                self.solve(threads, x, MatMut::from_column_major_slice_mut(y, m, n));
            },
        );
        Ok(())
    }

    /// Solves small systems of a batch, many at once.
    fn solve_groups<T: Interleave>(
        self,
        context: &Context,
        [count, m, n]: [usize; 3],
        matrices: (Entries<'_, T>, EntriesMut<'_, T>),
        alpha: Option<T>,
    ) {
        let (order, others) = if self.side == Side::Left { (m, n) } else { (n, m) };
        let workspace = || TriangularSystems::<T::Lanes>::new(order, others);
        let (width, operations) = (T::Lanes::WIDTH, m * n * order);
        batch::for_each_group(context, count, width, operations, matrices, workspace, |memory, (x, y)| {
            let (x, y) = (x.into_elements(), y.into_elements());
            scale(y, alpha);
            let alone = memory.solve(self, x, y);
            let systems = x.chunks_exact(order * order).zip(y.chunks_exact_mut(m * n)).zip(alone);
            for ((x, y), _) in systems.filter(|(_, alone)| *alone) {
                let x = MatRef::from_column_major_slice(x, order, order);
                self.solve(Threads::ONE, x, MatMut::from_column_major_slice_mut(y, m, n));
            }
        });
    }

    /// Solves a system. The solution replaces `y`.
    pub(crate) fn solve<T: Scalar>(self, threads: Threads<'_>, x: MatRef<'_, T>, y: MatMut<'_, T>) {
        match self.side {
            Side::Left => self.triangle(x).solve_in_place(threads, y),
            // y_out·op(x) = y, so op(x)ᵀ·y_outᵀ = yᵀ.
            Side::Right => self.triangle(x).transpose().solve_in_place(threads, y.transpose_mut()),
        }
    }

    /// Replaces `y` by its product with the triangular matrix.
    pub(crate) fn multiply<T: Scalar>(self, threads: Threads<'_>, x: MatRef<'_, T>, y: MatMut<'_, T>) {
        match self.side {
            Side::Left => self.triangle(x).multiply_in_place(threads, y),
            Side::Right => self.triangle(x).transpose().multiply_in_place(threads, y.transpose_mut()),
        }
    }

    /// Returns `op(x)`.
    fn triangle<T: Scalar>(self, x: MatRef<'_, T>) -> Triangle<'_, T> {
        let is_unit = self.diagonal == Diagonal::Unit;
        let x = Triangle { matrix: x, conjugated: false, uplo: self.uplo, is_unit };
        match self.transpose {
            Transpose::No => x,
            Transpose::Transposed => x.transpose(),
            Transpose::Adjoint => x.adjoint(),
        }
    }
}

/// Multiplies numbers by `alpha`, if there is one.
fn scale<T: Scalar>(y: &mut [T], alpha: Option<T>) {
    if let Some(alpha) = alpha {
        y.iter_mut().for_each(|y| *y *= alpha);
    }
}
