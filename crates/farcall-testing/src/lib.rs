//! Helpers for the tests of all crates. No published package depends on this crate.
//!
//! - [`random`], [`fuzz`]: random numbers, and the environment variables that seed and bound random tests.
//! - [`mutate`], [`programs`]: texts that are almost valid, and the programs from which they are made.
//! - [`pass_files`]: programs with the results of passes.
//! - [`process`]: tests that need a process of their own.
//! - [`library`]: libraries that tests build and load.
//! - `compare` (feature `ir`): comparison of numbers that differ by rounding.
//! - `engine` (feature `engine`): programs compiled from text, and run in the engine and the evaluator.
//!
//! **Invariant.** The same seed gives the same random numbers in every build, so that a failure can be
//! repeated.
#![expect(clippy::print_stdout, reason = "tests print what did not run")]

#[cfg(feature = "ir")]
pub mod compare;
#[cfg(feature = "engine")]
pub mod engine;
pub mod fuzz;
pub mod library;
pub mod mutate;
pub mod pass_files;
pub mod process;
pub mod programs;
pub mod random;

pub use random::SplitMix;
