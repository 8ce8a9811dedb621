//! Products of sparse matrices in compressed row format with dense matrices.

use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// Row `i` of `y` is the sum of `a[e]·b[columns[e], :]` for `e` from `starts[i]` to `starts[i + 1] - 1`.
/// Entries outside of `a` or `b` count as 0.
#[handler(name = "csr_matmul", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n]) -> (y: T[*, s - 1, n])
    where T: f32 | f64; s >= 1; n: map)]
#[vjp(backward = csr_matmul_bwd)]
#[jvp(tangent = csr_matmul_jvp)]
pub(crate) fn csr_matmul<T: Float>(
    a: &Buffer<T>,
    columns: &Buffer<i32, 1>,
    starts: &Buffer<i32, 1>,
    b: &Buffer<T>,
    y: &mut Buffer<T>,
) -> Result<()> {
    let shape = Shape::of(a.dims(), columns.len(), starts.len(), b.dims(), y.dims())?;
    shape.terms(columns, starts, |e, k, i| y[i] += a[e] * b[k]);
    Ok(())
}

/// The product rule.
#[handler(name = "csr_matmul_jvp", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], da: T[*, e], db: T[*, k, n])
    -> (dy: T[*, s - 1, n]) where T: f32 | f64; s >= 1; n: map)]
pub(crate) fn csr_matmul_jvp<T: Float>() -> Result<()> {
    csr_matmul(a, columns, starts, db, dy)?;
    csr_matmul(da, columns, starts, b, dy)
}

/// `da[e] = b[columns[e], :]·dy[i, :]`, and `db` is the product of the transposed matrix and `dy`.
#[handler(name = "csr_matmul_bwd", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], dy: T[*, s - 1, n])
    -> (da: T[*, e], db: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
pub(crate) fn csr_matmul_bwd<T: Float>() -> Result<()> {
    let shape = Shape::of(a.dims(), columns.len(), starts.len(), b.dims(), dy.dims())?;
    ensure!(a.dims() == da.dims() && b.dims() == db.dims(), "da is {da:?}, db is {db:?}");
    shape.terms(columns, starts, |e, k, i| (da[e], db[k]) = (da[e] + b[k] * dy[i], db[k] + a[e] * dy[i]));
    Ok(())
}

/// Sizes of the tensors of a call.
#[derive(Clone, Copy, Debug)]
struct Shape {
    batches: usize,
    /// Number of entries of the sparse matrix.
    entries: usize,
    /// Number of rows of the sparse matrix.
    rows: usize,
    /// Number of rows of the dense matrix.
    k: usize,
    /// Number of columns of the dense matrix.
    n: usize,
}

impl Shape {
    /// Checks the dimensions against the signature, since XLA does not.
    fn of(a: &[usize], columns: usize, starts: usize, b: &[usize], y: &[usize]) -> Result<Shape> {
        let ([batch @ .., entries], [other_batch @ .., k, n]) = (a, b) else {
            return Err(Error::invalid_argument(format!("a needs a dimension, and b two: {a:?} and {b:?}")));
        };
        ensure!(starts >= 1, "starts needs an element more than the matrix has rows, so at least one");
        let fits = batch == other_batch && columns == *entries && y == [batch, &[starts - 1, *n]].concat();
        ensure!(
            fits,
            "a is {a:?}, b is {b:?}, and the product is {y:?}, for {columns} columns and {starts} starts"
        );
        let batches = batch.iter().product();
        Ok(Shape { batches, entries: *entries, rows: starts - 1, k: *k, n: *n })
    }

    /// Calls `term(e, k, i)` for each term `a[e]·b[k]` of the sums; the term contributes to `y[i]`.
    fn terms(self, columns: &[i32], starts: &[i32], mut term: impl FnMut(usize, usize, usize)) {
        let Shape { batches, entries, rows, k, n } = self;
        let start = |i: usize| usize::try_from(starts[i]).unwrap_or(0).min(entries);
        for (batch, row) in (0..batches).flat_map(|batch| (0..rows).map(move |row| (batch, row))) {
            // A row that ends before it starts has no entries.
            let entries = start(row)..start(row + 1).max(start(row));
            for (e, column) in entries.clone().zip(&columns[entries]) {
                let Some(column) = usize::try_from(*column).ok().filter(|column| *column < k) else {
                    continue;
                };
                for j in 0..n {
                    term(
                        batch * self.entries + e,
                        (batch * k + column) * n + j,
                        (batch * rows + row) * n + j,
                    );
                }
            }
        }
    }
}

pub(crate) const OPS: &[&OpDescriptor] = ops![
    csr_matmul,
    csr_matmul_jvp,
    csr_matmul_bwd,
    cuda::csr_matmul,
    cuda::csr_matmul_jvp,
    cuda::csr_matmul_bwd
];
