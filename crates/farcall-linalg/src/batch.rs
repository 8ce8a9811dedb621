//! The matrices of a batch: their sizes, and work on them that the threads of the host's pool share.

use std::sync::{Mutex, PoisonError};

use farcall_ffi::{Context, Element, Error, Result};

/// How many operations on numbers a task should do at least, so that starting it costs little beside them.
const WORK_PER_TASK: usize = 1 << 16;

/// Number of matrices in a batch of these dimensions, and rows and columns of each.
///
/// # Errors
/// `INVALID_ARGUMENT` if there are fewer than two dimensions.
pub(crate) fn matrices(name: &str, dims: &[usize]) -> Result<[usize; 3]> {
    match dims {
        // A number that is too large is one of matrices without elements.
        [batch @ .., rows, columns] => {
            Ok([batch.iter().fold(1, |n: usize, d| n.saturating_mul(*d)), *rows, *columns])
        }
        _ => Err(Error::invalid_argument(format!("{name} has {} dimensions: a matrix has two", dims.len()))),
    }
}

/// Checks the dimensions of a tensor against those of `x` in front of the last two, followed by `last`.
///
/// # Errors
/// `INVALID_ARGUMENT`, with both.
pub(crate) fn expect_dims(name: &str, found: &[usize], x: &[usize], last: &[usize]) -> Result<()> {
    let batch = &x[..x.len().saturating_sub(2)];
    let expected = [batch, last].concat();
    if found != expected {
        let message =
            format!("{name} has the dimensions {found:?}, but {expected:?} follow from the operands");
        return Err(Error::invalid_argument(message));
    }
    Ok(())
}

/// Entries of a batch that lie one behind the other, each with `len` elements.
pub(crate) struct Entries<'a, T> {
    data: &'a [T],
    len: usize,
}

/// [`Entries`] that are written.
pub(crate) struct EntriesMut<'a, T> {
    data: &'a mut [T],
    len: usize,
}

impl<'a, T: Element> Entries<'a, T> {
    /// Entries of `len` elements.
    pub(crate) fn new(data: &'a [T], len: usize) -> Self {
        Entries { data, len }
    }

    /// Takes the next `count` entries off the front.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        let (taken, rest) = self.data.split_at(count * self.len);
        self.data = rest;
        Entries { data: taken, len: self.len }
    }

    /// An entry.
    pub(crate) fn get(&self, i: usize) -> &'a [T] {
        &self.data[i * self.len..(i + 1) * self.len]
    }
}

impl<'a, T: Element> EntriesMut<'a, T> {
    /// Entries of `len` elements.
    pub(crate) fn new(data: &'a mut [T], len: usize) -> Self {
        EntriesMut { data, len }
    }

    /// Takes the next `count` entries off the front.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        let (taken, rest) = std::mem::take(&mut self.data).split_at_mut(count * self.len);
        self.data = rest;
        EntriesMut { data: taken, len: self.len }
    }

    /// An entry.
    pub(crate) fn get(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.len..(i + 1) * self.len]
    }
}

/// Works on `count` entries on the threads of the host's pool. `take(n)` gives what belongs to the next `n` of them, and
/// `work` gets that with `n`. `operations` is the work on one entry, about.
///
/// What is computed for an entry must not depend on the others: how they are divided depends on nothing but the sizes,
/// but what runs at the same time does.
pub(crate) fn in_parallel<J: Send>(
    context: &Context,
    count: usize,
    operations: usize,
    mut take: impl FnMut(usize) -> J,
    work: impl Fn(usize, J) + Sync,
) {
    let per_task = (WORK_PER_TASK / operations.max(1)).max(1);
    let sizes = (0..count.div_ceil(per_task)).map(|i| per_task.min(count - i * per_task));
    let tasks: Vec<_> = sizes.map(|size| Mutex::new(Some((size, take(size))))).collect();
    context.parallel_for(tasks.len(), |i| {
        // The guard is gone before the work begins.
        let task = tasks[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((size, job)) = task {
            work(size, job);
        }
    });
}
