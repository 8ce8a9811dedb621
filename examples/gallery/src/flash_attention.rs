//! Attention without a matrix of all scores: a tile of queries, side by side in vectors, and one of keys stay in the cache,
//! and the softmax is relative to the largest score so far (Dao et al., *FlashAttention*, 2022).

use farcall_ffi::prelude::*;
use farcall_ffi::simd::{add_product, exp, vectorized};

/// How many queries a tile has.
const W: usize = 32;
/// How many keys.
const KEYS: usize = 64;

/// `out = softmax(q·kᵀ/√d)·v`, and `lse`, the logarithms of the sums that the softmax divides by. `h` heads of queries share
/// `g` heads of keys and values, as many each. If `causal`, a query does not see the keys of greater number than its own.
#[handler(name = "flash_attention")]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], causal: bool = false)
    -> (out: T[*, h, n, d], lse: T[*, h, n]) where T: f32 | f64; min(h, g, n, m, d) >= 1; h % g == 0)]
#[vjp(backward = bwd)]
fn flash_attention<T: Real>(host: &Context) -> Result<()> {
    let ([h, n, d], [g, m, _], pool) = (q.last_dims()?, k.last_dims()?, host.pool());
    out.par_matrices_mut().zip(lse.par_rows_mut()).enumerate().for_each(pool, |(head, (out, lse))| {
        let (q, [k, v]) = (&q[head * n * d..], [k, v].map(|x| &x[head / (h / g) * m * d..][..m * d]));
        let tiles = out.par_chunks_mut(W * d).zip(lse.par_chunks_mut(W)).enumerate();
        tiles.for_each(pool, |(tile, (out, lse))| {
            let (first, q) = (tile * W, columns(&q[tile * W * d..][..out.len()], d, scale(d)));
            let [k, v] = [k, v].map(|x| &x[..seen(causal, first, m) * d]);
            let (mut p, mut sums) = (vec![[T::ZERO; W]; KEYS], vec![[T::ZERO; W]; d]);
            let (mut max, mut total) = ([T::NEG_INFINITY; W], [T::ZERO; W]);
            for (tile, (k, v)) in zip!(k.chunks(KEYS * d), v.chunks(KEYS * d)).enumerate() {
                scores(&mut p, k, &q, if causal { first as i64 - (tile * KEYS) as i64 } else { i64::MAX });
                vectorized!({
                    let mut factor = max;
                    p.iter().for_each(|p| each(&mut max, p, |max, p| if p > max { p } else { max }));
                    each(&mut factor, &max, |before, max| exp(before - max));
                    p.iter_mut().for_each(|p| each(p, &max, |score, max| exp(score - max)));
                    sums.iter_mut()
                        .chain([&mut total])
                        .for_each(|sum| each(sum, &factor, |sum, factor| sum * factor));
                    p.iter().for_each(|p| each(&mut total, p, |total, p| total + p));
                });
                add_product(sums.as_flattened_mut(), v, [1, d], p.as_flattened(), [d, k.len() / d, W]);
            }
            vectorized!(sums.iter_mut().for_each(|sum| each(sum, &total, |sum, total| sum / total)));
            rows(out, &sums);
            lse.iter_mut().enumerate().for_each(|(i, lse)| *lse = max[i] + total[i].ln());
        });
    });
    Ok(())
}

/// Scores are computed again. Their cotangents are `p·(dout·v − dout·out + dlse)`, where `p = exp(score − lse)`.
#[handler(name = "flash_attention_bwd")]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], out: T[*, h, n, d], lse: T[*, h, n], dout: T[*, h, n, d],
    dlse: T[*, h, n], causal: bool) -> (dq: T[*, h, n, d], dk: T[*, g, m, d], dv: T[*, g, m, d]) where T: f32 | f64)]
