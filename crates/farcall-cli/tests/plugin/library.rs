//! Handlers that behave in every way a handler can, for the tests of the program.

use farcall_ffi::prelude::*;

/// Three times `x`.
#[handler(name = "test.triple")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = triple_jvp)]
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

farcall_ffi::library!("cli_test_ops", [triple, triple_jvp, refuse, panics, aborts, hangs]);
