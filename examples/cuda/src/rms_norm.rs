//! Root mean square normalization. Sums are in `f32`; results are rounded once.

use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// Divides each row of `x` by its root mean square, then multiplies it by `scale`:
/// `y = x / sqrt(mean(x²) + eps) * scale`, with the mean over the last dimension.
#[handler(name = "rms_norm")]
#[signature((x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f16 | bf16)]
#[vjp(backward = rms_norm_bwd)]
pub(crate) fn rms_norm<T: Float<Acc = f32>>(
    x: &Buffer<T>,
    scale: &Buffer<T, 1>,
    eps: f32,
    y: &mut Buffer<T>,
) -> Result<()> {
    check(x.dims(), scale.len(), y.dims())?;
    for (x, y) in x.rows().zip(y.rows_mut()) {
        normalize(x, scale, inverse_rms(x, eps), y);
    }
    Ok(())
}

/// Gradients of `x` and `scale` from the gradient of `y`: `dscale` is a sum over all rows.
#[handler(name = "rms_norm_bwd")]
#[signature((x: T[*, n], scale: T[n], dy: T[*, n], eps: f32 = 1e-6) -> (dx: T[*, n], dscale: T[n])
    where T: f32 | f16 | bf16; *: sum)]
pub(crate) fn rms_norm_bwd<T: Float<Acc = f32>>(
    x: &Buffer<T>,
    scale: &Buffer<T, 1>,
    dy: &Buffer<T>,
    eps: f32,
    dx: &mut Buffer<T>,
    dscale: &mut Buffer<T, 1>,
) -> Result<()> {
    check(x.dims(), scale.len(), dy.dims())?;
    check(x.dims(), dscale.len(), dx.dims())?;
    let mut sums = vec![0.0; scale.len()];
    for ((x, dy), dx) in x.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        let r = inverse_rms(x, eps);
        let along = zip!(x.iter(), scale.iter(), dy.iter());
        let sum: f32 = along.map(|(x, scale, dy)| x.widen() * scale.widen() * dy.widen()).sum();
        let mean = r * r * sum / x.len() as f32;
        for i in 0..x.len() {
            let (x, dy) = (x[i].widen(), dy[i].widen());
            dx[i] = T::narrow(r * (scale[i].widen() * dy - mean * x));
            sums[i] += r * x * dy;
        }
    }
    dscale.iter_mut().zip(sums).for_each(|(dscale, sum)| *dscale = T::narrow(sum));
    Ok(())
}

fn normalize<T: Float<Acc = f32>>(x: &[T], scale: &[T], r: f32, y: &mut [T]) {
    zip!(y.iter_mut(), x.iter(), scale.iter())
        .for_each(|(y, x, scale)| *y = T::narrow(x.widen() * (r * scale.widen())));
}

fn inverse_rms<T: Float<Acc = f32>>(x: &[T], eps: f32) -> f32 {
    let mean = x.iter().map(|x| x.widen() * x.widen()).sum::<f32>() / x.len() as f32;
    1.0 / (mean + eps).sqrt()
}

/// Checks that the rows of `x` have `n` elements, and that `y` has the same shape.
fn check(x: &[usize], n: usize, y: &[usize]) -> Result<()> {
    ensure!(x.last() == Some(&n), "scale has {n} elements, which does not fit the rows of x, {x:?}");
    ensure!(x == y, "x is {x:?}, but a tensor of the same shape is {y:?}");
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![rms_norm, rms_norm_bwd, cuda::rms_norm, cuda::rms_norm_bwd];
