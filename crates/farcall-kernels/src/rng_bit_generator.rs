//! `rng_bit_generator`: random bits. A block of bits is a function of a key and of the block's counter. Many
//! blocks are computed at a time.
//!
//! The generators are in the evaluator (`farcall_ir::eval::random`), which also documents the order of their
//! words.

use farcall_ir::eval::random::{philox, threefry};
use farcall_ir::op::RngAlgorithm;
use farcall_ir::{DType, Op, TensorType};

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::simd::vectorized;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "rng_bit_generator", prepare, in_place: apart, describe };

/// Number of blocks in a task.
const TASK_BLOCKS: usize = 1 << 14;
/// Number of blocks that are computed at once.
const BATCH_BLOCKS: usize = 64;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::RngBitGenerator(algorithm), [state], [next, y]) = (request.op, request.inputs, request.outputs)
    else {
        return None;
    };
    let plain = y.dtype.is_integer() || y.dtype.is_float();
    if state != next || state.dtype != DType::U64 || state.rank() != 1 || !plain {
        return None;
    }
    y.elements()?.checked_mul(2)?;
    let words = state.sizes()[0];
    match (y.dtype.bits(), y.dtype.size()) {
        (8, 1) => prepared::<u8>(*algorithm, words, y),
        (16, 2) => prepared::<u16>(*algorithm, words, y),
        (32, 4) => prepared::<u32>(*algorithm, words, y),
        (64, 8) => prepared::<u64>(*algorithm, words, y),
        _ => None,
    }
}

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::RngBitGenerator(algorithm) => algorithm.name().to_lowercase(),
        _ => String::new(),
    }
}

fn prepared<T: Bits>(algorithm: RngAlgorithm, words: usize, y: &TensorType) -> Option<PreparedKernel> {
    let prepared = match (algorithm, words) {
        (RngAlgorithm::ThreeFry, 2) => {
            let layout = Layout::new::<T>(y);
            let count = layout.count();
            in_tasks(count, words, move |args, range, state| {
                layout.fill::<T>(args.output_ptr(1), state, range);
            })
        }
        (RngAlgorithm::Philox | RngAlgorithm::Default, 2 | 3) => {
            let elements = y.elements()?;
            let count = elements.div_ceil(T::PHILOX);
            in_tasks(count, words, move |args, range, state| {
                fill_philox::<T>(args.output_ptr(1), elements, state, range);
            })
        }
        _ => return None,
    };
    Some(prepared)
}

/// Key and counter of a generator.
#[derive(Clone, Copy)]
struct State {
    key: u64,
    counter: u128,
}

/// Prepares a kernel that computes `count` blocks, and advances the counter.
fn in_tasks(
    count: usize,
    words: usize,
    fill: impl Fn(&Args<'_>, std::ops::Range<usize>, State) + Send + Sync + 'static,
) -> PreparedKernel {
    PreparedKernel::in_tasks(count.div_ceil(TASK_BLOCKS).max(1), move |args, task| {
        let (from, to) = (args.input_ptr::<u64>(0), args.output_ptr::<u64>(0));
        // SAFETY: a state has two or three words. If there are two, the key is also the high part of Philox's
        // counter.
        let (key, low, high) = unsafe { (*from, *from.add(1), *from.add(if words == 3 { 2 } else { 0 })) };
        let state = State { key, counter: u128::from(high) << 64 | u128::from(low) };
        if task == 0 {
            let counter = state.counter.wrapping_add(count as u128);
            let next = [key, counter as u64, (counter >> 64) as u64];
            // SAFETY: `next` has three words, and `words` is 2 or 3. `prepare` requires the new state to have
            // the old state's type, so the output has `words` words, too.
            unsafe { to.copy_from_nonoverlapping(next.as_ptr(), words) };
        }
        fill(args, task * TASK_BLOCKS..((task + 1) * TASK_BLOCKS).min(count), state);
    })
}

/// Elements of a certain number of bits.
trait Bits: Copy + Default + Send + Sync + 'static {
    /// Number of elements in a block of Philox.
    const PHILOX: usize;

    /// Returns element `i` of two words: the low bits of word `i`, or both words for a 64-bit element.
    fn of(words: [u32; 2], i: usize) -> Self;
}

