//! Fuzzes the readers of artifacts and exported functions with mutated files. Each file must lead to a module
//! or an error with a location, never to a panic. A valid module must print as text that is read as the same
//! module.
//!
//! The runs are deterministic: a seed and an iteration count (`FARCALL_FUZZ_SEED`,
//! `FARCALL_FUZZ_ITERATIONS`) reproduce them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_ir::exported::{Exported, is_exported};
use farcall_ir::{Module, ProgramError, Source, text, verify, vhlo};
use farcall_testing::programs::shared;
use farcall_testing::{SplitMix, fuzz};

/// Every artifact and exported function in the folder `artifacts`, in the shared corpus if it exists, and in
/// the folder that the variable `FARCALL_ARTIFACTS` names.
fn seeds() -> Vec<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("tests/artifacts")];
    let shared = shared("corpus/cases");
    folders.extend(shared.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path()));
    folders.extend(std::env::var_os("FARCALL_ARTIFACTS").map(PathBuf::from));
    let files = folders.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path());
    let is_artifact =
        |path: &PathBuf| path.extension().is_some_and(|e| e == "mlirbc" || e == "bin" || e == "bc");
    let mut files: Vec<PathBuf> = files.filter(is_artifact).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// Returns one of the seeds with a few changes.
fn mutated(random: &mut SplitMix, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(10) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 | 2 => bytes[at] = random.next() as u8,
            // A small number in bytecode encoding, which is often an index.
            3 | 4 => bytes[at] = (random.below(40) * 2 + 1) as u8,
            5 => bytes[at] = bytes[at].wrapping_add(if random.one_in(2) { 2 } else { 254 }),
            6 => {
                let n = (1 + random.below(8)).min(bytes.len() - at);
                let from = random.below(bytes.len() - n + 1);
                bytes.copy_within(from..from + n, at);
            }
            7 if random.one_in(4) => bytes.truncate(at),
            8 if random.one_in(4) => {
                let n = 1 + random.below(9);
                let new: Vec<u8> = (0..n).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, new);
            }
            9 => {
                // The encoding of the largest `i64`, which has nine bytes, replaces other bytes.
                let n = bytes.len().min(at + 9) - at;
                bytes[at..at + n].copy_from_slice(&[0, 255, 255, 255, 255, 255, 255, 255, 127][..n]);
            }
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
    bytes
}

/// Checks a module that was read. Returns true if there is one.
fn judge(read: Result<Module, ProgramError>) -> bool {
    match read {
        Ok(module) => {
            let printed = text::print(&module);
            match verify::verify(&module) {
                Ok(_) => {
                    if let Ok(artifact) = vhlo::write(&module) {
                        let again = vhlo::read(&artifact.bytes, "written");
                        assert!(again.is_ok(), "{again:?}\nprinted:\n{printed}");
                    }
                    match text::parse(&Source::new("printed", printed.as_str())) {
                        Ok(again) => assert_eq!(again, module, "printed:\n{printed}"),
                        Err(e) => panic!("{e}\nprinted:\n{printed}"),
                    }
                }
                Err(e) => assert!(e.to_string().len() < 3_000_000),
            }
            true
        }
        Err(e) => {
            assert!(e.to_string().len() < 3_000_000);
            false
        }
    }
}

/// Reads an artifact or an exported function. Returns true if a module was read.
fn target(bytes: &[u8]) -> bool {
    if !is_exported(bytes) {
        let _ = Exported::read(bytes, "fuzz");
        return judge(vhlo::read(bytes, "fuzz"));
    }
    match Exported::read(bytes, "fuzz") {
        Ok(exported) => {
            drop(format!("{exported:?}"));
            // Queries must not panic, whatever the file says about its arguments.
            let platform = exported.platforms.last().map_or("cpu", String::as_str);
            if let Ok(module) = exported.module_for("fuzz", platform) {
                let interface = exported.interface(&module);
                let names: Vec<&str> = interface.arguments.iter().map(|a| a.name.as_str()).collect();
                let _ = (interface.bind(&names), interface.solve(&[]));
                // The file's description of arguments and results must match its program.
                let inputs: Vec<usize> = interface.inputs().iter().filter_map(|a| a.input).collect();
                assert_eq!(inputs, (0..exported.kept_vars.len()).collect::<Vec<_>>());
                assert_eq!(interface.arguments.len(), exported.in_tree.leaves());
                assert_eq!(interface.results.len(), exported.out_tree.leaves());
                let main = module.entry().expect("an exported function has an entry");
                assert_eq!(main.params().len(), inputs.len() + exported.ordered_effects.len());
            }
            judge(exported.module("fuzz"))
        }
        Err(e) => {
            drop(e.to_string());
            false
        }
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the payload of a test's panic is a string, whose destructor cannot panic"
)]
fn artifacts() {
    let seeds = seeds();
    let n = fuzz::iterations(3_000);
    let (mut read, mut slowest) = (0, Duration::ZERO);
    for i in 0..n {
        let mut random = SplitMix::new(fuzz::seed_of(i));
        let bytes = mutated(&mut random, &seeds);
        let start = Instant::now();
        match std::panic::catch_unwind(|| target(&bytes)) {
            Ok(ok) => read += u64::from(ok),
            Err(_) => panic!("panic in iteration {i} of seed {}", fuzz::seed()),
        }
        slowest = slowest.max(start.elapsed());
    }
    println!(
        "{read} of {n} artifacts, mutated from {} seeds, can be read; the slowest took {slowest:.0?}",
        seeds.len()
    );
    assert!(read > n / 20, "only {read} of {n} mutated artifacts can be read");
}
