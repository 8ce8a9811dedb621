//! Cholesky factorizations: `potrf`.
//!
//! The algorithm is recursive: F. G. Gustavson, *Recursion leads to automatic variable blocking for dense
//! linear-algebra algorithms*, 1997. Blocks of at most [`MAX_LEAF_ORDER`] columns are factored column by
//! column.

use faer::MatMut;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::pulp::{Arch, Simd, WithSimd};
use farcall_ffi::prelude::*;

use super::block::{Factor, Triangle, add_product_to_triangle, adjoint};
use super::interleaved::{Group, Interleave, Lanes, MAX_ORDER};
use super::options::Uplo;
use super::scalar::{Scalar, c32, c64, system_routines};
use super::vector;
use crate::batch::{self, EntriesMut};
use crate::threads::Threads;

/// Maximum order of a matrix that is factored without products of blocks.
const MAX_LEAF_ORDER: usize = 32;

macro_rules! potrf {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// Cholesky factors of Hermitian (real: symmetric) positive definite matrices: `x = l·lᴴ` for `uplo`
        /// 76 (`L`), `x = uᴴ·u` for 85 (`U`).
        ///
        /// Only this triangle of `x` is read. The factor replaces it, and the other triangle is unchanged.
        /// `info` is 0, or `k` if the leading minor of order `k` is not positive; the factorization then
        /// ends there.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, uplo: u8 = 76)
            -> (x_out: $dtype[*, n, n] column_major aliases x, info: s32[*])
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            uplo: u8,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            factor_all(context, x, uplo, info)
        }
    )*};
}
potrf! {
    spotrf, "lapack_spotrf_ffi", f32, f32;
    dpotrf, "lapack_dpotrf_ffi", f64, f64;
    cpotrf, "lapack_cpotrf_ffi", c32, c64;
    zpotrf, "lapack_zpotrf_ffi", c64, c128;
}

/// Factors the matrices of a batch.
pub(crate) fn factor_all<T: Interleave>(
    context: &Context,
    x: &mut Buffer<T>,
    uplo: u8,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let (letter, uplo) = (uplo, Uplo::decode("uplo", uplo)?);
    let system = system_routines::<T>()?;
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but a Cholesky factorization needs square ones");
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    if count == 0 {
        return Ok(());
    }
    if n == 0 {
        info.fill(0);
        return Ok(());
    }
    let operations = n.saturating_pow(3) / 3;
    let matrices = (EntriesMut::new(x, n * n), EntriesMut::new(info, 1));
    if n <= MAX_ORDER && system.is_none() {
        factor_groups(context, [count, n], uplo, matrices);
        return Ok(());
    }
    let threads = Threads::from(context);
    batch::for_each(context, count, operations, matrices, Leaf::new, |leaf, (x, info)| {
        if let Some(lapack) = &system {
            info[0] = lapack.potrf(letter, n, x);
            return;
        }
        let result = factor(threads, MatMut::from_column_major_slice_mut(x, n, n), uplo, leaf);
        info[0] = result.map_or_else(|column| column as i32 + 1, |()| 0);
    });
    Ok(())
}

/// Factors small matrices of a batch, many at once.
fn factor_groups<T: Interleave>(
    context: &Context,
    [count, n]: [usize; 2],
    uplo: Uplo,
    matrices: (EntriesMut<'_, T>, EntriesMut<'_, i32>),
) {
    let workspace = || (Group::<T::Lanes>::new(n, n), None);
    let (width, operations) = (T::Lanes::WIDTH, n * n * n / 3);
    batch::for_each_group(
        context,
        count,
        width,
        operations,
        matrices,
        workspace,
        |(group, leaf), (x, info)| {
            let x = x.into_elements();
            // The factor of the upper triangle is the adjoint of a lower one.
            let alone = group.cholesky(x, uplo == Uplo::Upper);
            for ((x, info), alone) in x.chunks_exact_mut(n * n).zip(info.into_elements()).zip(alone) {
                let x = MatMut::from_column_major_slice_mut(x, n, n);
                let result = match alone {
                    true => factor(Threads::ONE, x, uplo, leaf.get_or_insert_with(Leaf::new)),
                    false => Ok(()),
                };
                *info = result.map_or_else(|column| column as i32 + 1, |()| 0);
            }
        },
    );
}

