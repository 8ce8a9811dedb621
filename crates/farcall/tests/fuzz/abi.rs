//! Malformed structs on both sides of the C interface: whatever values their members have, nothing crashes,
//! panics or hangs.
//!
//! Runs are deterministic: the same seed and iteration count (`FARCALL_FUZZ_SEED`, `FARCALL_FUZZ_ITERATIONS`)
//! repeat a run. Pointers are null, are misaligned, or point to memory of the right size with arbitrary
//! contents. Sizes, counts, kinds and codes are arbitrary. Errors that no callee can detect are left out:
//! dangling pointers, and lengths that exceed the memory behind a pointer.
#![expect(clippy::print_stdout, reason = "prints the seed that repeats the run")]

use farcall_testing::process::alone;
use farcall_testing::{SplitMix, fuzz};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

mod guest;
mod host;
mod lowerings;
mod ops;
mod rules;

/// Handlers call the host's functions with malformed arguments in all stages of a call, and register
/// malformed handlers and types.
#[test]
fn the_host_takes_anything() {
    alone("abi::the_host_takes_anything", || fuzz("host", host::run));
}

/// Handlers written with `farcall-ffi` get malformed call frames, and the SDK reads malformed descriptors.
#[test]
fn handlers_take_anything() {
    alone("abi::handlers_take_anything", || fuzz("guest", guest::run));
}

/// Shape and batching functions get malformed queries, and the engine gets malformed answers.
#[test]
fn rules_take_anything() {
    alone("abi::rules_take_anything", || fuzz("rules", rules::run));
}

/// Lowerings of libraries get malformed queries, and the engine gets malformed answers and tables of
/// lowerings.
#[test]
fn lowerings_take_anything() {
    alone("abi::lowerings_take_anything", || fuzz("lowerings", lowerings::run));
}

fn fuzz(what: &str, run: fn(&mut SplitMix, usize) -> String) {
    let (seed, iterations) = (fuzz::seed(), fuzz::iterations(100_000));
    count_panics();
    let start = Instant::now();
    let seen = run(&mut SplitMix::new(seed), iterations as usize);
    println!("{what}: {iterations} iterations of seed {seed} in {:.1?}: {seen}", start.elapsed());
    assert_eq!(
        PANICS.load(Ordering::Relaxed),
        0,
        "some panics were caught and returned as errors; such a panic is a defect, too"
    );
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics, wherever they are caught, and prints them.
fn count_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        print(info);
    }));
}
