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
pub(super) type Work = Box<dyn Fn(&[Operand; 3], *mut u8, usize) + Send + Sync>;

/// Elements in a block.
pub(super) const BLOCK: usize = 32;

/// Where the elements of an input are.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    /// The first one.
    pub(super) at: *const u8,
    /// Elements from one block to the next.
    step: usize,
}

impl Operand {
    /// One element for all results, or one for each.
    #[inline(always)]
    pub(super) fn new(at: *const u8, one: bool) -> Operand {
        if one { Operand::repeated(at) } else { Operand::each(at) }
    }

    /// As many elements as there are results.
    pub(super) fn each(at: *const u8) -> Operand {
        Operand { at, step: BLOCK }
    }

    /// One element for all results: a block of it, or as much as there are results.
    pub(super) fn repeated(at: *const u8) -> Operand {
        Operand { at, step: 0 }
    }

    /// True if there is one element for all results.
    #[cfg_attr(not(all(target_arch = "x86_64", unix)), expect(dead_code, reason = "instructions ask"))]
    pub(super) fn is_repeated(self) -> bool {
        self.step == 0
    }

    /// What a function without this input is called with.
    pub(super) const NONE: Operand = Operand { at: std::ptr::null(), step: 0 };
}

/// Functions that make a loop of three closures: what is computed where `near` is true of all elements of a block, and
/// what it is `far` from there.
macro_rules! loops {
    ($($(#[$doc:meta])* $name:ident: $($x:ident $X:ident $i:literal),+;)*) => {$(
        $(#[$doc])*
        fn $name<$($X: Copy,)+ R: Copy>(
            f: impl Fn($($X),+) -> R + Send + Sync + 'static,
            near: impl Fn($($X),+) -> bool + Send + Sync + 'static,
            far: impl Fn($($X),+) -> R + Send + Sync + 'static,
        ) -> Work {
            Box::new(move |from: &[Operand; 3], out, n| {
                vectorized(
                    #[inline(always)]
                    || {
                        // Copied, so that the loops keep them in registers.
                        $(let $x = from[$i];)+
                        let (out, blocks) = (out.cast::<R>(), n / BLOCK);
                        for k in 0..blocks {
                            // SAFETY: block `k` lies inside of the `n` elements; it is read whole before it is written.
                            unsafe {
                                $(let $x = $x.at.cast::<$X>().add(k * $x.step).cast::<[$X; BLOCK]>().read();)+
                                let (mut all, mut i) = (true, 0);
                                while i < BLOCK {
                                    all &= near($($x[i]),+);
                                    i += 1;
                                }
                                if all {
                                    write_block(out.add(k * BLOCK), #[inline(always)] |i| f($($x[i]),+));
                                } else {
                                    write_block(
                                        out.add(k * BLOCK),
                                        |i| if near($($x[i]),+) { f($($x[i]),+) } else { far($($x[i]),+) },
                                    );
                                }
                            }
                        }
                        let (mut at, rest) = (0, n % BLOCK);
                        'parts: {
                            macro_rules! part {
                                ($N:literal) => {
                                    // SAFETY: the block after them has as many elements; a part is read whole before it is written.
                                    unsafe {
                                        $(let $x = $x.at.cast::<$X>().add(blocks * $x.step + at).cast::<[$X; $N]>().read();)+
                                        let (mut all, mut i) = (true, 0);
                                        while i < $N {
                                            all &= near($($x[i]),+);
                                            i += 1;
                                        }
                                        if !all {
                                            break 'parts;
                                        }
                                        write_part::<R, $N>(out.add(blocks * BLOCK + at), #[inline(always)] |i| f($($x[i]),+));
                                    }
                                    at += $N;
                                };
                            }
                            while rest - at >= 8 {
                                part!(8);
                            }
                            if rest & 4 != 0 {
                                part!(4);
                            }
                            if rest & 2 != 0 {
                                part!(2);
                            }
                        }
                        while at < rest {
                            // SAFETY: the block after them has as many elements.
                            unsafe {
                                $(let $x = $x.at.cast::<$X>().add(blocks * $x.step + at).read();)+
                                let y = if near($($x),+) { f($($x),+) } else { far($($x),+) };
                                out.add(blocks * BLOCK + at).write(y);
                            }
                            at += 1;
                            // One element after the other.
                            compiler_fence(Ordering::SeqCst);
                        }
                    },
                );
            })
        }
    )*};
}

loops! {
    /// Of one input.
    of_one: a A 0;
    /// Of two.
    of_two: a A 0, b B 1;
    /// Of three.
    of_three: a A 0, b B 1, c C 2;
}

/// `out[i] = f(a[i])`
pub(super) fn map1<A: Copy, R: Copy>(f: impl Fn(A) -> R + Copy + Send + Sync + 'static) -> Work {
    of_one(f, |_| true, f)
}

/// `out[i] = f(a[i])`, for a function that holds where `near` is true; elsewhere it is `far`.
pub(super) fn map1_near<A: Copy, R: Copy>(
    f: impl Fn(A) -> R + Send + Sync + 'static,
    near: impl Fn(A) -> bool + Send + Sync + 'static,
    far: impl Fn(A) -> R + Send + Sync + 'static,
) -> Work {
    of_one(f, near, far)
}

/// `out[i] = f(a[i], b[i])`, for a function that holds where `near` is true; elsewhere it is `far`.
pub(super) fn map2_near<A: Copy, R: Copy>(
    f: impl Fn(A, A) -> R + Send + Sync + 'static,
    near: impl Fn(A, A) -> bool + Send + Sync + 'static,
    far: impl Fn(A, A) -> R + Send + Sync + 'static,
) -> Work {
    of_two(f, near, far)
}

/// `out[i] = f(a[i], b[i])`
pub(super) fn map2<A: Copy, B: Copy, R: Copy>(f: impl Fn(A, B) -> R + Copy + Send + Sync + 'static) -> Work {
    of_two(f, |_, _| true, f)
}

/// `out[i] = f(a[i], b[i], c[i])`
pub(super) fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    f: impl Fn(A, B, C) -> R + Copy + Send + Sync + 'static,
) -> Work {
    of_three(f, |_, _, _| true, f)
}

/// Computes a block before any of it is written.
///
/// # Safety
/// A block can be written.
#[inline(always)]
pub(super) unsafe fn write_block<R: Copy>(out: *mut R, f: impl Fn(usize) -> R) {
    // SAFETY: the caller's promise.
    unsafe { write_part::<R, BLOCK>(out, f) };
}

/// Computes so many elements before any of them is written.
///
/// # Safety
/// They can be written.
#[inline(always)]
unsafe fn write_part<R: Copy, const N: usize>(out: *mut R, f: impl Fn(usize) -> R) {
    let mut part = [const { MaybeUninit::uninit() }; N];
    let mut i = 0;
    // Not by an iterator, whose functions would be calls if they were not inlined.
    while i < N {
        part[i] = MaybeUninit::new(f(i));
        i += 1;
    }
    // SAFETY: the caller's promise; every element of the part is there.
    unsafe { out.cast::<[MaybeUninit<R>; N]>().write(part) };
    // A loop over blocks is not to be vectorized itself, by gathering the same element of many blocks.
    compiler_fence(Ordering::SeqCst);
}
