//! Endless or too large input, and programs that must be stopped: each run ends soon.

use std::io::{ErrorKind, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::folder::Folder;

const DOUBLE: &str = "\
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
";

#[test]
fn a_device_without_an_end_is_no_program() {
    for command in ["run", "inspect", "compile"] {
        let mut args = vec![command, "/dev/zero"];
        args.extend(if command == "compile" { &["-o", "x.plan"][..] } else { &[] });
        Folder::new().fails(
            &args,
            expect![[r#"
                error: /dev/zero is not text: byte 0 is zero
            "#]],
        );
    }
}

/// Starts a command whose standard input the test writes. Ctrl-C ends the command even if the tests run in
/// the background of a shell, where the signal is ignored by default.
fn fed(folder: &Folder, args: &[&str]) -> Child {
    Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_farcall")])
        .args(args)
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Writes the bytes `begin`, then zeros, until the program stops reading. Returns the number of written
/// bytes, and the program's standard error.
fn feed(folder: &Folder, args: &[&str], begin: &[u8]) -> (usize, String) {
    let mut child = fed(folder, args);
    let mut stdin = child.stdin.take().unwrap();
    let (mut written, zeros) = (0, vec![0; 1 << 20]);
    let mut next = begin;
    while written < 1 << 30 {
        match stdin.write(next) {
            Ok(taken) => written += taken,
            Err(e) if e.kind() == ErrorKind::BrokenPipe => break,
            Err(e) => panic!("{e}"),
        }
        next = &zeros;
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    (written, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_pipe_is_looked_at_from_its_first_bytes_on() {
    let folder = Folder::new().with("double.mlir", DOUBLE);
    assert_eq!(folder.farcall(["compile", "double.mlir", "-o", "double.plan"]).code, 0);
    let plan = std::fs::read(folder.path("double.plan")).unwrap();
    let mut beginnings = vec![(Vec::new(), "byte 0 is zero"), (b"func.func".to_vec(), "byte 9 is zero")];
    for length in [8, 12, 40, plan.len() / 2, plan.len()] {
        beginnings.push((plan[..length].to_vec(), "plan"));
    }
    for (begin, why) in beginnings {
        let (written, said) = feed(&folder, &["run", "-"], &begin);
        assert!(said.contains(why), "for input that begins with {} bytes: {said}", begin.len());
        assert!(
            written <= 4 << 20,
            "{written} bytes were read of input that begins with {} bytes",
            begin.len()
        );
    }
}

#[test]
fn input_counts_as_memory() {
    let long = format!("{DOUBLE}// {}\n", "x".repeat(20 << 20));
    let folder = Folder::new()
        .with("long.mlir", long)
        .with("big.mlir", "func.func @main(%x: tensor<5000000xf32>) { return }")
        .with_npy("big.npy", "<f4", "(5000000,)", &vec![0; 20_000_000]);
    for args in [&["run", "long.mlir", "--fill", "ones"][..], &["run", "big.mlir", "-i", "big.npy"]] {
        let fits: Vec<&str> = ["--memory-limit", "64M"].into_iter().chain(args.iter().copied()).collect();
        let ended = folder.farcall(&fits);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let refused: Vec<&str> = ["--memory-limit", "16M"].into_iter().chain(args.iter().copied()).collect();
        let ended = folder.farcall(&refused);
        assert!(ended.code == 1 && ended.stderr.contains("the limit is"), "{}", ended.stderr);
    }
}

/// Sends the signal of Ctrl-C.
fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

#[test]
fn ctrl_c_ends_every_command() {
    let product = "func.func @main(%x: tensor<6000x6000xf32>) -> tensor<6000x6000xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<6000x6000xf32>, tensor<6000x6000xf32>) -> tensor<6000x6000xf32>
      return %0 : tensor<6000x6000xf32>
    }";
    let folder = Folder::new().with("product.mlir", product);
    for args in [
        &["run", "product.mlir", "--fill", "ones", "--evaluator"][..],
        &["bench", "product.mlir", "--fill", "ones"],
        &["run", "-"],
    ] {
        let mut child = fed(&folder, args);
        thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "{args:?} ended by itself");
        let begin = Instant::now();
        interrupt(&child);
        while child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(5));
        }
        let elapsed = begin.elapsed();
        // The command must not outlive the test.
        let _ = child.kill();
        let status = child.wait().unwrap();
        assert!(
            !status.success() && elapsed < Duration::from_secs(1),
            "{args:?} ended after {elapsed:?} with {status}"
        );
    }
}
