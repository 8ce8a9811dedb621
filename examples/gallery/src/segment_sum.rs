//! Sums of rows by segment id, and gathers of rows by segment id: both ops are linear, and each is the
//! transpose of the other. Derivatives of any order are therefore calls of these two ops.

use farcall_ffi::prelude::*;

/// Row `k` of `y` is the sum of the rows of `x` whose id is `k`. Rows whose id is not in `0..segments` are
/// left out.
#[handler(name = "segment_sum")]
#[signature((x: T[*, n, d], ids: s32[*, n], segments: i64) -> (y: T[*, segments, d]) where T: f32 | f64; n: sum; d: map)]
#[transpose(segment_take)]
#[rustfmt::skip]
fn segment_sum<T: Float>(
    x: &Buffer<T>, ids: &Buffer<i32>, segments: i64, y: &mut Buffer<T>,
) -> Result<()> {
    y.fill(T::ZERO);
    for (row, x) in places(ids, segments).zip(x.rows()) {
        let Some(row) = row else { continue };
        y[row * x.len()..][..x.len()].iter_mut().zip(x).for_each(|(y, &x)| *y += x);
    }
    Ok(())
}

/// Row `i` of `x` is the row `ids[i]` of `y`, or zeros if the row does not exist.
#[handler(name = "segment_take")]
#[signature((y: T[*, segments, d], ids: s32[*, n], segments: i64) -> (x: T[*, n, d]) where T: f32 | f64; n, d: map)]
#[transpose(segment_sum)]
#[rustfmt::skip]
fn segment_take<T: Float>(
    y: &Buffer<T>, ids: &Buffer<i32>, segments: i64, x: &mut Buffer<T>,
) -> Result<()> {
    x.fill(T::ZERO);
    for (row, x) in places(ids, segments).zip(x.rows_mut()) {
        let Some(row) = row else { continue };
        x.copy_from_slice(&y[row * x.len()..][..x.len()]);
    }
    Ok(())
}

/// Returns the row of `y` that each id refers to, counted over all batches; `None` if there is no such row.
fn places(ids: &Buffer<i32>, segments: i64) -> impl Iterator<Item = Option<usize>> {
    let (n, segments) = (ids.dims().last().copied().unwrap_or(1).max(1), segments as usize);
    ids.iter().enumerate().map(move |(i, &id)| {
        let id = usize::try_from(id).ok().filter(|id| *id < segments)?;
        Some(i / n * segments + id)
    })
}

pub(crate) const OPS: &[&OpDescriptor] = ops![segment_sum, segment_take];
