//! Invalid programs and the verifier's diagnostics.
//!
//! Each `.mlir` file of `tests/verify` contains programs separated by `// -----`. The comments at the head of
//! a program are the expected diagnostics, `[code] line:column: message`, with lines counted from the first
//! line of the program; a valid program has none. `UPDATE_EXPECT=1 cargo test` rewrites these comments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use farcall_ir::diag::{ProgramError, Source};
use farcall_ir::{text, verify};

mod coverage;
mod elementwise;
mod mutations;
mod programs;
mod shared;

const SPLIT: &str = "// -----\n";

/// Formats each diagnostic as `[code] line:column: message`.
fn lines(error: &ProgramError) -> String {
    let mut out = String::new();
    for d in &error.diagnostics {
        let (line, column) = d.span.map_or((0, 0), |s| error.source.line_column(s.start));
        let message = d.message.replace('\n', "\\n");
        writeln!(out, "[{}] {line}:{column}: {message}", d.code).unwrap();
        for note in &d.notes {
            writeln!(out, "  note: {note}").unwrap();
        }
    }
    out
}

/// The verifier's diagnostics for a program.
fn diagnose(program: &str) -> String {
    let parsed = text::parse(&Source::new("test.mlir", program));
    match parsed.and_then(verify::verify_owned) {
        Ok(_) => String::new(),
        Err(error) => lines(&error),
    }
}

/// The program without the diagnostics at its head.
fn program(section: &str) -> &str {
    let mut rest = section;
    while rest.starts_with("// [") || rest.starts_with("//   note: ") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

/// The file, with the actual diagnostics at the heads of its programs.
fn annotated(file: &str) -> String {
    let sections = file.split(SPLIT).map(|section| {
        let program = program(section);
        let said: String = diagnose(program).lines().map(|l| format!("// {l}\n")).collect();
        said + program
    });
    sections.collect::<Vec<_>>().join(SPLIT)
}

/// The path of a file in `tests/verify`.
fn in_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(name)
}

macro_rules! file_tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let path = in_folder(concat!(stringify!($name), ".mlir"));
            let file = std::fs::read_to_string(&path).unwrap();
            expect_file![path].assert_eq(&annotated(&file));
        }
    )*};
}

file_tests! {
    structure calls operations data indexing reduction contraction linalg random control custom_call
    quantization dynamic collective derived transfer
}
