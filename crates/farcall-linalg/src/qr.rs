//! QR decompositions by Householder reflections, as computed by LAPACK's `geqrf` and `orgqr`.
//!
//! This module builds the sequence of reflections from `faer`'s primitives, because `faer`'s own QR skips
//! columns that depend on preceding columns. That changes `r` where LAPACK's `r` has a zero on its diagonal.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder;
use faer::linalg::matmul::dot::inner_prod;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, ColMut, Conj, Mat, MatMut, MatRef, Par};
use farcall_ffi::prelude::*;
use half::{bf16, f16};

use crate::batch::{self, Entries, EntriesMut};
use crate::blocks::lowering::lower_qr;
use crate::dense;
use crate::gradient::qr::{qr_jvp, qr_vjp};
use crate::number::{Number, Real, is_finite, scale};

/// Number of reflections that are applied at once.
const BLOCK_REFLECTIONS: usize = 32;

/// Maximum number of entries of a matrix for which [`Number::Precise`] is used.
const MAX_PRECISE_ENTRIES: usize = 64 * 64;

/// Declares the op for an element type.
macro_rules! qr {
    ($($(#[$meta:meta])* $name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// The QR decomposition `x = q·r` of matrices: the columns of `q` are orthonormal, `r` is upper
        /// triangular.
        ///
        /// `q` has `min(m, n)` columns, or `columns` if that is more. With `columns = m`, `q` is square (the
        /// *complete* decomposition). Signs are LAPACK's and NumPy's: the diagonal of `r` may be negative.
        /// The results for a matrix with an infinite or NaN entry are NaN. A call without `columns` may have
        /// either form.
        ///
        /// Derivatives exist where the first columns of `x`, as many as `q` has, are linearly independent.
        /// `q` must not have more columns than `x`, because the columns that complete `q` are not unique.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, m, n], columns: i64 = 0)
            -> (q: $dtype[*, m, max(columns, min(m, n))], r: $dtype[*, max(columns, min(m, n)), n])
            where 0 <= columns; columns <= m
        )]
        #[vjp(backward = qr_vjp)]
        #[jvp(tangent = qr_jvp)]
        $(#[$meta])*
        pub(crate) fn $name(
            context: &Context,
            x: &Buffer<$ty>,
            columns: Option<i64>,
            q: &mut Buffer<$ty>,
            r: &mut Buffer<$ty>,
        ) -> Result<()> {
            // The size of `q` implies `columns`. Calls from other front ends have no attributes.
            let _ = columns;
            decompose(context, x, q, r)
        }
    )*};
}
qr! {
    qr_f16, "qr_cpu_custom_call_f16", f16, f16;
    #[samples(tall_matrices)]
    qr_bf16, "qr_cpu_custom_call_bf16", bf16, bf16;
    #[lowers("farcall.qr", with = lower_qr)]
    qr_f32, "qr_cpu_custom_call_f32", f32, f32;
    qr_f64, "qr_cpu_custom_call_f64", f64, f64;
}

/// Returns a sample call with matrices whose decomposition changes little with their entries. Finite
/// differences of `bf16` results cannot estimate the derivatives for other matrices.
fn tall_matrices() -> Vec<Sample> {
    let x: Vec<bf16> = [[3.0, 1.0], [0.5, 3.0], [-0.5, 0.5], [3.0, -1.0], [1.0, 2.5], [0.5, 1.0]]
        .as_flattened()
        .iter()
        .map(|x| bf16::from_f64(*x))
        .collect();
    vec![Sample::new().operand(&x, &[2, 3, 2])]
}

fn decompose<T: Number>(
    context: &Context,
    x: &Buffer<T>,
    q: &mut Buffer<T>,
    r: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let [_, _, k] = batch::matrices("q", q.dims())?;
    ensure!(m.min(n) <= k && k <= m, "q has {k} columns, but {} to {m} follow from x", m.min(n));
    batch::expect_dims("q", q.dims(), x.dims(), &[m, k])?;
    batch::expect_dims("r", r.dims(), x.dims(), &[k, n])?;
    if q.is_empty() && r.is_empty() {
        return Ok(());
    }
    let mut x = Entries::new(x, m * n);
    let (mut q, mut r) = (EntriesMut::new(q, m * k), EntriesMut::new(r, k * n));
    let take = |size| (x.take(size), q.take(size), r.take(size));
    batch::in_parallel(context, count, 4 * m * n * k, take, |size, (x, q, r)| {
        match m * k.max(n) <= MAX_PRECISE_ENTRIES {
            true => Factors::<T::Precise>::new(m, n, k).decompose(size, x, q, r),
            false => Factors::<T::Real>::new(m, n, k).decompose(size, x, q, r),
        }
    });
    Ok(())
}

/// Memory for the decomposition of a matrix.
struct Factors<R: Real> {
    /// The matrix before the decomposition; `r` after it, with the reflections below the diagonal.
    x: Mat<R>,
    /// Coefficients of the reflections: a triangular matrix for each block of reflections.
    coefficients: Mat<R>,
    q: Mat<R>,
    scratch: MemBuffer,
}

impl<R: Real> Factors<R> {
    fn new(m: usize, n: usize, k: usize) -> Self {
        let reflections = m.min(n);
        let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<R>(
            m,
            BLOCK_REFLECTIONS,
            n.max(k),
        );
        Factors {
            x: Mat::zeros(m, n),
            coefficients: Mat::zeros(BLOCK_REFLECTIONS.min(reflections), reflections),
            q: Mat::zeros(m, k),
            scratch: MemBuffer::new(scratch),
        }
    }

