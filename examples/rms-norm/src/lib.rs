//! Root mean square normalization as a custom call.
//!
//! `cargo build -p rms-norm-ops --release` makes `librms_norm_ops.so`, which farcall loads by its path,
//! and whose symbol `rms_norm` any host of XLA's FFI can register.

use farcall_ffi::prelude::*;

/// Divides each row of `x` by its root mean square, then multiplies it by `scale`:
/// `y = x / sqrt(mean(x²) + eps) * scale`, with the mean over the last dimension.
#[handler(name = "rms_norm")]
pub fn rms_norm(x: &Buffer<f32>, scale: &Buffer<f32, 1>, eps: f32, y: &mut Buffer<f32>) -> Result<()> {
    let n = scale.len();
    ensure!(x.dims().last() == Some(&n), "scale is {scale:?}, which does not fit the rows of x, {x:?}");
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");

    for (x, y) in x.rows().zip(y.rows_mut()) {
        let mean_square = x.iter().map(|x| x * x).sum::<f32>() / n as f32;
        let inverse_rms = 1.0 / (mean_square + eps).sqrt();
        for ((y, x), scale) in y.iter_mut().zip(x).zip(scale.iter()) {
            *y = x * inverse_rms * scale;
        }
    }
    Ok(())
}

farcall_ffi::library!("rms_norm_ops", [rms_norm]);
