//! Random shapes and arrays.

use farcall::ir::Literal;

use crate::engine::f64s;

/// Random number generator: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators").
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn size(&mut self, least: usize) -> usize {
        least + self.below(5)
    }

    /// Returns the sizes of zero, one or two batch dimensions. Few of the sizes are zero.
    pub(crate) fn batch(&mut self) -> Vec<usize> {
        let rank = self.below(3);
        (0..rank).map(|_| self.below(5).max(self.below(2))).collect()
    }

    /// Returns a number from -1 to 1.
    pub(crate) fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Returns an array of numbers from -2 to 2. They are spaced so widely that the step of a finite
    /// difference cannot change their order.
    pub(crate) fn array(&mut self, dims: &[usize]) -> Literal {
        let len = dims.iter().product::<usize>();
        let mut steps: Vec<f64> = (0..len).map(|i| i as f64).collect();
        (1..len).for_each(|i| steps.swap(i, self.below(i + 1)));
        let values =
            steps.iter().map(|step| (step + 0.5 + 0.2 * self.number()) / len.max(4) as f64 * 4.0 - 2.0);
        f64s(dims, &values.collect::<Vec<_>>())
    }
}
