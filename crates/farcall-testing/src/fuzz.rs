//! Environment variables that repeat or extend a random test.
//!
//! Random tests are bounded by a count, never by time. The same seed and the same count therefore repeat a
//! run.

use crate::SplitMix;

/// Returns the number in an environment variable, or `default` if the variable is not set.
///
/// # Panics
/// If the variable is not a number.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// Returns the seed of a run: `FARCALL_FUZZ_SEED`, or 1.
pub fn seed() -> u64 {
    number("FARCALL_FUZZ_SEED", 1)
}

/// Returns the number of iterations of a run: `FARCALL_FUZZ_ITERATIONS`, or `default` times
/// `FARCALL_FUZZ_FACTOR`.
pub fn iterations(default: u64) -> u64 {
    number("FARCALL_FUZZ_ITERATIONS", default * number("FARCALL_FUZZ_FACTOR", 1))
}

/// Returns the seed of iteration `i` of a run. Each iteration has a separate generator, so that one iteration
/// can be repeated alone.
pub fn seed_of(i: u64) -> u64 {
    seed() << 40 | i
}

/// Calls a function in each iteration of a run, with the generator of the iteration. Returns the number of
/// iterations.
pub fn run(default: u64, mut one: impl FnMut(&mut SplitMix)) -> u64 {
    let iterations = iterations(default);
    for i in 0..iterations {
        one(&mut SplitMix::new(seed_of(i)));
    }
    iterations
}
