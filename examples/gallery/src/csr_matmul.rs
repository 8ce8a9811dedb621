//! Sparse matrices in compressed rows, times dense ones: sums of products, with derivatives of the same terms.

use farcall_ffi::prelude::*;

/// Row `i` of `y` is the sum of `values[e]·dense[columns[e], :]` for `e` from `starts[i]` to below `starts[i + 1]`. What lies
/// outside of `values` or of `dense` counts as 0.
#[handler(name = "csr_matmul")]
#[signature((values: T[*, e], columns: s32[e], starts: s32[s], dense: T[*, k, n]) -> (y: T[*, s - 1, n])
    where T: f32 | f64; s >= 1; n: map)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp, tangent(values) = tv, tangent(dense) = td)]
fn csr_matmul<T: Float>() -> Result<()> {
    y.fill(T::ZERO);
    terms(columns, starts, dense)?.for_each(|(e, k, i)| y[i] += values[e] * dense[k]);
    Ok(())
}

/// The product rule.
#[handler(name = "csr_matmul_jvp")]
#[signature((values: T[*, e], columns: s32[e], starts: s32[s], dense: T[*, k, n], tv: T[*, e], td: T[*, k, n])
    -> (dy: T[*, s - 1, n]) where T: f32 | f64; s >= 1; n: map)]
fn jvp<T: Float>() -> Result<()> {
    csr_matmul(values, columns, starts, td, dy)?;
    terms(columns, starts, dense)?.for_each(|(e, k, i)| dy[i] += tv[e] * dense[k]);
    Ok(())
}

/// `dvalues[e] = dense[columns[e], :]·dy[i, :]`, and `ddense` is the product of the transposed matrix and `dy`.
#[handler(name = "csr_matmul_bwd")]
#[signature((values: T[*, e], columns: s32[e], starts: s32[s], dense: T[*, k, n], dy: T[*, s - 1, n])
    -> (dvalues: T[*, e], ddense: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
#[jvp(tangent = bwd_jvp, tangent(values) = tv, tangent(dense) = td, tangent(dy) = ty, tangent(dvalues) = tdv, tangent(ddense) = tdd)]
fn bwd<T: Float>() -> Result<()> {
    (dvalues.fill(T::ZERO), ddense.fill(T::ZERO));
    terms(columns, starts, dense)?.for_each(|(e, k, i)| {
        (dvalues[e], ddense[k]) = (dvalues[e] + dense[k] * dy[i], ddense[k] + values[e] * dy[i])
    });
    Ok(())
}

/// The product rule for both.
#[handler(name = "csr_matmul_bwd_jvp")]
#[signature((values: T[*, e], columns: s32[e], starts: s32[s], dense: T[*, k, n], dy: T[*, s - 1, n],
    tv: T[*, e], td: T[*, k, n], ty: T[*, s - 1, n]) -> (tdv: T[*, e], tdd: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
fn bwd_jvp<T: Float>() -> Result<()> {
    bwd(values, columns, starts, dense, ty, tdv, tdd)?;
    terms(columns, starts, dense)?
        .for_each(|(e, k, i)| (tdv[e], tdd[k]) = (tdv[e] + td[k] * dy[i], tdd[k] + tv[e] * dy[i]));
    Ok(())
}

type Ints = Buffer<i32, 1>;

/// For each product of entries, which of `values` and of `dense` they are, and which sum of `y` it belongs to.
fn terms<T: Float>(
    a: &Ints,
    starts: &Ints,
    b: &Buffer<T>,
) -> Result<impl Iterator<Item = (usize, usize, usize)>> {
    let ([k, n], len, rows) = (b.last_dims()?, a.len(), starts.len() - 1);
    let at = move |i: usize| (starts[i].max(0) as usize).min(len);
    let row = move |i: usize| (at(i)..at(i + 1)).map(|e| (e, a[e] as usize)).filter(move |(_, c)| *c < k);
    let place = move |b: usize, i: usize| row(i).map(move |(e, c)| (b * len + e, b * k + c, b * rows + i));
    let entries = (0..b.matrices().len()).flat_map(move |b| (0..rows).flat_map(move |i| place(b, i)));
    Ok(entries.flat_map(move |(e, c, i)| (0..n).map(move |j| (e, c * n + j, i * n + j))))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![csr_matmul, jvp, bwd, bwd_jvp];
