//! Ops that run in farcall and, through XLA's FFI, in JAX: one library for both.
//!
//! `cargo build --release` builds it; `farcall op target/release/libmy_ops.so` lists its ops.
//! See: `farcall guide kernels`, `farcall guide signatures`, `farcall guide derivatives`.

use farcall_ffi::prelude::*;

CUDA|mod cuda;
CUDA|
/// A swish, to be replaced: multiplies `x` by the gate `sigmoid(beta * x)` and by `scale`: `y = x * sigmoid(beta * x) * scale`.
#[handler(name = "my_op")]
#[signature((x: f32[*, n], scale: f32[n], beta: f32 = 1.0) -> (y: f32[*, n]) where n: map)]
#[vjp(backward = my_op_bwd)]
fn my_op(
    x: &Buffer<f32>,
    scale: &Buffer<f32, 1>,
    beta: f32,
    y: &mut Buffer<f32>,
) -> Result<()> {
    // The signature guarantees types and sizes. Check here what it cannot express, such as an even size:
    // `ensure!(scale.len() % 2 == 0, "n is {}, which is odd", scale.len())`.
    ensure!(beta.is_finite(), "beta is {beta}");
    for (x, y) in x.rows().zip(y.rows_mut()) {
        for i in 0..x.len() {
            y[i] = x[i] * sigmoid(beta * x[i]) * scale[i];
        }
    }
    Ok(())
}

/// Gradients of `x` and `scale` from the gradient of `y`: `dscale` is a sum over all rows.
#[handler(name = "my_op_bwd")]
#[signature((x: f32[*, n], scale: f32[n], dy: f32[*, n], beta: f32 = 1.0)
    -> (dx: f32[*, n], dscale: f32[n]) where n: map; *: sum)]
fn my_op_bwd(
    x: &Buffer<f32>,
    scale: &Buffer<f32, 1>,
    dy: &Buffer<f32>,
    beta: f32,
    dx: &mut Buffer<f32>,
    dscale: &mut Buffer<f32, 1>,
) -> Result<()> {
    dscale.fill(0.0);
    for ((x, dy), dx) in x.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        for i in 0..x.len() {
            let s = sigmoid(beta * x[i]);
            dx[i] = dy[i] * scale[i] * s * (1.0 + beta * x[i] * (1.0 - s));
            dscale[i] += dy[i] * x[i] * s;
        }
    }
    Ok(())
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

HOST|farcall_ffi::library!("my-ops", [my_op, my_op_bwd]);
CUDA|farcall_ffi::library!("my-ops", [my_op, my_op_bwd, ..cuda::OPS]);

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ffi::testing::Call;

    const X: [f32; 6] = [0.5, -1.0, 2.0, 1.5, 0.25, -0.75];
    const SCALE: [f32; 3] = [1.0, 2.0, -0.5];
    const BETA: f32 = 1.5;

    /// Runs the op on two rows of three elements.
    fn run(x: &[f32], scale: &[f32]) -> [f32; 6] {
        let mut y = [0.0; 6];
        let call = Call::to::<my_op>().operand(x, &[2, 3]).operand(scale, &[3]);
        call.attr("beta", BETA)
            .result(&mut y, &[2, 3])
            .run()
            .unwrap();
        y
    }

    #[test]
    fn the_values_are_those_of_the_formula() {
        for (i, y) in run(&X, &SCALE).into_iter().enumerate() {
            let expected = X[i] / (1.0 + (-BETA * X[i]).exp()) * SCALE[i % 3];
            assert!((y - expected).abs() < 1e-6, "y[{i}] is {y}, not {expected}");
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let dy = [1.0f32, -2.0, 0.5, 0.25, 1.0, -1.0];
        let (mut dx, mut dscale) = ([0.0f32; 6], [0.0f32; 3]);
        let call = Call::to::<my_op_bwd>()
            .operand(&X, &[2, 3])
            .operand(&SCALE, &[3]);
        let call = call.operand(&dy, &[2, 3]).attr("beta", BETA);
        call.result(&mut dx, &[2, 3])
            .result(&mut dscale, &[3])
            .run()
            .unwrap();

        // The scalar whose gradients are `dx` and `dscale`.
        let loss = |x: &[f32], scale: &[f32]| -> f64 {
            run(x, scale)
                .iter()
                .zip(dy)
                .map(|(y, dy)| f64::from(*y) * f64::from(dy))
                .sum()
        };
        let moved = |values: &[f32], i: usize, by: f32| {
            let mut values = values.to_vec();
            values[i] += by;
            values
        };
        let h = 1e-2;
        for (i, dx) in dx.into_iter().enumerate() {
            let difference = loss(&moved(&X, i, h), &SCALE) - loss(&moved(&X, i, -h), &SCALE);
            let expected = difference / f64::from(2.0 * h);
            assert!(
                (f64::from(dx) - expected).abs() < 1e-3,
                "dx[{i}] is {dx}, not {expected}"
            );
        }
        for (i, dscale) in dscale.into_iter().enumerate() {
            let difference = loss(&X, &moved(&SCALE, i, h)) - loss(&X, &moved(&SCALE, i, -h));
            let expected = difference / f64::from(2.0 * h);
            assert!(
                (f64::from(dscale) - expected).abs() < 1e-3,
                "dscale[{i}] is {dscale}, not {expected}"
            );
        }
    }
}
