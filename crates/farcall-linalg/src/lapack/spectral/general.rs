//! General square matrices: eigendecompositions (`geev`), Schur decompositions (`gees`) and reductions to
//! Hessenberg form (`gehrd`).

use farcall_ffi::prelude::*;
use farcall_lapack::{Eigenvalues, Routines};
use num_complex::Complex;

use super::balance::Balance;
use super::eigenvectors::{EigenField, Side, multiply_by_schur_vectors};
use super::hessenberg;
use super::scale::Scale;
use super::schur::{self, Iteration, SchurField};
use super::square::Square;
use crate::batch::{self, Entries, EntriesMut};
use crate::lapack::options::{Job, Sort};
use crate::lapack::scalar::{Scalar, c32, c64, system_routines};

/// `info` of a matrix with an infinite or NaN entry, as jaxlib's handlers return it.
const NOT_FINITE: i32 = -4;

/// Declares `geev` for a real element type.
macro_rules! real_eigendecomposition {
    ($($name:ident, $target:literal, $ty:ty, $complex:ty, $dtype:ident, $complex_dtype:ident;)*) => {$(
        /// Eigenvalues `w_real + i·w_imag` of square matrices, and eigenvectors with the norm 1: the
        /// columns of `left` (`leftᴴ·x = diag(w)·leftᴴ`) and `right` (`x·right = right·diag(w)`).
        ///
        /// `compute_left` and `compute_right` are 86 (`V`), or 78 (`N`) for vectors that are not computed;
        /// these are 0. Conjugate eigenvalues are next to each other, the one with the positive imaginary
        /// part first. `info` is 0, or −4 for a matrix with an infinite or NaN entry, or the number of
        /// eigenvalues that did not converge. The results are then NaN.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, compute_left: u8 = 86, compute_right: u8 = 86)
            -> (
                w_real: $dtype[*, n],
                w_imag: $dtype[*, n],
                left: $complex_dtype[*, n, n] column_major,
                right: $complex_dtype[*, n, n] column_major,
                info: s32[*],
            )
        )]
        #[expect(clippy::too_many_arguments, reason = "each operand, attribute and result is an argument")]
        pub(crate) fn $name(
            context: &Context,
            x: &Buffer<$ty>,
            compute_left: u8,
            compute_right: u8,
            w_real: &mut Buffer<$ty>,
            w_imag: &mut Buffer<$ty>,
            left: &mut Buffer<$complex>,
            right: &mut Buffer<$complex>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let sizes = sizes(x, [compute_left, compute_right], [left, right], info)?;
            batch::expect_dims("w_real", w_real.dims(), x.dims(), &[sizes.n])?;
            batch::expect_dims("w_imag", w_imag.dims(), x.dims(), &[sizes.n])?;
            let n = sizes.n;
            let w = (EntriesMut::new(w_real, n), EntriesMut::new(w_imag, n));
            eigen_all(context, x, sizes, w, [left, right], info, |w, (re, im)| {
                for ((w, re), im) in w.iter().zip(re).zip(im) {
                    (*re, *im) = (w.re, w.im);
                }
            })
        }
    )*};
}
real_eigendecomposition! {
    sgeev, "lapack_sgeev_ffi", f32, c32, f32, c64;
    dgeev, "lapack_dgeev_ffi", f64, c64, f64, c128;
}

/// Declares `geev` for a complex element type.
macro_rules! complex_eigendecomposition {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// Eigenvalues `w` of square matrices, and eigenvectors with the norm 1: the columns of `left`
        /// (`leftᴴ·x = diag(w)·leftᴴ`) and `right` (`x·right = right·diag(w)`).
        ///
        /// `compute_left` and `compute_right` are 86 (`V`), or 78 (`N`) for vectors that are not computed;
        /// these are 0. `info` is 0, or −4 for a matrix with an infinite or NaN entry, or the number of
        /// eigenvalues that did not converge. The results are then NaN.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, compute_left: u8 = 86, compute_right: u8 = 86)
            -> (
                w: $dtype[*, n],
                left: $dtype[*, n, n] column_major,
                right: $dtype[*, n, n] column_major,
                info: s32[*],
            )
        )]
        #[expect(clippy::too_many_arguments, reason = "each operand, attribute and result is an argument")]
        pub(crate) fn $name(
            context: &Context,
            x: &Buffer<$ty>,
            compute_left: u8,
            compute_right: u8,
            w: &mut Buffer<$ty>,
            left: &mut Buffer<$ty>,
            right: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let sizes = sizes(x, [compute_left, compute_right], [left, right], info)?;
            batch::expect_dims("w", w.dims(), x.dims(), &[sizes.n])?;
            let w = EntriesMut::new(w, sizes.n);
            eigen_all(context, x, sizes, w, [left, right], info, |from, w| w.copy_from_slice(from))
        }
    )*};
}
complex_eigendecomposition! {
    cgeev, "lapack_cgeev_ffi", c32, c64;
    zgeev, "lapack_zgeev_ffi", c64, c128;
}

