//! A weighted sum of any number of tensors, whose weights are an operand, too.

use farcall_ffi::prelude::*;

/// `y = Σ weights[i]·xs[i]`
#[handler(name = "mix")]
#[signature((weights: T[len(xs)], xs: T[*]...) -> (y: T[*]) where T: f32 | f64)]
#[vjp(backward = mix_bwd)]
fn mix<T: Float>() -> Result<()> {
    y.fill(T::ZERO);
    for (&weight, x) in zip!(weights.iter(), xs.iter()) {
        zip!(y.iter_mut(), x.iter()).for_each(|(y, &x)| *y += weight * x);
    }
    Ok(())
}

/// `dxs[i] = weights[i]·dy`, and `dweights[i]` is the sum of `xs[i]·dy` over all entries of all batches.
#[handler(name = "mix_bwd")]
#[signature((weights: T[len(xs)], dy: T[*], xs: T[*]...) -> (dweights: T[len(xs)], dxs: T[*]...) where T: f32 | f64; *: sum)]
fn mix_bwd<T: Float>() -> Result<()> {
    for (&weight, x, dweight, dx) in zip!(weights.iter(), xs.iter(), dweights.iter_mut(), dxs.iter_mut()) {
        *dweight = zip!(x.iter(), dy.iter()).map(|(&x, &dy)| x * dy).sum();
        zip!(dx.iter_mut(), dy.iter()).for_each(|(dx, &dy)| *dx = weight * dy);
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![mix, mix_bwd];
