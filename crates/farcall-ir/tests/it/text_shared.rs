//! Checks every program of the shared folder beside the checkout, if the folder exists. Each program must be
//! read, printed, and read again as the same module. Programs that fail only because of unknown operations
//! are counted and skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farcall_ir::{Source, text};

/// The folder `shared` in a parent folder of this crate.
fn shared() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("shared"))
        .find(|dir| dir.join("corpus").is_dir())
}

fn programs(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            programs(&path, out);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            out.push(path);
        }
    }
}

#[test]
fn shared_programs_round_trip() {
    let Some(shared) = shared() else {
        eprintln!("skipped: no folder `shared` with programs beside this checkout");
        return;
    };
    let mut files = Vec::new();
    for part in ["corpus/cases", "stablehlo-suite/testdata", "stablehlo-suite/tests"] {
        programs(&shared.join(part), &mut files);
    }
    files.sort();
    assert!(!files.is_empty(), "no programs in {}", shared.display());
    let (mut same, mut count) = (0, 0);
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for file in &files {
        let bytes = std::fs::read(file).expect("a shared program can be read");
        let whole = String::from_utf8(bytes).expect("a shared program is UTF-8");
        let name = file.strip_prefix(&shared).unwrap_or(file).display().to_string();
        for (lines, part) in text::split_programs(&whole) {
            count += 1;
            let module = match text::parse(&Source::part(name.as_str(), part, lines)) {
                Ok(module) => module,
                Err(e) => {
                    if e.diagnostics.iter().all(|d| d.code == "unknown-op") {
                        for d in &e.diagnostics {
                            *unknown.entry(d.message.clone()).or_default() += 1;
                        }
                    } else {
                        failures.push(e.to_string());
                    }
                    continue;
                }
            };
            let printed = text::print(&module);
            match text::parse(&Source::new(format!("{name} (printed)"), printed)) {
                Ok(again) if again == module => same += 1,
                Ok(_) => failures.push(format!("{name}: the printed text is read as a different module")),
                Err(e) => failures.push(e.to_string()),
            }
        }
    }
    eprintln!(
        "{} files, {count} programs: {same} read, printed and read again as the same module",
        files.len()
    );
    for (message, n) in &unknown {
        eprintln!("{n:5} × {message}");
    }
    let shown: Vec<&String> = failures.iter().take(20).collect();
    assert!(
        failures.is_empty(),
        "{} programs failed:\n{}",
        failures.len(),
        shown.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n\n")
    );
}
