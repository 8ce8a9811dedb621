//! Tests of passes: files in `filetests/passes`, with programs and the expected results of a pass.
//!
//! A file contains tests separated by lines `// -----`. In a test, the program comes first. The expected
//! result follows after a line `// =>`.

use std::path::{Path, PathBuf};

const SEPARATOR: &str = "// -----\n";
const RESULT: &str = "// =>\n";

/// Returns the files that test the passes of a crate, sorted. `package` is the crate's `CARGO_MANIFEST_DIR`.
///
/// # Panics
/// If the folder cannot be read.
pub fn files(package: &str) -> Vec<PathBuf> {
    let folder = Path::new(package).join("filetests/passes");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "mlir"));
    found.sort();
    found
}

/// Returns the program of a test, without the expected result.
pub fn program(test: &str) -> &str {
    test.split(RESULT).next().unwrap_or(test)
}

/// Compares the result of each test in [`files`] with the expected result, or writes the results into the
/// files if the environment variable `UPDATE_EXPECT` is set. The function `result` returns the result of a
/// test. Its second argument is the location of the test, for messages.
///
/// # Panics
/// If results differ, or a file cannot be read or written.
pub fn check(package: &str, result: impl Fn(&str, &str) -> String) {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut failed = Vec::new();
    for path in files(package) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut out = Vec::new();
        for (i, test) in text.split(SEPARATOR).enumerate() {
            let place = format!("{name} {i}");
            let found = result(test, &place);
            let whole = format!("{}{RESULT}{found}", program(test));
            if whole != test && !update {
                failed.push(format!("{place}:\n{found}"));
            }
            out.push(whole);
        }
        if update {
            let written = std::fs::write(&path, out.join(SEPARATOR));
            written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
    assert!(failed.is_empty(), "UPDATE_EXPECT=1 accepts this:\n{}", failed.join("\n"));
}

/// Checks that there is a file for each of these passes.
///
/// # Panics
/// If a file is missing.
pub fn require(package: &str, passes: impl IntoIterator<Item = &'static str>) {
    let files = files(package);
    for pass in passes {
        let is_there = files.iter().any(|path| path.file_stem().is_some_and(|stem| stem == pass));
        assert!(is_there, "filetests/passes/{pass}.mlir is missing");
    }
}
