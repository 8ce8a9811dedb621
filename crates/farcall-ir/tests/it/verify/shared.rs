//! Programs that are known to be valid must pass the verifier. They are in the folder `shared` beside the
//! checkout, or in the folder that `FARCALL_SHARED` names; if the folder is absent, nothing is tested.

use std::path::{Path, PathBuf};

use farcall_ir::diag::Source;
use farcall_ir::{text, verify};

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("FARCALL_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            found.push(path);
        }
    }
}

#[test]
fn valid_programs_pass() {
    let Some(folder) = folder() else { return };
    let mut paths = Vec::new();
    // Other folders contain invalid programs.
    ["stablehlo-suite", "corpus"].iter().for_each(|name| programs(&folder.join(name), &mut paths));
    paths.sort();
    let (mut passed, mut unread, mut failed) = (0, 0, Vec::new());
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("// -----") {
            match text::parse(&Source::new(path.display().to_string(), part)) {
                // Other tests check which programs the parser must read.
                Err(_) => unread += 1,
                Ok(module) => match verify::verify(&module) {
                    Ok(_) => passed += 1,
                    Err(error) => failed.push(error.to_string()),
                },
            }
        }
    }
    println!("{passed} programs pass, {unread} cannot be read");
    assert!(failed.is_empty(), "{} programs are rejected:\n{}", failed.len(), failed.join("\n\n"));
    assert!(paths.is_empty() || passed > unread, "most programs cannot be read");
}
