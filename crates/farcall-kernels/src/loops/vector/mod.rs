//! Loops over corresponding elements.
//!
//! A block of elements is read before any of its results is written. This allows an output in exactly the
//! place of an input, if their elements have the same size, and lets the compiler vectorize without knowing
//! about aliasing.

pub(crate) mod combine;
pub(crate) mod complex;
pub(crate) mod fill;
pub(crate) mod half_floats;
pub(crate) mod minifloat;
pub(crate) mod moves;
pub(crate) mod operations;
pub(crate) mod reduce_precision;
pub(crate) mod rounds;
pub(crate) mod slices;
pub(crate) mod superinstructions;

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::simd::{end_block, vectorized_or};

/// Prebuilt code of a loop over elements, with at most three operands.
///
/// The closure inside reads and writes raw memory, so [`VectorLoop::run`] is the only way to call it.
#[derive(Clone)]
pub(crate) struct VectorLoop(Arc<dyn LoopCode>);

/// The code of a [`VectorLoop`]. Trait objects of `Fn` would contain a second copy of each closure, for
/// `FnOnce`.
trait LoopCode: Send + Sync {
    /// Computes `n` elements of a result from operands.
    fn run(&self, from: &[Operand; 3], to: *mut u8, n: usize);
}

impl<F: Fn(&[Operand; 3], *mut u8, usize) + Send + Sync> LoopCode for F {
    fn run(&self, from: &[Operand; 3], to: *mut u8, n: usize) {
        self(from, to, n);
    }
}

impl VectorLoop {
    /// Creates a loop. The closure may rely on the requirements of [`VectorLoop::run`].
    pub(crate) fn new(f: impl Fn(&[Operand; 3], *mut u8, usize) + Send + Sync + 'static) -> VectorLoop {
        VectorLoop(Arc::new(f))
    }

    /// Computes `n` elements.
    ///
    /// # Safety
    /// The operands are valid for reads and `to` for writes of `n` aligned elements of the types that the
    /// loop was created for; a repeated operand has the copies that [`Operand::repeated`] asks for. Each
    /// operand is disjoint from the result, or is in exactly the same place with elements of the same size. A
    /// loop with further requirements states them where it is created.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, from: &[Operand; 3], to: *mut u8, n: usize) {
        self.0.run(from, to, n);
    }
}

/// Number of elements in a block.
pub(crate) const BLOCK: usize = 32;

/// Address of an input's elements.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    /// The first element.
    pub(crate) at: *const u8,
    /// Number of elements from one block to the next; 0 for a repeated element.
    step: usize,
}

impl Operand {
    /// Creates an operand with one repeated element, or with one element for each result.
    #[inline(always)]
    pub(crate) fn new(at: *const u8, one: bool) -> Operand {
        if one { Operand::repeated(at) } else { Operand::each(at) }
    }

    /// Creates an operand with one element for each result.
    pub(crate) fn each(at: *const u8) -> Operand {
        Operand { at, step: BLOCK }
    }

    /// Creates an operand with one element for all results. The memory has a block of copies of the element,
    /// or as many copies as there are results if these are fewer.
    pub(crate) fn repeated(at: *const u8) -> Operand {
        Operand { at, step: 0 }
    }

    /// Returns the address of the element for result `i`. `T` must be the type of the operand's elements.
    #[inline(always)]
    fn element<T>(self, i: usize) -> *const T {
        self.at.cast::<T>().wrapping_add(if self.step == 0 { 0 } else { i })
    }

    /// Returns true if one element is repeated for all results.
    pub(crate) fn is_repeated(self) -> bool {
        self.step == 0
    }

    /// Placeholder for an operand that a loop does not have.
    pub(crate) const ABSENT: Operand = Operand { at: std::ptr::null(), step: 0 };
}

