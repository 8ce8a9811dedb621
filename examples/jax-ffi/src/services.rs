//! What a handler can request from its host.

use farcall_ffi::prelude::*;

/// Doubles `x` on the host's pool: the call is over when the task is, and independent work goes on.
///
/// With `fail`, the task fails.
#[handler(name = "double_later")]
pub fn double_later(
    x: Kept<Buffer<f32>>,
    mut y: KeptMut<Buffer<f32>>,
    fail: Option<bool>,
    host: &Context,
) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    host.spawn(move || {
        if fail.unwrap_or(false) {
            return y.fail(Error::unavailable("the task failed, as it was told to"));
        }
        for (y, x) in y.iter_mut().zip(x.iter()) {
            *y = 2.0 * x;
        }
    })
}

/// How `sort_rows` sorts.
#[derive(FromAttr, Debug)]
pub struct Order {
    direction: Direction,
    /// How many elements of each row, from the first; all unless given.
    first: Option<i64>,
}

/// Smallest or largest first.
#[derive(FromAttr, PartialEq, Debug)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// Sorts each row of `x`, the rows shared among the threads of the host's pool, by way of scratch memory.
#[handler(name = "sort_rows")]
pub fn sort_rows(x: &Buffer<f32>, order: Order, y: &mut Buffer<f32>, host: &Context) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    let n = x.dims().last().copied().unwrap_or(1);
    let first = order.first.map_or(Ok(n), usize::try_from)?.min(n);
    let mut scratch = host.scratch::<f32>(x.len())?;
    scratch.copy_from_slice(x);
    if n > 0 {
        scratch.par_chunks_mut(n).for_each(host, |row| {
            row[..first].sort_unstable_by(f32::total_cmp);
            if order.direction == Direction::Descending {
                row[..first].reverse();
            }
        });
    }
    y.copy_from_slice(&scratch);
    Ok(())
}
