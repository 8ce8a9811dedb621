//! Attention without a matrix of all scores (Dao et al., *FlashAttention*, 2022). A tile of queries and a
//! tile of keys stay in the cache. The queries are transposed, so that a vector has the same entry of several
//! queries. Exponentials are relative to the largest score so far.

use farcall_ffi::prelude::*;
use farcall_ffi::simd::{add_product, exp, transposed, update, vectorized};

const TILE: usize = 64; // number of queries, or of keys, in a tile

/// `out = softmax(q·kᵀ/√d)·v`, and `lse`, the logarithms of the sums that the softmax divides by. `h` heads
/// of queries share `g` heads of keys and values, `h / g` query heads each. If `causal`, query `i` attends
/// only to keys with indices up to `i`.
#[handler(name = "flash_attention")]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], causal: bool = false)
    -> (out: T[*, h, n, d], lse: T[*, h, n]) where T: f32 | f64; min(h, g, n, m, d) >= 1; h % g == 0)]
#[vjp(backward = bwd)]
fn flash_attention<T: Real>(host: &Context) -> Result<()> {
    let ([h, n, d], [g, m, _], pool) = (q.last_dims()?, k.last_dims()?, host.pool());
    let scale = T::of(d as f64).sqrt().recip();
    out.par_matrices_mut().zip(lse.par_rows_mut()).enumerate().for_each(pool, |(head, (out, lse))| {
        let tiles = out.par_chunks_mut(TILE * d).zip(lse.par_chunks_mut(TILE)).enumerate();
        tiles.for_each(pool, |(t, (out, max))| {
            let (first, w, seen) = (t * TILE, max.len(), if causal { m.min(t * TILE + TILE) } else { m });
            let [k, v] = [k, v].map(|x| &x[head / (h / g) * m * d..][..seen * d]);
            let mut q = transposed(&q[(head * n + first) * d..][..w * d], d);
            q.iter_mut().for_each(|q| *q *= scale);
            let (mut sums, mut total) = (vec![T::ZERO; d * w], vec![T::ZERO; w]);
            max.fill(T::NEG_INFINITY);
            for (at, (k, v)) in zip!(k.chunks(TILE * d), v.chunks(TILE * d)).enumerate() {
                let mut p = scores(k, &q, [d, w], causal.then(|| (first, at * TILE)));
                vectorized!({
                    let mut factor = max.to_vec();
                    p.chunks_exact(w).for_each(|p| update(max, p, |max, p| if p > max { p } else { max }));
                    update(&mut factor, max, |before, max| exp(before - max));
                    sums.chunks_exact_mut(w).for_each(|sum| update(sum, &factor, |sum, factor| sum * factor));
                    update(&mut total, &factor, |total, factor| total * factor);
                    for p in p.chunks_exact_mut(w) {
                        update(p, max, |score, max| exp(score - max));
                        update(&mut total, p, |total, p| total + p);
                    }
                });
                add_product(&mut sums, v, [1, d], &p, [d, k.len() / d, w]);
            }
            sums.chunks_exact_mut(w).for_each(|sum| update(sum, &total, |sum, total| sum / total));
            out.copy_from_slice(&transposed(&sums, w));
            update(max, &total, |max, total| max + total.ln());
        });
    });
    Ok(())
}

/// Recomputes the scores. Their cotangents are `p·(dout·v − dout·out + dlse)`, where `p = exp(score − lse)`.
#[handler(name = "flash_attention_bwd", zeroed)]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], out: T[*, h, n, d], lse: T[*, h, n], dout: T[*, h, n, d],
    dlse: T[*, h, n], causal: bool) -> (dq: T[*, h, n, d], dk: T[*, g, m, d], dv: T[*, g, m, d]) where T: f32 | f64)]
fn bwd<T: Real>(host: &Context) -> Result<()> {
    let ([h, n, d], [g, m, _]) = (q.last_dims()?, k.last_dims()?);
    let scale = T::of(d as f64).sqrt().recip();
    let heads = dq.par_chunks_mut(h / g * n * d).zip(dk.par_matrices_mut()).zip(dv.par_matrices_mut());
    heads.enumerate().for_each(host, |(head, ((dq, dk), dv))| {
        let tiles = dq.chunks_mut(n * d).enumerate().flat_map(|(i, dq)| {
            dq.chunks_mut(TILE * d).enumerate().map(move |(tile, dq)| (i * n + tile * TILE, tile * TILE, dq))
        });
        for (row, first, dq) in tiles {
            let (at, w) = (head * (h / g) * n + row, dq.len() / d);
            let [q, out, dout] = [q, out, dout].map(|x| &x[at * d..][..w * d]);
            let ([columns, dcolumns], mut sums) = ([q, dout].map(|x| transposed(x, d)), vec![T::ZERO; d * w]);
            let dot = |i: usize| (i * d..i * d + d).map(|j| out[j] * dout[j]).sum::<T>() - dlse[at + i];
            let along: Vec<T> = (0..w).map(dot).collect();
            let seen = if causal { m.min(first + TILE) } else { m };
            for key in (0..seen).step_by(TILE) {
                let keys = key * d..seen.min(key + TILE) * d;
                let ([k, v], len) = ([k, v].map(|x| &x[head * m * d..][keys.clone()]), keys.len() / d);
                let mut p = scores(k, &columns, [d, w], causal.then_some((first, key)));
                let mut dp = scores(v, &dcolumns, [d, w], None);
                vectorized!(zip!(p.chunks_exact_mut(w), dp.chunks_exact_mut(w)).for_each(|(p, dp)| {
                    update(p, &lse[at..][..w], |score, lse| exp(score * scale - lse));
                    update(dp, &along, |dp, along| (dp - along) * scale);
                    update(dp, p, |dp, p| dp * p);
                }));
                add_product(&mut dv[keys.clone()], &p, [w, 1], dout, [len, w, d]);
                add_product(&mut dk[keys], &dp, [w, 1], q, [len, w, d]);
                add_product(&mut sums, k, [1, d], &dp, [d, len, w]);
            }
            dq.copy_from_slice(&transposed(&sums, w));
        }
    });
    Ok(())
}

/// Returns the products of the rows of `k` and the `w` columns of `q`. For a causal mask, `order` has the
/// indices of the first query and the first key, and the products of masked keys are −∞.
fn scores<T: Real>(k: &[T], q: &[T], [d, w]: [usize; 2], order: Option<(usize, usize)>) -> Vec<T> {
    let mut scores = vec![T::ZERO; k.len() / d * w];
    add_product(&mut scores, k, [d, 1], q, [k.len() / d, d, w]);
    for (j, scores) in scores.chunks_exact_mut(w).enumerate() {
        let hidden = order.map_or(0, |(query, key)| (key + j).saturating_sub(query).min(w));
        scores[..hidden].fill(T::NEG_INFINITY);
    }
    scores
}

pub(crate) const OPS: &[&OpDescriptor] = ops![flash_attention, bwd];
