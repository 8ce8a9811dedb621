//! Random numbers.

/// Algorithm of `rng_bit_generator`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum RngAlgorithm {
    Default,
    ThreeFry,
    Philox,
}

impl RngAlgorithm {
    /// All algorithms.
    pub const VARIANTS: [RngAlgorithm; 3] =
        [RngAlgorithm::Default, RngAlgorithm::ThreeFry, RngAlgorithm::Philox];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            RngAlgorithm::Default => "DEFAULT",
            RngAlgorithm::ThreeFry => "THREE_FRY",
            RngAlgorithm::Philox => "PHILOX",
        }
    }
}

/// Distribution of `rng`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum RngDistribution {
    Uniform,
    Normal,
}

impl RngDistribution {
    /// All distributions.
    pub const VARIANTS: [RngDistribution; 2] = [RngDistribution::Uniform, RngDistribution::Normal];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            RngDistribution::Uniform => "UNIFORM",
            RngDistribution::Normal => "NORMAL",
        }
    }
}
