//! The median of each row: an op without derivatives; differentiating it is an error.

use farcall_ffi::prelude::*;

/// The lower median of each row.
#[handler(name = "median")]
#[signature((x: T[*, n]) -> (y: T[*]) where T: f32 | f64; n >= 1)]
fn median<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    for (x, y) in x.rows().zip(y.iter_mut()) {
        let mut sorted = x.to_vec();
        sorted.sort_by(T::total_cmp);
        *y = sorted[(x.len() - 1) / 2];
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![median];
