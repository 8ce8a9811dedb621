//! Loading libraries: errors describe the defect of a file.

use farcall::CodedError;
use std::path::{Path, PathBuf};

use farcall::registry::LoadError;
use farcall::{ErrorCode, Registry};
use farcall_testing::engine::load;
use farcall_testing::library::example;
use farcall_testing::library::plain_cc;

#[test]
fn files_that_are_no_libraries() {
    check("empty.so", b"", "is not a shared library: it is empty");
    check("text.so", b"module {\n}\n", "is not a shared library: it is a text file");
    check("image.so", b"\x89PNG\r\n\x1a\n rest", "is not a shared library: it is a PNG image");
    check("cut.so", b"\x7fELF\x02\x01\x01", "is not a shared library: it is a damaged ELF file");
    check("old.so", b"\x7fELF\x01\x01\x01", "is not a shared library: it is an ELF file for 32-bit machines");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pipe.so");
    let _ = std::fs::remove_file(&path);
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the name ends with a null byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let e = load(&Registry::new(), &path, &[]).unwrap_err();
    assert_eq!(e.code(), ErrorCode::NotALibrary);
    assert!(e.to_string().contains("is not a shared library: it is a pipe, a socket or a device"), "{e}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_library_for_another_machine() {
    let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let riscv = 243u16;
    bytes[18..20].copy_from_slice(&riscv.to_le_bytes());
    check("riscv.so", &bytes, "was built for RISC-V, but this program runs on");
}

#[test]
fn pointers_of_a_description_are_not_believed() {
    for (how, what) in [
        (1, "it is not in readable memory"),
        (2, "a text is not in readable memory"),
        (3, "its table of ops is not in readable memory"),
        (4, "an op is not in readable memory"),
        (5, "a function of an op is not in executable memory"),
    ] {
        let flag = format!("-DHOW={how}");
        let Some(path) = plain_cc("farcall", "describes", &format!("describes_{how}"), &[&flag]) else {
            return;
        };
        let e = load(&Registry::new(), &path, &[]).unwrap_err();
        assert_eq!(e.code(), ErrorCode::RefusedTargets);
        assert!(e.to_string().ends_with(&format!("descriptor is malformed: {what}")), "{e}");
    }
}

#[test]
fn a_missing_library() {
    let e = load(&Registry::new(), "/no/such/lib.so", &[]).unwrap_err();
    assert_eq!(e.to_string(), "library /no/such/lib.so does not exist");
    assert_eq!(e.code(), ErrorCode::FileNotFound);
    assert_eq!(e.code().status(), farcall_ffi::StatusCode::NotFound);
}

#[test]
fn a_library_without_targets_says_how_to_name_them() {
    let Some(libm) =
        ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6"]
            .into_iter()
            .find(|p| Path::new(p).exists())
    else {
        println!("NOT RUN: no libm found");
        return;
    };
    let registry = Registry::new();
    let e = load(&registry, libm, &[]).unwrap_err();
    assert!(matches!(&e, LoadError::Nothing { .. }), "{e}");
    assert_eq!(e.code(), ErrorCode::NoTargets);
    assert!(
        e.to_string().contains("name its handlers: Registry::load_symbols with NAME=SYMBOL; it exports "),
        "{e}"
    );
    let e = load(&registry, libm, &["f=untyped:sinn".parse().unwrap()]).unwrap_err();
    assert!(
        e.to_string().contains("has no symbol `sinn` (for the handler of target `f`); it has sin"),
        "{e}"
    );
    assert_eq!(e.code(), ErrorCode::MissingSymbol);
    let report = load(&registry, libm, &["f=untyped:sin".parse().unwrap()]).unwrap();
    assert_eq!(report.targets[0].name(), "f");
}

/// A library written with `farcall-ffi` whose author has forgotten `library!`.
#[test]
fn a_library_that_exports_nothing() {
    let path = example("farcall", "unlisted_test_ops");
    let e = load(&Registry::new(), &path, &[]).unwrap_err();
    assert_eq!(e.code(), ErrorCode::NoTargets);
    assert!(e.to_string().ends_with("it exports no functions: is `farcall_ffi::library!` missing?"), "{e}");
}

fn check(name: &str, bytes: &[u8], expected: &str) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    let registry = Registry::new();
    let e = load(&registry, &path, &[]).unwrap_err();
    assert_eq!(e.code(), ErrorCode::NotALibrary);
    let e = e.to_string();
    assert!(e.contains(expected), "{e}");
    assert!(e.contains(name), "{e}");
}
