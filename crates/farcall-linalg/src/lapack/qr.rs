//! QR factorizations: `geqrf`, and products with the orthogonal factor: `orgqr`, `ormqr` (complex: `ungqr`,
//! `unmqr`).

use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use farcall_ffi::prelude::*;
use farcall_ffi::{AnyBuffer, dispatch};

use super::interleaved::{Group, Interleave, Lanes, MAX_ORDER, Reflectors};
use super::reflector::{Block, MAX_BLOCK_REFLECTORS, leaf};
use super::scalar::{Scalar, c32, c64, system_routines};
use crate::batch::{self, Entries, EntriesMut};
use crate::dense::transpose;
use crate::threads::Threads;

/// Maximum number of entries of a matrix that is factored without products of blocks.
pub(crate) const MAX_SMALL_ENTRIES: usize = 32 * 32;

macro_rules! qr {
    ($($geqrf:ident, $geqrf_target:literal, $orgqr:ident, $orgqr_target:literal, $ormqr:ident,
       $ormqr_target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// QR factorizations `x = q·r` of matrices.
        ///
        /// `r` replaces the upper triangle of `x`. `q` is the product of the reflectors
        /// `1 − tau[i]·v·vᴴ` in ascending order of `i`, where `v` has `i` zeros, a 1, and the entries of
        /// column `i` of `x_out` below the diagonal.
        #[handler(name = $geqrf_target)]
        #[signature(
            (x: $dtype[*, m, n] column_major)
            -> (x_out: $dtype[*, m, n] column_major aliases x, tau: $dtype[*, min(m, n)])
        )]
        pub(crate) fn $geqrf(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            tau: &mut Buffer<$ty>,
        ) -> Result<()> {
            factor_all(context, x, tau)
        }

        /// The first columns of the orthogonal factor of a QR factorization, from its reflectors in `x` and
        /// `tau`. `x` has at least as many columns as there are reflectors, and no more columns than rows.
        #[handler(name = $orgqr_target)]
        #[signature(
            (x: $dtype[*, m, n] column_major, tau: $dtype[*, k])
            -> (x_out: $dtype[*, m, n] column_major aliases x) where k <= n; n <= m
        )]
        pub(crate) fn $orgqr(
            context: &Context,
            x: &mut InOut<Buffer<$ty>>,
            tau: &Buffer<$ty>,
        ) -> Result<()> {
            generate_all(context, x, tau)
        }

        /// Products with the orthogonal factor `q` of a QR factorization, which is given by its reflectors in
        /// `a` and `tau`: `q·c` if `left`, otherwise `c·q`; with `transpose`, of its adjoint `qᴴ`.
        #[handler(name = $ormqr_target)]
        #[signature(
            (a: $dtype[*, r, p] column_major, tau: $dtype[*, k], c: $dtype[*, m, n] column_major, left: bool,
             transpose: bool)
            -> (c_out: $dtype[*, m, n] column_major aliases c) where k <= p; k <= r
        )]
        pub(crate) fn $ormqr(
            context: &Context,
            a: &Buffer<$ty>,
            tau: &Buffer<$ty>,
            c: &mut InOut<Buffer<$ty>>,
            left: bool,
            transpose: bool,
        ) -> Result<()> {
            multiply_all(context, a, tau, c, left, transpose)
        }
    )*};
}
qr! {
    sgeqrf, "lapack_sgeqrf_ffi", sorgqr, "lapack_sorgqr_ffi", sormqr, "lapack_sormqr_ffi", f32, f32;
    dgeqrf, "lapack_dgeqrf_ffi", dorgqr, "lapack_dorgqr_ffi", dormqr, "lapack_dormqr_ffi", f64, f64;
    cgeqrf, "lapack_cgeqrf_ffi", cungqr, "lapack_cungqr_ffi", cunmqr, "lapack_cunmqr_ffi", c32, c64;
    zgeqrf, "lapack_zgeqrf_ffi", zungqr, "lapack_zungqr_ffi", zunmqr, "lapack_zunmqr_ffi", c64, c128;
}

/// QR factorizations of row-major matrices, in programs that JAX exports for TPUs. `packed` and `tau` contain
/// reflectors and `r` as from `geqrf`.
#[handler(name = "Qr")]
#[signature(
    (x: T[*, m, n]) -> (packed: T[*, m, n], tau: T[*, min(m, n)]) where T: f32 | f64 | c64 | c128
)]
pub(crate) fn qr_row_major(
    context: &Context,
    x: &AnyBuffer,
    packed: &mut AnyBuffer,
    tau: &mut AnyBuffer,
) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | c32 | c64 =>
        factor_row_major::<T>(context, x.typed()?, packed.typed_mut()?, tau.typed_mut()?))
}

