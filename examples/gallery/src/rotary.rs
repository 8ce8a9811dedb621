//! Rotary position embeddings. If the sequence is split among devices, the operand `position` is the offset
//! of a device's part in the whole sequence.

use farcall_ffi::prelude::*;

/// Rotates each pair of entries of row `i` by an angle proportional to `position + i`, with a different
/// factor for each pair.
#[handler(name = "rotary")]
#[signature((x: T[*, s, d], position: s32[], base: f64 = 10000.0) -> (y: T[*, s, d])
    where T: f32 | f64; s: map; position: offset(s); d % 2 == 0)]
#[transpose(rotary_bwd)]
#[rustfmt::skip]
fn rotary<T: Float>(
    x: &Buffer<T>, position: &Buffer<i32, 0>, base: f64, y: &mut Buffer<T>,
) -> Result<()> {
    turn(x, position[0], base, 1.0, y)
}

/// Rotates back, which is the transpose.
#[handler(name = "rotary_bwd")]
#[signature((y: T[*, s, d], position: s32[], base: f64 = 10000.0) -> (x: T[*, s, d])
    where T: f32 | f64; s: map; position: offset(s); d % 2 == 0)]
#[transpose(rotary)]
#[rustfmt::skip]
fn rotary_bwd<T: Float>(
    y: &Buffer<T>, position: &Buffer<i32, 0>, base: f64, x: &mut Buffer<T>,
) -> Result<()> {
    turn(y, position[0], base, -1.0, x)
}

/// Rotates like `rotary`, but by the angles times `sign`.
fn turn<T: Float>(x: &Buffer<T>, position: i32, base: f64, sign: f64, y: &mut Buffer<T>) -> Result<()> {
    let [rows, d] = x.last_dims()?;
    for (i, (x, y)) in x.rows().zip(y.rows_mut()).enumerate() {
        let at = f64::from(position) + (i % rows.max(1)) as f64;
        for (k, (x, y)) in x.chunks_exact(2).zip(y.chunks_exact_mut(2)).enumerate() {
            let (sin, cos) = (sign * at * base.powf(-2.0 * k as f64 / d as f64)).sin_cos();
            let (sin, cos) = (T::of(sin), T::of(cos));
            (y[0], y[1]) = (x[0] * cos - x[1] * sin, x[0] * sin + x[1] * cos);
        }
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![rotary, rotary_bwd];
