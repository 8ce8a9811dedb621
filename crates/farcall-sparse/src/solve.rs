//! Solves of linear equations with a triangle of a CSR matrix.

use farcall_ffi::prelude::*;

use crate::compressed::{Compressed, entry};
use crate::form::for_types;
use crate::number::{Field, Index};
use crate::samples;

/// Solves `A·x = b`, or `Aᵀ·x = b` if `transpose`, where `A` is a triangle of a CSR matrix: the lower one
/// with its diagonal if `lower`, otherwise the upper one. Entries of the other triangle are not used.
///
/// With `unit_diagonal`, the diagonal is 1, and its entries are not used. Otherwise a missing diagonal entry
/// counts as 0, so that results are infinite or NaN. Repeated entries add up.
#[handler(name = "csr_triangular_solve")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], b: T[*, s - 1, n], lower: bool = true,
    unit_diagonal: bool = false, transpose: bool = false) -> (x: T[*, s - 1, n])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; n: map)]
#[vjp(backward = csr_triangular_solve_bwd)]
#[jvp(tangent = csr_triangular_solve_jvp)]
#[samples(samples::csr_triangular_solve)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_triangular_solve(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    b: &AnyBuffer,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    x: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_triangular_solve_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            b.typed()?,
            lower,
            unit_diagonal,
            transpose,
            x.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_triangular_solve_typed<T: Field, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    b: &Buffer<T>,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    x: &mut Buffer<T>,
) -> Result<()> {
    let system = System::new(a, columns, starts, [b.dims(), x.dims()], [lower, unit_diagonal, transpose])?;
    x.copy_from_slice(b);
    system.solve(context, x, false)
}

/// Tangent of the solution: `A·dx = db − dA·x`.
#[handler(name = "csr_triangular_solve_jvp")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], x: T[*, s - 1, n], da: T[*, e], db: T[*, s - 1, n],
    lower: bool = true, unit_diagonal: bool = false, transpose: bool = false) -> (dx: T[*, s - 1, n])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; n: map)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_triangular_solve_jvp(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    x: &AnyBuffer,
    da: &AnyBuffer,
    db: &AnyBuffer,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    dx: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_triangular_solve_jvp_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            x.typed()?,
            da.typed()?,
            db.typed()?,
            lower,
            unit_diagonal,
            transpose,
            dx.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_triangular_solve_jvp_typed<T: Field, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    x: &Buffer<T>,
    da: &Buffer<T>,
    db: &Buffer<T>,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    dx: &mut Buffer<T>,
) -> Result<()> {
    let flags = [lower, unit_diagonal, transpose];
    let system = System::new(a, columns, starts, [x.dims(), dx.dims()], flags)?;
    ensure!(da.len() == a.len() && db.len() == x.len(), "da has {} elements, db has {}", da.len(), db.len());
    dx.copy_from_slice(db);
    system.subtract_product(da, x, dx, false);
    system.solve(context, dx, false)
}

/// Cotangents of the operands: `Aᵀ·db = dx` and `da = −db·xᵀ`, at the entries of `A`.
#[handler(name = "csr_triangular_solve_bwd")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], x: T[*, s - 1, n], dx: T[*, s - 1, n],
    lower: bool = true, unit_diagonal: bool = false, transpose: bool = false) -> (da: T[*, e], db: T[*, s - 1, n])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; n: sum)]
#[jvp(tangent = csr_triangular_solve_bwd_jvp, tangent(_) = t_)]
#[vjp(backward = csr_triangular_solve_bwd_bwd, cotangent(a) = ca, cotangent(x) = cx, cotangent(dx) = cdx)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_triangular_solve_bwd(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    x: &AnyBuffer,
    dx: &AnyBuffer,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    da: &mut AnyBuffer,
    db: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_triangular_solve_bwd_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            x.typed()?,
            dx.typed()?,
            lower,
            unit_diagonal,
            transpose,
            da.typed_mut()?,
            db.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_triangular_solve_bwd_typed<T: Field, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    x: &Buffer<T>,
    dx: &Buffer<T>,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    da: &mut Buffer<T>,
    db: &mut Buffer<T>,
) -> Result<()> {
    let flags = [lower, unit_diagonal, transpose];
    let system = System::new(a, columns, starts, [x.dims(), db.dims()], flags)?;
    ensure!(da.len() == a.len() && dx.len() == x.len(), "da has {} elements, dx has {}", da.len(), dx.len());
    db.copy_from_slice(dx);
    system.solve(context, db, true)?;
    da.fill(T::ZERO);
    system.subtract_outer(db, x, da);
    Ok(())
}

