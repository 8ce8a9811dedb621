//! Partitions of buffers, whose parts the threads of the host's pool work on in parallel.
//!
//! **Invariants.** Parts of one buffer do not overlap, and each is taken once ([`Parts::part`]). The result
//! for a part does not depend on which thread computes it, or on the number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::buffer::Buffer;
use crate::context::Context;
use crate::element::Element;
use crate::error::Result;
use crate::pool::Pool;

/// Parts that can be worked on in parallel: rows or chunks of a buffer, alone or zipped with the parts of
/// other buffers.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// /// Divides each row by its sum.
/// #[handler(name = "normalize_rows")]
/// fn normalize_rows(x: &Buffer<f32>, y: &mut Buffer<f32>, host: &Context) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     y.par_rows_mut().zip(x.par_rows()).for_each(host, |(y, x)| {
///         let sum: f32 = x.iter().sum();
///         y.iter_mut().zip(x).for_each(|(y, x)| *y = x / sum);
///     });
///     Ok(())
/// }
/// ```
///
/// A loop runs on the host's pool and on the calling thread, and returns when all parts are done. Threads
/// take runs of neighboring parts; there are a few runs for each thread. Loops can be nested: the inner loop
/// takes the [`Pool`] ([`Context::pool`]), which threads may share. A panic in the loop's body is propagated
/// to the caller.
pub trait Parts: sealed::Sealed + Sized + Send + Sync {
    /// One part.
    type Part;

    /// Number of parts.
    fn count(&self) -> usize;

    /// Returns the part with this index.
    ///
    /// # Safety
    /// The index is below the count, and each part is taken at most once.
    unsafe fn part(&self, index: usize) -> Self::Part;

    /// Pairs these parts with other parts.
    ///
    /// # Panics
    /// If the numbers of parts differ.
    #[track_caller]
    fn zip<P: Parts>(self, other: P) -> Zip<Self, P> {
        let (n, m) = (self.count(), other.count());
        assert!(n == m, "{n} parts of one buffer cannot be zipped with {m} of another");
        Zip(self, other)
    }

    /// Pairs each part with its index.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate(self)
    }

    /// Calls `work` for each part.
    fn for_each<'h>(self, pool: impl Into<Pool<'h>>, work: impl Fn(Self::Part) + Sync) {
        let pool = pool.into();
        each_run(&self, runs(self.count(), pool), pool, |_, parts| parts.for_each(&work));
    }

    /// Calls `work` for each part, and returns the first error.
    ///
    /// # Errors
    /// The error of the first failing part, in the order of the parts. Later parts may not have been worked
    /// on.
    fn try_for_each<'h>(
        self,
        pool: impl Into<Pool<'h>>,
        work: impl Fn(Self::Part) -> Result<()> + Sync,
    ) -> Result<()> {
        // First failing run. All runs before it are complete, so the choice does not depend on which run
        // failed first in time.
        let failed = Mutex::new(None);
        let pool = pool.into();
        each_run(&self, runs(self.count(), pool), pool, |run, mut parts| {
            if let Err(error) = parts.try_for_each(&work) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(other, _)| run < *other) {
                    *failed = Some((run, error));
                }
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Calls `work` for each part, with scratch memory for `len` elements. The memory's contents are
    /// unspecified: write it before reading.
    ///
    /// There are up to four scratch memories per thread, which are reused for all parts.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is not enough memory.
    fn for_each_with_scratch<T: Element>(
        self,
        host: &Context,
        len: usize,
        work: impl Fn(&mut [T], Self::Part) + Sync,
    ) -> Result<()> {
        let (pool, runs) = (host.pool(), runs(self.count(), host.pool()));
        let too_much = || crate::Error::resource_exhausted(format!("{runs} times scratch of {len} elements"));
        let mut scratch = host.scratch::<T>(len.checked_mul(runs).ok_or_else(too_much)?)?;
        let scratch = PartsMut::new(&mut scratch, len.max(1));
        each_run(&self, runs, pool, |run, parts| {
            // SAFETY: each run is done once, and `scratch` has a part for each run. Without elements there
            // are no parts.
            let scratch = if len == 0 { &mut [] } else { unsafe { scratch.part(run) } };
            parts.for_each(|part| work(scratch, part));
        });
        Ok(())
    }
}

mod sealed {
    /// Restricts [`Parts`](super::Parts) to this module, because unsafe code relies on `count` and `part`.
    pub trait Sealed {}

    impl<T> Sealed for super::PartsRef<'_, T> {}
    impl<T> Sealed for super::PartsMut<'_, T> {}
    impl<A, B> Sealed for super::Zip<A, B> {}
    impl<P> Sealed for super::Enumerate<P> {}
}

/// Returns the number of runs of neighboring parts: several for each thread, so that the wait for a slow
/// thread is short.
fn runs(count: usize, pool: Pool<'_>) -> usize {
    let threads = pool.num_threads();
    count.min(if threads == 1 { 1 } else { 4 * threads })
}

/// Calls `work` for each run of parts, with the index of the run.
fn each_run<P: Parts>(parts: &P, runs: usize, pool: Pool<'_>, work: impl Fn(usize, Run<'_, P>) + Sync) {
    let count = parts.count();
    pool.parallel_for(runs, |run| {
        // The lengths of runs differ by one at most.
        let (each, longer) = (count / runs, count % runs);
        let start = run * each + run.min(longer);
        let end = start + each + usize::from(run < longer);
        work(run, Run { parts, left: start..end });
    });
}