fn bwd<T: Real>(host: &Context) -> Result<()> {
    let ([h, n, d], [g, m, _]) = (q.last_dims()?, k.last_dims()?);
    let heads = dq.par_chunks_mut(h / g * n * d).zip(dk.par_matrices_mut()).zip(dv.par_matrices_mut());
    heads.enumerate().for_each(host, |(head, ((dq, dk), dv))| {
        (dk.fill(T::ZERO), dv.fill(T::ZERO));
        let [k, v] = [k, v].map(|x| &x[head * m * d..][..m * d]);
        let (mut p, mut dp) = (vec![[T::ZERO; W]; KEYS], vec![[T::ZERO; W]; KEYS]);
        for (row, dq) in dq
            .chunks_mut(n * d)
            .enumerate()
            .flat_map(|(i, dq)| (i * n..).step_by(W).zip(dq.chunks_mut(W * d)))
        {
            let at = head * (h / g) * n + row;
            let [q, out, dout] = [q, out, dout].map(|x| &x[at * d..][..dq.len()]);
            let (columns_q, columns_dout, mut sums) =
                (columns(q, d, scale(d)), columns(dout, d, T::ONE), vec![[T::ZERO; W]; d]);
            let (mut log, mut along) = ([T::ZERO; W], [T::ZERO; W]);
            for i in 0..dq.len() / d {
                let product = zip!(&out[i * d..][..d], &dout[i * d..][..d]).map(|(&out, &dout)| out * dout);
                (log[i], along[i]) = (lse[at + i], product.sum::<T>() - dlse[at + i]);
            }
            let (seen, size) = (seen(causal, row % n, m) * d, KEYS * d);
            let keys = zip!(
                k[..seen].chunks(size),
                v[..seen].chunks(size),
                dk[..seen].chunks_mut(size),
                dv[..seen].chunks_mut(size)
            );
            for (tile, (k, v, dk, dv)) in keys.enumerate() {
                let (keys, queries) = (k.len() / d, dq.len() / d);
                scores(
                    &mut p,
                    k,
                    &columns_q,
                    if causal { (row % n) as i64 - (tile * KEYS) as i64 } else { i64::MAX },
                );
                scores(&mut dp, v, &columns_dout, i64::MAX);
                vectorized!({
                    p.iter_mut().for_each(|p| each(p, &log, |score, log| exp(score - log)));
                    dp.iter_mut().for_each(|dp| each(dp, &along, |dp, along| (dp - along) * scale(d)));
                    zip!(dp.iter_mut(), &p).for_each(|(dp, p)| each(dp, p, |dp, p| dp * p));
                });
                add_product(dv, p.as_flattened(), [W, 1], dout, [keys, queries, d]);
                add_product(dk, dp.as_flattened(), [W, 1], q, [keys, queries, d]);
                add_product(sums.as_flattened_mut(), k, [1, d], dp.as_flattened(), [d, keys, W]);
            }
            rows(dq, &sums);
        }
    });
    Ok(())
}

/// How many of `m` keys the queries of the tile from `first` on see.
fn seen(causal: bool, first: usize, m: usize) -> usize {
    if causal { m.min(first + W) } else { m }
}

/// `s[j][i]` is the product of row `j` of `k` and column `i` of `q`, or −∞ if `j > i + ahead`.
fn scores<T: Real>(s: &mut Vec<[T; W]>, k: &[T], q: &[[T; W]], ahead: i64) {
    let (d, keys) = (q.len(), k.len() / q.len());
    s.clear();
    s.resize(keys, [T::ZERO; W]);
    add_product(s.as_flattened_mut(), k, [d, 1], q.as_flattened(), [keys, d, W]);
    for (j, s) in s.iter_mut().enumerate() {
        s[..(j as i64).saturating_sub(ahead).clamp(0, W as i64) as usize].fill(T::NEG_INFINITY);
    }
}

fn scale<T: Real>(d: usize) -> T {
    T::of(d as f64).sqrt().recip()
}

/// Rows of `d` as columns, times a factor; zeros where there are fewer than `W`.
fn columns<T: Real>(rows: &[T], d: usize, factor: T) -> Vec<[T; W]> {
    let mut columns = vec![[T::ZERO; W]; d];
    for (i, row) in rows.chunks_exact(d).enumerate() {
        zip!(columns.iter_mut(), row).for_each(|(column, &x)| column[i] = x * factor);
    }
    columns
}

fn rows<T: Real>(rows: &mut [T], columns: &[[T; W]]) {
    for (i, row) in rows.chunks_exact_mut(columns.len()).enumerate() {
        zip!(row.iter_mut(), columns).for_each(|(x, column)| *x = column[i]);
    }
}

#[inline(always)]
fn each<T: Real>(x: &mut [T; W], y: &[T; W], f: impl Fn(T, T) -> T) {
    (0..W).for_each(|i| x[i] = f(x[i], y[i]));
}

pub(crate) const OPS: &[&OpDescriptor] = ops![flash_attention, bwd];
