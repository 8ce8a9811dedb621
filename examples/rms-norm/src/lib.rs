//! Root mean square normalization as a custom call.
//!
//! `cargo build -p rms-norm-ops --release` builds `librms_norm_ops.so`. farcall loads the library by its
//! path, and any host of XLA's FFI can register its symbol `rms_norm`. In farcall, the handler replaces the
//! composite `my.rms_norm` of a program (`jax.lax.composite`).

use farcall_ffi::prelude::*;

type Rows = Buffer<f32>;
type Row = Buffer<f32, 1>;

/// Divides each row of `x` by its root mean square, then multiplies it by `scale`:
/// `y = x / sqrt(mean(x²) + eps) * scale`, with the mean over the last dimension.
#[handler(name = "rms_norm")]
#[signature((x: f32[*, n], scale: f32[n], eps: f32 = 1e-6) -> (y: f32[*, n]))]
#[vjp(forward = rms_norm_fwd, backward = rms_norm_bwd)]
#[lowers("my.rms_norm")]
fn rms_norm(x: &Rows, scale: &Row, eps: f32, y: &mut Rows) -> Result<()> {
    let n = scale.len();
    ensure!(x.dims().last() == Some(&n), "scale is {scale:?}, which does not fit the rows of x, {x:?}");
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    for (x, y) in x.rows().zip(y.rows_mut()) {
        let r = inverse_rms(x, eps);
        y.iter_mut().zip(x).zip(scale.iter()).for_each(|((y, x), scale)| *y = x * r * scale);
    }
    Ok(())
}

/// Computes `rms_norm`, and `r`, the inverse root mean square of each row.
#[handler(name = "rms_norm_fwd")]
#[signature((x: f32[*, n], scale: f32[n], eps: f32 = 1e-6) -> (y: f32[*, n], r: f32[*]))]
fn rms_norm_fwd(x: &Rows, scale: &Row, eps: f32, y: &mut Rows, r: &mut Rows) -> Result<()> {
    x.rows().zip(r.iter_mut()).for_each(|(x, r)| *r = inverse_rms(x, eps));
    rms_norm(x, scale, eps, y)
}

/// Gradients of `x` and `scale` from the gradient of `y`: `dscale` is a sum over all rows.
#[handler(name = "rms_norm_bwd")]
#[signature((x: f32[*, n], scale: f32[n], r: f32[*], dy: f32[*, n]) -> (dx: f32[*, n], dscale: f32[n]) where *: sum)]
fn rms_norm_bwd(x: &Rows, scale: &Row, r: &Rows, dy: &Rows, dx: &mut Rows, dscale: &mut Row) -> Result<()> {
    dscale.fill(0.0);
    for (((x, dy), dx), r) in x.rows().zip(dy.rows()).zip(dx.rows_mut()).zip(r.iter()) {
        let mean = (0..x.len()).map(|i| x[i] * scale[i] * dy[i]).sum::<f32>() / x.len() as f32;
        for i in 0..x.len() {
            dx[i] = r * (scale[i] * dy[i] - r * r * mean * x[i]);
            dscale[i] += r * x[i] * dy[i];
        }
    }
    Ok(())
}

fn inverse_rms(x: &[f32], eps: f32) -> f32 {
    1.0 / (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 + eps).sqrt()
}

farcall_ffi::library!("rms_norm_ops", [rms_norm, rms_norm_fwd, rms_norm_bwd]);

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
            assert!((y - expected).abs() < 1e-5, "found {y}, expected {expected}");
        }
    }

    #[test]
    fn says_what_does_not_fit() {
        let mut y = [0.0f32; 4];
        let call = Call::to::<rms_norm>().operand(&[0.0f32; 4], &[2, 2]).operand(&[1.0f32; 4], &[4]);
        let error = call.attr("eps", 0.0f32).result(&mut y, &[2, 2]).run().unwrap_err();
        assert_eq!(error.message(), "rms_norm: scale is f32[4], which does not fit the rows of x, f32[2, 2]");
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (x, scale, dy, eps) = (
            [0.5f32, -1.0, 2.0, 1.5, 0.25, -0.75],
            [1.0f32, 2.0, -0.5],
            [1.0f32, -2.0, 0.5, 0.25, 1.0, -1.0],
            1e-3f32,
        );
        // `dy` is the cotangent of `y`, so the tested gradients are those of the sum of `dy * y`.
        let loss = |x: &[f32], scale: &[f32]| {
            let mut y = [0.0f32; 6];
            let call = Call::to::<rms_norm>().operand(x, &[2, 3]).operand(scale, &[3]).attr("eps", eps);
            call.result(&mut y, &[2, 3]).run().unwrap();
            y.iter().zip(dy).map(|(y, dy)| f64::from(*y) * f64::from(dy)).sum::<f64>()
        };
        let (mut y, mut r, mut dx, mut dscale) = ([0.0f32; 6], [0.0f32; 2], [0.0f32; 6], [9.0f32; 3]);
        let forward = Call::to::<rms_norm_fwd>().operand(&x, &[2, 3]).operand(&scale, &[3]).attr("eps", eps);
        forward.result(&mut y, &[2, 3]).result(&mut r, &[2]).run().unwrap();
        let backward = Call::to::<rms_norm_bwd>().operand(&x, &[2, 3]).operand(&scale, &[3]);
        let backward = backward.operand(&r, &[2]).operand(&dy, &[2, 3]);
        backward.result(&mut dx, &[2, 3]).result(&mut dscale, &[3]).run().unwrap();
        let near = |gradient: f32, i: usize, loss: &dyn Fn(usize, f32) -> f64| {
            let difference = (loss(i, 1e-2) - loss(i, -1e-2)) / 2e-2;
            assert!(
                (difference - f64::from(gradient)).abs() < 2e-3,
                "entry {i}: the gradient is {gradient}, not {difference}"
            );
        };
        let moved = |values: &[f32], i: usize, by: f32| {
            let mut values = values.to_vec();
            values[i] += by;
            values
        };
        (0..6).for_each(|i| near(dx[i], i, &|i, by| loss(&moved(&x, i, by), &scale)));
        (0..3).for_each(|i| near(dscale[i], i, &|i, by| loss(&x, &moved(&scale, i, by))));
    }
}
