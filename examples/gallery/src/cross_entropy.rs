//! Cross-entropy with integer labels, which have no derivative. A kernel that is written without
//! parameters gets the parameters of its signature. Below, `p = softmax(x)` and `g = p − onehot(label)`.

use farcall_ffi::log_sum_exp;
use farcall_ffi::prelude::*;

/// `ln Σ exp(x) − x[label]` of each row. The loss of a row whose label is not in `0..n` is 0.
#[handler(name = "cross_entropy")]
#[signature((x: T[*, n], labels: s32[*]) -> (loss: T[*]) where T: f32 | f64; n >= 1)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn cross_entropy<T: Float>() {
    for (x, &label, loss) in zip!(x.rows(), labels.iter(), loss.iter_mut()) {
        *loss = x.get(label as usize).map_or(T::ZERO, |&labelled| log_sum_exp(x) - labelled);
    }
}

/// `dloss = g·dx`
#[handler(name = "cross_entropy_jvp")]
#[signature((x: T[*, n], labels: s32[*], dx: T[*, n]) -> (dloss: T[*]) where T: f32 | f64; n >= 1)]
fn jvp<T: Float>() {
    for (x, &label, dx, dloss) in zip!(x.rows(), labels.iter(), dx.rows(), dloss.iter_mut()) {
        *dloss = zip!(slopes(x, label), dx).map(|((_, g), &dx)| g * dx).sum();
    }
}

/// `dx = dloss·g`
#[handler(name = "cross_entropy_bwd")]
#[signature((x: T[*, n], labels: s32[*], dloss: T[*]) -> (dx: T[*, n]) where T: f32 | f64; n >= 1)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Float>() {
    for (x, &label, &dloss, dx) in zip!(x.rows(), labels.iter(), dloss.iter(), dx.rows_mut()) {
        zip!(slopes(x, label), dx).for_each(|((_, g), dx)| *dx = dloss * g);
    }
}

/// `tdx = tdloss·g + dloss·p∘(tx − p·tx)`
#[handler(name = "cross_entropy_bwd_jvp")]
#[signature((x: T[*, n], labels: s32[*], dloss: T[*], tx: T[*, n], tdloss: T[*]) -> (tdx: T[*, n])
    where T: f32 | f64; n >= 1)]
fn bwd_jvp<T: Float>() {
    let rows = zip!(x.rows(), labels.iter(), dloss.iter(), tx.rows(), tdloss.iter(), tdx.rows_mut());
    for (x, &label, &dloss, tx, &tdloss, tdx) in rows {
        let mean: T = zip!(slopes(x, label), tx).map(|((p, _), &tx)| p * tx).sum();
        let row = zip!(slopes(x, label), tx, tdx);
        row.for_each(|((p, g), &tx, tdx)| *tdx = tdloss * g + dloss * p * (tx - mean));
    }
}

/// Returns `p` and `g` of each entry of a row; zeros if the row's label is out of range.
fn slopes<T: Float>(x: &[T], label: i32) -> impl ExactSizeIterator<Item = (T, T)> {
    let sum = if (label as usize) < x.len() { log_sum_exp(x) } else { -T::NEG_INFINITY };
    let p = x.iter().map(move |&x| (x - sum).exp()).enumerate();
    p.map(move |(i, p)| (p, if i == label as usize { p - T::ONE } else { p }))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![cross_entropy, jvp, bwd, bwd_jvp];
