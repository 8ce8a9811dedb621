//! Random valid programs have the same results wherever they run: in the reference evaluator, in the middle
//! form after passes in any order, and in the engine with all passes, without one pass, and without all
//! optional passes.
//!
//! `generate` makes programs with the builder that infers types. Programs cover the whole language: all
//! operations (except those in `EXCLUDED_OPS`, with reasons), all element types, sizes zero and one, nested
//! regions, and calls. Results are compared bit by bit. Results of functions such as `exp` may differ by some
//! units in the last place; sums and products of floats have small integers as terms.
//!
//! Runs are deterministic: the same seed and program count repeat a run, and `FARCALL_FUZZ_ONLY=123` repeats
//! one program of it. A failing program is shrunk and printed as a filetest. A long run:
//!
//! ```text
//! FARCALL_FUZZ_SEED=7 FARCALL_FUZZ_ITERATIONS=100000 \
//!     cargo test -p farcall --test fuzz random:: -- --nocapture
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;

use farcall::Registry;
use farcall::ffi::unwind::catch;
use farcall::ir::eval::Denormals;
use farcall::ir::op::{Opcode, Traits};
use farcall::ir::{Attribute, DType, text};
use farcall_testing::fuzz;
use farcall_testing::process::alone;

pub(crate) mod check;
pub(crate) mod generate;
mod movement;
mod ops;
mod products;
mod regions;
pub(crate) mod shrink;

use check::Outcome;
use generate::Program;

/// Number of failures after which a run ends.
const MAX_FAILURES: usize = 10;

/// Number of programs of a run: as many as a debug build checks in a minute.
const PROGRAMS: u64 = 600;

/// Message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Checks a program. A panic counts as a failure.
fn checked(p: &Program, seed: u64, registry: &Registry) -> Result<Outcome, String> {
    catch(|| check::check(p, seed, registry))
        .unwrap_or_else(|_| Err(format!("panic: {}", PANIC.lock().unwrap())))
}

#[test]
fn random_programs_compute_the_same() {
    alone("random::random_programs_compute_the_same", || {
        std::panic::set_hook(Box::new(|info| {
            *PANIC.lock().unwrap() = info.to_string();
        }));
        let registry = Registry::new();
        let found = fuzz::check_programs(PROGRAMS, MAX_FAILURES, |i, is_only| {
            let seed = fuzz::seed_of(i);
            let p = generate::program(seed);
            if is_only {
                eprintln!("{}", shown(&p));
            }
            if std::env::var_os("FARCALL_FUZZ_TRACE").is_some() {
                eprintln!("program {i}");
            }
            let outcome = checked(&p, seed, &registry).map_err(|_| report(&p, i, &registry))?;
            Ok(outcome != Outcome::Refused)
        });
        let _hook = std::panic::take_hook();
        found.expect_no_failure(10);
    });
}

/// Shrinks a failing program. Returns a description of the failure, and the shrunk program as a filetest.
fn report(p: &Program, i: u64, registry: &Registry) -> String {
    let seed = fuzz::seed_of(i);
    let small = shrink::shrink(p, &|p| checked(p, seed, registry).is_err());
    let words = checked(&small, seed, registry).err().unwrap_or_default();
    let of = fuzz::seed();
    format!("--- program {i} of seed {of}: {words}\n{}", shown(&small))
}

/// Formats a program as a filetest.
fn shown(p: &Program) -> String {
    let mut out = text::print(&p.module);
    if p.denormals == Denormals::Flush {
        writeln!(out, "// denormals: flush").unwrap();
    }
    let dense = |l: &farcall::ir::Literal| Attribute::Dense(l.clone()).to_string();
    let inputs: Vec<String> = p.inputs.iter().map(dense).collect();
    writeln!(out, "// run: {}", inputs.join(" ; ")).unwrap();
    for result in check::evaluated(&p.module, &p.inputs, check::numerics(p)).unwrap_or_default() {
        writeln!(out, "// = {}", dense(&result)).unwrap();
    }
    out
}

/// Operations that no program contains, with the reasons.
const EXCLUDED_OPS: [(&str, &str); 5] = [
    (
        "stablehlo.custom_call",
        "its result depends on its target; filetests and mutated programs test custom calls",
    ),
    ("stablehlo.infeed", "its results come from outside the program"),
    ("stablehlo.outfeed", "its operands leave the program"),
    ("stablehlo.recv", "its results come from outside the program"),
    ("stablehlo.send", "its operands leave the program"),
];

#[test]
fn programs_have_every_operation_and_type() {
    let (mut ops, mut types) = (BTreeMap::<&str, usize>::new(), BTreeSet::new());
    let count = 6_000;
    for i in 0..count {
        let p = generate::program(1 << 40 | i);
        for func in p.module.funcs() {
            func.walk(&mut |inst| {
                *ops.entry(inst.op().name()).or_default() += 1;
                types.extend(inst.results().iter().filter_map(|v| func.tensor(*v)).map(|t| t.dtype));
            });
        }
    }
    if std::env::var_os("FARCALL_FUZZ_REFUSED").is_some() {
        println!("{ops:#?}");
    }
    let missing: Vec<&str> = Opcode::all()
        .map(Opcode::info)
        .filter(|info| !info.is(Traits::FORM))
        .map(|info| info.name)
        .filter(|name| !ops.contains_key(name) && EXCLUDED_OPS.iter().all(|(never, _)| never != name))
        .collect();
    assert!(missing.is_empty(), "none of the {count} programs has the operations {missing:?}");
    let named = EXCLUDED_OPS.iter().filter(|(never, _)| ops.contains_key(never)).count();
    assert_eq!(named, 0, "some programs have operations that are listed as excluded");
    assert_eq!(types.len(), DType::VARIANTS.len(), "the programs have only the element types {types:?}");
}