/// Tangents of the cotangents: `Aᵀ·tdb = tdx − tAᵀ·db` and `tda = −tdb·xᵀ − db·txᵀ`.
#[handler(name = "csr_triangular_solve_bwd_jvp")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], x: T[*, s - 1, n], db: T[*, s - 1, n], ta: T[*, e],
    tx: T[*, s - 1, n], tdx: T[*, s - 1, n], lower: bool = true, unit_diagonal: bool = false,
    transpose: bool = false) -> (tda: T[*, e], tdb: T[*, s - 1, n])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; n: sum)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_triangular_solve_bwd_jvp(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    x: &AnyBuffer,
    db: &AnyBuffer,
    ta: &AnyBuffer,
    tx: &AnyBuffer,
    tdx: &AnyBuffer,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    tda: &mut AnyBuffer,
    tdb: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_triangular_solve_bwd_jvp_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            x.typed()?,
            db.typed()?,
            ta.typed()?,
            tx.typed()?,
            tdx.typed()?,
            lower,
            unit_diagonal,
            transpose,
            tda.typed_mut()?,
            tdb.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_triangular_solve_bwd_jvp_typed<T: Field, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    x: &Buffer<T>,
    db: &Buffer<T>,
    ta: &Buffer<T>,
    tx: &Buffer<T>,
    tdx: &Buffer<T>,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    tda: &mut Buffer<T>,
    tdb: &mut Buffer<T>,
) -> Result<()> {
    let flags = [lower, unit_diagonal, transpose];
    let system = System::new(a, columns, starts, [x.dims(), tdb.dims()], flags)?;
    let same = [db.len(), tx.len(), tdx.len()].iter().all(|len| *len == x.len());
    ensure!(same && ta.len() == a.len() && tda.len() == a.len(), "the operands have different lengths");
    tdb.copy_from_slice(tdx);
    system.subtract_product(ta, db, tdb, true);
    system.solve(context, tdb, true)?;
    tda.fill(T::ZERO);
    system.subtract_outer(tdb, x, tda);
    system.subtract_outer(db, tx, tda);
    Ok(())
}

/// Cotangents of the operands of the backward op. With `w` from `A·w = ddb − dda·x`, they are
/// `ca = −db·wᵀ`, `cx = −ddaᵀ·db` and `cdx = w`.
#[handler(name = "csr_triangular_solve_bwd_bwd")]
#[signature((a: T[*, e], columns: I[e], starts: I[s], x: T[*, s - 1, n], db: T[*, s - 1, n], dda: T[*, e],
    ddb: T[*, s - 1, n], lower: bool = true, unit_diagonal: bool = false, transpose: bool = false)
    -> (ca: T[*, e], cx: T[*, s - 1, n], cdx: T[*, s - 1, n])
    where T: f32 | f64 | c64 | c128; I: s32 | s64; s >= 1; n: sum)]
