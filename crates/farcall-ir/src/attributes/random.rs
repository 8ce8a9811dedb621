//! Attributes of random numbers.

use super::{Bad, Fields};
use crate::op::{Op, RngAlgorithm, RngDistribution};

pub(crate) fn read_rng_bit_generator(f: &mut Fields<'_>) -> Result<Op, Bad> {
    f.keyword("rng_algorithm", &RngAlgorithm::VARIANTS, RngAlgorithm::name).map(Op::RngBitGenerator)
}

pub(crate) fn read_rng(f: &mut Fields<'_>) -> Result<Op, Bad> {
    f.keyword("rng_distribution", &RngDistribution::VARIANTS, RngDistribution::name).map(Op::Rng)
}
