//! Additions and rounds of add, rotate and xor on two words, as in hashes like Threefry. Both words stay in
//! processor registers from the first turn to the last.

/// An operation on two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// `first += second`, then `second = second.rotate_left(by) ^ first`.
    Mix { by: u32 },
    /// Adds an operand, by its number, to the first word (0) or the second (1).
    Add { word: usize, operand: usize },
}

/// One word for each element, or one word for all.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub(crate) at: *const u32,
    pub(crate) one: bool,
}

/// Number of vectors in a block, to hide the latency of dependent operations.
const VECTORS: usize = 4;

/// Applies all turns to `n` pairs of words, and writes the results.
///
/// # Safety
/// Words and operands are valid for reads of `n` words, or of one word if `one` is true. The turns only name
/// existing operands. Both destinations in `to` are valid for writes of `n` words, and overlap nothing that
/// is read.
pub(crate) unsafe fn run(turns: &[Turn], operands: &[Words], words: [Words; 2], to: [*mut u32; 2], n: usize) {
    let run = Run { turns, operands, words, to };
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions; the caller guarantees the words and the turns
            // (`# Safety` above).
            return unsafe { x86::avx512(&run, n) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions; the caller guarantees the words and the turns
            // (`# Safety` above).
            return unsafe { x86::avx2(&run, n) };
        }
    }
    // SAFETY: the caller guarantees the words and the turns (`# Safety` above); every processor has these
    // instructions.
    unsafe { run.all::<u32>(n) }
}

/// A processor register of one or more words.
trait Vector: Copy {
    const LANES: usize;

    /// # Safety
    /// `at` is valid for reads of `LANES` words.
    unsafe fn load(at: *const u32) -> Self;
    /// # Safety
    /// `to` is valid for writes of `LANES` words.
    unsafe fn store(self, to: *mut u32);
    /// Returns the same word in all lanes.
    fn splat(word: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    /// Returns `self.rotate_left(by) ^ with`, for `by` from 1 to 31.
    fn mixed(self, by: u32, with: Self) -> Self;
}

impl Vector for u32 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(at: *const u32) -> u32 {
        // SAFETY: the caller guarantees that `at` is valid for reads of a word (`# Safety` above).
        unsafe { at.read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the caller guarantees that `to` is valid for writes of a word (`# Safety` above).
        unsafe { to.write_unaligned(self) }
    }
    #[inline(always)]
    fn splat(word: u32) -> u32 {
        word
    }
    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn mixed(self, by: u32, with: u32) -> u32 {
        self.rotate_left(by) ^ with
    }
}

#[derive(Clone, Copy)]
struct Run<'a> {
    turns: &'a [Turn],
    operands: &'a [Words],
    words: [Words; 2],
    to: [*mut u32; 2],
}

impl Run<'_> {
    /// Computes all pairs: in blocks of vectors, then vector by vector, then one by one.
    ///
    /// # Safety
    /// Same requirements as [`run`]; the processor has the instructions of `V`.
    #[inline(always)]
    unsafe fn all<V: Vector>(&self, n: usize) {
        let (block, mut i) = (VECTORS * V::LANES, 0);
        while i + block <= n {
            // SAFETY: there is a whole block from `i` on.
            unsafe { self.block::<V, VECTORS>(i) };
            i += block;
        }
        while i + V::LANES <= n {
            // SAFETY: there is a whole vector from `i` on.
            unsafe { self.block::<V, 1>(i) };
            i += V::LANES;
        }
        for i in i..n {
            // SAFETY: `i < n`.
            unsafe { self.block::<u32, 1>(i) };
        }
    }

    /// Computes the pairs of `N` vectors, from number `i` on.
    ///
    /// # Safety
    /// Same requirements as [`Run::all`], for these pairs.
    #[inline(always)]
    unsafe fn block<V: Vector, const N: usize>(&self, i: usize) {
        // SAFETY: the caller guarantees the words of these pairs (`# Safety` above).
        let (mut a, mut b) = unsafe { (load::<V, N>(self.words[0], i), load::<V, N>(self.words[1], i)) };
        for turn in self.turns {
            match *turn {
                Turn::Mix { by } => {
                    let mut k = 0;
                    while k < N {
                        a[k] = a[k].plus(b[k]);
                        b[k] = b[k].mixed(by, a[k]);
                        k += 1;
                    }
                }
                // SAFETY: the caller guarantees the operand, and its words for these pairs (`# Safety`
                // above).
                Turn::Add { word: 0, operand } => a = unsafe { plus(a, self.operands[operand], i) },
                // SAFETY: the caller guarantees the operand, and its words for these pairs (`# Safety`
                // above).
                Turn::Add { operand, .. } => b = unsafe { plus(b, self.operands[operand], i) },
            }
        }
        let mut k = 0;
        while k < N {
            // SAFETY: the caller guarantees that both destinations are valid for writes of these pairs
            // (`# Safety` above).
            unsafe {
                a[k].store(self.to[0].add(i + k * V::LANES));
                b[k].store(self.to[1].add(i + k * V::LANES));
            }
            k += 1;
        }
    }
}

