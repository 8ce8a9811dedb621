//! Products of sparse matrices in compressed row format with dense matrices. The results are sums of
//! products, and the sums in the derivatives run over the same pairs of entries.

use farcall_ffi::prelude::*;

/// Row `i` of `y` is the sum of `a[e]·b[columns[e], :]` for `e` from `starts[i]` to `starts[i + 1] - 1`.
/// Entries outside of `a` or `b` count as 0.
#[handler(name = "csr_matmul", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n]) -> (y: T[*, s - 1, n])
    where T: f32 | f64; s >= 1; n: map)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn csr_matmul<T: Float>() -> Result<()> {
    terms(columns, starts, b)?.for_each(|(e, k, i)| y[i] += a[e] * b[k]);
    Ok(())
}

/// The product rule.
#[handler(name = "csr_matmul_jvp", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], da: T[*, e], db: T[*, k, n])
    -> (dy: T[*, s - 1, n]) where T: f32 | f64; s >= 1; n: map)]
fn jvp<T: Float>() -> Result<()> {
    csr_matmul(a, columns, starts, db, dy)?;
    csr_matmul(da, columns, starts, b, dy)
}

/// `da[e] = b[columns[e], :]·dy[i, :]`, and `db` is the product of the transposed matrix and `dy`.
#[handler(name = "csr_matmul_bwd", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], dy: T[*, s - 1, n])
    -> (da: T[*, e], db: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Float>() -> Result<()> {
    let terms = terms(columns, starts, b)?;
    terms.for_each(|(e, k, i)| (da[e], db[k]) = (da[e] + b[k] * dy[i], db[k] + a[e] * dy[i]));
    Ok(())
}

/// The product rule, for `da` and `db`.
#[handler(name = "csr_matmul_bwd_jvp", zeroed)]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], dy: T[*, s - 1, n], ta: T[*, e], tb: T[*, k, n],
    tdy: T[*, s - 1, n]) -> (tda: T[*, e], tdb: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
fn bwd_jvp<T: Float>() -> Result<()> {
    bwd(a, columns, starts, b, tdy, tda, tdb)?;
    bwd(ta, columns, starts, tb, dy, tda, tdb)
}

type Ints = Buffer<i32, 1>;
/// Returns `(e, k, i)` for each term `a[e]·b[k]` of the sums; the term contributes to `y[i]`.
fn terms<T: Float>(c: &Ints, s: &Ints, b: &Buffer<T>) -> Result<impl Iterator<Item = (usize, usize, usize)>> {
    let ([k, n], len, rows) = (b.last_dims()?, c.len(), s.len() - 1);
    let at = move |i: usize| (s[i].max(0) as usize).min(len);
    let row = move |i: usize| (at(i)..at(i + 1)).map(|e| (e, c[e] as usize)).filter(move |(_, c)| *c < k);
    let entry = move |b: usize, i: usize| row(i).map(move |(e, c)| (b * len + e, b * k + c, b * rows + i));
    let entries = (0..b.matrices().len()).flat_map(move |b| (0..rows).flat_map(move |i| entry(b, i)));
    Ok(entries.flat_map(move |(e, c, i)| (0..n).map(move |j| (e, c * n + j, i * n + j))))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![csr_matmul, jvp, bwd, bwd_jvp];
