//! A weighted sum of any number of tensors. The weights are also an operand.

use farcall_ffi::prelude::*;

/// `y = Σ weights[i]·xs[i]`
#[handler(name = "mix", zeroed)]
#[signature((weights: T[len(xs)], xs: T[*]...) -> (y: T[*]) where T: f32 | f64)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn mix<T: Float>() {
    for (&weight, x) in zip!(weights.iter(), xs.iter()) {
        zip!(y.iter_mut(), x.iter()).for_each(|(y, &x)| *y += weight * x);
    }
}

/// The product rule.
#[handler(name = "mix_jvp", zeroed)]
#[signature((weights: T[len(xs)], dweights: T[len(xs)], xs: T[*]..., dxs: T[*]...) -> (dy: T[*]) where T: f32 | f64)]
fn jvp<T: Float>() {
    mix(dweights, xs, dy);
    mix(weights, dxs, dy);
}

/// `dxs[i] = weights[i]·dy`, and `dweights[i]` is the sum of `xs[i]·dy` over all entries of all batches.
#[handler(name = "mix_bwd", zeroed)]
#[signature((weights: T[len(xs)], dy: T[*], xs: T[*]...) -> (dweights: T[len(xs)], dxs: T[*]...) where T: f32 | f64; *: sum)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Float>() {
    for (&weight, x, dweight, dx) in zip!(weights.iter(), xs.iter(), dweights.iter_mut(), dxs.iter_mut()) {
        *dweight += farcall_ffi::dot(x, dy);
        zip!(dx.iter_mut(), dy.iter()).for_each(|(dx, &dy)| *dx += weight * dy);
    }
}

/// The product rule, for `dweights` and `dxs`.
#[handler(name = "mix_bwd_jvp", zeroed)]
#[signature((weights: T[len(xs)], tweights: T[len(xs)], dy: T[*], tdy: T[*], xs: T[*]..., txs: T[*]...)
    -> (tdweights: T[len(xs)], tdxs: T[*]...) where T: f32 | f64; *: sum)]
fn bwd_jvp<T: Float>() {
    bwd(weights, tdy, xs, tdweights, tdxs);
    bwd(tweights, dy, txs, tdweights, tdxs);
}

pub(crate) const OPS: &[&OpDescriptor] = ops![mix, jvp, bwd, bwd_jvp];
