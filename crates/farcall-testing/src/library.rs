//! Libraries that tests build and load: examples of a package, and C++ sources in the package's folder
//! `tests/cc`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Returns the folder of Cargo's build outputs from which this test runs: `target/debug`, for example.
///
/// # Panics
/// If this program is not a test that Cargo has built.
pub fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("tests have a path");
    test.ancestors().nth(2).expect("tests are in a profile's folder").to_owned()
}

/// Returns a folder for files that tests write: Cargo's `CARGO_TARGET_TMPDIR`.
///
/// # Panics
/// If the folder cannot be made.
pub fn scratch_folder() -> PathBuf {
    let folder = profile_folder().with_file_name("tmp");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// Returns true if every package and example was built before the tests started (`FARCALL_BUILT=1`).
pub fn is_all_built() -> bool {
    std::env::var("FARCALL_BUILT").as_deref() == Ok("1")
}

/// Builds a package or an example from the current sources, in the profile of this test, unless everything
/// has been built.
///
/// # Panics
/// If the build fails.
pub fn build(what: &[&str]) {
    if is_all_built() {
        return;
    }
    let profile = profile_folder();
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet"]).args(what);
    build.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"));
    build.arg("--target-dir").arg(profile.parent().expect("a profile's folder has a parent"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let output = build.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Builds an example of a package, and returns the path of its library. (If all tests run, Cargo has built
/// the examples already, but not if a single test is selected.)
///
/// # Panics
/// If the build fails.
pub fn example(package: &str, name: &str) -> PathBuf {
    build(&["--package", package, "--example", name]);
    profile_folder().join(format!("examples/lib{name}.so"))
}

/// Builds the library of a package, and returns its path.
///
/// # Panics
/// If the build fails.
pub fn library_of(package: &str) -> PathBuf {
    build(&["--package", package, "--lib"]);
    profile_folder().join(format!("lib{}.so", package.replace('-', "_")))
}

/// Builds `tests/cc/SOURCE.cc` of a package with these flags as a library with this name. The source must not
/// need XLA's headers. Returns `None` if there is no C++ compiler.
///
/// # Panics
/// If the source does not compile.
pub fn plain_cc(package: &str, source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let _one = lock();
    let out = scratch_folder().join(format!("lib{name}.so"));
    let mut command = compiler();
    command.args(["-std=c++17", "-Wall", "-shared", "-fPIC"]).args(flags).arg(cc_source(package, source));
    match run(command, &out) {
        Err(e) => {
            println!("NOT RUN: no C++ compiler ({e})");
            None
        }
        Ok(()) => Some(out),
    }
}

/// Builds `tests/cc/handlers.cc` of the engine with these flags as libraries with this name, one for each of
/// the first `versions` versions of XLA's headers in `FARCALL_XLA_INCLUDE`. This variable lists include
/// directories that contain `xla/ffi/api/ffi.h`, one per version, separated by `:`. Returns the path and the
/// minor version of each library.
///
/// # Panics
/// If the source does not compile.
pub fn xla_cc(name: &str, flags: &[&str], versions: usize) -> Vec<(PathBuf, i32)> {
    let Some(dirs) = std::env::var_os("FARCALL_XLA_INCLUDE").filter(|dirs| !dirs.is_empty()) else {
        println!("NOT RUN: set FARCALL_XLA_INCLUDE to the include directories of one or more jaxlib wheels");
        return Vec::new();
    };
    std::env::split_paths(&dirs).take(versions).map(|dir| one_version(&dir, name, flags)).collect()
}

fn one_version(dir: &Path, name: &str, flags: &[&str]) -> (PathBuf, i32) {
    let _one = lock();
    let minor = header_minor(dir);
    let out = scratch_folder().join(format!("{name}_0_{minor}.so"));
    let source = cc_source("farcall", "handlers");
    let age = |p: &Path| std::fs::metadata(p).and_then(|m| m.modified()).ok();
    let header = dir.join("xla/ffi/api/ffi.h");
    if age(&out) > age(&source).max(age(&header)) {
        return (out, minor);
    }
    let mut command = compiler();
    // Each library gets its own name (soname). Otherwise, two libraries could have the same bytes, and the
    // loader would treat them as one library.
    command.args(["-std=c++17", "-w", "-shared", "-fPIC", &format!("-Wl,-soname,{name}")]);
    command.args(flags).arg("-I").arg(dir).arg(source);
    run(command, &out).expect("a C++ compiler");
    (out, minor)
}

/// Returns the minor version of XLA's FFI in the headers of a folder. The major version is 0.
///
/// # Panics
/// If the folder does not contain XLA's headers.
pub fn header_minor(dir: &Path) -> i32 {
    let header = dir.join("xla/ffi/api/c_api.h");
    let text = std::fs::read_to_string(&header).unwrap_or_else(|e| panic!("{}: {e}", header.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("#define XLA_FFI_API_MINOR "));
    line.and_then(|minor| minor.trim().parse().ok()).expect("the header's minor version")
}

/// Returns a lock under which libraries are built. Tests run concurrently, and two of them could otherwise
/// build the same library at once.
fn lock() -> impl Drop {
    static BUILD_LOCK: Mutex<()> = Mutex::new(());
    BUILD_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compiler() -> Command {
    Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()))
}

fn cc_source(package: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/tests/cc/{name}.cc"))
}

/// Runs a compiler. A process may have opened the old library, so the new library is renamed over the old one
/// instead of written into it.
fn run(mut command: Command, out: &Path) -> std::io::Result<()> {
    let fresh = out.with_extension(format!("{}.so", std::process::id()));
    let output = command.arg("-o").arg(&fresh).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, out)
}
