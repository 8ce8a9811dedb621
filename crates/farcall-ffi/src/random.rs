//! Random numbers that are the same whenever and by whomever they are drawn: functions of a seed and of a place.

use crate::float::Float;

/// A source of random numbers that is its seed, and nothing else: a handler takes the seed as an attribute or an operand, and
/// gives the same results in each call, on any number of threads.
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
/// The generator is Philox 4×32 with ten rounds: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random {
    seed: u64,
}

impl Random {
    /// With a seed; different ones have nothing to do with each other.
    pub const fn new(seed: u64) -> Random {
        Random { seed }
    }

    /// The numbers of a part of the work: a row, a chunk. Different streams have nothing to do with each other, and each
    /// has 2⁶⁶ words.
    pub const fn stream(self, index: u64) -> Stream {
        Stream { seed: self.seed, index, blocks: 0, words: [0; 4], left: 0 }
    }
}

/// Random numbers in order, from [`Random::stream`]. As an iterator, its words.
#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    index: u64,
    /// How many blocks of four words have been made.
    blocks: u64,
    words: [u32; 4],
    left: usize,
}

impl Stream {
    /// 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.left == 0 {
            let (n, i) = (self.blocks, self.index);
            self.words = philox([n as u32, (n >> 32) as u32, i as u32, (i >> 32) as u32], self.seed);
            (self.blocks, self.left) = (self.blocks.wrapping_add(1), 4);
        }
        self.left -= 1;
        self.words[3 - self.left]
    }

    /// 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// A number from 0 to below 1: each multiple of 2⁻²⁴ is as likely for `f32`, of 2⁻⁵³ for `f64` (2⁻¹¹ for `f16`, 2⁻⁸ for
    /// `bf16`).
    #[inline]
    pub fn uniform<T: Float>(&mut self) -> T {
        let digits = T::MANTISSA_DIGITS;
        let bits = if digits < 32 {
            u64::from(self.next_u32() >> (32 - digits))
        } else {
            self.next_u64() >> (64 - digits)
        };
        T::of(bits as f64 / (1u64 << digits) as f64)
    }

    /// A number of the normal distribution of mean 0 and variance 1, by the method of Box and Muller, with the logarithm and
    /// cosine of the platform.
    #[inline]
    pub fn normal<T: Float>(&mut self) -> T {
        // From above 0 to 1, so that there is a logarithm.
        let length = (-2.0 * (1.0 - self.uniform::<f64>()).ln()).sqrt();
        T::of(length * (std::f64::consts::TAU * self.uniform::<f64>()).cos())
    }
}

impl Iterator for Stream {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(self.next_u32())
    }
}

/// Ten rounds over a counter.
const fn philox(mut counter: [u32; 4], seed: u64) -> [u32; 4] {
    let mut key = [seed as u32, (seed >> 32) as u32];
    let mut round = 0;
    while round < 10 {
        let a = counter[0] as u64 * 0xd251_1f53;
        let b = counter[2] as u64 * 0xcd9e_8d57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
        round += 1;
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the paper's library.
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox(pi, 0x299f_31d0_a409_3822), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
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
