//! Random tests of the engine, and comparisons of its kernels with the evaluator.
//!
//! Each test is bounded by a count, and is reproducible: `FARCALL_FUZZ_SEED` and `FARCALL_FUZZ_ITERATIONS`
//! choose another run.

#[path = "../plugin/mod.rs"]
mod plugin;

mod abi;
mod kernels_by_type;
mod programs;
mod random;
mod random_collectives;
mod random_complex;
mod random_folds;
mod random_kernels;
mod random_products;
mod random_shardings;
mod random_sorts;