/// Declares `gees`. Real types have the real and imaginary parts of eigenvalues as two results.
macro_rules! schur_decomposition {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident, $($w:ident)*;)*) => {$(
        /// Schur decompositions of square matrices: `x = vectors·x_out·vectorsᴴ`, where `x_out` is upper
        /// triangular. For real matrices, it is quasi-triangular: a conjugate pair of eigenvalues is a 2×2
        /// block on the diagonal, with equal diagonal entries.
        ///
        /// `mode` is 86 (`V`), or 78 (`N`) for Schur vectors that are not computed; these are 0. `sort` is 78
        /// (`N`): the order of the eigenvalues is not specified, and `selected` is 0. `info` is 0, or −4 for
        /// a matrix with an infinite or NaN entry, or the number of eigenvalues that did not converge. The
        /// results are then NaN.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, mode: u8 = 86, sort: u8 = 78)
            -> (
                x_out: $dtype[*, n, n] column_major aliases x,
                vectors: $dtype[*, n, n] column_major,
                $($w: $dtype[*, n],)*
                selected: s32[*],
                info: s32[*],
            )
            where sort == 78
        )]
        #[expect(clippy::too_many_arguments, reason = "each operand, attribute and result is an argument")]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            mode: u8,
            sort: u8,
            vectors: &mut Buffer<$ty>,
            $($w: &mut Buffer<$ty>,)*
            selected: &mut Buffer<i32>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            let mode = schur_options(mode, sort)?;
            let [_, n, _] = batch::matrices("x", x.dims())?;
            $(batch::expect_dims(stringify!($w), $w.dims(), x.dims(), &[n])?;)*
            batch::expect_dims("selected", selected.dims(), x.dims(), &[])?;
            selected.fill(0);
            let w = schur_decomposition!(@entries n, $($w)*);
            schur_all(context, x, mode, vectors, w, info, schur_decomposition!(@store $($w)*))
        }
    )*};
    (@entries $n:ident, $w:ident) => { EntriesMut::new($w, $n) };
    (@entries $n:ident, $re:ident $im:ident) => { (EntriesMut::new($re, $n), EntriesMut::new($im, $n)) };
    (@store $w:ident) => { |from, w| w.copy_from_slice(from) };
    (@store $re:ident $im:ident) => {
        |from, (re, im)| {
            for ((from, re), im) in from.iter().zip(re).zip(im) {
                (*re, *im) = (from.re, from.im);
            }
        }
    };
}
schur_decomposition! {
    sgees, "lapack_sgees_ffi", f32, f32, w_real w_imag;
    dgees, "lapack_dgees_ffi", f64, f64, w_real w_imag;
    cgees, "lapack_cgees_ffi", c32, c64, w;
    zgees, "lapack_zgees_ffi", c64, c128, w;
}

/// Declares `gehrd`.
macro_rules! hessenberg_form {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// Hessenberg forms of square matrices: `x = q·h·qᴴ`. `x_out` has `h` on and above the subdiagonal,
        /// and below it the vectors of the reflections whose product is `q`, with the coefficients `tau`.
        ///
        /// The rows and columns before `low` and after `high`, counted from 1, must be triangular already.
        /// The coefficients outside of this range are 0. `info` is 0.
        #[handler(name = $target)]
        #[signature(
            (x: $dtype[*, n, n] column_major, low: i32, high: i32)
            -> (x_out: $dtype[*, n, n] column_major aliases x, tau: $dtype[*, n - 1], info: s32[*])
        )]
        pub(crate) fn $name(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            low: i32,
            high: i32,
            tau: &mut Buffer<$ty>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            reduce_all(context, x, [low, high], tau, info)
        }
    )*};
}
hessenberg_form! {
    sgehrd, "lapack_sgehrd_ffi", f32, f32;
    dgehrd, "lapack_dgehrd_ffi", f64, f64;
    cgehrd, "lapack_cgehrd_ffi", c32, c64;
    zgehrd, "lapack_zgehrd_ffi", c64, c128;
}

