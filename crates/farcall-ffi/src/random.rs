//! Reproducible random numbers: pure functions of a seed and a position, no matter when and on which thread
//! they are drawn.

use crate::float::Float;
use crate::simd;

/// A source of random numbers whose only state is its seed. A handler that takes the seed as an attribute or
/// an operand returns the same results in each call, on any number of threads.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// /// Drops elements of `x` with a probability, and scales the others.
/// #[handler(name = "dropout")]
/// #[signature((x: T[*], rate: f64, seed: i64) -> (y: T[*]) where T: f32 | f64)]
/// fn dropout<T: Float>(x: &Buffer<T>, rate: f64, seed: i64, y: &mut Buffer<T>, host: &Context) -> Result<()> {
///     let random = Random::new(seed as u64);
///     y.par_chunks_mut(4096).zip(x.par_chunks(4096)).enumerate().for_each(host, |(i, (y, x))| {
///         let mut stream = random.stream(i as u64);
///         for (y, x) in y.iter_mut().zip(x) {
///             *y = if stream.uniform::<f64>() < rate { T::ZERO } else { *x / T::of(1.0 - rate) };
///         }
///     });
///     Ok(())
/// }
/// ```
///
/// The generator is Philox 4×32 with ten rounds: J. Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3", 2011.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random {
    seed: u64,
}

impl Random {
    /// Makes a source with this seed. Sources with different seeds are independent.
    pub const fn new(seed: u64) -> Random {
        Random { seed }
    }

    /// Returns the numbers for one part of the work, such as a row or a chunk. Streams with different indices
    /// are independent, and each has 2⁶⁶ words.
    pub const fn stream(self, index: u64) -> Stream {
        Stream { seed: self.seed, index, blocks: 0, words: [0; 4], left: 0 }
    }
}

/// A sequence of random numbers, from [`Random::stream`]. As an iterator, yields its 32-bit words.
///
/// Filling a slice takes a fraction of the time of drawing its numbers one by one, and yields the same
/// numbers: [`fill`](Stream::fill), [`fill_uniform`](Stream::fill_uniform),
/// [`fill_normal`](Stream::fill_normal).
#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    index: u64,
    /// Number of blocks of four words that were generated.
    blocks: u64,
    words: [u32; 4],
    left: usize,
}

