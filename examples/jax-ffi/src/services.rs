//! Services that a handler can request from its host.

use farcall_ffi::prelude::*;

/// Doubles `x` in a task on the host's thread pool. The call completes when the task completes. Until then,
/// independent work continues.
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

/// Options of `sort_rows`.
#[derive(FromAttr, Debug)]
pub struct Order {
    direction: Direction,
    /// Number of elements at the beginning of each row that are sorted; all by default.
    first: Option<i64>,
}

/// Sort direction.
#[derive(FromAttr, PartialEq, Debug)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// Sorts each row of `x`. The threads of the host's pool share the rows and use scratch memory.
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