/// The sizes and options of a call of `geev`.
#[derive(Clone, Copy)]
struct Sizes {
    count: usize,
    n: usize,
    /// True for eigenvectors that are computed: left, right.
    vectors: [bool; 2],
}

/// Checks a call of `geev`.
fn sizes<T: Scalar, C: Scalar>(
    x: &Buffer<T>,
    jobs: [u8; 2],
    [left, right]: [&Buffer<C>; 2],
    info: &Buffer<i32>,
) -> Result<Sizes> {
    let jobs = [Job::decode("compute_left", jobs[0])?, Job::decode("compute_right", jobs[1])?];
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but an eigendecomposition needs square ones");
    batch::expect_dims("left", left.dims(), x.dims(), &[n, n])?;
    batch::expect_dims("right", right.dims(), x.dims(), &[n, n])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    Ok(Sizes { count, n, vectors: jobs.map(|job| job == Job::Vectors) })
}

/// A complex number with parts of the type of `T`'s parts.
type ComplexOf<T> = Complex<<T as faer::traits::ComplexField>::Real>;

fn eigen_all<T, W>(
    context: &Context,
    x: &Buffer<T>,
    Sizes { count, n, vectors }: Sizes,
    w: W,
    [left, right]: [&mut Buffer<ComplexOf<T>>; 2],
    info: &mut Buffer<i32>,
    store: impl Fn(&[ComplexOf<T>], W::Entry) + Sync,
) -> Result<()>
where
    T: SchurField + EigenField,
    W: batch::Batch,
    ComplexOf<T>: Element + Copy,
{
    if count == 0 || n == 0 {
        info.fill(0);
        return Ok(());
    }
    let operations = 25 * n.saturating_pow(3);
    let matrices = (
        Entries::new(x, n * n),
        w,
        EntriesMut::new(left, n * n),
        EntriesMut::new(right, n * n),
        EntriesMut::new(info, 1),
    );
    let system = system_routines::<T>()?;
    let workspace = || Solver::<T>::new(n, system.clone());
    batch::for_each(context, count, operations, matrices, workspace, |solver, (x, w, left, right, info)| {
        info[0] = solver.eigendecomposition(x, vectors, [left, right]);
        store(&solver.w, w);
    });
    Ok(())
}

/// Checks the options of `gees`.
fn schur_options(mode: u8, sort: u8) -> Result<Job> {
    ensure!(
        Sort::decode("sort", sort)? == Sort::No,
        "sort is 83 ('S'), but eigenvalues of a Schur form cannot be selected"
    );
    Job::decode("mode", mode)
}

fn schur_all<T, W>(
    context: &Context,
    x: &mut Buffer<T>,
    mode: Job,
    vectors: &mut Buffer<T>,
    w: W,
    info: &mut Buffer<i32>,
    store: impl Fn(&[ComplexOf<T>], W::Entry) + Sync,
) -> Result<()>
where
    T: SchurField + EigenField,
    W: batch::Batch,
{
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but a Schur decomposition needs square ones");
    batch::expect_dims("vectors", vectors.dims(), x.dims(), &[n, n])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    if count == 0 || n == 0 {
        info.fill(0);
        return Ok(());
    }
    let operations = 25 * n.saturating_pow(3);
    let matrices = (EntriesMut::new(x, n * n), EntriesMut::new(vectors, n * n), w, EntriesMut::new(info, 1));
    let system = system_routines::<T>()?;
    let workspace = || Solver::<T>::new(n, system.clone());
    batch::for_each(context, count, operations, matrices, workspace, |solver, (x, vectors, w, info)| {
        info[0] = solver.schur_decomposition(x, mode == Job::Vectors, vectors);
        store(&solver.w, w);
    });
    Ok(())
}

