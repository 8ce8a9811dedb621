//! Libraries that end the process: the program names the library and fails.

use std::process::{Command, ExitStatus};

use expect_test::{Expect, expect};

use crate::folder::Folder;
use farcall_testing::library::plain_cc;

const PROGRAM: &str = "\
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.custom_call @it(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
";

/// Runs the program with a function of the library as the handler, and checks exit code and standard error.
/// `constructor` tells the static constructor of the library to `throw`, to `exit`, or to do nothing (`n`).
fn run(function: &str, constructor: &str, code: i32, message: Expect) {
    let Some((status, said)) = ended(function, constructor) else { return };
    message.assert_eq(&said);
    assert_eq!(status.code(), Some(code), "{status:?}");
}

/// Checks a function that crashes, or ends the process without `exit`. Among possible messages of the C
/// library, exactly one line must report that the custom call did `what`. The exit code must not be 0.
fn crash(function: &str, what: &str) {
    let Some((status, said)) = ended(function, "n") else { return };
    let line = format!("error: custom call `it` of libends.so at p.mlir:2:8, in its execute stage, {what}");
    assert_eq!(said.lines().filter(|l| l.starts_with("error: ")).collect::<Vec<_>>(), [line], "{said}");
    assert!(!status.success(), "{status:?}");
}

/// Returns the exit status and standard error of a run; `None` without a compiler.
fn ended(function: &str, constructor: &str) -> Option<(ExitStatus, String)> {
    let library = plain_cc("farcall-cli", "ends", &format!("ends_{function}_{constructor}"), &["-pthread"])?;
    let folder = Folder::new().with("p.mlir", PROGRAM);
    let output = Command::new(env!("CARGO_BIN_EXE_farcall"))
        .current_dir(folder.path("."))
        .args(["run", "p.mlir", "--fill", "ones", "--target", &format!("it=untyped:{function}"), "--load"])
        .arg(&library)
        .env("FARCALL_TEST_CONSTRUCTOR", constructor)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(&*library.to_string_lossy(), "libends.so");
    Some((output.status, said))
}

#[test]
fn a_library_that_stays() {
    run("stay", "n", 0, expect![""]);
    run("have_child", "n", 0, expect![""]);
}

#[test]
fn a_handler_that_leaves_without_exit() {
    crash("leave_at_once", "ended the process: it called `_exit`");
    crash("leave_quickly", "ended the process: it called `quick_exit`");
}

#[test]
fn a_handler_that_crashes() {
    crash("crash", "crashed: invalid memory access (SIGSEGV)");
    crash("crash_in_thread", "crashed: invalid memory access (SIGSEGV)");
    crash("overflow", "crashed: its stack overflowed (SIGSEGV)");
    crash("give_up", "aborted (SIGABRT)");
}

#[test]
fn a_handler_that_leaves_its_thread_or_its_frame() {
    crash("end_thread", "aborted (SIGABRT)");
    crash("jump", "aborted (SIGABRT)");
}

#[test]
fn a_handler_that_calls_exit() {
    run(
        "leave",
        "n",
        1,
        expect![[r#"
        error: custom call `it` of libends.so at p.mlir:2:8, in its execute stage, ended the process: it called `exit`
    "#]],
    );
}

#[test]
fn a_description_that_crashes() {
    let Some(library) = plain_cc("farcall", "describes", "describes_6", &["-DHOW=6"]) else {
        return;
    };
    let output = Command::new(env!("CARGO_BIN_EXE_farcall")).arg("op").arg(&library).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(&*library.to_string_lossy(), "libbad.so");
    assert_eq!(said, "error: the descriptor of library libbad.so crashed: invalid memory access (SIGSEGV)\n");
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn a_static_constructor_that_calls_exit() {
    run(
        "stay",
        "exit",
        1,
        expect![[r#"
        error: a static constructor of library libends.so ended the process: it called `exit`
    "#]],
    );
}

#[test]
fn a_static_constructor_that_throws() {
    run(
        "stay",
        "throw",
        1,
        expect![[r#"
        error: a static constructor of library libends.so threw C++ exception std::runtime_error: no such device, which ends the process
    "#]],
    );
}
