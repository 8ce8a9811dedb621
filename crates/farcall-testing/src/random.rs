//! Random numbers, and random values for the members of C structs.

/// Random number generator: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators").
#[derive(Clone, Debug, Default)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Returns the generator with this seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// Returns any number.
    #[expect(clippy::should_implement_trait, reason = "an endless iterator of numbers is of no use")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns true once in `n` times on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the values.
    ///
    /// # Panics
    /// If there are no values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a small number, an extreme number, or an arbitrary one.
    pub fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.next(),
            1 => self.pick(&[u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 62, 1 << 32, u64::from(u32::MAX)]),
            _ => self.below(70) as u64,
        }
    }

    /// Returns a `struct_size`: mostly `right`, the valid one.
    pub fn struct_size(&mut self, right: usize) -> usize {
        if !self.one_in(5) {
            return right;
        }
        match self.below(4) {
            0 => right.wrapping_sub(self.below(16)),
            1 => right.wrapping_add(self.below(100)),
            _ => self.number() as usize,
        }
    }

    /// Returns a member of an enum: mostly `right`, the valid one.
    pub fn enum_value(&mut self, right: u32) -> u32 {
        if self.one_in(6) { self.number() as u32 } else { right }
    }

    /// Returns the pointer itself in most cases, otherwise null or a misaligned pointer. (A pointer to bytes
    /// cannot be misaligned.)
    pub fn pointer<T>(&mut self, right: *mut T) -> *mut T {
        let one_in = self.pick(&[4, 12]);
        match self.below(one_in) {
            0 => std::ptr::null_mut(),
            // A pointer that is already misaligned stays unchanged, since moving it could align it at another
            // address.
            1 if !right.is_null() && right.is_aligned() => {
                right.wrapping_byte_add(self.below(align_of::<T>()))
            }
            _ => right,
        }
    }
}
