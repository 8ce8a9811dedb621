//! Decompositions with eigenvalues or singular values (`gesdd`, `syevd`, `geev`, `gees`), and reductions to
//! tridiagonal and Hessenberg form (`sytrd`, `gehrd`).
//!
//! Each op calls the function of the op of the same name with the suffix `_ffi`.

use farcall_ffi::prelude::*;

use crate::lapack::scalar::{Scalar, c32, c64};
use crate::lapack::spectral::{general, singular, symmetric};

/// Declares `gesdd`. Complex types have one more workspace, of real numbers.
macro_rules! svd {
    ($($name:ident $target:literal $ty:ident, $real:ident, $dtype:ident, $real_dtype:ident,
       [$($real_work:ident $real_len:ident)?];)*) => {$(
        /// Singular value decompositions, as from the op of the same name with the suffix `_ffi`.
        ///
        /// If `compute_uv` is 0, only singular values are computed. The sizes of `u` and `vt` determine how many
        /// singular vectors are computed; `full_matrices` is not read.
        #[handler(name = $target)]
        #[signature(
            (full_matrices: s32[], compute_uv: s32[], batch: B[], rows: S[], columns: S[], work_size: S[],
             x: $dtype[*, m, n] column_major, u_columns: i64 = 0, vt_rows: i64 = 0, integers_len: i64 = 1,
             $($real_len: i64 = 1,)? work_len: i64 = 1)
            -> (out: $dtype[*, m, n] column_major aliases x, s: $real_dtype[*, min(m, n)],
                u: $dtype[*, m, max(u_columns, min(m, n))] column_major,
                vt: $dtype[*, max(vt_rows, min(m, n)), n] column_major, info: s32[*],
                integers: s32[integers_len], $($real_work: $real_dtype[$real_len],)? work: $dtype[work_len])
            where B, S: s32 | s64; 0 <= u_columns; u_columns <= m; 0 <= vt_rows; vt_rows <= n;
                0 <= integers_len; $(0 <= $real_len;)? 0 <= work_len; *: sum
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            full_matrices: &Buffer<i32, 0>,
            compute_uv: &Buffer<i32, 0>,
            batch: &AnyBuffer,
            rows: &AnyBuffer,
            columns: &AnyBuffer,
            work_size: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            u_columns: Option<i64>,
            vt_rows: Option<i64>,
            integers_len: Option<i64>,
            $($real_len: Option<i64>,)?
            work_len: Option<i64>,
            s: &mut Buffer<$real>,
            u: &mut Buffer<$ty>,
            vt: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
            integers: &mut Buffer<i32>,
            $($real_work: &mut Buffer<$real>,)?
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            let _ = (full_matrices, batch, rows, columns, work_size);
            let _ = (u_columns, vt_rows, integers_len, $($real_len,)? work_len);
            integers.fill(0);
            $($real_work.fill(0.0);)?
            work.fill(<$ty as Scalar>::zero());
            let is_full = match (x.dims(), u.dims(), vt.dims()) {
                ([.., m, n], [.., columns], [.., rows, _]) => columns == m && rows == n,
                _ => false,
            };
            let mode = match (compute_uv[0] != 0, is_full) {
                (false, _) => b'N',
                (true, true) => b'A',
                (true, false) => b'S',
            };
            singular::$name(context, x, mode, None, None, s, u, vt, info)
        }
    )*};
}
svd! {
    sgesdd "lapack_sgesdd" f32, f32, f32, f32, [];
    dgesdd "lapack_dgesdd" f64, f64, f64, f64, [];
    cgesdd "lapack_cgesdd" c32, f32, c64, f32, [real_work real_len];
    zgesdd "lapack_zgesdd" c64, f64, c128, f64, [real_work real_len];
}

