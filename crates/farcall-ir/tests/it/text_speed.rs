//! Measures the time of reading and printing large programs. Run with
//! `cargo test --release -p farcall-ir --test it text_speed -- --ignored --nocapture`.

use std::fmt::Write;
use std::time::Instant;

use farcall_ir::{Source, text};

/// Length of the text of each constant in bytes, approximately.
const TARGET: usize = 100_000_000;

fn measure(name: &str, program: String) {
    let len = program.len();
    let start = Instant::now();
    let source = Source::new(name, program);
    let module = text::parse(&source).unwrap_or_else(|e| panic!("{e}"));
    let read = start.elapsed();
    let start = Instant::now();
    let printed = text::print(&module);
    let print = start.elapsed();
    let again = text::parse(&Source::new(name, printed)).unwrap_or_else(|e| panic!("{e}"));
    assert!(again == module);
    eprintln!("{name}: {} MB, read in {read:.2?}, printed in {print:.2?}", len / 1_000_000);
}

#[test]
#[ignore = "takes a minute in a debug build; measures times, and checks only the round trip"]
fn a_hundred_megabytes() {
    let n = TARGET / 8;
    let hex: String = (0..n).fold(String::new(), |mut s, i| {
        let _ = write!(s, "{:08X}", (i as u32).wrapping_mul(2_654_435_761));
        s
    });
    measure(
        "hexadecimal constant",
        format!(
            "func.func @f() {{\n%0 = stablehlo.constant dense<\"0x{hex}\"> : tensor<{n}xi32>\nreturn\n}}"
        ),
    );
    let n = TARGET / 14;
    let list: String = (0..n).fold(String::new(), |mut s, i| {
        let _ = write!(s, "{}{:.9}", if i > 0 { ", " } else { "" }, (i as f64 * 0.618_034).sin());
        s
    });
    measure(
        "decimal constant",
        format!("func.func @f() {{\n%0 = stablehlo.constant dense<[{list}]> : tensor<{n}xf32>\nreturn\n}}"),
    );
    let mut ops = String::from("func.func @f(%0: tensor<64x128xf32>) {\n");
    for i in 1..=1_000_000 {
        let _ = match i % 4 {
            0 => writeln!(ops, "    %{i} = stablehlo.add %{}, %0 : tensor<64x128xf32>", i - 1),
            1 => writeln!(
                ops,
                "    %{i} = stablehlo.reshape %{} : (tensor<64x128xf32>) -> tensor<64x128xf32>",
                i - 1
            ),
            2 => writeln!(
                ops,
                "    %{i} = stablehlo.broadcast_in_dim %{}, dims = [0, 1] : (tensor<64x128xf32>) -> tensor<64x128xf32>",
                i - 1
            ),
            _ => writeln!(
                ops,
                "    %{i} = \"stablehlo.slice\"(%{}) <{{limit_indices = array<i64: 64, 128>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}}> : (tensor<64x128xf32>) -> tensor<64x128xf32>",
                i - 1
            ),
        };
    }
    ops.push_str("return\n}\n");
    measure("a million operations", ops);
}
