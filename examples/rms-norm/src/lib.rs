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

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ffi::testing::Call;

    #[test]
    fn normalizes_each_row() {
        let x = [3.0f32, 4.0, 0.0, 5.0];
        let mut y = [0.0f32; 4];
        let call = Call::to::<rms_norm>().operand(&x, &[2, 2]).operand(&[1.0f32, 10.0], &[2]);
        call.attr("eps", 0.0f32).result(&mut y, &[2, 2]).run().unwrap();
        let row = |a: f32, b: f32| [a, b].map(|x| x / ((a * a + b * b) / 2.0).sqrt());
        let [[a, b], [c, d]] = [row(3.0, 4.0), row(0.0, 5.0)];
        for (y, expected) in y.iter().zip([a, 10.0 * b, c, 10.0 * d]) {
            assert!((y - expected).abs() < 1e-5, "{y} is not {expected}");
        }
    }

    #[test]
    fn says_what_does_not_fit() {
        let mut y = [0.0f32; 4];
        let call = Call::to::<rms_norm>().operand(&[0.0f32; 4], &[2, 2]).operand(&[1.0f32; 4], &[4]);
        let error = call.attr("eps", 0.0f32).result(&mut y, &[2, 2]).run().unwrap_err();
        assert_eq!(error.message(), "scale is f32[4], which does not fit the rows of x, f32[2, 2]");
    }
}