impl Stream {
    /// Returns 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.left == 0 {
            blocks(self.blocks, self.index, self.seed, std::array::from_mut(&mut self.words));
            (self.blocks, self.left) = (self.blocks.wrapping_add(1), 4);
        }
        self.left -= 1;
        self.words[3 - self.left]
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// Returns a number from 0 to below 1, uniformly among the multiples of 2⁻²⁴ for `f32`, and of 2⁻⁵³ for
    /// `f64` (2⁻¹¹ for `f16`, 2⁻⁸ for `bf16`).
    #[inline]
    pub fn uniform<T: Float>(&mut self) -> T {
        match T::MANTISSA_DIGITS {
            ..32 => narrow_uniform(self.next_u32()),
            _ => T::of(uniform(self.next_words())),
        }
    }

    /// Returns a normally distributed number with mean 0 and variance 1, by the Box–Muller method in `f64`.
    #[inline]
    pub fn normal<T: Float>(&mut self) -> T {
        T::of(normal(self.next_words()))
    }

    /// Fills a slice with [words](Stream::next_u32).
    // Not inlined, so that the compiler vectorizes its loops whatever its caller is.
    #[inline(never)]
    pub fn fill(&mut self, words: &mut [u32]) {
        simd::vectorized!(self.fill_inline(words));
    }

    /// Fills a slice with [uniform](Stream::uniform) numbers.
    pub fn fill_uniform<T: Float>(&mut self, numbers: &mut [T]) {
        match T::MANTISSA_DIGITS {
            ..32 => simd::vectorized!(self.fill_with(numbers, |[word]| narrow_uniform(word))),
            _ => simd::vectorized!(self.fill_with(numbers, |words| T::of(uniform(words)))),
        }
    }

    /// Fills a slice with numbers of the [normal](Stream::normal) distribution.
    pub fn fill_normal<T: Float>(&mut self, numbers: &mut [T]) {
        simd::vectorized!(self.fill_with(numbers, |words| T::of(normal(words))));
    }

    #[inline(always)]
    fn next_words<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.next_u32())
    }

    #[inline(always)]
    fn fill_inline(&mut self, words: &mut [u32]) {
        /// Number of blocks that are generated at once.
        const LANES: usize = 16;
        let (first, rest) = words.split_at_mut(self.left.min(words.len()));
        first.fill_with(|| self.next_u32());
        let (parts, last) = rest.as_chunks_mut::<4>();
        let (parts, few) = parts.as_chunks_mut::<LANES>();
        for part in parts {
            blocks(self.blocks, self.index, self.seed, part);
            self.blocks = self.blocks.wrapping_add(LANES as u64);
        }
        few.as_flattened_mut().fill_with(|| self.next_u32());
        last.fill_with(|| self.next_u32());
    }

    /// Fills a slice with numbers that each use `N` words.
    #[inline(always)]
    fn fill_with<T, const N: usize>(&mut self, numbers: &mut [T], number: impl Fn([u32; N]) -> T) {
        /// Number of words that are generated at once: a few cache lines.
        const WORDS: usize = 512;
        let mut words = [0; WORDS];
        for numbers in numbers.chunks_mut(WORDS / N) {
            let words = &mut words[..numbers.len() * N];
            self.fill(words);
            let words = words.as_chunks::<N>().0;
            numbers.iter_mut().zip(words).for_each(|(to, words)| *to = number(*words));
        }
    }
}

/// Returns a number from 0 to below 1, of a type with fewer than 32 digits.
#[inline(always)]
fn narrow_uniform<T: Float>(word: u32) -> T {
    let digits = T::MANTISSA_DIGITS;
    // Converts through `i32`, since the instruction is for signed integers.
    T::of(f64::from((word >> (32 - digits)) as i32) / (1u64 << digits) as f64)
}

/// Returns a number from 0 to below 1, a multiple of 2⁻⁵³: the upper 53 of 64 bits.
#[inline(always)]
fn uniform([low, high]: [u32; 2]) -> f64 {
    const HIGH: f64 = 1.0 / (1u64 << 32) as f64;
    const LOW: f64 = 1.0 / (1u64 << 53) as f64;
    // Both parts and their sum are exact.
    f64::from(high) * HIGH + f64::from((low >> 11) as i32) * LOW
}

#[inline(always)]
fn normal([a, b, c, d]: [u32; 4]) -> f64 {
    // The argument is above 0 and at most 1, so its logarithm is finite.
    (-2.0 * ln(1.0 - uniform([a, b]))).sqrt() * cos_of_turns(uniform([c, d]))
}

/// Returns the natural logarithm of a normal number above 0, within one unit in the last place, without a
/// branch or a call. The polynomial is from FreeBSD's `e_log.c`.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// Bits of √½.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE_BITS: u64 = 1f64.to_bits();
    // x = 2^k · (1 + f), where 1 + f is from √½ to √2.
    let bits = x.to_bits() + (ONE_BITS - SQRT_HALF);
    let f = f64::from_bits((bits & ((1 << 52) - 1)) + SQRT_HALF) - 1.0;
    let k = f64::from((bits >> 52) as i32 - 1023);
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (0.399_999_999_994_094_2 + w * (0.222_221_984_321_497_84 + w * 0.153_138_376_992_093_73));
    let odd = z
        * (0.666_666_666_666_673_5
            + w * (0.285_714_287_436_623_9 + w * (0.181_835_721_616_180_5 + w * 0.147_981_986_051_165_86)));
    let half_square = 0.5 * f * f;
    k * LN_2_HIGH - ((half_square - (s * (half_square + (odd + even)) + k * LN_2_LOW)) - f)
}

