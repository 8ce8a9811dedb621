//! Tridiagonal systems: `gtsv`, and a solver that perturbs small pivots.

use farcall_ffi::prelude::*;
use farcall_ffi::{AnyBuffer, dispatch};

use super::interleaved::{Interleave, Lanes, MAX_SYSTEM_ENTRIES, TridiagonalSystems};
use super::scalar::{RealScalar, Scalar, c32, c64, system_routines};
use crate::batch::{self, Entries, EntriesMut};

macro_rules! gtsv {
    ($($name:ident, $target:literal, $ty:ty, $dtype:ident;)*) => {$(
        /// Solutions of tridiagonal systems by Gaussian elimination with partial pivoting.
        ///
        /// `dl`, `d` and `du` are the diagonals below, on and above the main diagonal. Entry `i` of each
        /// belongs to row `i`, so that the first entry of `dl` and the last of `du` do not count. `b_out` has
        /// the solutions for the columns of `b`. `dl_out` (from its second entry on), `d_out` and `du_out`
        /// become the second diagonal above the main diagonal, the main diagonal and the first diagonal above
        /// it of the upper triangular factor. `info` is 0, or `k` if pivot `k` is exactly zero; the system is
        /// then not solved.
        #[handler(name = $target)]
        #[signature(
            (dl: $dtype[*, n], d: $dtype[*, n], du: $dtype[*, n], b: $dtype[*, n, k] column_major)
            -> (dl_out: $dtype[*, n] aliases dl, d_out: $dtype[*, n] aliases d, du_out: $dtype[*, n] aliases du,
                b_out: $dtype[*, n, k] column_major aliases b, info: s32[*])
        )]
        pub(crate) fn $name(
            context: &Context,
            dl: &mut InOut<Buffer<$ty>>,
            d: &mut InOut<Buffer<$ty>>,
            du: &mut InOut<Buffer<$ty>>,
            b: &mut InOut<Buffer<$ty>>,
            info: &mut Buffer<i32>,
        ) -> Result<()> {
            solve_all(context, [dl, d, du], b, info)
        }
    )*};
}
gtsv! {
    sgtsv, "lapack_sgtsv_ffi", f32, f32;
    dgtsv, "lapack_dgtsv_ffi", f64, f64;
    cgtsv, "lapack_cgtsv_ffi", c32, c64;
    zgtsv, "lapack_zgtsv_ffi", c64, c128;
}

fn solve_all<T: Interleave>(
    context: &Context,
    diagonals: [&mut Buffer<T>; 3],
    b: &mut Buffer<T>,
    info: &mut Buffer<i32>,
) -> Result<()> {
    let [count, n, columns] = batch::matrices("b", b.dims())?;
    let [dl, d, du] = diagonals;
    for (name, diagonal) in [("dl", &*dl), ("d", &*d), ("du", &*du)] {
        batch::expect_dims(name, diagonal.dims(), b.dims(), &[n])?;
    }
    batch::expect_dims("info", info.dims(), b.dims(), &[])?;
    if n == 0 || count == 0 {
        info.fill(0);
        return Ok(());
    }
    let systems = (
        EntriesMut::new(dl, n),
        EntriesMut::new(d, n),
        EntriesMut::new(du, n),
        EntriesMut::new(b, n * columns),
        EntriesMut::new(info, 1),
    );
    let system = system_routines::<T>()?;
    let operations = n * (10 + 5 * columns);
    if columns > 0 && n * (3 + columns) <= MAX_SYSTEM_ENTRIES && system.is_none() {
        solve_groups(context, [count, n, columns], systems);
        return Ok(());
    }
    batch::for_each(
        context,
        count,
        operations,
        systems,
        || vec![T::zero(); n],
        |inverses, (dl, d, du, b, info)| {
            if let Some(lapack) = &system {
                info[0] = lapack.gtsv([n, columns], &mut dl[1..], d, du, b);
                return;
            }
            info[0] = solve([&mut dl[1..], d, du], inverses, b).map_or_else(|row| row as i32 + 1, |()| 0);
        },
    );
    Ok(())
}

