//! Checks the results of random number generators.

use super::results::{Codes, check};
use crate::infer::Cx;
use crate::types::Type;

pub(super) fn rng_bit_generator(cx: &mut Cx<'_>, types: &[Type]) {
    // rng_bit_generator_c1
    check(cx, types, Codes::one("rng_bit_generator_c1"));
}

pub(super) fn rng(cx: &mut Cx<'_>, types: &[Type]) {
    // rng_c1, rng_c3
    check(cx, types, Codes::two("rng_c3", "rng_c1"));
}