/// The first columns of the orthogonal factor, as from `orgqr`, in programs that JAX exports for TPUs.
/// Matrices are row-major.
#[handler(name = "ProductOfElementaryHouseholderReflectors")]
#[signature(
    (x: T[*, m, n], tau: T[*, k]) -> (q: T[*, m, n]) where T: f32 | f64 | c64 | c128; k <= n; n <= m
)]
pub(crate) fn reflector_product(
    context: &Context,
    x: &AnyBuffer,
    tau: &AnyBuffer,
    q: &mut AnyBuffer,
) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | c32 | c64 =>
        generate_row_major::<T>(context, x.typed()?, tau.typed()?, q.typed_mut()?))
}

/// Factors the row-major matrices of a batch.
fn factor_row_major<T: Scalar>(
    context: &Context,
    x: &Buffer<T>,
    packed: &mut Buffer<T>,
    tau: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = m.min(n);
    batch::expect_dims("packed", packed.dims(), x.dims(), &[m, n])?;
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    if x.is_empty() {
        return Ok(());
    }
    let matrices = (Entries::new(x, m * n), EntriesMut::new(packed, m * n), EntriesMut::new(tau, k));
    let system = system_routines::<T>()?;
    let threads = Threads::from(context);
    let workspace = || (vec![T::zero(); m * n], Block::new(m, n), system.clone());
    batch::for_each(
        context,
        count,
        2 * m * n * k,
        matrices,
        workspace,
        |(columns, block, system), (x, packed, tau)| {
            transpose(columns, x, n);
            match system {
                Some(lapack) => _ = lapack.geqrf([m, n], columns, tau),
                None => factor(threads, MatMut::from_column_major_slice_mut(columns, m, n), tau, block),
            }
            transpose(packed, columns, m);
        },
    );
    Ok(())
}

/// Computes the orthogonal factors of a batch of row-major matrices.
fn generate_row_major<T: Scalar>(
    context: &Context,
    x: &Buffer<T>,
    tau: &Buffer<T>,
    q: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = tau.dims().last().copied().unwrap_or(0);
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    batch::expect_dims("q", q.dims(), x.dims(), &[m, n])?;
    ensure!(k <= n && n <= m, "{k} reflectors and {n} columns of {m} rows do not fit: k <= n <= m");
    if x.is_empty() {
        return Ok(());
    }
    let matrices = (Entries::new(x, m * n), Entries::new(tau, k), EntriesMut::new(q, m * n));
    let system = system_routines::<T>()?;
    let threads = Threads::from(context);
    let workspace = || (vec![T::zero(); m * n], Block::new(m, n), system.clone());
    batch::for_each(context, count, 4 * m * n * k, matrices, workspace, |(columns, block, system), entry| {
        let (x, tau, q) = entry;
        transpose(columns, x, n);
        match system {
            Some(lapack) => _ = lapack.orgqr([m, n, k], columns, tau),
            None => generate(threads, MatMut::from_column_major_slice_mut(columns, m, n), tau, block),
        }
        transpose(q, columns, m);
    });
    Ok(())
}

/// Factors the matrices of a batch.
pub(crate) fn factor_all<T: Interleave>(
    context: &Context,
    x: &mut Buffer<T>,
    tau: &mut Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = m.min(n);
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    if x.is_empty() {
        return Ok(());
    }
    let system = system_routines::<T>()?;
    let is_small = m * n <= MAX_SMALL_ENTRIES;
    let matrices = (EntriesMut::new(x, m * n), EntriesMut::new(tau, k));
    if m.max(n) <= MAX_ORDER && system.is_none() {
        factor_groups(context, [count, m, n], matrices);
        return Ok(());
    }
    let threads = Threads::from(context);
    let workspace = || ((!is_small).then(|| Block::new(m, n)), system.clone());
    batch::for_each(context, count, 2 * m * n * k, matrices, workspace, |(block, system), (x, tau)| {
        match (system, block) {
            (Some(lapack), _) => _ = lapack.geqrf([m, n], x, tau),
            (None, Some(block)) => factor(threads, MatMut::from_column_major_slice_mut(x, m, n), tau, block),
            (None, None) => leaf::factor_small(x, m, tau),
        }
    });
    Ok(())
}