/// Declares `syevd` and `heevd`. Complex types have one more workspace, of real numbers.
macro_rules! eigendecomposition {
    ($($name:ident $target:literal $ty:ident, $real:ident, $dtype:ident, $real_dtype:ident,
       [$($real_work:ident $real_len:ident)?];)*) => {$(
        /// Eigenvalues and eigenvectors of Hermitian matrices, as from the op of the same name with the suffix
        /// `_ffi`. Only the lower triangle of `x` is read, or only the upper one if `lower` is 0.
        #[handler(name = $target)]
        #[signature(
            (lower: s32[], batch: B[], order: S[], x: $dtype[*, n, n] column_major, work_len: i64 = 1,
             $($real_len: i64 = 1,)? integers_len: i64 = 1)
            -> (out: $dtype[*, n, n] column_major aliases x, w: $real_dtype[*, n], info: s32[*],
                work: $dtype[work_len], $($real_work: $real_dtype[$real_len],)? integers: s32[integers_len])
            where B, S: s32 | s64; 0 <= work_len; $(0 <= $real_len;)? 0 <= integers_len; *: sum
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            lower: &Buffer<i32, 0>,
            batch: &AnyBuffer,
            order: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            work_len: Option<i64>,
            $($real_len: Option<i64>,)?
            integers_len: Option<i64>,
            w: &mut Buffer<$real>,
            info: &mut Buffer<i32>,
            work: &mut Buffer<$ty>,
            $($real_work: &mut Buffer<$real>,)?
            integers: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (batch, order, work_len, $($real_len,)? integers_len);
            work.fill(<$ty as Scalar>::zero());
            $($real_work.fill(0.0);)?
            integers.fill(0);
            symmetric::$name(context, x, triangle(lower[0]), b'V', w, info)
        }
    )*};
}
eigendecomposition! {
    ssyevd "lapack_ssyevd" f32, f32, f32, f32, [];
    dsyevd "lapack_dsyevd" f64, f64, f64, f64, [];
    cheevd "lapack_cheevd" c32, f32, c64, f32, [real_work real_len];
    zheevd "lapack_zheevd" c64, f64, c128, f64, [real_work real_len];
}

/// Declares `sytrd` and `hetrd`.
macro_rules! tridiagonal_form {
    ($($name:ident $target:literal $ty:ident, $real:ident, $dtype:ident, $real_dtype:ident;)*) => {$(
        /// Tridiagonal forms of Hermitian matrices, as from the op of the same name with the suffix `_ffi`. The
        /// lower triangle of `x` is read and replaced, or the upper one if `lower` is 0.
        #[handler(name = $target)]
        #[signature(
            (order: S[], lower: s32[], leading_dim: S[], batch: B[], work_size: S[],
             x: $dtype[*, n, n] column_major, work_len: i64 = 1)
            -> (out: $dtype[*, n, n] column_major aliases x, diagonal: $real_dtype[*, n],
                off_diagonal: $real_dtype[*, n - 1], tau: $dtype[*, n - 1], info: s32[*],
                work: $dtype[work_len])
            where B, S: s32 | s64; 0 <= work_len; *: sum
        )]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            order: &AnyBuffer,
            lower: &Buffer<i32, 0>,
            leading_dim: &AnyBuffer,
            batch: &AnyBuffer,
            work_size: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            work_len: Option<i64>,
            diagonal: &mut Buffer<$real>,
            off_diagonal: &mut Buffer<$real>,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            let _ = (order, leading_dim, batch, work_size, work_len);
            work.fill(<$ty as Scalar>::zero());
            symmetric::$name(context, x, triangle(lower[0]), diagonal, off_diagonal, tau, info)
        }
    )*};
}
tridiagonal_form! {
    ssytrd "lapack_ssytrd" f32, f32, f32, f32;
    dsytrd "lapack_dsytrd" f64, f64, f64, f64;
    chetrd "lapack_chetrd" c32, f32, c64, f32;
    zhetrd "lapack_zhetrd" c64, f64, c128, f64;
}