#[expect(clippy::too_many_arguments, reason = "those of the signature")]
pub(crate) fn csr_triangular_solve_bwd_bwd(
    context: &Context,
    a: &AnyBuffer,
    columns: &AnyBuffer,
    starts: &AnyBuffer,
    x: &AnyBuffer,
    db: &AnyBuffer,
    dda: &AnyBuffer,
    ddb: &AnyBuffer,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    ca: &mut AnyBuffer,
    cx: &mut AnyBuffer,
    cdx: &mut AnyBuffer,
) -> Result<()> {
    for_types!(a.dtype(), columns.dtype(), T, I => {
        csr_triangular_solve_bwd_bwd_typed::<T, I>(
            context,
            a.typed()?,
            columns.typed()?,
            starts.typed()?,
            x.typed()?,
            db.typed()?,
            dda.typed()?,
            ddb.typed()?,
            lower,
            unit_diagonal,
            transpose,
            ca.typed_mut()?,
            cx.typed_mut()?,
            cdx.typed_mut()?,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "those of the signature")]
fn csr_triangular_solve_bwd_bwd_typed<T: Field, I: Index>(
    context: &Context,
    a: &Buffer<T>,
    columns: &Buffer<I, 1>,
    starts: &Buffer<I, 1>,
    x: &Buffer<T>,
    db: &Buffer<T>,
    dda: &Buffer<T>,
    ddb: &Buffer<T>,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
    ca: &mut Buffer<T>,
    cx: &mut Buffer<T>,
    cdx: &mut Buffer<T>,
) -> Result<()> {
    let flags = [lower, unit_diagonal, transpose];
    let system = System::new(a, columns, starts, [x.dims(), cdx.dims()], flags)?;
    let same = [db.len(), ddb.len(), cx.len()].iter().all(|len| *len == x.len());
    ensure!(same && dda.len() == a.len() && ca.len() == a.len(), "the operands have different lengths");
    cdx.copy_from_slice(ddb);
    system.subtract_product(dda, x, cdx, false);
    system.solve(context, cdx, false)?;
    ca.fill(T::ZERO);
    system.subtract_outer(db, cdx, ca);
    cx.fill(T::ZERO);
    system.subtract_product(dda, db, cx, true);
    Ok(())
}

/// A batch of triangular systems with the same pattern.
struct System<'a, T, I> {
    a: &'a [T],
    matrix: Compressed<'a, I>,
    /// Number of right sides.
    n: usize,
    lower: bool,
    unit_diagonal: bool,
    transpose: bool,
}

impl<'a, T: Field, I: Index> System<'a, T, I> {
    /// Checks sizes and indices. `dense` are the dimensions of the right sides and of a result.
    fn new(
        a: &'a Buffer<T>,
        columns: &'a Buffer<I, 1>,
        starts: &'a Buffer<I, 1>,
        dense: [&[usize]; 2],
        [lower, unit_diagonal, transpose]: [bool; 3],
    ) -> Result<Self> {
        ensure!(!starts.is_empty(), "starts is empty, but has an element more than the matrix has rows");
        let rows = starts.len() - 1;
        let ([batch @ .., entries], [dense_batch @ .., own, n]) = (a.dims(), dense[0]) else {
            let message =
                format!("a and the right sides have the dimensions {:?} and {:?}", a.dims(), dense[0]);
            return Err(Error::invalid_argument(message));
        };
        ensure!(
            batch == dense_batch && *entries == columns.len() && *own == rows && dense[0] == dense[1],
            "a is {:?} and the right sides are {:?}, for {} columns and {rows} rows",
            a.dims(),
            dense[0],
            columns.len()
        );
        let matrix = Compressed { starts, indices: columns, names: ["starts", "columns"], minors: rows };
        matrix.check()?;
        Ok(System { a, matrix, n: *n, lower, unit_diagonal, transpose })
    }

    /// Calls `work(entry, row, column)` for the entries of a row in the triangle, and on the diagonal if it
    /// is not 1.
    fn each(&self, row: usize, mut work: impl FnMut(usize, usize)) {
        let range = self.matrix.starts[row].at()..self.matrix.starts[row + 1].at();
        for at in range {
            let column = self.matrix.indices[at].at();
            let is_inside = if self.lower { column < row } else { column > row };
            if is_inside || (column == row && !self.unit_diagonal) {
                work(at, column);
            }
        }
    }

    /// Solves in place, with the system's matrix, or with the transpose of this matrix if `adjoint`.
    fn solve(&self, context: &Context, x: &mut [T], adjoint: bool) -> Result<()> {
        let (rows, n, entries) = (self.matrix.majors(), self.n, self.matrix.indices.len());
        x.par_chunks_mut((rows * n).max(1)).enumerate().try_for_each(context, |(batch, x)| {
            let (a, transpose) = (entry(self.a, batch, entries), self.transpose != adjoint);
            for step in 0..rows {
                let row = if self.lower != transpose { step } else { rows - 1 - step };
                match transpose {
                    false => self.substitute(a, x, row),
                    true => self.eliminate(a, x, row),
                }
            }
            Ok(())
        })
    }

    /// Solves for row `row`, where all rows on which it depends are solved.
    fn substitute(&self, a: &[T], x: &mut [T], row: usize) {
        let (n, mut diagonal) = (self.n, T::ZERO);
        let (before, rest) = x.split_at_mut(row * n);
        let (own, after) = rest.split_at_mut(n);
        self.each(row, |at, column| {
            if column == row {
                diagonal = diagonal.plus(a[at]);
                return;
            }
            let other = match column < row {
                true => &before[column * n..][..n],
                false => &after[(column - row - 1) * n..][..n],
            };
            own.iter_mut().zip(other).for_each(|(x, other)| *x = x.minus(a[at].times(*other)));
        });
        if !self.unit_diagonal {
            own.iter_mut().for_each(|x| *x = x.over(diagonal));
        }
    }

    /// Solves for row `row` of the transposed system, and subtracts it from the rows that depend on it.
    fn eliminate(&self, a: &[T], x: &mut [T], row: usize) {
        let (n, mut diagonal) = (self.n, T::ZERO);
        self.each(row, |at, column| {
            if column == row {
                diagonal = diagonal.plus(a[at]);
            }
        });
        let (before, rest) = x.split_at_mut(row * n);
        let (own, after) = rest.split_at_mut(n);
        if !self.unit_diagonal {
            own.iter_mut().for_each(|x| *x = x.over(diagonal));
        }
        self.each(row, |at, column| {
            if column != row {
                let other = match column < row {
                    true => &mut before[column * n..][..n],
                    false => &mut after[(column - row - 1) * n..][..n],
                };
                other.iter_mut().zip(&*own).for_each(|(other, x)| *other = other.minus(a[at].times(*x)));
            }
        });
    }

    /// Subtracts from `out` the product of `x` and the system's matrix with the values `a`, or its transpose
    /// if `adjoint`.
    fn subtract_product(&self, a: &[T], x: &[T], out: &mut [T], adjoint: bool) {
        let (rows, n, entries) = (self.matrix.majors(), self.n, self.matrix.indices.len());
        let len = (rows * n).max(1);
        for (batch, (x, out)) in x.chunks(len).zip(out.chunks_mut(len)).enumerate() {
            let a = entry(a, batch, entries);
            for row in 0..rows {
                self.each(row, |at, column| {
                    let (to, from) = if self.transpose != adjoint { (column, row) } else { (row, column) };
                    for j in 0..n {
                        out[to * n + j] = out[to * n + j].minus(a[at].times(x[from * n + j]));
                    }
                });
            }
        }
    }

    /// Subtracts `z·xᵀ`, or its transpose if the system's matrix is transposed, from the values `a`.
    fn subtract_outer(&self, z: &[T], x: &[T], a: &mut [T]) {
        let (rows, n, entries) = (self.matrix.majors(), self.n, self.matrix.indices.len());
        let len = (rows * n).max(1);
        for (a, (z, x)) in a.chunks_mut(entries.max(1)).zip(z.chunks(len).zip(x.chunks(len))) {
            for row in 0..rows {
                self.each(row, |at, column| {
                    let (to, from) = if self.transpose { (column, row) } else { (row, column) };
                    for j in 0..n {
                        a[at] = a[at].minus(z[to * n + j].times(x[from * n + j]));
                    }
                });
            }
        }
    }
}

/// The ops of this module.
pub const OPS: &[&OpDescriptor] = ops![
    csr_triangular_solve,
    csr_triangular_solve_jvp,
    csr_triangular_solve_bwd,
    csr_triangular_solve_bwd_jvp,
    csr_triangular_solve_bwd_bwd,
];