/// Factors small matrices of a batch, many at once.
fn factor_groups<T: Interleave>(
    context: &Context,
    [count, m, n]: [usize; 3],
    matrices: (EntriesMut<'_, T>, EntriesMut<'_, T>),
) {
    let k = m.min(n);
    let workspace = || (Group::<T::Lanes>::new(m, n), vec![T::Lanes::ZERO; k]);
    let (width, operations) = (T::Lanes::WIDTH, 2 * m * n * k);
    batch::for_each_group(
        context,
        count,
        width,
        operations,
        matrices,
        workspace,
        |(group, taus), (x, tau)| {
            let x = x.into_elements();
            let alone = group.qr(x, taus);
            let matrices = x.chunks_exact_mut(m * n).zip(tau.into_elements().chunks_exact_mut(k));
            for (lane, (x, tau)) in matrices.enumerate() {
                match alone[lane] {
                    true => leaf::factor_small(x, m, tau),
                    false => tau.iter_mut().zip(&*taus).for_each(|(tau, taus)| *tau = taus.get(lane)),
                }
            }
        },
    );
}

/// Factors a matrix, and stores the reflectors in it and in `tau`.
pub(crate) fn factor<T: Scalar>(
    threads: Threads<'_>,
    mut a: MatMut<'_, T>,
    tau: &mut [T],
    block: &mut Block<T>,
) {
    let mut start = 0;
    for tau in tau.chunks_mut(MAX_BLOCK_REFLECTORS) {
        let (panel, right) = a.rb_mut().get_mut(start.., start..).split_at_col_mut(tau.len());
        let (reflector, products) = block.factor(panel, tau);
        reflector.apply_left(threads, true, right, products);
        start += tau.len();
    }
}

/// Computes the orthogonal factors of a batch.
pub(crate) fn generate_all<T: Interleave>(
    context: &Context,
    x: &mut Buffer<T>,
    tau: &Buffer<T>,
) -> Result<()> {
    let [count, m, n] = batch::matrices("x", x.dims())?;
    let k = tau.dims().last().copied().unwrap_or(0);
    batch::expect_dims("tau", tau.dims(), x.dims(), &[k])?;
    ensure!(k <= n && n <= m, "{k} reflectors and {n} columns of {m} rows do not fit: k <= n <= m");
    if x.is_empty() {
        return Ok(());
    }
    let system = system_routines::<T>()?;
    let matrices = (EntriesMut::new(x, m * n), Entries::new(tau, k));
    if m.max(n) <= MAX_ORDER && k > 0 && system.is_none() {
        generate_groups(context, [count, m, n, k], matrices);
        return Ok(());
    }
    let threads = Threads::from(context);
    let workspace = || (Block::new(m, n), system.clone());
    batch::for_each(context, count, 4 * m * n * k, matrices, workspace, |(block, system), (x, tau)| {
        match system {
            Some(lapack) => _ = lapack.orgqr([m, n, k], x, tau),
            None => generate(threads, MatMut::from_column_major_slice_mut(x, m, n), tau, block),
        }
    });
    Ok(())
}

/// Computes small orthogonal factors of a batch, many at once.
fn generate_groups<T: Interleave>(
    context: &Context,
    [count, m, n, k]: [usize; 4],
    matrices: (EntriesMut<'_, T>, Entries<'_, T>),
) {
    let workspace = || (Reflectors::<T::Lanes>::new(m, k), Group::new(m, n), None);
    let (width, operations) = (T::Lanes::WIDTH, 4 * m * n * k);
    batch::for_each_group(context, count, width, operations, matrices, workspace, |memory, (x, tau)| {
        let (reflectors, columns, block) = memory;
        let (x, tau) = (x.into_elements(), tau.into_elements());
        let alone = reflectors.generate(x, tau, columns);
        let matrices = x.chunks_exact_mut(m * n).zip(tau.chunks_exact(k)).zip(alone);
        for ((x, tau), _) in matrices.filter(|(_, alone)| *alone) {
            let block = block.get_or_insert_with(|| Block::new(m, n));
            generate(Threads::ONE, MatMut::from_column_major_slice_mut(x, m, n), tau, block);
        }
    });
}

/// Replaces reflectors by the first columns of their product.
pub(crate) fn generate<T: Scalar>(
    threads: Threads<'_>,
    mut a: MatMut<'_, T>,
    tau: &[T],
    block: &mut Block<T>,
) {
    let (n, k) = (a.ncols(), tau.len());
    a.rb_mut().get_mut(.., k..).fill(T::zero());
    (k..n).for_each(|j| a[(j, j)] = T::one());
    for (at, tau) in tau.chunks(MAX_BLOCK_REFLECTORS).enumerate().rev() {
        let start = at * MAX_BLOCK_REFLECTORS;
        let (mut above, below) = a.rb_mut().split_at_row_mut(start);
        let (mut columns, right) = below.get_mut(.., start..).split_at_col_mut(tau.len());
        let (reflector, products) = block.load(columns.rb(), tau);
        reflector.apply_left(threads, false, right, products);
        reflector.first_columns(columns.rb_mut(), products);
        above.rb_mut().get_mut(.., start..start + tau.len()).fill(T::zero());
    }
}

