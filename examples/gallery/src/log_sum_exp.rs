//! The logarithm of a sum of exponentials. It has only a forward derivative, computed from the op's result.

use farcall_ffi::prelude::*;

/// `y = ln Σ exp(x)` along each row.
#[handler(name = "log_sum_exp")]
#[signature((x: T[*, n]) -> (y: T[*]) where T: f32 | f64; n >= 1)]
#[jvp(tangent = log_sum_exp_jvp)]
fn log_sum_exp<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    for (x, y) in x.rows().zip(y.iter_mut()) {
        let max = x.iter().copied().fold(T::NEG_INFINITY, T::max);
        *y = max + x.iter().map(|&x| (x - max).exp()).sum::<T>().ln();
    }
    Ok(())
}

/// `ẏ = Σ exp(x − y)·ẋ`
#[handler(name = "log_sum_exp_jvp")]
#[signature((x: T[*, n], y: T[*], dx: T[*, n]) -> (dy: T[*]) where T: f32 | f64; n: sum)]
fn log_sum_exp_jvp<T: Float>(x: &Buffer<T>, y: &Buffer<T>, dx: &Buffer<T>, dy: &mut Buffer<T>) -> Result<()> {
    for (((x, &y), dx), dy) in x.rows().zip(y.iter()).zip(dx.rows()).zip(dy.iter_mut()) {
        *dy = x.iter().zip(dx).map(|(&x, &dx)| (x - y).exp() * dx).sum();
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![log_sum_exp, log_sum_exp_jvp];