/// A run of neighboring parts, which no other run takes.
struct Run<'p, P> {
    parts: &'p P,
    left: Range<usize>,
}

impl<P: Parts> Iterator for Run<'_, P> {
    type Item = P::Part;

    #[inline]
    fn next(&mut self) -> Option<P::Part> {
        // SAFETY: runs do not overlap, and each is done once.
        self.left.next().map(|index| unsafe { self.parts.part(index) })
    }
}

/// Read-only parts of a slice.
#[derive(Clone, Copy, Debug)]
pub struct PartsRef<'a, T> {
    elements: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Parts for PartsRef<'a, T> {
    type Part = &'a [T];

    fn count(&self) -> usize {
        self.elements.len().div_ceil(self.size)
    }

    unsafe fn part(&self, index: usize) -> &'a [T] {
        let start = index * self.size;
        &self.elements[start..self.elements.len().min(start + self.size)]
    }
}

/// Mutable parts of a slice.
#[derive(Debug)]
pub struct PartsMut<'a, T> {
    elements: *mut T,
    len: usize,
    size: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<'a, T> PartsMut<'a, T> {
    fn new(elements: &'a mut [T], size: usize) -> PartsMut<'a, T> {
        PartsMut { len: elements.len(), elements: elements.as_mut_ptr(), size, borrowed: PhantomData }
    }
}

// SAFETY: behaves like `&mut [T]`, of which each thread gets disjoint parts.
unsafe impl<T: Send> Send for PartsMut<'_, T> {}
// SAFETY: a shared reference only gives access through `part`, whose caller guarantees disjoint parts.
unsafe impl<T: Send> Sync for PartsMut<'_, T> {}

impl<'a, T: Send> Parts for PartsMut<'a, T> {
    type Part = &'a mut [T];

    fn count(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    unsafe fn part(&self, index: usize) -> &'a mut [T] {
        let start = index * self.size;
        let len = self.size.min(self.len - start);
        // SAFETY: the part is within the slice, which is borrowed for `'a`. Parts do not overlap, and the
        // caller guarantees that each is taken once (`Parts::part`).
        unsafe { std::slice::from_raw_parts_mut(self.elements.add(start), len) }
    }
}

/// Pairs of parts, from [`Parts::zip`].
#[derive(Debug)]
pub struct Zip<A, B>(A, B);

impl<A: Parts, B: Parts> Parts for Zip<A, B> {
    type Part = (A::Part, B::Part);

    fn count(&self) -> usize {
        self.0.count()
    }

    unsafe fn part(&self, index: usize) -> Self::Part {
        // SAFETY: the caller guarantees that the index is below the count and taken once; both have the same
        // count.
        unsafe { (self.0.part(index), self.1.part(index)) }
    }
}

/// Parts with their indices, from [`Parts::enumerate`].
#[derive(Debug)]
pub struct Enumerate<P>(P);

impl<P: Parts> Parts for Enumerate<P> {
    type Part = (usize, P::Part);

    fn count(&self) -> usize {
        self.0.count()
    }

    unsafe fn part(&self, index: usize) -> Self::Part {
        // SAFETY: the caller guarantees that the index is below the count and taken once.
        (index, unsafe { self.0.part(index) })
    }
}

/// Slices that can be split into parts.
pub trait ParallelSlice<T> {
    /// Splits the slice into parts of `size` elements, in order; the last one may have fewer.
    ///
    /// # Panics
    /// If `size` is 0.
    fn par_chunks(&self, size: usize) -> PartsRef<'_, T>;

    /// Splits the slice into mutable parts of `size` elements, in order; the last one may have fewer.
    ///
    /// # Panics
    /// If `size` is 0.
    fn par_chunks_mut(&mut self, size: usize) -> PartsMut<'_, T>;
}

impl<T> ParallelSlice<T> for [T] {
    #[track_caller]
    fn par_chunks(&self, size: usize) -> PartsRef<'_, T> {
        assert!(size > 0, "chunks of no elements");
        PartsRef { elements: self, size }
    }

    #[track_caller]
    fn par_chunks_mut(&mut self, size: usize) -> PartsMut<'_, T> {
        assert!(size > 0, "chunks of no elements");
        PartsMut::new(self, size)
    }
}

impl<T: Element, const RANK: usize> Buffer<T, RANK> {
    /// [`rows`](Self::rows) for several threads.
    pub fn par_rows(&self) -> PartsRef<'_, T> {
        self.as_slice().par_chunks(self.block(1))
    }

    /// [`rows_mut`](Self::rows_mut) for several threads.
    pub fn par_rows_mut(&mut self) -> PartsMut<'_, T> {
        let row = self.block(1);
        self.as_mut_slice().par_chunks_mut(row)
    }

    /// [`matrices`](Self::matrices) for several threads.
    pub fn par_matrices(&self) -> PartsRef<'_, T> {
        self.as_slice().par_chunks(self.block(2))
    }

    /// [`matrices_mut`](Self::matrices_mut) for several threads.
    pub fn par_matrices_mut(&mut self) -> PartsMut<'_, T> {
        let matrix = self.block(2);
        self.as_mut_slice().par_chunks_mut(matrix)
    }
}