/// Returns cos(2π·x) for x from 0 to 1, without a branch or a call. The polynomials are from FreeBSD's
/// `k_sin.c` and `k_cos.c`.
#[inline(always)]
fn cos_of_turns(x: f64) -> f64 {
    // Adding this to a number below 2⁵¹ rounds the number to an integer, which is then in the lowest bits.
    const ROUND: f64 = (3u64 << 51) as f64;
    let shifted = 4.0 * x + ROUND;
    let quarter = shifted.to_bits();
    // From −π/4 to π/4.
    let angle = (4.0 * x - (shifted - ROUND)) * std::f64::consts::FRAC_PI_2;
    let z = angle * angle;
    let sine = angle
        + angle
            * z
            * (-0.166_666_666_666_666_32
                + z * (0.008_333_333_333_322_49
                    + z * (-0.000_198_412_698_298_579_5
                        + z * (2.755_731_370_707_006_8e-6
                            + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10)))));
    let cosine = 1.0 - 0.5 * z
        + z * z
            * (0.041_666_666_666_666_6
                + z * (-0.001_388_888_888_887_411
                    + z * (2.480_158_728_947_673e-5
                        + z * (-2.755_731_435_139_066_3e-7
                            + z * (2.087_572_321_298_175e-9 - z * 1.135_964_755_778_819_5e-11)))));
    // By quarter turn: cos a, −sin a, −cos a, sin a.
    let magnitude = if quarter & 1 == 0 { cosine } else { sine };
    f64::from_bits(magnitude.to_bits() ^ (((quarter + 1) & 2) << 62))
}

impl Iterator for Stream {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(self.next_u32())
    }
}

/// Writes consecutive blocks of a stream, starting at block `first`.
#[inline(always)]
fn blocks<const LANES: usize>(first: u64, stream: u64, seed: u64, words: &mut [[u32; 4]; LANES]) {
    let mut counters = [[0; LANES], [0; LANES], [stream; LANES], [stream >> 32; LANES]];
    // Indexed loops, as in `philox`: the compiler does not vectorize iterators here.
    let [low, high, ..] = &mut counters;
    for lane in 0..LANES {
        let number = first.wrapping_add(lane as u64);
        low[lane] = number;
        high[lane] = number >> 32;
    }
    philox(counters, seed, words);
}

