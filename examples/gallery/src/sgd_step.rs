//! A step of gradient descent in place: the results are in the buffers of operands if the program allows it.
//! The step is linear, so its transpose provides derivatives of any order. Thus training can be
//! differentiated.

use farcall_ffi::prelude::*;

/// `v = momentum·velocity + gradient`, and `w = weights − rate·v`
#[handler(name = "sgd_step")]
#[signature((weights: T[*], velocity: T[*], gradient: T[*], rate: f64, momentum: f64 = 0.9)
    -> (w: T[*] aliases weights, v: T[*] aliases velocity) where T: f32 | f64)]
#[transpose(sgd_step_bwd)]
fn sgd_step<T: Float>() -> Result<()> {
    for (w, v, &gradient) in zip!(weights.iter_mut(), velocity.iter_mut(), gradient.iter()) {
        *v = T::of(momentum) * *v + gradient;
        *w -= T::of(rate) * *v;
    }
    Ok(())
}

/// The cotangent of the weights is `w`, the cotangent of the gradient is `g = v − rate·w`, and the cotangent
/// of the velocity is `momentum·g`.
#[handler(name = "sgd_step_bwd")]
#[signature((w: T[*], v: T[*], rate: f64, momentum: f64 = 0.9)
    -> (weights: T[*] aliases w, velocity: T[*] aliases v, gradient: T[*]) where T: f32 | f64)]
#[transpose(sgd_step)]
fn sgd_step_bwd<T: Float>() -> Result<()> {
    for (&mut w, v, gradient) in zip!(w.iter_mut(), v.iter_mut(), gradient.iter_mut()) {
        *gradient = *v - T::of(rate) * w;
        *v = T::of(momentum) * *gradient;
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![sgd_step, sgd_step_bwd];
