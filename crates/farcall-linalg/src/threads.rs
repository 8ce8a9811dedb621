//! The threads that share the work on a matrix.
//!
//! Only sizes determine how work is divided, so results have the same bits for every number of threads.

use std::sync::{Mutex, PoisonError};

use faer::MatMut;
use farcall_ffi::float_control::with_subnormals;
use farcall_ffi::{Context, Element, Pool};

/// Minimum number of multiplications in a part, so that the cost of starting a task is negligible.
pub(crate) const MIN_PART_OPERATIONS: usize = 1 << 20;

/// Minimum number of columns in a part. Products with narrower matrices are slower.
pub(crate) const MIN_PART_COLUMNS: usize = 64;

/// Maximum number of parts.
const MAX_PARTS: usize = 64;

/// Sequences that threads share: batches, the columns of matrices, and tuples of sequences.
pub(crate) trait Split: Send + Sized {
    /// Removes the first `count` entries, and returns them as a sequence.
    fn split(&mut self, count: usize) -> Self;
}

/// The columns of a matrix.
impl<T: Element> Split for MatMut<'_, T> {
    fn split(&mut self, count: usize) -> Self {
        let all = std::mem::replace(self, MatMut::from_column_major_slice_mut(&mut [], 0, 0));
        let (taken, rest) = all.split_at_col_mut(count);
        *self = rest;
        taken
    }
}

/// The threads of a host's pool, or the calling thread alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads<'a>(Option<Pool<'a>>);

impl<'a> From<&'a Context> for Threads<'a> {
    fn from(context: &'a Context) -> Self {
        Threads(Some(context.pool()))
    }
}

impl Threads<'_> {
    /// The calling thread alone.
    pub(crate) const ONE: Threads<'static> = Threads(None);

    /// Processes each job once. Jobs may run in any order, and at the same time.
    pub(crate) fn run<J: Send>(self, jobs: impl IntoIterator<Item = J>, work: impl Fn(J) + Sync) {
        // XLA calls handlers in a mode in which subnormal numbers count as zero, where faer's complex
        // decompositions are wrong.
        self.run_dyn(&mut jobs.into_iter(), &|job| with_subnormals(|| work(job)));
    }

    /// [`run`](Threads::run), compiled once for each type of job.
    fn run_dyn<J: Send>(self, jobs: &mut dyn Iterator<Item = J>, work: &(dyn Fn(J) + Sync)) {
        let Threads(Some(pool)) = self else { return jobs.for_each(work) };
        let Some(first) = jobs.next() else { return };
        let Some(second) = jobs.next() else { return work(first) };
        let jobs: Vec<_> = [first, second].into_iter().chain(jobs).map(|job| Mutex::new(Some(job))).collect();
        pool.parallel_for(jobs.len(), |i| {
            // This statement releases the lock before the work begins.
            let job = jobs[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            job.into_iter().for_each(work);
        });
    }

    /// Divides columns into parts if the work has enough `operations` (multiplications) in total. `work`
    /// receives the index of the part's first column, the part, and the threads that may share its work.
    pub(crate) fn by_columns<S: Split>(
        self,
        columns: usize,
        operations: usize,
        all: S,
        work: impl Fn(usize, S, Threads<'_>) + Sync,
    ) {
        self.by_columns_of(MIN_PART_OPERATIONS, columns, operations, all, work);
    }

    /// [`by_columns`](Threads::by_columns) with another minimum number of operations in a part.
    pub(crate) fn by_columns_of<S: Split>(
        self,
        min_operations: usize,
        columns: usize,
        operations: usize,
        mut all: S,
        work: impl Fn(usize, S, Threads<'_>) + Sync,
    ) {
        // The work is compiled once for both uses.
        let work: &(dyn Fn(usize, S, Threads<'_>) + Sync) = &work;
        let parts = (operations / min_operations).min(columns / MIN_PART_COLUMNS).min(MAX_PARTS);
        if parts < 2 {
            return work(0, all, self);
        }
        let width = columns.div_ceil(parts).next_multiple_of(16);
        let starts = (0..columns).step_by(width);
        let parts: Vec<_> = starts.map(|start| (start, all.split(width.min(columns - start)))).collect();
        self.run(parts, |(start, part)| work(start, part, Threads::ONE));
    }
}