fn reduce_all<T: Scalar>(
    context: &Context,
    x: &mut Buffer<T>,
    [low, high]: [i32; 2],
    tau: &mut Buffer<T>,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let [count, n, columns] = batch::matrices("x", x.dims())?;
    ensure!(n == columns, "x has {n}×{columns} matrices, but a Hessenberg form needs square ones");
    ensure!(n > 0, "x has 0×0 matrices, but a Hessenberg form needs at least one row");
    batch::expect_dims("tau", tau.dims(), x.dims(), &[n - 1])?;
    batch::expect_dims("info", info.dims(), x.dims(), &[])?;
    let range = [low, high].map(|row| usize::try_from(row).unwrap_or(0));
    ensure!(
        1 <= range[0] && range[0] <= range[1] && range[1] <= n,
        "low is {low} and high is {high}, but 1 ≤ low ≤ high ≤ {n} must hold"
    );
    info.fill(0);
    let system = system_routines::<T>()?;
    let operations = 4 * n.saturating_pow(3);
    let matrices = (EntriesMut::new(x, n * n), EntriesMut::new(tau, n - 1));
    let workspace = || (hessenberg::Workspace::default(), system.clone());
    batch::for_each(
        context,
        count,
        operations,
        matrices,
        workspace,
        |(work, system), (x, tau)| match system {
            Some(lapack) => _ = lapack.gehrd(n, [low, high], x, tau),
            None => hessenberg::reduce(x, n, [range[0] - 1, range[1]], tau, work),
        },
    );
    Ok(())
}

/// Memory for the decomposition of a matrix.
struct Solver<T: Scalar> {
    n: usize,
    system: Option<Routines<T>>,
    h: Vec<T>,
    z: Vec<T>,
    tau: Vec<T>,
    w: Vec<ComplexOf<T>>,
    /// Eigenvectors of the Schur form.
    x: Vec<T>,
    products: Vec<T>,
    hessenberg: hessenberg::Workspace<T>,
    schur: schur::Workspace<T>,
}

impl<T: SchurField + EigenField> Solver<T> {
    fn new(n: usize, system: Option<Routines<T>>) -> Self {
        Solver {
            n,
            system,
            h: vec![T::zero(); n * n],
            z: vec![T::zero(); n * n],
            tau: vec![T::zero(); n - 1],
            w: vec![Complex::new(T::Real::ZERO, T::Real::ZERO); n],
            x: Vec::new(),
            products: Vec::new(),
            hessenberg: Default::default(),
            schur: Default::default(),
        }
    }

    /// Computes the Schur form of `self.h` in place, and the Schur vectors `self.z` if `vectors` is true.
    /// Returns LAPACK's `info`. Without `full`, only eigenvalues are computed.
    fn iterate(&mut self, [low, high]: [usize; 2], full: bool, vectors: bool) -> i32 {
        let n = self.n;
        hessenberg::reduce(&mut self.h, n, [low, high], &mut self.tau, &mut self.hessenberg);
        if vectors {
            hessenberg::form_q(&mut self.z, n, &self.h, [low, high], &self.tau, &mut self.hessenberg);
        }
        for (j, column) in self.h.chunks_exact_mut(n).enumerate() {
            column[(j + 2).min(n)..].fill(T::zero());
        }
        let z = vectors.then(|| Square::new(&mut self.z, n));
        let h = Square::new(&mut self.h, n);
        let left = schur::decompose(h, z, &mut self.w, Iteration { low, high, full }, &mut self.schur);
        if left > 0 { (low + left) as i32 } else { 0 }
    }

    /// Computes eigenvalues, and left and right eigenvectors as requested. Returns `info`.
    fn eigendecomposition(&mut self, a: &[T], vectors: [bool; 2], mut out: [&mut [ComplexOf<T>]; 2]) -> i32 {
        let scale = Scale::new(a.iter().copied());
        let info = match scale {
            None => NOT_FINITE,
            Some(scale) => {
                self.h.copy_from_slice(a);
                scale.apply(&mut self.h);
                self.eigenvectors(vectors, &mut out)
            }
        };
        let (Some(scale), 0) = (scale, info) else {
            let nan = T::Real::of(f64::NAN);
            self.w.fill(Complex::new(nan, nan));
            out.into_iter().for_each(|out| out.fill(Complex::new(nan, nan)));
            return info;
        };
        self.restore_eigenvalues(scale);
        0
    }

