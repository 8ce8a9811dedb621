//! Ops with a signature.

use farcall_ffi::prelude::*;

/// y = scale · x + offset
#[handler(name = "affine")]
#[signature((x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n]))]
#[vjp(backward = affine_bwd)]
pub(crate) fn affine(x: &Buffer<f32>, scale: &Buffer<f32>, offset: f32, y: &mut Buffer<f32>) -> Result<()> {
    for (x, y) in x.rows().zip(y.rows_mut()) {
        for ((y, x), scale) in y.iter_mut().zip(x).zip(scale.iter()) {
            *y = scale * x + offset;
        }
    }
    Ok(())
}

/// The reverse derivative of `affine`.
#[handler(name = "affine_bwd")]
#[signature((x: f32[*, n], scale: f32[n], dy: f32[*, n]) -> (dx: f32[*, n], dscale: f32[n]) where *: sum)]
pub(crate) fn affine_bwd(
    x: &Buffer<f32>,
    scale: &Buffer<f32>,
    dy: &Buffer<f32>,
    dx: &mut Buffer<f32>,
    dscale: &mut Buffer<f32>,
) -> Result<()> {
    dscale.fill(0.0);
    for ((x, dy), dx) in x.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        for i in 0..x.len() {
            dx[i] = scale[i] * dy[i];
            dscale[i] += x[i] * dy[i];
        }
    }
    Ok(())
}