/// Replaces a triangle of a matrix by its Cholesky factor. Returns the first column whose pivot is not
/// positive as an error.
pub(crate) fn factor<T: Scalar>(
    threads: Threads<'_>,
    mut a: MatMut<'_, T>,
    uplo: Uplo,
    leaf: &mut Leaf<T>,
) -> std::result::Result<(), usize> {
    let n = a.nrows();
    if n <= MAX_LEAF_ORDER {
        return leaf.factor(a, uplo);
    }
    let half = (n / 2).next_multiple_of(MAX_LEAF_ORDER).min(n - 1);
    let (mut a11, a12, a21, mut a22) = a.rb_mut().split_at_mut(half, half);
    factor(threads, a11.rb_mut(), uplo, leaf)?;
    match uplo {
        Uplo::Lower => {
            let mut a21 = a21;
            // l21·l11ᴴ = a21, so conj(l11)·l21ᵀ = a21ᵀ.
            let l11 = Triangle { conjugated: true, ..Triangle::lower(a11.rb()) };
            l11.solve_in_place(threads, a21.rb_mut().transpose_mut());
            let l21 = a21.rb();
            add_product_to_triangle(threads, a22.rb_mut(), uplo, -T::one(), Factor::from(l21), adjoint(l21));
        }
        Uplo::Upper => {
            let mut a12 = a12;
            Triangle::upper(a11.rb()).adjoint().solve_in_place(threads, a12.rb_mut());
            let u12 = a12.rb();
            add_product_to_triangle(threads, a22.rb_mut(), uplo, -T::one(), adjoint(u12), Factor::from(u12));
        }
    }
    factor(threads, a22, uplo, leaf).map_err(|column| half + column)
}

/// Memory for the lower triangle of a block, column by column.
#[derive(Debug)]
pub(crate) struct Leaf<T> {
    columns: Vec<[T; MAX_LEAF_ORDER]>,
}

impl<T: Scalar> Leaf<T> {
    /// Allocates the memory.
    pub(crate) fn new() -> Self {
        Leaf { columns: vec![[T::zero(); MAX_LEAF_ORDER]; MAX_LEAF_ORDER] }
    }

    /// Factors a block of at most [`MAX_LEAF_ORDER`] columns.
    fn factor(&mut self, mut a: MatMut<'_, T>, uplo: Uplo) -> std::result::Result<(), usize> {
        let n = a.nrows();
        for (j, column) in self.columns[..n].iter_mut().enumerate() {
            column[..j].fill(T::zero());
            for (i, entry) in column[..n].iter_mut().enumerate().skip(j) {
                *entry = match uplo {
                    Uplo::Lower => a[(i, j)],
                    Uplo::Upper => a[(j, i)].conjugate(),
                };
            }
        }
        let columns = &mut self.columns[..n];
        let result = Arch::new().dispatch(Columns(columns));
        for (j, column) in self.columns[..n].iter().enumerate() {
            for (i, entry) in column[..n].iter().enumerate().skip(j) {
                match uplo {
                    Uplo::Lower => a[(i, j)] = *entry,
                    Uplo::Upper => a[(j, i)] = entry.conjugate(),
                }
            }
        }
        result
    }
}

/// Columns of a lower triangle, which becomes its Cholesky factor: the products with each finished column are
/// subtracted from the columns right of it.
struct Columns<'a, T>(&'a mut [[T; MAX_LEAF_ORDER]]);

impl<T: Scalar> WithSimd for Columns<'_, T> {
    type Output = std::result::Result<(), usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        // Loops begin at a multiple of the vector's width, so they also change entries above the diagonal.
        // These entries are never copied back.
        let width = size_of::<T::Vector<S>>() / size_of::<T>();
        let whole = |i: usize| i / width * width;
        for j in 0..self.0.len() {
            let (left, right) = self.0.split_at_mut(j + 1);
            let column = &mut left[j];
            let pivot = column[j].re();
            // The negated comparison includes NaN.
            #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a pivot that is NaN is invalid, too")]
            if !(pivot > T::Real::ZERO) {
                column[j] = T::of_real(pivot);
                return Err(j);
            }
            let root = pivot.sqrt();
            vector::scale(simd, &mut column[whole(j)..], T::of_real(T::Real::ONE / root));
            column[j] = T::of_real(root);
            for (k, target) in right.iter_mut().enumerate() {
                let k = j + 1 + k;
                let factor = T::negative(simd, T::conjugates(simd, T::splat(simd, column[k])));
                vector::axpy(simd, &mut target[whole(k)..], factor, &column[whole(k)..]);
            }
        }
        Ok(())
    }
}
