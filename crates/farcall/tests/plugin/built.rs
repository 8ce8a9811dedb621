//! Builds the libraries that the tests load: examples of this package.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds an example and returns its path. Builds nothing if the test runner has built all examples already.
pub(crate) fn build_library(name: &str) -> PathBuf {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    if std::env::var("FARCALL_BUILT").as_deref() != Ok("1") {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", name, "--manifest-path"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target_dir)
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    target_dir.join(format!("debug/examples/lib{name}.so"))
}
