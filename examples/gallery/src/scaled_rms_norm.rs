//! Root mean square normalization: the gradient of `scale`, which all rows share, is a sum over the rows.

use farcall_ffi::prelude::*;

/// Divides each row of `x` by its root mean square, then multiplies it by `scale`.
#[handler(name = "scaled_rms_norm")]
#[signature((x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(backward = scaled_rms_norm_bwd)]
fn scaled_rms_norm<T: Float>(x: &Buffer<T>, scale: &Buffer<T, 1>, eps: f32, y: &mut Buffer<T>) -> Result<()> {
    for (x, y) in x.rows().zip(y.rows_mut()) {
        let r = inverse_rms(x, eps);
        (0..x.len()).for_each(|i| y[i] = x[i] * r * scale[i]);
    }
    Ok(())
}

/// Gradients of `x` and `scale` from the gradient of `y`.
#[handler(name = "scaled_rms_norm_bwd")]
#[signature((x: T[*, n], scale: T[n], dy: T[*, n], eps: f32) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum)]
fn scaled_rms_norm_bwd<T: Float>(
    x: &Buffer<T>,
    scale: &Buffer<T, 1>,
    dy: &Buffer<T>,
    eps: f32,
    dx: &mut Buffer<T>,
    dscale: &mut Buffer<T, 1>,
) -> Result<()> {
    dscale.fill(T::ZERO);
    for ((x, dy), dx) in x.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        let r = inverse_rms(x, eps);
        let mean = (0..x.len()).map(|i| x[i] * scale[i] * dy[i]).sum::<T>() / T::of(x.len() as f64);
        for i in 0..x.len() {
            dx[i] = r * (scale[i] * dy[i] - r * r * mean * x[i]);
            dscale[i] += r * x[i] * dy[i];
        }
    }
    Ok(())
}

fn inverse_rms<T: Float>(x: &[T], eps: f32) -> T {
    let mean_square = x.iter().map(|&x| x * x).sum::<T>() / T::of(x.len() as f64);
    (mean_square + T::of(eps)).sqrt().recip()
}

pub(crate) const OPS: &[&OpDescriptor] = ops![scaled_rms_norm, scaled_rms_norm_bwd];
