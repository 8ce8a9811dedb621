//! Builds C++ sources that do not need XLA's headers.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `tests/cc/SOURCE.cc` with these flags as a library with this name. Returns `None` without a
/// compiler.
pub(crate) fn build(source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cc/{source}.cc"));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let output = Command::new(compiler)
        .args(["-std=c++17", "-Wall", "-shared", "-fPIC"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .output();
    match output {
        Err(e) => {
            println!("NOT RUN: no C++ compiler ({e})");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(out)
        }
    }
}