    /// Computes eigenvalues and eigenvectors of `self.h`. Returns `info`.
    fn eigenvectors(&mut self, vectors: [bool; 2], out: &mut [&mut [ComplexOf<T>]; 2]) -> i32 {
        let n = self.n;
        if let Some(lapack) = &mut self.system {
            return eigenvectors_by(lapack, n, &mut self.h, &mut self.w, vectors, out);
        }
        let any = vectors[0] || vectors[1];
        let balance = Balance::new(Square::new(&mut self.h, n), true);
        let info = self.iterate([balance.low, balance.high], any, any);
        if info != 0 {
            return info;
        }
        for ((side, wanted), out) in [Side::Left, Side::Right].into_iter().zip(vectors).zip(out) {
            if !wanted {
                out.fill(Complex::new(T::Real::ZERO, T::Real::ZERO));
                continue;
            }
            self.x.resize(n * n, T::zero());
            self.products.resize(n * n, T::zero());
            T::eigenvectors(&Square::new(&mut self.h, n), &self.w, &mut self.x, side);
            multiply_by_schur_vectors(&mut self.products, &self.z, &self.x, n, side);
            balance.restore(Square::new(&mut self.products, n), side == Side::Left);
            T::unpack(&self.products, &self.w, out);
        }
        0
    }

    /// Multiplies the eigenvalues of a scaled matrix by the inverse of the scale.
    fn restore_eigenvalues(&mut self, scale: Scale<T::Real>) {
        for w in &mut self.w {
            *w = Complex::new(scale.restore_real(w.re), scale.restore_real(w.im));
        }
    }

    /// Replaces a matrix by its Schur form. Returns `info`.
    fn schur_decomposition(&mut self, a: &mut [T], vectors: bool, out: &mut [T]) -> i32 {
        let n = self.n;
        let nan = T::Real::of(f64::NAN);
        let scale = Scale::new(a.iter().copied());
        let info = match scale {
            None => NOT_FINITE,
            Some(scale) => {
                self.h.copy_from_slice(a);
                scale.apply(&mut self.h);
                match &mut self.system {
                    Some(lapack) => {
                        let (h, z) = (&mut self.h, if vectors { &mut self.z[..] } else { &mut [] });
                        with_eigenvalues(&mut self.w, |w| lapack.gees(n, h, w, z))
                    }
                    None => {
                        let balance = Balance::new(Square::new(&mut self.h, n), false);
                        let info = self.iterate([balance.low, balance.high], true, vectors);
                        if vectors {
                            balance.restore(Square::new(&mut self.z, n), false);
                        }
                        info
                    }
                }
            }
        };
        let (Some(scale), 0) = (scale, info) else {
            a.fill(T::of_parts(nan, nan));
            out.fill(T::of_parts(nan, nan));
            self.w.fill(Complex::new(nan, nan));
            return info;
        };
        for (a, h) in a.iter_mut().zip(&self.h) {
            *a = scale.restore(*h);
        }
        self.restore_eigenvalues(scale);
        match vectors {
            true => out.copy_from_slice(&self.z),
            false => out.fill(T::zero()),
        }
        0
    }
}

/// Computes eigenvalues and eigenvectors of an `n×n` matrix by a LAPACK library. Returns `info`.
fn eigenvectors_by<T: Scalar + EigenField>(
    lapack: &mut Routines<T>,
    n: usize,
    h: &mut [T],
    w: &mut [ComplexOf<T>],
    vectors: [bool; 2],
    out: &mut [&mut [ComplexOf<T>]; 2],
) -> i32 {
    let [mut left, mut right] = vectors.map(|wanted| vec![T::zero(); if wanted { n * n } else { 0 }]);
    let info = with_eigenvalues(w, |w| lapack.geev(n, h, w, &mut left, &mut right));
    for (vectors, out) in [left, right].iter().zip(out) {
        match vectors.is_empty() {
            false => T::unpack(vectors, w, out),
            true => out.fill(Complex::new(T::Real::ZERO, T::Real::ZERO)),
        }
    }
    info
}

/// Stores the eigenvalues that a LAPACK routine computes: complex, or real and imaginary parts. Returns the
/// routine's `info`.
fn with_eigenvalues<T: Scalar>(
    w: &mut [ComplexOf<T>],
    routine: impl FnOnce(Eigenvalues<'_, T>) -> i32,
) -> i32 {
    let (mut first, mut second) = (vec![T::zero(); w.len()], vec![T::zero(); w.len()]);
    let info = routine(match T::IS_REAL {
        true => Eigenvalues::Parts(&mut first, &mut second),
        false => Eigenvalues::Complex(&mut first),
    });
    for ((w, first), second) in w.iter_mut().zip(&first).zip(&second) {
        let im = if T::IS_REAL { second.re() } else { first.im() };
        *w = Complex::new(first.re(), im);
    }
    info
}
