//! Division of work among the threads of the host's pool.
//!
//! A row of a gathered result is computed by one thread, in the order of its entries. Scattered results are
//! sums over chunks of entries: the sizes of the operands alone determine the chunks, and partial sums are
//! added in the order of the chunks. Hence no result depends on the number of threads.

use std::ops::Range;

use farcall_ffi::{Context, ParallelSlice, Parts, Result};

use crate::number::{Index, Scalar};

/// Minimum number of products per task, so that the cost of starting a task is negligible.
const MIN_TASK_PRODUCTS: usize = 1 << 15;

/// Maximum number of tasks that share the rows of a matrix.
const MAX_TASKS: usize = 64;

/// Maximum number of chunks whose partial sums are added up.
const MAX_CHUNKS: usize = 16;

/// Returns the number of tasks for rows with this total number of products.
pub(crate) fn tasks(products: usize) -> usize {
    (products / MIN_TASK_PRODUCTS).clamp(1, MAX_TASKS)
}

/// Returns the number of chunks for a scattered result of `rows` rows. Zeroing and adding up partial sums
/// costs at most as much as the products.
pub(crate) fn chunks(entries: usize, n: usize, rows: usize) -> usize {
    let products = entries.saturating_mul(n);
    (products / MIN_TASK_PRODUCTS).min(entries / rows.max(1)).clamp(1, MAX_CHUNKS)
}

/// Divides rows, whose entries begin at `starts`, into `parts` ranges with approximately the same number of
/// rows and entries together. If the starts are malformed, the ranges still cover all rows in order.
pub(crate) fn balanced<I: Index>(starts: &[I], parts: usize) -> Vec<Range<usize>> {
    let rows = starts.len().saturating_sub(1);
    let limit = usize::MAX / 4;
    let cost = |row: usize| starts[row].at().min(limit) + row;
    let mut ranges = Vec::with_capacity(parts);
    let mut start = 0;
    for part in 1..=parts {
        let mut end = rows;
        if part < parts {
            let target = cost(0)
                + (cost(rows).saturating_sub(cost(0)) as u128 * part as u128 / parts as u128) as usize;
            let (mut low, mut high) = (start, rows);
            while low < high {
                let middle = low.midpoint(high);
                if cost(middle) < target { low = middle + 1 } else { high = middle }
            }
            end = low;
        }
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// Divides `0..len` into `parts` ranges whose lengths differ by at most one.
pub(crate) fn even(len: usize, parts: usize) -> Vec<Range<usize>> {
    let at = |part: usize| (len as u128 * part as u128 / parts as u128) as usize;
    (0..parts).map(|part| at(part)..at(part + 1)).collect()
}

/// Divides each entry of a batched result into parts of these lengths, and calls `work(batch, part, out)` for
/// each. The lengths of the parts add up to the length of an entry.
pub(crate) fn for_each_part<T: Scalar>(
    context: &Context,
    batches: usize,
    lens: &[usize],
    out: &mut [T],
    work: impl Fn(usize, usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    // A result with elements has at least one for each entry of the batch.
    let mut jobs = Vec::with_capacity(batches * lens.len());
    let mut rest = out;
    for batch in 0..batches {
        for (part, len) in lens.iter().enumerate() {
            let (out, after) = rest.split_at_mut((*len).min(rest.len()));
            rest = after;
            jobs.push((batch, part, out));
        }
    }
    jobs.par_chunks_mut(1).try_for_each(context, |jobs| {
        jobs.iter_mut().try_for_each(|(batch, part, out)| work(*batch, *part, out))
    })
}

/// Sizes of a scattered result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scattered {
    pub(crate) batches: usize,
    /// Number of elements of a row.
    pub(crate) n: usize,
    /// Number of chunks of entries.
    pub(crate) chunks: usize,
    /// True if sums are added to the result; otherwise they replace its contents.
    pub(crate) add: bool,
}

/// Adds up the contributions of all chunks. `bounds(chunk)` returns a range of rows that includes all rows to
/// which a chunk contributes. `work(batch, chunk, first, out)` adds the contributions of a chunk to `out`,
/// whose rows begin at row `first` of the result.
pub(crate) fn scatter<T: Scalar>(
    context: &Context,
    sizes: Scattered,
    out: &mut [T],
    bounds: impl Fn(usize) -> Result<Range<usize>> + Sync,
    work: impl Fn(usize, usize, usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let Scattered { batches, n, chunks, add } = sizes;
    let len = out.len() / batches.max(1);
    if len == 0 {
        return Ok(());
    }
    if chunks == 1 {
        return out.par_chunks_mut(len).enumerate().try_for_each(context, |(batch, out)| {
            if !add {
                out.fill(T::ZERO);
            }
            work(batch, 0, 0, out)
        });
    }
    let mut rows: Vec<Result<Range<usize>>> = (0..chunks).map(|_| Ok(0..0)).collect();
    rows.par_chunks_mut(1).enumerate().for_each(context, |(chunk, rows)| {
        rows.iter_mut().for_each(|rows| *rows = bounds(chunk));
    });
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let mut partial = context.scratch::<T>(rows.iter().map(|rows| rows.len() * n).sum())?;
    let blocks = tasks(partial.len());
    for (batch, out) in out.chunks_mut(len).enumerate() {
        let mut jobs = Vec::with_capacity(chunks);
        let mut rest = &mut *partial;
        for (chunk, rows) in rows.iter().enumerate() {
            let (sums, after) = rest.split_at_mut(rows.len() * n);
            rest = after;
            jobs.push((chunk, rows.start, sums));
        }
        jobs.par_chunks_mut(1).try_for_each(context, |jobs| {
            jobs.iter_mut().try_for_each(|(chunk, first, sums)| {
                sums.fill(T::ZERO);
                work(batch, *chunk, *first, sums)
            })
        })?;
        let jobs: Vec<(usize, &[T])> = jobs.into_iter().map(|(_, first, sums)| (first * n, &*sums)).collect();
        let size = len.div_ceil(blocks).max(1);
        out.par_chunks_mut(size).enumerate().for_each(context, |(block, out)| {
            if !add {
                out.fill(T::ZERO);
            }
            jobs.iter().for_each(|(start, sums)| add_overlap(out, block * size, sums, *start));
        });
    }
    Ok(())
}

/// Adds `sums`, which begin at position `from`, to `out`, which begins at position `at`.
fn add_overlap<T: Scalar>(out: &mut [T], at: usize, sums: &[T], from: usize) {
    let (start, end) = (at.max(from), (at + out.len()).min(from + sums.len()));
    if start < end {
        let sums = &sums[start - from..end - from];
        out[start - at..end - at].iter_mut().zip(sums).for_each(|(out, sum)| *out = out.plus(*sum));
    }
}