fn multiply_all<T: Interleave>(
    context: &Context,
    a: &Buffer<T>,
    tau: &Buffer<T>,
    c: &mut Buffer<T>,
    left: bool,
    transpose: bool,
) -> Result<()> {
    let [count, m, n] = batch::matrices("c", c.dims())?;
    let [_, _, columns] = batch::matrices("a", a.dims())?;
    let (order, others) = if left { (m, n) } else { (n, m) };
    batch::expect_dims("a", a.dims(), c.dims(), &[order, columns])?;
    let k = tau.dims().last().copied().unwrap_or(0);
    batch::expect_dims("tau", tau.dims(), c.dims(), &[k])?;
    ensure!(k <= columns && k <= order, "{k} reflectors do not fit {order}×{columns} matrices a");
    if c.is_empty() || k == 0 {
        return Ok(());
    }
    let system = system_routines::<T>()?;
    let matrices = (Entries::new(a, order * columns), Entries::new(tau, k), EntriesMut::new(c, m * n));
    if m.max(n) <= MAX_ORDER && system.is_none() {
        multiply_groups(context, [count, m, n, k, columns], matrices, left, transpose);
        return Ok(());
    }
    let threads = Threads::from(context);
    let workspace = || (Block::new(order, others), system.clone());
    batch::for_each(context, count, 4 * m * n * k, matrices, workspace, |(block, system), (a, tau, c)| {
        if let Some(lapack) = system {
            lapack.ormqr(left, transpose, [m, n, k], a, tau, c);
            return;
        }
        let a = MatRef::from_column_major_slice(a, order, columns);
        multiply(threads, a, tau, MatMut::from_column_major_slice_mut(c, m, n), left, transpose, block);
    });
    Ok(())
}

/// Multiplies small matrices of a batch by products of reflectors, many at once.
fn multiply_groups<T: Interleave>(
    context: &Context,
    [count, m, n, k, columns]: [usize; 5],
    matrices: (Entries<'_, T>, Entries<'_, T>, EntriesMut<'_, T>),
    left: bool,
    is_adjoint: bool,
) {
    let (order, others) = if left { (m, n) } else { (n, m) };
    let workspace = || (Reflectors::<T::Lanes>::new(order, k), Group::new(order, others), None);
    let (width, operations) = (T::Lanes::WIDTH, 4 * m * n * k);
    batch::for_each_group(context, count, width, operations, matrices, workspace, |memory, (a, tau, c)| {
        let (reflectors, group, block) = memory;
        let (a, tau, c) = (a.into_elements(), tau.into_elements(), c.into_elements());
        let alone = reflectors.multiply((a, order * columns), tau, c, (left, is_adjoint), group);
        let matrices =
            a.chunks_exact(order * columns).zip(tau.chunks_exact(k)).zip(c.chunks_exact_mut(m * n));
        for (((a, tau), c), _) in matrices.zip(alone).filter(|(_, alone)| *alone) {
            let a = MatRef::from_column_major_slice(a, order, columns);
            let c = MatMut::from_column_major_slice_mut(c, m, n);
            let block = block.get_or_insert_with(|| Block::new(order, others));
            multiply(Threads::ONE, a, tau, c, left, is_adjoint, block);
        }
    });
}

/// Multiplies `c` by the product of the reflectors in `a`, or by its adjoint.
pub(crate) fn multiply<T: Scalar>(
    threads: Threads<'_>,
    a: MatRef<'_, T>,
    tau: &[T],
    mut c: MatMut<'_, T>,
    left: bool,
    is_adjoint: bool,
    block: &mut Block<T>,
) {
    let mut apply = |at: usize, tau: &[T]| {
        let start = at * MAX_BLOCK_REFLECTORS;
        let vectors = a.get(start.., start..start + tau.len());
        let (reflector, products) = block.load(vectors, tau);
        match left {
            true => reflector.apply_left(threads, is_adjoint, c.rb_mut().get_mut(start.., ..), products),
            false => reflector.apply_right(threads, is_adjoint, c.rb_mut().get_mut(.., start..), products),
        }
    };
    let blocks = tau.chunks(MAX_BLOCK_REFLECTORS).enumerate();
    // The last factor of `h₁·h₂⋯·c` is applied first; so is the first factor of `c·h₁·h₂⋯`.
    match left == is_adjoint {
        true => blocks.for_each(|(at, tau)| apply(at, tau)),
        false => blocks.rev().for_each(|(at, tau)| apply(at, tau)),
    }
}
