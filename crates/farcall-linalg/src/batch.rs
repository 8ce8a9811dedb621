//! Batches of matrices: their sizes, and parallel work on their entries.

use farcall_ffi::{Context, Element, Error, Result};

use crate::threads::{Split, Threads};

/// Minimum number of arithmetic operations per task, so that the cost of starting a task is negligible.
const MIN_TASK_OPERATIONS: usize = 1 << 16;

/// Returns the number of matrices in a batch of these dimensions, and the rows and columns of each.
///
/// # Errors
/// `INVALID_ARGUMENT` if there are fewer than two dimensions.
pub(crate) fn matrices(name: &str, dims: &[usize]) -> Result<[usize; 3]> {
    match dims {
        // The product only saturates if the matrices have no elements.
        [batch @ .., rows, columns] => {
            Ok([batch.iter().fold(1, |n: usize, d| n.saturating_mul(*d)), *rows, *columns])
        }
        _ => Err(Error::invalid_argument(format!("{name} has {} dimensions: a matrix has two", dims.len()))),
    }
}

/// Checks that the dimensions of a tensor are the batch dimensions of `x` (all but the last two), followed by
/// `last`.
///
/// # Errors
/// `INVALID_ARGUMENT`, with the found and the expected dimensions.
pub(crate) fn expect_dims(name: &str, found: &[usize], x: &[usize], last: &[usize]) -> Result<()> {
    let batch = &x[..x.len().saturating_sub(2)];
    // Not `==`: comparing empty slices by `memcmp` takes 200 ns on some processors.
    if found.iter().eq(batch.iter().chain(last)) {
        return Ok(());
    }
    let expected = [batch, last].concat();
    let message = format!("{name} has the dimensions {found:?}, but {expected:?} follow from the operands");
    Err(Error::invalid_argument(message))
}

/// Consecutive entries of a batch, each with `len` elements.
pub(crate) struct Entries<'a, T> {
    data: &'a [T],
    len: usize,
}

/// Mutable [`Entries`].
pub(crate) struct EntriesMut<'a, T> {
    data: &'a mut [T],
    len: usize,
}

impl<'a, T: Element> Entries<'a, T> {
    /// Creates entries of `len` elements.
    pub(crate) fn new(data: &'a [T], len: usize) -> Self {
        Entries { data, len }
    }

    /// Takes the next `count` entries off the front.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        let (taken, rest) = self.data.split_at(count * self.len);
        self.data = rest;
        Entries { data: taken, len: self.len }
    }

    /// Returns the elements of all entries.
    pub(crate) fn into_elements(self) -> &'a [T] {
        self.data
    }

    /// Returns an entry.
    pub(crate) fn get(&self, i: usize) -> &'a [T] {
        &self.data[i * self.len..(i + 1) * self.len]
    }
}

impl<'a, T: Element> EntriesMut<'a, T> {
    /// Creates entries of `len` elements.
    pub(crate) fn new(data: &'a mut [T], len: usize) -> Self {
        EntriesMut { data, len }
    }

    /// Takes the next `count` entries off the front.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        let (taken, rest) = std::mem::take(&mut self.data).split_at_mut(count * self.len);
        self.data = rest;
        EntriesMut { data: taken, len: self.len }
    }

    /// Returns the elements of all entries.
    pub(crate) fn into_elements(self) -> &'a mut [T] {
        self.data
    }

    /// Returns an entry.
    pub(crate) fn get(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.len..(i + 1) * self.len]
    }
}

/// Batches that are processed entry by entry: [`Entries`], [`EntriesMut`], and tuples of batches.
pub(crate) trait Batch: Split {
    /// An entry: a slice of its elements, or a tuple of slices.
    type Entry;

    /// Takes the next entry off the front.
    fn next(&mut self) -> Self::Entry;
}

impl<T: Element> Split for Entries<'_, T> {
    fn split(&mut self, count: usize) -> Self {
        self.take(count)
    }
}

impl<'a, T: Element> Batch for Entries<'a, T> {
    type Entry = &'a [T];

    fn next(&mut self) -> &'a [T] {
        self.take(1).data
    }
}

impl<T: Element> Split for EntriesMut<'_, T> {
    fn split(&mut self, count: usize) -> Self {
        self.take(count)
    }
}

impl<'a, T: Element> Batch for EntriesMut<'a, T> {
    type Entry = &'a mut [T];

    fn next(&mut self) -> &'a mut [T] {
        self.take(1).data
    }
}

macro_rules! batches {
    ($($name:ident)*) => {
        impl<$($name: Split),*> Split for ($($name,)*) {
            fn split(&mut self, count: usize) -> Self {
                #[expect(non_snake_case, reason = "the variables have the names of their types")]
                let ($($name,)*) = self;
                ($($name.split(count),)*)
            }
        }

        impl<$($name: Batch),*> Batch for ($($name,)*) {
            type Entry = ($($name::Entry,)*);

            fn next(&mut self) -> Self::Entry {
                #[expect(non_snake_case, reason = "the variables have the names of their types")]
                let ($($name,)*) = self;
                ($($name.next(),)*)
            }
        }
    };
}
batches!(A B);
batches!(A B C);
batches!(A B C D);
batches!(A B C D E);
batches!(A B C D E F);

/// Processes the `count` entries of a batch on the threads of the host's pool. A task has one workspace for
/// all its entries. `operations` is the approximate number of arithmetic operations per entry.
///
/// The computation of an entry must not depend on other entries, nor on the previous contents of the
/// workspace.
pub(crate) fn for_each<B: Batch, W>(
    context: &Context,
    count: usize,
    operations: usize,
    mut batch: B,
    workspace: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, B::Entry) + Sync,
) {
    let take = |size| batch.split(size);
    in_parallel(context, count, operations, take, |size, mut batch| {
        let mut workspace = workspace();
        (0..size).for_each(|_| work(&mut workspace, batch.next()));
    });
}

/// Processes the `count` entries of a batch in groups of `width`, of which the last may be smaller. Otherwise
/// like [`for_each`].
pub(crate) fn for_each_group<B: Split, W>(
    context: &Context,
    count: usize,
    width: usize,
    operations: usize,
    mut batch: B,
    workspace: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, B) + Sync,
) {
    let groups = count.div_ceil(width);
    let mut left = count;
    let take = |groups: usize| {
        let size = left.min(groups * width);
        left -= size;
        (size, batch.split(size))
    };
    in_parallel(context, groups, operations * width, take, |groups, (size, mut batch)| {
        let mut workspace = workspace();
        for group in 0..groups {
            work(&mut workspace, batch.split(width.min(size - group * width)));
        }
    });
}

/// Processes `count` entries on the threads of the host's pool. `take(n)` returns the job for the next `n`
/// entries, and `work(n, job)` processes them. `operations` is the approximate number of arithmetic
/// operations per entry.
///
/// The computation of an entry must not depend on other entries. The sizes alone determine the tasks. How
/// many of them run at once depends on the pool.
pub(crate) fn in_parallel<J: Send>(
    context: &Context,
    count: usize,
    operations: usize,
    mut take: impl FnMut(usize) -> J,
    work: impl Fn(usize, J) + Sync,
) {
    let per_task = (MIN_TASK_OPERATIONS / operations.max(1)).max(1);
    let sizes = (0..count.div_ceil(per_task)).map(|i| per_task.min(count - i * per_task));
    Threads::from(context).run(sizes.map(|size| (size, take(size))), |(size, job)| work(size, job));
}
