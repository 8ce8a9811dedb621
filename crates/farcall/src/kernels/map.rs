//! Loops over corresponding elements.
//!
//! Elements are read in blocks before the block is written, so that the output may lie exactly where
//! an input lies (elements of one size), and so that the compiler can use vectors without knowing.
//!
//! All of these are for outputs of `n` elements. Inputs have as many, are aligned, and either do not overlap the
//! output or lie exactly in its place, with elements of the same size. (`Args` are what the kernel was prepared for:
//! the function that prepares a loop checks the types.)

use super::args::Prepared;

/// Elements in a block.
const BLOCK: usize = 32;

/// `out[i] = f(a[i])`
pub(super) fn map1<A: Copy, R: Copy>(n: usize, f: impl Fn(A) -> R + Send + Sync + 'static) -> Prepared {
    Prepared::new(move |args| {
        let (a, out) = (args.input_ptr::<A>(0), args.output_ptr::<R>(0));
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
    })
}

/// `out[i] = f(a[i], b[i])`
pub(super) fn map2<A: Copy, B: Copy, R: Copy>(
    n: usize,
    f: impl Fn(A, B) -> R + Send + Sync + 'static,
) -> Prepared {
    Prepared::new(move |args| {
        let (a, b, out) = (args.input_ptr::<A>(0), args.input_ptr::<B>(1), args.output_ptr::<R>(0));
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
    })
}

/// `out[i] = f(a[i], b[i], c[i])`
pub(super) fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    n: usize,
    f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
) -> Prepared {
    Prepared::new(move |args| {
        let (a, b, c) = (args.input_ptr::<A>(0), args.input_ptr::<B>(1), args.input_ptr::<C>(2));
        let out = args.output_ptr::<R>(0);
        let blocks = n / BLOCK;
        for k in 0..blocks {
            // SAFETY: as in `map1`.
            unsafe {
                let x = a.add(k * BLOCK).cast::<[A; BLOCK]>().read();
                let y = b.add(k * BLOCK).cast::<[B; BLOCK]>().read();
                let z = c.add(k * BLOCK).cast::<[C; BLOCK]>().read();
                let block = std::array::from_fn(|i| f(x[i], y[i], z[i]));
                out.add(k * BLOCK).cast::<[R; BLOCK]>().write(block);
            }
        }
        for i in blocks * BLOCK..n {
            // SAFETY: `i < n`.
            unsafe { out.add(i).write(f(a.add(i).read(), b.add(i).read(), c.add(i).read())) };
        }
    })
}

/// The same; inputs with a false flag have one element.
pub(super) fn map3_some<A: Copy, B: Copy, C: Copy, R: Copy>(
    n: usize,
    many: [bool; 3],
    f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
) -> Prepared {
    let [sa, sb, sc] = many.map(usize::from);
    Prepared::new(move |args| {
        let (a, b, c) = (args.input_ptr::<A>(0), args.input_ptr::<B>(1), args.input_ptr::<C>(2));
        let out = args.output_ptr::<R>(0);
        for i in 0..n {
            // SAFETY: `i < n`, and an input of one element is read at 0.
            unsafe { out.add(i).write(f(a.add(i * sa).read(), b.add(i * sb).read(), c.add(i * sc).read())) };
        }
    })
}
