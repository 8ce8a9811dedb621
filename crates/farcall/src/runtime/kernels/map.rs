//! Loops over corresponding elements.
//!
//! Elements are read in blocks before the block is written, so that the output may lie exactly where
//! an input lies (elements of one size), and so that the compiler can use vectors without knowing.

/// Elements in a block.
const BLOCK: usize = 32;

/// `out[i] = f(a[i])` for `n` elements.
///
/// # Safety
/// `a` is valid for reads and `out` for writes of `n` elements, both aligned; they are apart, or the
/// same place with elements of one size.
#[inline(always)]
pub(super) unsafe fn map1<A: Copy, R: Copy>(a: *const u8, out: *mut u8, n: usize, f: impl Fn(A) -> R) {
    let (a, out) = (a.cast::<A>(), out.cast::<R>());
    let blocks = n / BLOCK;
    for b in 0..blocks {
        // SAFETY: block `b` lies inside of the `n` elements; it is read whole before it is written.
        unsafe {
            let x = a.add(b * BLOCK).cast::<[A; BLOCK]>().read();
            out.add(b * BLOCK).cast::<[R; BLOCK]>().write(std::array::from_fn(|i| f(x[i])));
        }
    }
    for i in blocks * BLOCK..n {
        // SAFETY: `i < n`.
        unsafe { out.add(i).write(f(a.add(i).read())) };
    }
}

/// `out[i] = f(a[i], b[i])` for `n` elements.
///
/// # Safety
/// As [`map1`], for both inputs.
#[inline(always)]
pub(super) unsafe fn map2<A: Copy, B: Copy, R: Copy>(
    [a, b]: [*const u8; 2],
    out: *mut u8,
    n: usize,
    f: impl Fn(A, B) -> R,
) {
    let (a, b, out) = (a.cast::<A>(), b.cast::<B>(), out.cast::<R>());
    let blocks = n / BLOCK;
    for k in 0..blocks {
        // SAFETY: as in `map1`.
        unsafe {
            let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
            let y = b.add(k * BLOCK).cast::<[B; BLOCK]>().read();
            out.add(k * BLOCK).cast::<[R; BLOCK]>().write(std::array::from_fn(|i| f(x[i], y[i])));
        }
    }
    for i in blocks * BLOCK..n {
        // SAFETY: `i < n`.
        unsafe { out.add(i).write(f(a.add(i).read(), b.add(i).read())) };
    }
}

/// `out[i] = f(a[i], b[i], c[i])` for `n` elements; inputs with a false flag have one element.
///
/// # Safety
/// As [`map1`], for all inputs; those with a false flag for one element.
#[inline(always)]
pub(super) unsafe fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    [a, b, c]: [*const u8; 3],
    many: [bool; 3],
    out: *mut u8,
    n: usize,
    f: impl Fn(A, B, C) -> R,
) {
    let (a, b, c, out) = (a.cast::<A>(), b.cast::<B>(), c.cast::<C>(), out.cast::<R>());
    let [sa, sb, sc] = many.map(usize::from);
    for i in 0..n {
        // SAFETY: `i < n`, and an input of one element is read at 0.
        unsafe { out.add(i).write(f(a.add(i * sa).read(), b.add(i * sb).read(), c.add(i * sc).read())) };
    }
}