/// Applies ten rounds to counters, one in each lane. Each word is the lower half of 64 bits, as vector
/// multiplication needs it; the upper half is ignored.
#[inline(always)]
fn philox<const LANES: usize>(counters: [[u64; LANES]; 4], seed: u64, words: &mut [[u32; 4]; LANES]) {
    const WORD: u64 = u32::MAX as u64;
    let [mut c0, mut c1, mut c2, mut c3] = counters;
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        for lane in 0..LANES {
            let a = (c0[lane] & WORD) * 0xd251_1f53;
            let b = (c2[lane] & WORD) * 0xcd9e_8d57;
            c0[lane] = (b >> 32) ^ c1[lane] ^ u64::from(key[0]);
            c1[lane] = b;
            c2[lane] = (a >> 32) ^ c3[lane] ^ u64::from(key[1]);
            c3[lane] = a;
        }
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    for lane in 0..LANES {
        words[lane] = [c0[lane] as u32, c1[lane] as u32, c2[lane] as u32, c3[lane] as u32];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the known answers that come with the paper's library.
    #[test]
    fn known_answers() {
        let of = |counter: [u32; 4], seed| {
            let mut words = [[0; 4]];
            philox(counter.map(|word| [word.into()]), seed, &mut words);
            words[0]
        };
        assert_eq!(of([0; 4], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(of([u32::MAX; 4], u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(of(pi, 0x299f_31d0_a409_3822), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    /// Checks that filling a slice, from any word of a stream on, yields the same numbers as drawing them one
    /// by one.
    #[test]
    fn slices_have_the_same_numbers() {
        fn check<T: Copy + PartialEq + std::fmt::Debug + Default>(
            one: impl Fn(&mut Stream) -> T,
            fill: impl Fn(&mut Stream, &mut [T]),
        ) {
            for (skipped, len) in [(0, 0), (0, 1), (1, 3), (3, 64), (2, 515), (1, 1029), (0, 2000)] {
                let mut stream = Random::new(0x1234_5678_9abc).stream(u64::MAX - 5);
                stream.blocks = u64::from(u32::MAX) - 20;
                (0..skipped).for_each(|_| _ = stream.next_u32());
                let mut other = stream.clone();
                let mut filled = vec![T::default(); len];
                fill(&mut stream, &mut filled);
                let expected: Vec<T> = (0..len).map(|_| one(&mut other)).collect();
                assert_eq!(filled, expected);
                assert_eq!(stream.next_u32(), other.next_u32());
            }
        }
        check(Stream::next_u32, Stream::fill);
        check(Stream::uniform::<f32>, Stream::fill_uniform);
        check(Stream::uniform::<f64>, Stream::fill_uniform);
        check(Stream::normal::<f32>, Stream::fill_normal);
        check(Stream::normal::<f64>, Stream::fill_normal);
        #[cfg(feature = "half")]
        {
            check(Stream::uniform::<half::f16>, Stream::fill_uniform);
            check(Stream::normal::<half::bf16>, Stream::fill_normal);
        }
    }

    /// Checks that logarithm and cosine agree with the standard library, except for the last bits.
    #[test]
    fn functions_of_the_normal_distribution() {
        let mut stream = Random::new(3).stream(0);
        let edges = [0.0, f64::EPSILON / 2.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0 - f64::EPSILON / 2.0];
        for x in (0..100_000).map(|_| stream.uniform::<f64>()).chain(edges) {
            let (found, expected) = (ln(1.0 - x), (1.0 - x).ln());
            assert!(
                (found - expected).abs() <= 2.0 * f64::EPSILON * expected.abs(),
                "ln(1 − {x}): {found}, not {expected}"
            );
            // The standard library gets an angle in radians, which is rounded as well.
            let (found, expected) = (cos_of_turns(x), (std::f64::consts::TAU * x).cos());
            assert!(
                (found - expected).abs() <= 8.0 * f64::EPSILON,
                "cos({x} turns): {found}, not {expected}"
            );
        }
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(cos_of_turns), [1.0, 0.0, -1.0, 0.0]);
    }

    #[test]
    fn streams_are_functions_of_seed_and_index() {
        let words = |seed, index| Random::new(seed).stream(index).take(9).collect::<Vec<u32>>();
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(2, 2));
        assert_ne!(words(1, 2), words(1, 3));
        assert_ne!(words(1, 2)[..4], words(1, 2)[4..8]);
    }

    #[test]
    fn distributions() {
        let mut stream = Random::new(7).stream(0);
        const N: usize = 100_000;
        let uniform: Vec<f32> = (0..N).map(|_| stream.uniform()).collect();
        let normal: Vec<f64> = (0..N).map(|_| stream.normal()).collect();
        assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
        #[cfg(feature = "half")]
        assert!((0..N).all(|_| (0.0..1.0).contains(&f64::from(stream.uniform::<half::bf16>()))));
        let mean = |x: &mut dyn Iterator<Item = f64>| x.sum::<f64>() / N as f64;
        assert!((mean(&mut uniform.iter().map(|x| f64::from(*x))) - 0.5).abs() < 0.005);
        assert!(mean(&mut normal.iter().copied()).abs() < 0.02);
        assert!((mean(&mut normal.iter().map(|x| x * x)) - 1.0).abs() < 0.02);
    }
}
