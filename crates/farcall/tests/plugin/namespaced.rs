//! A library whose author has chosen a namespace for its ops.

use farcall_ffi::prelude::*;

/// y = 2 · x, exactly
#[handler(name = "double")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[transpose(double, cotangent(y) = x, cotangent(x) = y)]
fn double(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = x + x);
    Ok(())
}

farcall_ffi::library!("namespaced_test_ops", [double], namespace: "acme");