// Loops over vectors do not use iterators, whose functions might not be inlined.

/// Loads the words from number `i` on.
///
/// # Safety
/// `at` is valid for reads of the words of `N` vectors from number `i` on, or of one word if `one` is true.
#[inline(always)]
unsafe fn load<V: Vector, const N: usize>(Words { at, one }: Words, i: usize) -> [V; N] {
    // SAFETY: the caller guarantees at least one word (`# Safety` above).
    let (mut all, mut k) = ([V::splat(unsafe { at.read() }); N], 0);
    while k < N && !one {
        // SAFETY: the caller guarantees the words from number `i` on (`# Safety` above).
        all[k] = unsafe { V::load(at.add(i + k * V::LANES)) };
        k += 1;
    }
    all
}

/// Adds words from number `i` on.
///
/// # Safety
/// Same requirements as [`load`].
#[inline(always)]
unsafe fn plus<V: Vector, const N: usize>(mut x: [V; N], operand: Words, i: usize) -> [V; N] {
    // SAFETY: the caller guarantees the words from number `i` on (`# Safety` above).
    let (y, mut k) = (unsafe { load::<V, N>(operand, i) }, 0);
    while k < N {
        x[k] = x[k].plus(y[k]);
        k += 1;
    }
    x
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_cvtsi32_si128, _mm256_add_epi32, _mm256_loadu_si256, _mm256_or_si256,
        _mm256_set1_epi32, _mm256_sll_epi32, _mm256_srl_epi32, _mm256_storeu_si256, _mm256_xor_si256,
        _mm512_add_epi32, _mm512_loadu_si512, _mm512_rolv_epi32, _mm512_set1_epi32, _mm512_storeu_si512,
        _mm512_xor_si512,
    };

    use super::{Run, Vector};

    /// # Safety
    /// Same requirements as [`Run::all`], on a processor with these instructions.
    #[target_feature(enable = "avx512f")]
    pub(crate) unsafe fn avx512(run: &Run<'_>, n: usize) {
        // SAFETY: the caller guarantees the requirements of `Run::all` and the processor (`# Safety` above).
        unsafe { run.all::<__m512i>(n) }
    }

    /// # Safety
    /// Same requirements as [`Run::all`], on a processor with these instructions.
    #[target_feature(enable = "avx2")]
    pub(crate) unsafe fn avx2(run: &Run<'_>, n: usize) {
        // SAFETY: the caller guarantees the requirements of `Run::all` and the processor (`# Safety` above).
        unsafe { run.all::<__m256i>(n) }
    }

    impl Vector for __m512i {
        const LANES: usize = 16;

        #[inline(always)]
        unsafe fn load(at: *const u32) -> __m512i {
            // SAFETY: the caller guarantees that `at` is valid for reads of `LANES` words (trait's
            // `# Safety`).
            unsafe { _mm512_loadu_si512(at.cast()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut u32) {
            // SAFETY: the caller guarantees that `to` is valid for writes of `LANES` words (trait's
            // `# Safety`).
            unsafe { _mm512_storeu_si512(to.cast(), self) }
        }
        #[inline(always)]
        fn splat(word: u32) -> __m512i {
            // SAFETY: this type is only used where the processor has these instructions.
            unsafe { _mm512_set1_epi32(word.cast_signed()) }
        }
        #[inline(always)]
        fn plus(self, other: __m512i) -> __m512i {
            // SAFETY: as above.
            unsafe { _mm512_add_epi32(self, other) }
        }
        #[inline(always)]
        fn mixed(self, by: u32, with: __m512i) -> __m512i {
            // SAFETY: as above.
            unsafe { _mm512_xor_si512(_mm512_rolv_epi32(self, Self::splat(by)), with) }
        }
    }

    impl Vector for __m256i {
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn load(at: *const u32) -> __m256i {
            // SAFETY: the caller guarantees that `at` is valid for reads of `LANES` words (trait's
            // `# Safety`).
            unsafe { _mm256_loadu_si256(at.cast()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut u32) {
            // SAFETY: the caller guarantees that `to` is valid for writes of `LANES` words (trait's
            // `# Safety`).
            unsafe { _mm256_storeu_si256(to.cast(), self) }
        }
        #[inline(always)]
        fn splat(word: u32) -> __m256i {
            // SAFETY: this type is only used where the processor has these instructions.
            unsafe { _mm256_set1_epi32(word.cast_signed()) }
        }
        #[inline(always)]
        fn plus(self, other: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe { _mm256_add_epi32(self, other) }
        }
        #[inline(always)]
        fn mixed(self, by: u32, with: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe {
                let left = _mm256_sll_epi32(self, _mm_cvtsi32_si128(by.cast_signed()));
                let right = _mm256_srl_epi32(self, _mm_cvtsi32_si128((32 - by).cast_signed()));
                _mm256_xor_si256(_mm256_or_si256(left, right), with)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of pairs: whole blocks, whole vectors and a remainder, for every vector size.
    const N: usize = 16 * VECTORS * 2 + 16 + 5;

    /// Returns the implementations for all instructions that the processor has.
    fn everywhere() -> Vec<unsafe fn(&Run<'_>, usize)> {
        let mut all: Vec<unsafe fn(&Run<'_>, usize)> = vec![|run, n| {
            // SAFETY: the test guarantees the requirements of `Run::all`; every processor has these
            // instructions.
            unsafe { run.all::<u32>(n) }
        }];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(is_x86_feature_detected!("avx2").then_some(x86::avx2 as unsafe fn(&Run<'_>, usize)));
            all.extend(
                is_x86_feature_detected!("avx512f").then_some(x86::avx512 as unsafe fn(&Run<'_>, usize)),
            );
        }
        all
    }

    #[test]
    fn vectors_do_what_words_do_one_by_one() {
        let words =
            |seed: u32| (0..N as u32).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9)).collect::<Vec<u32>>();
        let (first, second, each, one) = (words(1), words(2), words(3), [0xdead_beef]);
        let of = |x: &[u32]| Words { at: x.as_ptr(), one: x.len() == 1 };
        let operands = [of(&one), of(&each)];
        let turns = [
            Turn::Add { word: 1, operand: 0 },
            Turn::Mix { by: 13 },
            Turn::Add { word: 0, operand: 1 },
            Turn::Mix { by: 31 },
            Turn::Mix { by: 1 },
            Turn::Add { word: 1, operand: 1 },
            Turn::Add { word: 0, operand: 0 },
        ];
        let mut results = Vec::new();
        for all in everywhere() {
            let (mut a, mut b) = (vec![0; N], vec![0; N]);
            let run = Run {
                turns: &turns,
                operands: &operands,
                words: [of(&first), of(&second)],
                to: [a.as_mut_ptr(), b.as_mut_ptr()],
            };
            // SAFETY: all words, operands and destinations have `N` words or are marked as one word, and the
            // processor has the instructions.
            unsafe { all(&run, N) };
            results.push((a, b));
        }
        for i in 0..N {
            let (mut x, mut y) = (first[i], second[i].wrapping_add(one[0]));
            x = x.wrapping_add(y);
            y = y.rotate_left(13) ^ x;
            x = x.wrapping_add(each[i]).wrapping_add(y);
            y = y.rotate_left(31) ^ x;
            x = x.wrapping_add(y);
            y = y.rotate_left(1) ^ x;
            let expected = (x.wrapping_add(one[0]), y.wrapping_add(each[i]));
            assert!(results.iter().all(|(a, b)| (a[i], b[i]) == expected), "the words of pair {i} differ");
        }
    }
}