/// Declares `geev` for a real element type.
macro_rules! real_eigendecomposition {
    ($($name:ident $target:literal $ty:ident, $complex:ident, $dtype:ident, $complex_dtype:ident;)*) => {$(
        /// Eigenvalues and eigenvectors of square matrices, as from the op of the same name with the suffix
        /// `_ffi`. `compute_left` and `compute_right` are letters.
        #[handler(name = $target)]
        #[signature(
            (batch: B[], order: S[], compute_left: u8[], compute_right: u8[], x: $dtype[*, n, n] column_major)
            -> (work: $dtype[n, n] column_major, left_work: $dtype[n, n] column_major,
                right_work: $dtype[n, n] column_major, w_real: $dtype[*, n], w_imag: $dtype[*, n],
                left: $complex_dtype[*, n, n] column_major, right: $complex_dtype[*, n, n] column_major,
                info: s32[*])
            where B, S: s32 | s64; *: sum
        )]
        #[samples(eigen_samples::<$ty>)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            batch: &AnyBuffer,
            order: &AnyBuffer,
            compute_left: &Buffer<u8, 0>,
            compute_right: &Buffer<u8, 0>,
            x: &Buffer<$ty>,
            work: &mut Buffer<$ty>,
            left_work: &mut Buffer<$ty>,
            right_work: &mut Buffer<$ty>,
            w_real: &mut Buffer<$ty>,
            w_imag: &mut Buffer<$ty>,
            left: &mut Buffer<$complex>,
            right: &mut Buffer<$complex>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (batch, order);
            [work, left_work, right_work].into_iter().for_each(|work| work.fill(0.0));
            general::$name(context, x, compute_left[0], compute_right[0], w_real, w_imag, left, right, info)
        }
    )*};
}
real_eigendecomposition! {
    sgeev "lapack_sgeev" f32, c32, f32, c64;
    dgeev "lapack_dgeev" f64, c64, f64, c128;
}

/// Declares `geev` for a complex element type.
macro_rules! complex_eigendecomposition {
    ($($name:ident $target:literal $ty:ident, $real:ident, $dtype:ident, $real_dtype:ident;)*) => {$(
        /// Eigenvalues and eigenvectors of square matrices, as from the op of the same name with the suffix
        /// `_ffi`. `compute_left` and `compute_right` are letters.
        #[handler(name = $target)]
        #[signature(
            (batch: B[], order: S[], compute_left: u8[], compute_right: u8[], x: $dtype[*, n, n] column_major)
            -> (work: $dtype[n, n] column_major, real_work: $real_dtype[n + n], w: $dtype[*, n],
                left: $dtype[*, n, n] column_major, right: $dtype[*, n, n] column_major, info: s32[*])
            where B, S: s32 | s64; *: sum
        )]
        #[samples(eigen_samples::<$ty>)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            batch: &AnyBuffer,
            order: &AnyBuffer,
            compute_left: &Buffer<u8, 0>,
            compute_right: &Buffer<u8, 0>,
            x: &Buffer<$ty>,
            work: &mut Buffer<$ty>,
            real_work: &mut Buffer<$real>,
            w: &mut Buffer<$ty>,
            left: &mut Buffer<$ty>,
            right: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (batch, order);
            work.fill(<$ty as Scalar>::zero());
            real_work.fill(0.0);
            general::$name(context, x, compute_left[0], compute_right[0], w, left, right, info)
        }
    )*};
}
complex_eigendecomposition! {
    cgeev "lapack_cgeev" c32, f32, c64, f32;
    zgeev "lapack_zgeev" c64, f64, c128, f64;
}

/// Declares `gees`. Real types have the real and imaginary parts of eigenvalues as two results, complex types a
/// workspace of real numbers.
macro_rules! schur_decomposition {
    ($($name:ident $target:literal $ty:ident, $dtype:ident, [$($real_work:ident $real:ident $real_dtype:ident $reducer:ident)?],
       $($w:ident)*;)*) => {$(
        /// Schur decompositions of square matrices, as from the op of the same name with the suffix `_ffi`.
        /// `mode` and `sort` are letters.
        #[handler(name = $target)]
        #[signature(
            (batch: B[], order: S[], mode: u8[], sort: u8[], x: $dtype[*, n, n] column_major)
            -> (out: $dtype[*, n, n] column_major aliases x, $($real_work: $real_dtype[n],)?
                $($w: $dtype[*, n],)* vectors: $dtype[*, n, n] column_major, selected: s32[*], info: s32[*])
            where B, S: s32 | s64 $(; *: $reducer)?
        )]
        #[samples(schur_samples::<$ty>)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            batch: &AnyBuffer,
            order: &AnyBuffer,
            mode: &Buffer<u8, 0>,
            sort: &Buffer<u8, 0>,
            x: &mut InOut<Buffer<$ty>>,
            $($real_work: &mut Buffer<$real>,)?
            $($w: &mut Buffer<$ty>,)*
            vectors: &mut Buffer<$ty>,
            selected: &mut Buffer<i32>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let _ = (batch, order);
            $($real_work.fill(0.0);)?
            general::$name(context, x, mode[0], sort[0], vectors, $($w,)* selected, info)
        }
    )*};
}
schur_decomposition! {
    sgees "lapack_sgees" f32, f32, [], w_real w_imag;
    dgees "lapack_dgees" f64, f64, [], w_real w_imag;
    cgees "lapack_cgees" c32, c64, [real_work f32 f32 sum], w;
    zgees "lapack_zgees" c64, c128, [real_work f64 f64 sum], w;
}

