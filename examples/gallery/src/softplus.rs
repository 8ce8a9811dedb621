//! A smooth ramp that can be differentiated twice, in four element types. Each number is widened for the
//! computation, then narrowed. The parameters of the derivatives are bound explicitly.

use farcall_ffi::prelude::*;

/// `y = ln(1 + exp(x))`
#[handler(name = "softplus")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64 | f16 | bf16)]
#[vjp(backward = softplus_jvp, cotangent(y) = v, cotangent(x) = u)]
#[jvp(tangent = softplus_jvp, tangent(x) = v, tangent(y) = u)]
fn softplus<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    for (y, x) in y.iter_mut().zip(x.iter().map(|x| x.widen())) {
        *y = T::narrow(x.max(T::Acc::ZERO) + (-x.abs()).exp().ln_1p());
    }
    Ok(())
}

/// `u = σ(x)·v`
#[handler(name = "softplus_jvp")]
#[signature((x: T[*], v: T[*]) -> (u: T[*]) where T: f32 | f64 | f16 | bf16)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn softplus_jvp<T: Float>(x: &Buffer<T>, v: &Buffer<T>, u: &mut Buffer<T>) -> Result<()> {
    (0..x.len()).for_each(|i| u[i] = T::narrow(sigmoid(x[i]).0 * v[i].widen()));
    Ok(())
}

/// `dx = σ′(x)·v·du` and `dv = σ(x)·du`
#[handler(name = "softplus_jvp_bwd")]
#[signature((x: T[*], v: T[*], du: T[*]) -> (dx: T[*], dv: T[*]) where T: f32 | f64 | f16 | bf16)]
#[rustfmt::skip]
fn bwd<T: Float>(x: &Buffer<T>, v: &Buffer<T>, du: &Buffer<T>, dx: &mut Buffer<T>, dv: &mut Buffer<T>) -> Result<()> {
    (0..x.len()).for_each(|i| dx[i] = T::narrow(sigmoid(x[i]).1 * v[i].widen() * du[i].widen()));
    softplus_jvp(x, du, dv)
}

/// `du = σ′(x)·v·dx + σ(x)·dv`
#[handler(name = "softplus_jvp_jvp")]
#[signature((x: T[*], v: T[*], dx: T[*], dv: T[*]) -> (du: T[*]) where T: f32 | f64 | f16 | bf16)]
#[rustfmt::skip]
fn jvp<T: Float>(x: &Buffer<T>, v: &Buffer<T>, dx: &Buffer<T>, dv: &Buffer<T>, du: &mut Buffer<T>) -> Result<()> {
    for (i, (s, slope)) in x.iter().map(|&x| sigmoid(x)).enumerate() {
        du[i] = T::narrow(slope * v[i].widen() * dx[i].widen() + s * dv[i].widen());
    }
    Ok(())
}

/// Returns the logistic function and its derivative, `σ(x)` and `σ′(x)`.
fn sigmoid<T: Float>(x: T) -> (T::Acc, T::Acc) {
    let y = (T::Acc::ONE + (-x.widen()).exp()).recip();
    (y, y * (T::Acc::ONE - y))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![softplus, softplus_jvp, bwd, jvp];
