//! Malformed structs on both sides of the C interface: whatever their members are, nothing crashes, panics or
//! hangs.
//!
//! Runs are deterministic: the same seed and iteration count (`FARCALL_FUZZ_SEED`, `FARCALL_FUZZ_ITERATIONS`)
//! repeat a run. Pointers are null, misaligned, or to memory of the right size with arbitrary contents;
//! sizes, counts, kinds and codes are arbitrary. Errors that no callee can detect are left out: dangling
//! pointers, and lengths beyond the memory.
#![expect(clippy::print_stdout, reason = "prints the seed, to repeat a run")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[path = "plugin/blocks.rs"]
mod blocks;
#[path = "plugin/by_hand.rs"]
mod by_hand;
#[path = "fuzz/guest.rs"]
mod guest;
#[path = "fuzz/host.rs"]
mod host;
#[path = "fuzz/lowerings.rs"]
mod lowerings;
#[path = "fuzz/ops.rs"]
mod ops;
#[path = "fuzz/random.rs"]
mod random;
#[path = "fuzz/rules.rs"]
mod rules;

use random::Random;

/// The host's functions and registration structs, called by handlers in all stages of calls.
#[test]
fn the_host_takes_anything() {
    fuzz("host", host::run);
}

/// Handlers and descriptors written with `farcall-ffi`.
#[test]
fn handlers_take_anything() {
    fuzz("guest", guest::run);
}

/// Shape and batching functions, queried by arbitrary hosts; and the engine, with arbitrary answers.
#[test]
fn rules_take_anything() {
    fuzz("rules", rules::run);
}

/// Lowerings of libraries, queried by arbitrary hosts; and the engine, with arbitrary answers.
#[test]
fn lowerings_take_anything() {
    fuzz("lowerings", lowerings::run);
}

fn fuzz(what: &str, run: fn(&mut Random, usize) -> String) {
    let number = |name: &str, default: usize| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    let (seed, iterations) = (number("FARCALL_FUZZ_SEED", 1), number("FARCALL_FUZZ_ITERATIONS", 100_000));
    count_panics();
    let start = Instant::now();
    let seen = run(&mut Random::new(seed as u64), iterations);
    println!("{what}: {iterations} iterations of seed {seed} in {:.1?}: {seen}", start.elapsed());
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a panic that became an error is a defect as well");
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics, wherever they are caught, and prints them.
fn count_panics() {
    static HOOKED: Mutex<bool> = Mutex::new(false);
    let mut hooked = HOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut *hooked, true) {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            print(info);
        }));
    }
}
