//! Handlers with every kind of behavior that handlers can have, for the tests of the program.

use farcall_ffi::prelude::*;
use half::bf16;

/// Three times `x`.
#[handler(name = "test.triple")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = triple_jvp)]
#[lowers("test.thrice")]
fn triple(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = 3.0 * x;
    }
    Ok(())
}

/// Three times `dx`.
#[handler(name = "test.triple_jvp")]
#[signature((dx: f32[*]) -> (dy: f32[*]))]
fn triple_jvp(dx: &Buffer<f32>, dy: &mut Buffer<f32>) -> Result<()> {
    triple(dx, dy)
}

/// Weighted sums of powers of `x`, and the largest of each row.
///
/// A second paragraph, which lists leave out.
#[handler(name = "test.power_sum")]
#[signature((x: f32[*, n], weight: bf16[n], power: i32, scales: [f32] = [1.0], side: "left" | "right" = "left")
    -> (sum: f32[*], most: f32[*]) where 1 <= n)]
fn power_sum(
    x: &Buffer<f32>,
    weight: &Buffer<bf16, 1>,
    power: i32,
    scales: &[f32],
    side: &str,
    sum: &mut Buffer<f32>,
    most: &mut Buffer<f32>,
) -> Result<()> {
    ensure!(side == "left", "the right side is not my business");
    let scale: f32 = scales.iter().product();
    for ((x, sum), most) in x.rows().zip(sum.iter_mut()).zip(most.iter_mut()) {
        *sum = x.iter().zip(weight.iter()).map(|(x, w)| scale * w.to_f32() * x.powi(power)).sum();
        *most = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    }
    Ok(())
}

/// Says something.
#[handler(name = "test.say")]
#[signature(() -> () where side_effect)]
#[batch(none)]
fn say() -> Result<()> {
    Ok(())
}

/// Never does it.
#[handler(name = "test.refuse")]
fn refuse(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    Err(Error::invalid_argument("no, I would rather not"))
}

/// Has a bug.
#[handler(name = "test.panic")]
fn panics(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y[0] = x[x.len()];
    Ok(())
}

/// Takes the process with it.
#[handler(name = "test.abort")]
fn aborts(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    std::process::abort()
}

/// Never comes back.
#[handler(name = "test.hang")]
fn hangs(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

farcall_ffi::library!("cli_test_ops", [triple, triple_jvp, power_sum, say, refuse, panics, aborts, hangs]);
