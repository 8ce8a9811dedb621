//! Loops over corresponding elements.
//!
//! Elements are read in blocks before the block is written, so that the output may lie exactly where
//! an input lies (elements of one size), and so that the compiler can use vectors without knowing.

use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, compiler_fence};

use super::simd::vectorized;

/// An operation on `n` elements: of up to three inputs, which are aligned, and either do not overlap the output or lie
/// exactly in its place, with elements of the same size. Whoever calls it promises that the memory is there, for the
/// element types that it was made for.
pub(super) type Work = Box<dyn Fn([*const u8; 3], *mut u8, usize) + Send + Sync>;

/// Elements in a block.
const BLOCK: usize = 32;

/// `out[i] = f(a[i])`
pub(super) fn map1<A: Copy, R: Copy>(f: impl Fn(A) -> R + Send + Sync + 'static) -> Work {
    Box::new(move |[a, _, _], out, n| {
        vectorized(
            #[inline(always)]
            || Map1 { a: a.cast(), out: out.cast(), n, f: &f }.run(),
        )
    })
}

/// `out[i] = f(a[i])`, for a function that holds where `near` is true; elsewhere it is `far`.
pub(super) fn map1_near<A: Copy, R: Copy>(
    f: impl Fn(A) -> R + Send + Sync + 'static,
    near: impl Fn(A) -> bool + Send + Sync + 'static,
    far: impl Fn(A) -> R + Send + Sync + 'static,
) -> Work {
    Box::new(move |[a, _, _], out, n| {
        vectorized(
            #[inline(always)]
            || Map1Near { a: a.cast(), out: out.cast(), n, f: &f, near: &near, far: &far }.run(),
        );
    })
}

/// `out[i] = f(a[i], b[i])`, for a function that holds where `near` is true; elsewhere it is `far`.
pub(super) fn map2_near<A: Copy, R: Copy>(
    f: impl Fn(A, A) -> R + Send + Sync + 'static,
    near: impl Fn(A, A) -> bool + Send + Sync + 'static,
    far: impl Fn(A, A) -> R + Send + Sync + 'static,
) -> Work {
    Box::new(move |[a, b, _], out, n| {
        let (a, b, out) = (a.cast(), b.cast(), out.cast());
        vectorized(
            #[inline(always)]
            || Map2Near { a, b, out, n, f: &f, near: &near, far: &far }.run(),
        );
    })
}

/// `out[i] = f(a[i], b[i])`
pub(super) fn map2<A: Copy, B: Copy, R: Copy>(f: impl Fn(A, B) -> R + Send + Sync + 'static) -> Work {
    Box::new(move |[a, b, _], out, n| {
        vectorized(
            #[inline(always)]
            || Map2 { a: a.cast(), b: b.cast(), out: out.cast(), n, f: &f }.run(),
        );
    })
}

/// `out[i] = f(a[i], b[i], c[i])`
pub(super) fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
) -> Work {
    Box::new(move |[a, b, c], out, n| {
        vectorized(
            #[inline(always)]
            || Map3 { a: a.cast(), b: b.cast(), c: c.cast(), out: out.cast(), n, f: &f }.run(),
        );
    })
}

/// Computes a block before any of it is written.
///
/// # Safety
/// A block can be written.
#[inline(always)]
unsafe fn write_block<R: Copy>(out: *mut R, f: impl Fn(usize) -> R) {
    let mut block = [const { MaybeUninit::uninit() }; BLOCK];
    let mut i = 0;
    // Not by an iterator, whose functions would be calls if they were not inlined.
    while i < BLOCK {
        block[i] = MaybeUninit::new(f(i));
        i += 1;
    }
    // SAFETY: the caller's promise; every element of the block is there.
    unsafe { out.cast::<[MaybeUninit<R>; BLOCK]>().write(block) };
    // A loop over blocks is not to be vectorized itself, by gathering the same element of many blocks.
    compiler_fence(Ordering::SeqCst);
}

struct Map1<'f, A, R, F> {
    a: *const A,
    out: *mut R,
    n: usize,
    f: &'f F,
}