/// Declares `gehrd`.
macro_rules! hessenberg_form {
    ($($name:ident $target:literal $ty:ident, $dtype:ident;)*) => {$(
        /// Hessenberg forms of square matrices, as from the op of the same name with the suffix `_ffi`.
        #[handler(name = $target)]
        #[signature(
            (order: S[], low: s32[], high: s32[], leading_dim: S[], batch: B[], work_size: S[],
             x: $dtype[*, n, n] column_major, work_len: i64 = 1)
            -> (out: $dtype[*, n, n] column_major aliases x, tau: $dtype[*, n - 1], info: s32[*],
                work: $dtype[work_len])
            where B, S: s32 | s64; 0 <= work_len; *: sum
        )]
        #[samples(hessenberg_samples::<$ty>)]
        #[expect(clippy::too_many_arguments, reason = "the call has an operand for each option and size")]
        pub(crate) fn $name(
            context: &Context,
            order: &AnyBuffer,
            low: &Buffer<i32, 0>,
            high: &Buffer<i32, 0>,
            leading_dim: &AnyBuffer,
            batch: &AnyBuffer,
            work_size: &AnyBuffer,
            x: &mut InOut<Buffer<$ty>>,
            work_len: Option<i64>,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
            work: &mut Buffer<$ty>,
        ) -> Result<()> {
            let _ = (order, leading_dim, batch, work_size, work_len);
            work.fill(<$ty as Scalar>::zero());
            general::$name(context, x, low[0], high[0], tau, info)
        }
    )*};
}
hessenberg_form! {
    sgehrd "lapack_sgehrd" f32, f32;
    dgehrd "lapack_dgehrd" f64, f64;
    cgehrd "lapack_cgehrd" c32, c64;
    zgehrd "lapack_zgehrd" c64, c128;
}

/// Returns the letter of the triangle that an operand `lower` selects.
fn triangle(lower: i32) -> u8 {
    if lower != 0 { b'L' } else { b'U' }
}

/// Two different matrices for sample calls, column-major.
fn matrices<T: Scalar>() -> Vec<T> {
    (0..18u8).map(|i| T::of_parts(T::Real::of(f64::from(i * i % 7)), T::Real::of(0.0))).collect()
}

/// Returns calls of `geev` with valid letters: with and without eigenvectors.
fn eigen_samples<T: Scalar + Element>() -> Vec<Sample> {
    let x = matrices::<T>();
    let call = |left: u8, right: u8| {
        let sizes = Sample::new().operand(&[2i32], &[]).operand(&[3i32], &[]);
        sizes.operand(&[left], &[]).operand(&[right], &[]).operand(&x, &[2, 3, 3])
    };
    vec![call(b'V', b'V'), call(b'N', b'N')]
}

/// Returns calls of `gees` with valid letters: with and without Schur vectors.
fn schur_samples<T: Scalar + Element>() -> Vec<Sample> {
    let x = matrices::<T>();
    let call = |mode: u8| {
        let sizes = Sample::new().operand(&[2i32], &[]).operand(&[3i32], &[]);
        sizes.operand(&[mode], &[]).operand(b"N", &[]).operand(&x, &[2, 3, 3])
    };
    vec![call(b'V'), call(b'N')]
}

/// Returns a call of `gehrd` with a valid range of rows.
fn hessenberg_samples<T: Scalar + Element>() -> Vec<Sample> {
    let sizes = [3i32, 1, 3, 3, 2, 1];
    let call = sizes.iter().fold(Sample::new(), |call, size| call.operand(&[*size], &[]));
    vec![call.operand(&matrices::<T>(), &[2, 3, 3])]
}