/// The diagonals and right-hand sides of a batch, and `info`.
type Systems<'a, T> =
    (EntriesMut<'a, T>, EntriesMut<'a, T>, EntriesMut<'a, T>, EntriesMut<'a, T>, EntriesMut<'a, i32>);

/// Solves small systems of a batch, many at once.
fn solve_groups<T: Interleave>(context: &Context, [count, n, columns]: [usize; 3], systems: Systems<'_, T>) {
    let workspace = || (TridiagonalSystems::<T::Lanes>::new(n, columns), vec![T::zero(); n]);
    let (width, operations) = (T::Lanes::WIDTH, n * (10 + 5 * columns));
    batch::for_each_group(context, count, width, operations, systems, workspace, |workspace, systems| {
        let (memory, inverses) = workspace;
        let (dl, d, du, b, info) = systems;
        let [dl, d, du] = [dl, d, du].map(EntriesMut::into_elements);
        let (b, info) = (b.into_elements(), info.into_elements());
        let alone = memory.solve([&mut *dl, &mut *d, &mut *du], b);
        for (lane, info) in info.iter_mut().enumerate() {
            let of = lane * n..(lane + 1) * n;
            let b = &mut b[of.start * columns..of.end * columns];
            let result = match alone[lane] {
                true => {
                    let diagonals = [&mut dl[of.clone()][1..], &mut d[of.clone()], &mut du[of]];
                    solve(diagonals, inverses, b)
                }
                false => Ok(()),
            };
            *info = result.map_or_else(|row| row as i32 + 1, |()| 0);
        }
    });
}

/// Solves a system. `inverses` is memory for the reciprocals of the pivots. Returns the first row without a
/// pivot as an error.
fn solve<T: Scalar>(
    [dl, d, du]: [&mut [T]; 3],
    inverses: &mut [T],
    b: &mut [T],
) -> std::result::Result<(), usize> {
    let n = d.len();
    for i in 0..n - 1 {
        let is_last = i + 2 == n;
        if d[i].modulus1() >= dl[i].modulus1() {
            if d[i] == T::zero() {
                return Err(i);
            }
            inverses[i] = inverse(d[i]);
            let factor = dl[i].over(d[i]);
            d[i + 1] -= factor * du[i];
            for b in b.chunks_exact_mut(n) {
                let change = factor * b[i];
                b[i + 1] -= change;
            }
            if !is_last {
                dl[i] = T::zero();
            }
        } else {
            inverses[i] = inverse(dl[i]);
            let factor = d[i].over(dl[i]);
            (d[i], du[i], d[i + 1]) = (dl[i], d[i + 1], du[i] - factor * d[i + 1]);
            if !is_last {
                dl[i] = du[i + 1];
                du[i + 1] = -factor * dl[i];
            }
            for b in b.chunks_exact_mut(n) {
                (b[i], b[i + 1]) = (b[i + 1], b[i] - factor * b[i + 1]);
            }
        }
    }
    if d[n - 1] == T::zero() {
        return Err(n - 1);
    }
    inverses[n - 1] = inverse(d[n - 1]);
    for b in b.chunks_exact_mut(n) {
        b[n - 1] = divide(b[n - 1], d[n - 1], inverses[n - 1]);
        if n > 1 {
            b[n - 2] = divide(b[n - 2] - du[n - 2] * b[n - 1], d[n - 2], inverses[n - 2]);
        }
        for i in (0..n.saturating_sub(2)).rev() {
            b[i] = divide(b[i] - du[i] * b[i + 1] - dl[i] * b[i + 2], d[i], inverses[i]);
        }
    }
    Ok(())
}

/// Returns the reciprocal of a number, or 0 if the number or its reciprocal is not a normal number.
fn inverse<T: Scalar>(number: T) -> T {
    if number.is_invertible() { T::one().over(number) } else { T::zero() }
}

/// Returns `number / divisor`. `inverse` is the divisor's [`inverse`].
fn divide<T: Scalar>(number: T, divisor: T, inverse: T) -> T {
    if inverse == T::zero() { number.over(divisor) } else { number * inverse }
}

/// Solutions of tridiagonal systems that may be singular: pivots that are too small to divide by are
/// perturbed by amounts of the size of rounding errors.
///
/// The operands are those of `gtsv`. Such systems occur in inverse iteration. The method is the one of
/// LAPACK's `lagtf` and `lagts`: elimination with partial pivoting by sizes relative to the rows, then back
/// substitution, in which the pivot of a row grows until the quotients do not overflow.
#[handler(name = "tridiagonal_solve_perturbed_ffi")]
#[signature(
    (dl: T[*, n], d: T[*, n], du: T[*, n], b: T[*, n, k] column_major) -> (x: T[*, n, k] column_major)
    where T: f32 | f64 | c64 | c128
)]
pub(crate) fn tridiagonal_solve_perturbed(
    context: &Context,
    dl: &AnyBuffer,
    d: &AnyBuffer,
    du: &AnyBuffer,
    b: &AnyBuffer,
    x: &mut AnyBuffer,
) -> Result<()> {
    dispatch!(d.dtype(), T: f32 | f64 | c32 | c64 => perturbed_all::<T>(
        context,
        [dl.typed()?, d.typed()?, du.typed()?],
        b.typed()?,
        x.typed_mut()?,
    ))
}