macro_rules! narrow {
    ($($t:ty),*) => {
        $(impl Bits for $t {
            const PHILOX: usize = 4;

            #[inline(always)]
            fn of(words: [u32; 2], i: usize) -> $t {
                words[i] as $t
            }
        })*
    };
}
narrow!(u8, u16, u32);

impl Bits for u64 {
    const PHILOX: usize = 2;

    #[inline(always)]
    fn of([low, high]: [u32; 2], _: usize) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }
}

/// The elements that blocks of Threefry generate: one element per block if elements have 64 bits, else two
/// elements that are adjacent along one dimension.
struct Layout {
    /// Number of elements per block.
    each: usize,
    /// Size of the dimension along which a block's elements are adjacent, and number of blocks along this
    /// dimension.
    size: usize,
    half: usize,
    /// Number of elements of the dimensions inside of this dimension, and of the dimensions outside of it.
    inner: usize,
    outer: usize,
}

impl Layout {
    fn new<T: Bits>(y: &TensorType) -> Layout {
        let dims = y.sizes();
        let product = |dims: &[usize]| dims.iter().fold(1usize, |n, d| n.saturating_mul(*d));
        if T::PHILOX == 2 || dims.is_empty() {
            let size = product(dims);
            return Layout { each: 1, size, half: size, inner: 1, outer: 1 };
        }
        // The first dimension of even size or, if there is none, the first of the largest dimensions.
        let largest = (0..dims.len()).rev().max_by_key(|d| dims[*d]).unwrap_or(0);
        let split = dims.iter().position(|d| d % 2 == 0).unwrap_or(largest);
        let (inner, outer) = (product(&dims[split + 1..]), product(&dims[..split]));
        Layout { each: 2, size: dims[split], half: dims[split].div_ceil(2), inner, outer }
    }

    fn count(&self) -> usize {
        self.outer.saturating_mul(self.half).saturating_mul(self.inner)
    }

    /// Writes the elements of these blocks.
    fn fill<T: Bits>(&self, to: *mut T, state: State, range: std::ops::Range<usize>) {
        let mut words = [[0; 2]; BATCH_BLOCKS];
        for start in range.clone().step_by(BATCH_BLOCKS) {
            let counter = (state.counter as u64).wrapping_add(start as u64);
            vectorized(
                #[inline(always)]
                || {
                    for (i, words) in words.iter_mut().enumerate() {
                        *words = threefry(state.key, counter.wrapping_add(i as u64));
                    }
                },
            );
            let mut column = start % self.inner;
            let mut along = start / self.inner % self.half;
            let mut outside = start / self.inner / self.half;
            for words in &words[..BATCH_BLOCKS.min(range.end - start)] {
                let first = (outside * self.size + along * self.each) * self.inner + column;
                // SAFETY: the output has these elements, and only this block writes them.
                unsafe {
                    to.add(first).write(T::of(*words, 0));
                    if self.each == 2 && along * 2 + 1 < self.size {
                        to.add(first + self.inner).write(T::of(*words, 1));
                    }
                }
                column += 1;
                if column == self.inner {
                    (column, along) = (0, along + 1);
                }
                if along == self.half {
                    (along, outside) = (0, outside + 1);
                }
            }
        }
    }
}

/// Writes the elements of these blocks of Philox, which are contiguous.
fn fill_philox<T: Bits>(to: *mut T, elements: usize, state: State, range: std::ops::Range<usize>) {
    let mut words = [[0; 4]; BATCH_BLOCKS];
    for start in range.clone().step_by(BATCH_BLOCKS) {
        let counter = state.counter.wrapping_add(start as u128);
        vectorized(
            #[inline(always)]
            || {
                for (i, words) in words.iter_mut().enumerate() {
                    *words = philox(state.key, counter.wrapping_add(i as u128));
                }
            },
        );
        for (block, [a, b, c, d]) in (start..range.end).zip(&words) {
            let four = [T::of([*a, *b], 0), T::of([*a, *b], 1), T::of([*c, *d], 0), T::of([*c, *d], 1)];
            let two = [four[0], four[2]];
            let values = if T::PHILOX == 2 { &two[..] } else { &four[..] };
            let first = block * T::PHILOX;
            let count = T::PHILOX.min(elements - first);
            // SAFETY: the output has these elements, and only this block writes them.
            unsafe { to.add(first).copy_from_nonoverlapping(values.as_ptr(), count) };
        }
    }
}
