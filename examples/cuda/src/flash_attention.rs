//! Attention. The CPU computes the scores of one query at a time.

use farcall_ffi::half::{bf16, f16};
use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// `out = softmax(q·kᵀ/√d)·v`, and `lse`, the logarithms of the sums that the softmax divides by. `h` heads
/// of queries share `g` heads of keys and values, `h / g` query heads each. If `causal`, query `i` attends
/// only to keys with indices up to `i`.
#[handler(name = "flash_attention")]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], causal: bool = false)
    -> (out: T[*, h, n, d], lse: f32[*, h, n]) where T: f16 | bf16; min(h, g, n, m, d) >= 1; h % g == 0)]
#[samples(samples)]
pub(crate) fn flash_attention<T: Float<Acc = f32>>(
    q: &Buffer<T>,
    k: &Buffer<T>,
    v: &Buffer<T>,
    causal: bool,
    out: &mut Buffer<T>,
    lse: &mut Buffer<f32>,
    host: &Context,
) -> Result<()> {
    let Shape { h, g, n, m, d } = Shape::of(q.dims(), k.dims(), v.dims(), out.dims(), lse.dims())?;
    let scale = 1.0 / (d as f32).sqrt();
    let heads = out.par_chunks_mut(n * d).zip(lse.par_chunks_mut(n)).enumerate();
    heads.for_each(host, |(head, (out, lse))| {
        let keys = &k[head / (h / g) * m * d..][..m * d];
        let values = &v[head / (h / g) * m * d..][..m * d];
        let (mut scores, mut sums) = (Vec::new(), vec![0.0; d]);
        for (i, (out, lse)) in out.chunks_exact_mut(d).zip(lse).enumerate() {
            let query = &q[(head * n + i) * d..][..d];
            let seen = if causal { m.min(i + 1) } else { m };
            scores.clear();
            scores.extend(keys.chunks_exact(d).take(seen).map(|key| scale * dot(query, key)));
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = (*score - largest).exp());
            let total: f32 = scores.iter().sum();
            sums.fill(0.0);
            for (weight, value) in scores.iter().zip(values.chunks_exact(d)) {
                sums.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value.widen());
            }
            out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = T::narrow(sum / total));
            *lse = largest + total.ln();
        }
    });
    Ok(())
}

/// Calls that the handler for CUDA supports, too: `d` is a multiple of 8.
fn samples() -> Vec<Sample> {
    fn call<T: Float<Acc = f32>>() -> Sample {
        let numbers =
            |len: u16, step: f32| (0..len).map(|i| T::narrow((step * f32::from(i)).sin())).collect();
        let [q, k, v]: [Vec<T>; 3] =
            [numbers(2 * 4 * 5 * 8, 0.7), numbers(2 * 2 * 7 * 8, 0.3), numbers(2 * 2 * 7 * 8, 1.1)];
        Sample::new().operand(&q, &[2, 4, 5, 8]).operand(&k, &[2, 2, 7, 8]).operand(&v, &[2, 2, 7, 8])
    }
    vec![call::<f16>(), call::<bf16>()]
}

fn dot<T: Float<Acc = f32>>(x: &[T], y: &[T]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x.widen() * y.widen()).sum()
}

/// Sizes of the tensors of a call.
#[derive(Debug)]
struct Shape {
    /// Number of heads of queries.
    h: usize,
    /// Number of heads of keys and values.
    g: usize,
    /// Number of queries.
    n: usize,
    /// Number of keys.
    m: usize,
    /// Size of a query, key or value.
    d: usize,
}

impl Shape {
    /// Checks the dimensions against the signature, since XLA does not.
    fn of(q: &[usize], k: &[usize], v: &[usize], out: &[usize], lse: &[usize]) -> Result<Shape> {
        let ([batch @ .., h, n, d], [other_batch @ .., g, m, other_d]) = (q, k) else {
            return Err(Error::invalid_argument(format!(
                "q and k need three dimensions, found {q:?} and {k:?}"
            )));
        };
        let (h, n, d, g, m) = (*h, *n, *d, *g, *m);
        let fits = batch == other_batch && d == *other_d && k == v && q == out && lse == &q[..q.len() - 1];
        ensure!(fits, "q, k, v, out and lse have the shapes {q:?}, {k:?}, {v:?}, {out:?} and {lse:?}");
        ensure!([h, g, n, m, d].iter().min() >= Some(&1), "q {q:?} and k {k:?} must not be empty");
        ensure!(h.is_multiple_of(g), "{h} heads of queries cannot share {g} heads of keys");
        Ok(Shape { h, g, n, m, d })
    }
}

pub(crate) const OPS: &[&OpDescriptor] = ops![flash_attention, cuda::flash_attention];
