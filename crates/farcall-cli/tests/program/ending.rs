//! Libraries that end the process: the program says which, and fails.
#![expect(clippy::print_stdout, reason = "says why nothing ran")]

use std::process::Command;

use expect_test::{Expect, expect};

use crate::folder::Folder;

#[path = "../../../farcall/tests/cc/plain.rs"]
mod plain;

const PROGRAM: &str = "\
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.custom_call @it(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
";

/// Runs the program with `it` being a function of the library; checks exit code and standard error.
fn run(function: &str, constructor: &str, code: i32, message: Expect) {
    let Some(library) = plain::build("ends", &format!("ends_{function}_{constructor}"), &[]) else { return };
    let folder = Folder::new().with("p.mlir", PROGRAM);
    let output = Command::new(env!("CARGO_BIN_EXE_farcall"))
        .current_dir(folder.path("."))
        .args(["run", "p.mlir", "--fill", "ones", "--target", &format!("it=untyped:{function}"), "--load"])
        .arg(&library)
        .env("FARCALL_TEST_CONSTRUCTOR", constructor)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(&*library.to_string_lossy(), "libends.so");
    message.assert_eq(&said);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
}

#[test]
fn a_library_that_stays() {
    run("stay", "n", 0, expect![""]);
}

#[test]
fn a_handler_that_calls_exit() {
    run(
        "leave",
        "n",
        1,
        expect![[r#"
        error: custom call `it` at p.mlir:2:8, in its execute stage, ended the process: it called `exit`
    "#]],
    );
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