/// Generates functions that create a loop from three closures: `f` computes results, `near` tells for which
/// elements `f` is valid, and `far` computes the results of the other elements.
macro_rules! loops {
    ($($(#[$doc:meta])* $name:ident: $($x:ident $X:ident $i:literal),+;)*) => {$(
        $(#[$doc])*
        fn $name<$($X: Copy,)+ R: Copy>(
            f: impl Fn($($X),+) -> R + Send + Sync + 'static,
            near: impl Fn($($X),+) -> bool + Send + Sync + 'static,
            far: impl Fn($($X),+) -> R + Send + Sync + 'static,
        ) -> VectorLoop {
            // Computes one element.
            macro_rules! single {
                ($block:expr, $at:expr, $from:expr, $out:expr) => {{
                    let (block, at) = ($block, $at);
                    $(let $x = $from[$i].at.cast::<$X>().add(block * $from[$i].step + at).read();)+
                    let y = if near($($x),+) { f($($x),+) } else { far($($x),+) };
                    $out.add(block * BLOCK + at).write(y);
                }};
            }
            VectorLoop::new(move |from: &[Operand; 3], out, n| {
                vectorized_or(
                    || {
                        for i in 0..n {
                            // SAFETY: `i` is below `n`, and the caller of the loop guarantees `n` elements.
                            unsafe { single!(i / BLOCK, i % BLOCK, from, out.cast::<R>()) };
                        }
                    },
                    #[inline(always)]
                    || {
                        // The operands are copied, so that the loops keep them in registers.
                        $(let $x = from[$i];)+
                        let (out, blocks) = (out.cast::<R>(), n / BLOCK);
                        macro_rules! part {
                            ($N:expr, $block:expr, $at:expr) => {
                                // SAFETY: these are some of the `n` elements, read before they are written.
                                unsafe {
                                    $(let $x = $x.at.cast::<$X>().add($block * $x.step + $at).cast::<[$X; $N]>().read();)+
                                    write_near::<R, { $N }>(
                                        out.add($block * BLOCK + $at),
                                        #[inline(always)] |i| f($($x[i]),+),
                                        #[inline(always)] |i| near($($x[i]),+),
                                        |i| far($($x[i]),+),
                                    );
                                }
                            };
                        }
                        for k in 0..blocks {
                            part!(BLOCK, k, 0);
                        }
                        let (mut at, rest) = (0, n % BLOCK);
                        while rest - at >= 8 {
                            part!(8, blocks, at);
                            at += 8;
                        }
                        if rest & 4 != 0 {
                            part!(4, blocks, at);
                            at += 4;
                        }
                        if rest & 2 != 0 {
                            part!(2, blocks, at);
                            at += 2;
                        }
                        if at < rest {
                            // SAFETY: this is the last one of the `n` elements.
                            unsafe { single!(blocks, at, from, out) };
                        }
                    },
                );
            })
        }
    )*};
}

loops! {
    /// Creates a loop over one input.
    of_one: a A 0;
    /// Creates a loop over two inputs.
    of_two: a A 0, b B 1;
    /// Creates a loop over three inputs.
    of_three: a A 0, b B 1, c C 2;
}

/// Returns a loop that computes `out[i] = f(a[i])`, one element after the other. It is for functions that the
/// compiler cannot vectorize, such as calls, and is compiled once, for any processor.
pub(crate) fn scalar1<A: Copy, R: Copy>(f: impl Fn(A) -> R + Send + Sync + 'static) -> VectorLoop {
    VectorLoop::new(move |&[a, ..]: &[Operand; 3], out, n| {
        for i in 0..n {
            // SAFETY: `i` is below `n`, and the caller of the loop guarantees `n` elements.
            unsafe { out.cast::<R>().add(i).write(f(a.element::<A>(i).read())) };
        }
    })
}

/// Returns a loop that computes `out[i] = f(a[i], b[i])`, like [`scalar1`].
pub(crate) fn scalar2<A: Copy, B: Copy, R: Copy>(
    f: impl Fn(A, B) -> R + Send + Sync + 'static,
) -> VectorLoop {
    VectorLoop::new(move |&[a, b, _]: &[Operand; 3], out, n| {
        for i in 0..n {
            // SAFETY: `i` is below `n`, and the caller of the loop guarantees `n` elements.
            unsafe { out.cast::<R>().add(i).write(f(a.element::<A>(i).read(), b.element::<B>(i).read())) };
        }
    })
}

/// Returns a loop that computes `out[i] = f(a[i])`.
pub(crate) fn map1<A: Copy, R: Copy>(f: impl Fn(A) -> R + Copy + Send + Sync + 'static) -> VectorLoop {
    of_one(f, |_| true, f)
}

/// Returns a loop that computes `out[i] = f(a[i])` where `near` is true, and `far(a[i])` elsewhere.
pub(crate) fn map1_near<A: Copy, R: Copy>(
    f: impl Fn(A) -> R + Send + Sync + 'static,
    near: impl Fn(A) -> bool + Send + Sync + 'static,
    far: impl Fn(A) -> R + Send + Sync + 'static,
) -> VectorLoop {
    of_one(f, near, far)
}

/// Returns a loop that computes `out[i] = f(a[i], b[i])` where `near` is true, and `far(a[i], b[i])`
/// elsewhere.
pub(crate) fn map2_near<A: Copy, R: Copy>(
    f: impl Fn(A, A) -> R + Send + Sync + 'static,
    near: impl Fn(A, A) -> bool + Send + Sync + 'static,
    far: impl Fn(A, A) -> R + Send + Sync + 'static,
) -> VectorLoop {
    of_two(f, near, far)
}

/// Returns a loop that computes `out[i] = f(a[i], b[i])`.
pub(crate) fn map2<A: Copy, B: Copy, R: Copy>(
    f: impl Fn(A, B) -> R + Copy + Send + Sync + 'static,
) -> VectorLoop {
    of_two(f, |_, _| true, f)
}

/// Returns a loop that computes `out[i] = f(a[i], b[i], c[i])`.
pub(crate) fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    f: impl Fn(A, B, C) -> R + Copy + Send + Sync + 'static,
) -> VectorLoop {
    of_three(f, |_, _, _| true, f)
}

/// Computes a whole block before writing any element of it.
///
/// # Safety
/// `out` is valid for writes of a block.
#[inline(always)]
pub(crate) unsafe fn write_block<R: Copy>(out: *mut R, f: impl Fn(usize) -> R) {
    // SAFETY: the caller guarantees that `out` is valid for writes of a block (`# Safety` above).
    unsafe { write_part::<R, BLOCK>(out, f) };
}

/// Computes `N` elements and writes them: `far(i)` where `near(i)` is false, else `f(i)`.
///
/// # Safety
/// `out` is valid for writes of `N` elements.
#[inline(always)]
unsafe fn write_near<R: Copy, const N: usize>(
    out: *mut R,
    f: impl Fn(usize) -> R,
    near: impl Fn(usize) -> bool,
    far: impl Fn(usize) -> R,
) {
    let (mut all, mut i) = (true, 0);
    while i < N {
        all &= near(i);
        i += 1;
    }
    // SAFETY: the caller guarantees that `out` is valid for writes of `N` elements (`# Safety` above).
    unsafe { write_part::<R, N>(out, f) };
    if !all {
        for i in (0..N).filter(|i| !near(*i)) {
            // SAFETY: `i < N`, and the caller guarantees that `out` is valid for writes of `N` elements
            // (`# Safety` above).
            unsafe { out.add(i).write(far(i)) };
        }
    }
}

/// Computes `N` elements before writing the first one.
///
/// # Safety
/// `out` is valid for writes of `N` elements.
#[inline(always)]
unsafe fn write_part<R: Copy, const N: usize>(out: *mut R, f: impl Fn(usize) -> R) {
    let mut part = [const { MaybeUninit::uninit() }; N];
    let mut i = 0;
    // The loop does not use an iterator, whose functions might not be inlined.
    while i < N {
        part[i] = MaybeUninit::new(f(i));
        i += 1;
    }
    // SAFETY: the caller guarantees that `out` is valid for writes of `N` elements (`# Safety` above).
    unsafe { out.cast::<[MaybeUninit<R>; N]>().write(part) };
    end_block();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::PLAIN;

    /// Tests blocks, parts and single elements that are near, far or mixed, with a separate output and with
    /// the output in the place of the input.
    #[test]
    fn every_element_is_near_or_far_and_nothing_else_is_written() {
        for plain in [false, true] {
            PLAIN.set(plain);
            every_length();
        }
    }

    #[test]
    fn scalar_loops_repeat_elements_and_work_in_place() {
        let work = scalar2::<u32, u32, u32>(|a, b| 1000 * a + b);
        let copies = [7; BLOCK];
        for n in [1, BLOCK, 2 * BLOCK + 1] {
            let mut a: Vec<u32> = (0..n as u32).collect();
            let at = a.as_mut_ptr();
            let from = [
                Operand::each(at.cast_const().cast()),
                Operand::repeated(copies.as_ptr().cast()),
                Operand::ABSENT,
            ];
            // SAFETY: the first operand and the result are the same `n` elements, the second is a block of
            // copies.
            unsafe { work.run(&from, at.cast(), n) };
            assert!(a.iter().zip(0..).all(|(y, i)| *y == 1000 * i + 7));
            // SAFETY: as before, with one operand.
            unsafe { scalar1::<u32, u32>(|a| a - 7).run(&from, at.cast(), n) };
            assert!(a.iter().zip(0..).all(|(y, i)| *y == 1000 * i));
        }
    }

    fn every_length() {
        let work = map2_near::<u32, u32>(|a, b| a + b, |a, _| a % 7 != 3, |a, b| 1000 * a + b);
        let wanted = |a: u32, b: u32| if a % 7 != 3 { a + b } else { 1000 * a + b };
        for n in 0..3 * BLOCK {
            let a: Vec<u32> = (0..n as u32).map(|i| if n % 2 == 0 { i } else { 7 * i }).collect();
            for repeated in [false, true] {
                let b: Vec<u32> = if repeated { vec![5; n.max(1)] } else { (100..100 + n as u32).collect() };
                let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| wanted(*a, *b)).collect();
                let mut out = vec![u32::MAX; n + 1];
                let from = [
                    Operand::each(a.as_ptr().cast()),
                    Operand::new(b.as_ptr().cast(), repeated),
                    Operand::ABSENT,
                ];
                // SAFETY: operands and result have `n` elements; a repeated operand has as many copies.
                unsafe { work.run(&from, out.as_mut_ptr().cast(), n) };
                assert_eq!(out.pop(), Some(u32::MAX));
                assert_eq!(out, expected);
                let mut here = a.clone();
                let at = here.as_mut_ptr();
                let from = [Operand::each(at.cast_const().cast()), from[1], Operand::ABSENT];
                // SAFETY: as before, with the result in the place of the first operand.
                unsafe { work.run(&from, at.cast(), n) };
                assert_eq!(here, expected);
            }
        }
    }
}
