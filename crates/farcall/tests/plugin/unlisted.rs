//! A library whose author has forgotten `library!`.

use farcall_ffi::prelude::*;

/// y = -x
#[handler(name = "negate")]
pub fn negate(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = -x);
    Ok(())
}
