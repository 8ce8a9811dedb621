//! A smooth ramp, differentiable twice, in four element types. It is said what the parameters of derivatives are.

use farcall_ffi::half::{bf16, f16};
use farcall_ffi::prelude::*;

/// `y = ln(1 + exp(x))`
#[handler(name = "softplus")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64 | f16 | bf16)]
#[vjp(backward = softplus_jvp, cotangent(y) = v, cotangent(x) = u)]
#[jvp(tangent = softplus_jvp, tangent(x) = v, tangent(y) = u)]
fn softplus<T: Real>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    (0..x.len()).for_each(|i| y[i] = T::of(x[i].into().max(0.0) + (-x[i].into().abs()).exp().ln_1p()));
    Ok(())
}

/// `u = σ(x)·v`
#[handler(name = "softplus_jvp")]
#[signature((x: T[*], v: T[*]) -> (u: T[*]) where T: f32 | f64 | f16 | bf16)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn softplus_jvp<T: Real>(x: &Buffer<T>, v: &Buffer<T>, u: &mut Buffer<T>) -> Result<()> {
    (0..x.len()).for_each(|i| u[i] = T::of(sigmoid(x[i]).0 * v[i].into()));
    Ok(())
}

/// `dx = σ′(x)·v·du` and `dv = σ(x)·du`
#[handler(name = "softplus_jvp_bwd")]
#[signature((x: T[*], v: T[*], du: T[*]) -> (dx: T[*], dv: T[*]) where T: f32 | f64 | f16 | bf16)]
#[rustfmt::skip]
fn bwd<T: Real>(x: &Buffer<T>, v: &Buffer<T>, du: &Buffer<T>, dx: &mut Buffer<T>, dv: &mut Buffer<T>) -> Result<()> {
    (0..x.len()).for_each(|i| dx[i] = T::of(sigmoid(x[i]).1 * v[i].into() * du[i].into()));
    softplus_jvp(x, du, dv)
}

/// `du = σ′(x)·v·dx + σ(x)·dv`
#[handler(name = "softplus_jvp_jvp")]
#[signature((x: T[*], v: T[*], dx: T[*], dv: T[*]) -> (du: T[*]) where T: f32 | f64 | f16 | bf16)]
#[rustfmt::skip]
fn jvp<T: Real>(x: &Buffer<T>, v: &Buffer<T>, dx: &Buffer<T>, dv: &Buffer<T>, du: &mut Buffer<T>) -> Result<()> {
    for (i, (s, slope)) in x.iter().map(|&x| sigmoid(x)).enumerate() {
        du[i] = T::of(slope * v[i].into() * dx[i].into() + s * dv[i].into());
    }
    Ok(())
}

fn sigmoid<T: Real>(x: T) -> (f64, f64) {
    let y = 1.0 / (1.0 + (-x.into()).exp());
    (y, y * (1.0 - y))
}

/// A number that is computed with in `f64`.
trait Real: Element + Into<f64> {
    fn of(x: f64) -> Self;
}
macro_rules! real {
    ($($T:ty: $of:expr),*) => { $(impl Real for $T { fn of(x: f64) -> Self { $of(x) } })* };
}
real! { f32: |x| x as f32, f64: |x| x, f16: f16::from_f64, bf16: bf16::from_f64 }

pub(crate) const OPS: &[&OpDescriptor] = ops![softplus, softplus_jvp, bwd, jvp];