impl<A: Copy, R: Copy, F: Fn(A) -> R> Map1<'_, A, R, F> {
    #[inline(always)]
    fn run(self) {
        let Map1 { a, out, n, f } = self;
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: block `k` lies inside of the `n` elements; it is read whole before it is written.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                write_block(
                    out.add(k * BLOCK),
                    #[inline(always)]
                    |i| f(x[i]),
                );
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(f(a.add(i).read())) };
        }
    }
}

struct Map1Near<'f, A, R, F, N, G> {
    a: *const A,
    out: *mut R,
    n: usize,
    f: &'f F,
    near: &'f N,
    far: &'f G,
}

impl<A: Copy, R: Copy, F: Fn(A) -> R, N: Fn(A) -> bool, G: Fn(A) -> R> Map1Near<'_, A, R, F, N, G> {
    #[inline(always)]
    fn run(self) {
        let Map1Near { a, out, n, f, near, far } = self;
        let either = |x| if near(x) { f(x) } else { far(x) };
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: as in `Map1`.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let (mut all, mut i) = (true, 0);
                while i < BLOCK {
                    all &= near(x[i]);
                    i += 1;
                }
                if all {
                    write_block(
                        out.add(k * BLOCK),
                        #[inline(always)]
                        |i| f(x[i]),
                    );
                } else {
                    write_block(out.add(k * BLOCK), |i| either(x[i]));
                }
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(either(a.add(i).read())) };
        }
    }
}

struct Map2Near<'f, A, R, F, N, G> {
    a: *const A,
    b: *const A,
    out: *mut R,
    n: usize,
    f: &'f F,
    near: &'f N,
    far: &'f G,
}

impl<A: Copy, R: Copy, F: Fn(A, A) -> R, N: Fn(A, A) -> bool, G: Fn(A, A) -> R> Map2Near<'_, A, R, F, N, G> {
    #[inline(always)]
    fn run(self) {
        let Map2Near { a, b, out, n, f, near, far } = self;
        let either = |x, y| if near(x, y) { f(x, y) } else { far(x, y) };
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: as in `Map1`.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let y = b.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let (mut all, mut i) = (true, 0);
                while i < BLOCK {
                    all &= near(x[i], y[i]);
                    i += 1;
                }
                if all {
                    write_block(
                        out.add(k * BLOCK),
                        #[inline(always)]
                        |i| f(x[i], y[i]),
                    );
                } else {
                    write_block(out.add(k * BLOCK), |i| either(x[i], y[i]));
                }
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(either(a.add(i).read(), b.add(i).read())) };
        }
    }
}

struct Map2<'f, A, B, R, F> {
    a: *const A,
    b: *const B,
    out: *mut R,
    n: usize,
    f: &'f F,
}

impl<A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> R> Map2<'_, A, B, R, F> {
    #[inline(always)]
    fn run(self) {
        let Map2 { a, b, out, n, f } = self;
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: as in `Map1`.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let y = b.add(k * BLOCK).cast::<[B; BLOCK]>().read();
                write_block(
                    out.add(k * BLOCK),
                    #[inline(always)]
                    |i| f(x[i], y[i]),
                );
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(f(a.add(i).read(), b.add(i).read())) };
        }
    }
}

struct Map3<'f, A, B, C, R, F> {
    a: *const A,
    b: *const B,
    c: *const C,
    out: *mut R,
    n: usize,
    f: &'f F,
}

impl<A: Copy, B: Copy, C: Copy, R: Copy, F: Fn(A, B, C) -> R> Map3<'_, A, B, C, R, F> {
    #[inline(always)]
    fn run(self) {
        let Map3 { a, b, c, out, n, f } = self;
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: as in `Map1`.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let y = b.add(k * BLOCK).cast::<[B; BLOCK]>().read();
                let z = c.add(k * BLOCK).cast::<[C; BLOCK]>().read();
                write_block(
                    out.add(k * BLOCK),
                    #[inline(always)]
                    |i| f(x[i], y[i], z[i]),
                );
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(f(a.add(i).read(), b.add(i).read(), c.add(i).read())) };
        }
    }
}
