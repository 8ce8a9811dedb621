//! Builds `handlers.cc` against the XLA headers in `FARCALL_XLA_INCLUDE`: include directories with
//! `xla/ffi/api/ffi.h`, one per version, separated by `:`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Builds `handlers.cc` with these flags as libraries with this name, for at most `versions` versions.
/// Returns the path and the minor version of each.
pub(crate) fn build(name: &str, flags: &[&str], versions: usize) -> Vec<(PathBuf, i32)> {
    let Some(dirs) = std::env::var_os("FARCALL_XLA_INCLUDE").filter(|dirs| !dirs.is_empty()) else {
        println!("NOT RUN: set FARCALL_XLA_INCLUDE to the include directories of one or more jaxlib wheels");
        return Vec::new();
    };
    std::env::split_paths(&dirs).take(versions).map(|dir| build_one(&dir, name, flags)).collect()
}

fn build_one(dir: &Path, name: &str, flags: &[&str]) -> (PathBuf, i32) {
    // Tests run concurrently; the lock keeps them from opening a library that is being written.
    static BUILD_LOCK: Mutex<()> = Mutex::new(());
    let _one = BUILD_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let minor = header_minor(dir);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}_0_{minor}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cc/handlers.cc");
    let age = |p: &Path| std::fs::metadata(p).and_then(|m| m.modified()).ok();
    let header = dir.join("xla/ffi/api/ffi.h");
    if age(&out) > age(&source).max(age(&header)) {
        return (out, minor);
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    // The library gets a separate name, as files with the same bytes would be one library.
    let output = Command::new(compiler)
        .args(["-std=c++17", "-w", "-shared", "-fPIC", &format!("-Wl,-soname,{name}")])
        .args(flags)
        .arg("-I")
        .arg(dir)
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .output()
        .expect("a C++ compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (out, minor)
}

fn header_minor(dir: &Path) -> i32 {
    let header = dir.join("xla/ffi/api/c_api.h");
    let text = std::fs::read_to_string(&header).unwrap_or_else(|e| panic!("{}: {e}", header.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("#define XLA_FFI_API_MINOR "));
    line.and_then(|minor| minor.trim().parse().ok()).expect("the header's minor version")
}
