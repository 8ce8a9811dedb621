//! Environment variables that repeat or extend a random test.
//!
//! Random tests are bounded by a count, never by time. The same seed and the same count therefore repeat a
//! run.

use std::time::{Duration, Instant};

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

/// Outcome of a random test of programs.
#[derive(Debug)]
pub struct CheckedPrograms {
    ran: u64,
    refused: u64,
    failures: Vec<String>,
    time: Duration,
}

/// Checks the programs of a run, or only the program `FARCALL_FUZZ_ONLY`. `one` receives the number of a
/// program, and true if it is the only one. It returns false for a refused program, and a report as the error.
/// The run ends after `max_failures`.
pub fn check_programs(
    default: u64,
    max_failures: usize,
    mut one: impl FnMut(u64, bool) -> Result<bool, String>,
) -> CheckedPrograms {
    let only = std::env::var_os("FARCALL_FUZZ_ONLY").map(|_| number("FARCALL_FUZZ_ONLY", 0));
    let programs = iterations(default);
    let begin = Instant::now();
    let (mut ran, mut refused, mut failures) = (0, 0, Vec::new());
    for i in only.map_or(0..programs, |i| i..i + 1) {
        if failures.len() >= max_failures {
            break;
        }
        ran += 1;
        match one(i, only.is_some()) {
            Ok(accepted) => refused += u64::from(!accepted),
            Err(report) => {
                eprintln!("{report}");
                failures.push(report);
            }
        }
    }
    CheckedPrograms { ran, refused, failures, time: begin.elapsed() }
}

impl CheckedPrograms {
    /// Prints the counts.
    ///
    /// # Panics
    /// If a program fails, or if more than one program in `share` was refused.
    pub fn expect_no_failure(&self, share: u64) {
        let CheckedPrograms { ran, refused, failures, time } = self;
        println!("checked {ran} programs of seed {} in {time:.0?}; {refused} of them were refused", seed());
        assert!(failures.is_empty(), "{} programs fail:\n{}", failures.len(), failures.join("\n"));
        assert!(
            refused * share <= *ran,
            "too many programs are invalid or end in errors: {refused} of {ran}"
        );
    }
}