fn perturbed_all<T: Scalar>(
    context: &Context,
    diagonals: [&Buffer<T>; 3],
    b: &Buffer<T>,
    x: &mut Buffer<T>,
) -> Result<()> {
    let [count, n, columns] = batch::matrices("b", b.dims())?;
    for (name, diagonal) in ["dl", "d", "du"].into_iter().zip(diagonals) {
        batch::expect_dims(name, diagonal.dims(), b.dims(), &[n])?;
    }
    batch::expect_dims("x", x.dims(), b.dims(), &[n, columns])?;
    if b.is_empty() {
        return Ok(());
    }
    let [dl, d, du] = diagonals.map(|diagonal| Entries::new(diagonal, n));
    let systems = (dl, d, du, Entries::new(b, n * columns), EntriesMut::new(x, n * columns));
    let workspace = || Perturbed { u: vec![[T::zero(); 3]; n], row: vec![T::zero(); columns] };
    let operations = n * (20 + 7 * columns);
    batch::for_each(context, count, operations, systems, workspace, |perturbed, (dl, d, du, b, x)| {
        x.copy_from_slice(b);
        let size = perturbed.eliminate(dl, d, du, x);
        perturbed.substitute(size, x);
    });
    Ok(())
}

/// Memory for the solution of a system with perturbed pivots.
struct Perturbed<T> {
    /// Rows of the upper triangular factor, from the diagonal on.
    u: Vec<[T; 3]>,
    /// A row of the right-hand sides.
    row: Vec<T>,
}

impl<T: Scalar> Perturbed<T> {
    /// Eliminates the entries below the diagonal, also in the columns of `x`. Returns the largest absolute
    /// value in the factor.
    fn eliminate(&mut self, dl: &[T], d: &[T], du: &[T], x: &mut [T]) -> T::Real {
        let n = d.len();
        let above = |i: usize| if i + 1 < n { du[i] } else { T::zero() };
        let mut row = [d[0], above(0), T::zero()];
        let mut row_size = row[0].modulus() + row[1].modulus();
        for i in 0..n - 1 {
            let next = [dl[i + 1], d[i + 1], above(i + 1)];
            let next_size = next[0].modulus() + next[1].modulus() + next[2].modulus();
            let relative = |entry: T, size: T::Real| entry.modulus() / size;
            if next[0] == T::zero() {
                self.u[i] = row;
                row = [next[1], next[2], T::zero()];
                row_size = next_size;
            } else if row[0] != T::zero() && relative(next[0], next_size) <= relative(row[0], row_size) {
                let factor = next[0].over(row[0]);
                self.u[i] = row;
                row = [next[1] - factor * row[1], next[2], T::zero()];
                row_size = next_size;
                for x in x.chunks_exact_mut(n) {
                    let change = factor * x[i];
                    x[i + 1] -= change;
                }
            } else {
                let factor = row[0].over(next[0]);
                self.u[i] = next;
                row = [row[1] - factor * next[1], -factor * next[2], T::zero()];
                row_size = row[0].modulus() + row[1].modulus();
                for x in x.chunks_exact_mut(n) {
                    (x[i], x[i + 1]) = (x[i + 1], x[i] - factor * x[i + 1]);
                }
            }
        }
        self.u[n - 1] = row;
        let sizes = self.u.iter().flatten().map(|entry| entry.modulus());
        sizes.fold(T::Real::ZERO, |a, b| if b > a { b } else { a })
    }

    /// Solves the upper triangular system. `size` is the largest absolute value in the factor.
    fn substitute(&mut self, size: T::Real, x: &mut [T]) {
        let n = self.u.len();
        let perturbation = size * (T::Real::EPSILON + T::Real::EPSILON);
        for i in (0..n).rev() {
            let [mut pivot, first, second] = self.u[i];
            for (sum, x) in self.row.iter_mut().zip(x.chunks_exact(n)) {
                *sum = x[i];
                if i + 1 < n {
                    *sum -= first * x[i + 1];
                }
                if i + 2 < n {
                    *sum -= second * x[i + 2];
                }
            }
            pivot = perturb(pivot, perturbation, &mut self.row);
            for (sum, x) in self.row.iter().zip(x.chunks_exact_mut(n)) {
                x[i] = sum.over(pivot);
            }
        }
    }
}

/// Returns a pivot by which the numbers of a row can be divided: increases a pivot that is too small by a
/// perturbation that doubles in each step, or scales both the pivot and the row.
fn perturb<T: Scalar>(mut pivot: T, perturbation: T::Real, row: &mut [T]) -> T {
    let one = T::Real::ONE;
    let smallest = T::Real::MIN_NORMAL;
    let largest = one / smallest;
    let row_size = row.iter().map(|x| x.modulus()).fold(T::Real::ZERO, |a, b| if b > a { b } else { a });
    let mut step = Float::copysign(Float::max(Float::abs(perturbation), smallest), pivot.re());
    loop {
        let size = pivot.modulus();
        // NaN ends the loop, too. Each step doubles, so the size reaches 1.
        #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN needs no perturbation")]
        if !(size < one) {
            return pivot;
        }
        let overflows = match size < smallest {
            true => size == T::Real::ZERO || row_size * smallest > size,
            false => row_size > size * largest,
        };
        if overflows {
            pivot += T::of_real(step);
            step += step;
        } else {
            if size < smallest {
                pivot = pivot.times(largest);
                row.iter_mut().for_each(|x| *x = x.times(largest));
            }
            return pivot;
        }
    }
}
