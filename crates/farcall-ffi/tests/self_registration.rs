//! Tests that a library registers itself with the hosts of its process: several hosts of different versions,
//! each with its own type ids. The hosts are found although they were loaded with local scope.
//!
//! The hosts are built from the headers of every version in `FARCALL_XLA_INCLUDE`; see `abi_layout.rs`.
#![cfg(target_os = "linux")]

use std::ffi::{CStr, c_char};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use farcall_ffi::abi::HandlerFn;
use farcall_ffi::descriptor::{self, LibraryFn};
use libloading::Library;

#[test]
fn registers_with_every_host_of_the_process() {
    let Some(dirs) = std::env::var_os("FARCALL_XLA_INCLUDE").filter(|dirs| !dirs.is_empty()) else {
        println!("NOT RUN: set FARCALL_XLA_INCLUDE to the include directories of one or more jaxlib wheels");
        return;
    };
    let path = library();
    let dirs: Vec<PathBuf> = std::env::split_paths(&dirs).collect();
    let early: Vec<Library> =
        dirs.iter().enumerate().map(|(i, dir)| host(dir, &format!("early{i}"), i % 2 == 1)).collect();

    // SAFETY: the library of `examples/registering.rs`, whose initializer only registers its targets.
    let library = unsafe { Library::new(path) }.expect("`cargo test` builds the library");
    let described = |n: i32| match n {
        0 => String::new(),
        _ => format!(
            "start Host traits 0\n  instantiate 0.1 traits 0 type {n}\n  execute 0.1 traits 0 type 0\n\
             nothing Host traits 1\n  execute 0.1 traits 1 type 0\n\
             nothing CUDA traits 0\n  execute 0.1 traits 0 type 0\n"
        ),
    };
    for (host, dir) in early.iter().zip(&dirs) {
        assert_eq!(notes(host), described(minor(dir) * 100 + 1), "{}", dir.display());
    }

    // A host that is loaded later is found when the library's registration function is called again.
    let late = host(&dirs[0], "late", true);
    assert_eq!(notes(&late), "");
    // SAFETY: `library!` exports a function of this type.
    let register = unsafe { library.get::<unsafe extern "C" fn() -> usize>(b"farcall_register_v1") }
        .expect("`library!` exports it");
    // SAFETY: the function takes no arguments.
    let registered = unsafe { register() };
    assert_eq!(registered, 3 * (dirs.len() + 1));
    assert_eq!(notes(&late), described(minor(&dirs[0]) * 100 + 1));

    // The states of different hosts are independent.
    let (instantiate, execute) = handlers(&library);
    let mut results = String::new();
    for (i, host) in early.iter().chain([&late]).enumerate() {
        // SAFETY: host.cc defines a function of this type.
        let run = unsafe { host.get::<unsafe extern "C" fn(HandlerFn, HandlerFn, i64) -> i64>(b"host_run") };
        // SAFETY: the arguments are two handlers of the library.
        let result = unsafe { run.expect("host.cc defines it")(instantiate, execute, i as i64 * 7) };
        assert_eq!(result, i as i64 * 7, "{}", notes(host));
        let _infallible = write!(results, "{result} ");
    }
    if dirs.len() == 3 {
        expect!["0 7 14 21 "].assert_eq(&results);
    }

    // After the library is closed, the hosts still have its functions.
    drop(library);
    assert_eq!(notes(&late), "");
    // SAFETY: the handler's library was closed, but must have stayed loaded.
    assert!(unsafe { execute(std::ptr::null_mut()) }.is_null());
}

/// Checks that the library prints nothing in a process without a host.
#[test]
fn is_silent_where_there_is_no_host() {
    const CHILD: &str = "FARCALL_TEST_LOAD_ONLY";
    if let Some(path) = std::env::var_os(CHILD) {
        // SAFETY: the library of `examples/registering.rs`, whose initializer only registers its targets.
        drop(unsafe { Library::new(path) }.expect("`cargo test` builds the library"));
        return;
    }
    let test = std::env::current_exe().expect("a test has an executable");
    let mut command = Command::new(test);
    command.args(["--exact", "is_silent_where_there_is_no_host", "--nocapture"]).env(CHILD, library());
    let output = command.output().expect("the child process starts");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Path of the example, which `cargo test` builds beside the tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has an executable");
    let profile = test.ancestors().nth(2).expect("the executable is in a profile's folder");
    let path = profile.join("examples/libregistering.so");
    assert!(path.is_file(), "{} is missing: cargo build -p farcall-ffi --examples", path.display());
    path
}

/// Returns the functions of the op `start`.
fn handlers(library: &Library) -> (HandlerFn, HandlerFn) {
    // SAFETY: `library!` exports the function, and the library stays loaded.
    let library = unsafe {
        let describe =
            library.get::<LibraryFn>(descriptor::SYMBOL.as_bytes()).expect("`library!` exports it");
        descriptor::Library::read(describe())
    };
    let op = library.expect("the descriptor is well-formed").ops().next().expect("the library has ops");
    (
        op.bundle().instantiate.expect("the op has state"),
        op.bundle().execute.expect("every op has an execute stage"),
    )
}

fn notes(host: &Library) -> String {
    // SAFETY: host.cc defines the function, which returns a null-terminated string.
    unsafe {
        let notes =
            host.get::<unsafe extern "C" fn() -> *const c_char>(b"host_notes").expect("host.cc defines it");
        CStr::from_ptr(notes()).to_string_lossy().into_owned()
    }
}

/// Builds a host and loads it with local scope, so that other libraries do not see its symbols.
fn host(include: &Path, name: &str, cpp_symbol: bool) -> Library {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("libhost_{name}.so"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/host/host.cc");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-shared", "-fPIC", "-fvisibility-inlines-hidden"]);
    command.arg("-I").arg(include).arg(source).arg("-o").arg(&output);
    if cpp_symbol {
        command.arg("-DCPP_SYMBOL");
    }
    assert!(
        command.status().expect("the C++ compiler starts").success(),
        "cannot compile host.cc with {}",
        include.display()
    );
    // SAFETY: the library's initializers have no requirements.
    unsafe { Library::new(output) }.expect("the host was just built")
}

/// Returns the minor version of the interface, 0.`minor`, in a header.
fn minor(include: &Path) -> i32 {
    let header =
        std::fs::read_to_string(include.join("xla/ffi/api/c_api.h")).expect("the header can be read");
    let line = header.lines().find(|line| line.contains("#define XLA_FFI_API_MINOR"));
    line.and_then(|line| line.split_whitespace().last()?.parse().ok())
        .expect("the header defines its minor version")
}