    /// Decomposes `count` row-major matrices.
    fn decompose<T: Number>(
        &mut self,
        count: usize,
        x: Entries<'_, T>,
        mut q: EntriesMut<'_, T>,
        mut r: EntriesMut<'_, T>,
    ) {
        (0..count).for_each(|i| self.decompose_one(x.get(i), q.get(i), r.get(i)));
    }

    /// Decomposes a row-major matrix.
    fn decompose_one<T: Number>(&mut self, x: &[T], q: &mut [T], r: &mut [T]) {
        let (n, k) = (self.x.ncols(), self.q.ncols());
        let Some([scale, inverse]) = scale::<T, R>(x.iter().copied()) else {
            let nan = T::round(R::of(f64::NAN));
            q.fill(nan);
            dense::write(r, n, |i, j| if i <= j { nan } else { T::round(R::ZERO) });
            return;
        };
        for (j, column) in self.x.as_mut().col_iter_mut().enumerate() {
            column.iter_mut().enumerate().for_each(|(i, entry)| *entry = x[i * n + j].widen::<R>() * scale);
        }
        let stack = MemStack::new(&mut self.scratch);
        reflect(self.x.as_mut(), self.coefficients.as_mut(), stack);
        self.q.fill(R::ZERO);
        self.q.as_mut().diagonal_mut().fill(R::ONE);
        let reflections = self.coefficients.ncols();
        if reflections > 0 {
            householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
                self.x.as_ref().subcols(0, reflections),
                self.coefficients.as_ref(),
                Conj::No,
                self.q.as_mut(),
                Par::Seq,
                stack,
            );
        }
        dense::write(q, k, |i, j| T::round(self.q[(i, j)]));
        dense::write(r, n, |i, j| T::round(if i <= j { self.x[(i, j)] * inverse } else { R::ZERO }));
    }
}

/// Brings `x` to triangular form by reflections `I − v·vᵀ/τ` from the left. The upper triangle of `x` becomes
/// `r`. The vectors `v` are stored below, without their leading 1. `coefficients` receives the factor (in
/// `faer`'s terms) of each block.
fn reflect<R: Real>(mut x: MatMut<'_, R>, mut coefficients: MatMut<'_, R>, stack: &mut MemStack) {
    let reflections = coefficients.ncols();
    for start in (0..reflections).step_by(BLOCK_REFLECTIONS) {
        let width = BLOCK_REFLECTIONS.min(reflections - start);
        let (mut block, right) = x.rb_mut().get_mut(start.., start..).split_at_col_mut(width);
        let mut factor = coefficients.rb_mut().get_mut(..width, start..start + width);
        reflect_block(block.rb_mut(), factor.rb_mut());
        if right.ncols() > 0 {
            householder::apply_block_householder_transpose_on_the_left_in_place_with_conj(
                block.rb(),
                factor.rb(),
                Conj::No,
                right,
                Par::Seq,
                stack,
            );
        }
    }
}

/// Computes the reflections for the columns of a block, one by one, and their factor: `τ` on the diagonal,
/// and the products of the vectors above the diagonal.
fn reflect_block<R: Real>(mut block: MatMut<'_, R>, mut factor: MatMut<'_, R>) {
    let width = factor.ncols();
    for j in 0..width {
        let (column, mut right) = block.rb_mut().get_mut(j.., j..).split_at_col_mut(1);
        let (head, mut v) = column.col_mut(0).split_at_row_mut(1);
        let tau = reflector(head.get_mut(0), v.rb_mut());
        factor[(j, j)] = tau;
        if !is_finite(tau) {
            continue;
        }
        for column in right.rb_mut().col_iter_mut() {
            let (head, tail) = column.split_at_row_mut(1);
            let head = head.get_mut(0);
            let along = (*head + inner_prod(v.rb().transpose(), Conj::No, tail.rb(), Conj::No)) / tau;
            *head -= along;
            tail.iter_mut().zip(v.rb().iter()).for_each(|(x, v)| *x -= along * *v);
        }
    }
    let (top, bottom) = block.rb().split_at_row(width);
    let (unit_upper, unit_lower) = (BlockStructure::UnitTriangularUpper, BlockStructure::UnitTriangularLower);
    let full = BlockStructure::Rectangular;
    let mut add = |accum, v: MatRef<'_, R>, upper, lower| {
        let factor = factor.rb_mut();
        triangular::matmul(factor, unit_upper, accum, v.transpose(), upper, v, lower, R::ONE, Par::Seq);
    };
    add(Accum::Replace, top, unit_upper, unit_lower);
    add(Accum::Add, bottom, full, full);
}

/// Computes the reflection that maps a column to a multiple of the first unit vector. `head` becomes the
/// multiple, whose sign is opposite to `head`'s, and `tail` becomes the vector `v` without its leading 1.
/// Returns `τ`. If there is nothing to reflect, `τ` is infinity, which corresponds to LAPACK's 0; the next
/// reflection nevertheless starts one row below.
fn reflector<R: Real>(head: &mut R, tail: ColMut<'_, R>) -> R {
    let norm = tail.norm_l2();
    if norm == R::ZERO {
        return R::of(f64::INFINITY);
    }
    let norm = Float::hypot(*head, norm);
    let multiple = if *head < R::ZERO { norm } else { -norm };
    let inverse = R::ONE / (*head - multiple);
    tail.iter_mut().for_each(|entry| *entry *= inverse);
    let tau = multiple / (multiple - *head);
    *head = multiple;
    tau
}
