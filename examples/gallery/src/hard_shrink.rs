//! Hard thresholding, which sets small numbers to 0. The derivative with respect to the threshold is zero,
//! and the tangent op is its own transpose.

use farcall_ffi::prelude::*;

/// `x` where its distance from 0 exceeds the threshold, and 0 elsewhere.
#[handler(name = "hard_shrink")]
#[signature((x: T[*], threshold: T[]) -> (y: T[*]) where T: f32 | f64)]
#[jvp(tangent = hard_shrink_jvp)]
#[nondiff(threshold = zero)]
fn hard_shrink<T: Float>(x: &Buffer<T>, threshold: &Buffer<T, 0>, y: &mut Buffer<T>) {
    let threshold = threshold[0];
    zip!(y.iter_mut(), x.iter()).for_each(|(y, &x)| *y = if x.abs() > threshold { x } else { T::ZERO });
}

/// `dx` where the op returns `x`, and 0 where it returns 0.
#[handler(name = "hard_shrink_jvp")]
#[signature((x: T[*], threshold: T[], dx: T[*]) -> (dy: T[*]) where T: f32 | f64)]
#[transpose(hard_shrink_jvp, cotangent(dy) = dx, cotangent(dx) = dy)]
#[nondiff(x = zero, threshold = zero)]
fn hard_shrink_jvp<T: Float>(x: &Buffer<T>, threshold: &Buffer<T, 0>, dx: &Buffer<T>, dy: &mut Buffer<T>) {
    let threshold = threshold[0];
    for (dy, &x, &dx) in zip!(dy.iter_mut(), x.iter(), dx.iter()) {
        *dy = if x.abs() > threshold { dx } else { T::ZERO };
    }
}

pub(crate) const OPS: &[&OpDescriptor] = ops![hard_shrink, hard_shrink_jvp];
