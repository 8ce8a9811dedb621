//! The project's task runner: `cargo xtask demo`, `test`, `test-newest`, `jax-suite`, `hlo-texts`, `valgrind`, `bench`,
//! `accuracy`.
//!
//! One file a task. Everything that a task makes lies under `target/`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a task runner talks to the terminal")]

mod accuracy;
mod bench;
mod demo;
mod hlo_texts;
mod jax_suite;
mod python;
mod shell;
mod suites;
mod test;
mod valgrind;

use std::process::ExitCode;

const HELP: &str = "\
Tasks of the farcall project

Usage: cargo xtask <TASK>

Tasks:
  demo           Build what it needs and run a transformer block exported from JAX,
                 whose normalization is a custom call to a Rust kernel. Needs no Python.
  test           Formatting, lints, the oldest compiler (where it is installed), documentation, Rust tests,
                 C++ and Python interop, and the suites in a folder `shared` beside the checkout,
                 where there is one.
                 Ends with `N passed, N failed`.
  test --quick   The same without what needs a Python package or the suites.
  test-newest [MIRROR]
                 The Python tests in a jaxlib that needs a newer Python than this machine's, in
                 a Debian made with debootstrap from MIRROR, and the tests of C++ handlers with its
                 headers. Without MIRROR, from this machine's own package sources. Needs root.
  jax-suite --jax CHECKOUT [--seconds N] [--rounds N] [FILES]
                 Runs JAX's own tests (all files, or FILES) from a checkout of JAX at the tag of the
                 version that the tests use, keeps every program they compile with its inputs and
                 XLA's outputs in target/jax-suite, runs the programs in farcall, and groups what
                 differs. A file gets 60 s in each of x32 and x64 mode: hours for all of them.
  jax-suite --compare [FILES]
                 Only runs the programs that were kept in farcall again.
  hlo-texts --xla CHECKOUT
                 Extracts the HLO texts from the tests of a checkout of XLA, runs each in jaxlib and in
                 farcall on the same random inputs, and groups what differs. Texts, inputs and XLA's
                 results are kept in target/hlo-texts: an hour the first time. Fails if less than 99 %
                 of the texts that jaxlib runs on one CPU device have its values.
  hlo-texts --compare [TEXTS]
                 Only runs the texts that were kept (all, or TEXTS by name) in farcall again.
  valgrind       The tests of both sides of the C interface under valgrind: no wrong access, nothing
                 lost. Ends with `N passed, N failed`.
  bench [--bar] [--filter TEXT] [PARTS]
                 Decoding, calls, compile times and runs of the corpus and of real sizes, side by side with
                 jaxlib in one sitting; makes its own venv. Writes docs/benchmarks.md; without AVX-512,
                 docs/benchmarks-avx2.md or the like. Of its parts (decode, calls, kernels, handlers, corpus,
                 elementwise, products, indexing, sorting, random, convolutions, loops, models), those that are
                 named run again; of the others, the page has what they left in target/, and until all have
                 run it stays there, too. About 15 minutes for all of them. With --filter, it only runs
                 programs with TEXT in their names, and prints their figures. With --bar, it fails where a
                 handler written in Python costs more than 5 µs a call.
  accuracy [STEP]
                 How far elementary functions are from the exact result, beside XLA: of every STEP-th number of
                 f32 (251; 1 is all of them, for hours), all of the 16-bit floats, and samples of f64. Writes
                 docs/accuracy.md.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        asked
            if asked.iter().all(|arg| *arg == "help")
                || asked.iter().any(|arg| matches!(*arg, "--help" | "-h")) =>
        {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["demo"] => demo::run(),
        ["test"] => test::run(false),
        ["test", "--quick"] => test::run(true),
        ["test-newest", mirror @ ..] if mirror.len() <= 1 => test::newest(mirror),
        ["jax-suite", rest @ ..] => jax_suite::run(rest),
        ["hlo-texts", rest @ ..] => hlo_texts::run(rest),
        ["valgrind"] => valgrind::run(),
        ["bench", parts @ ..] => bench::run(parts),
        ["accuracy", step @ ..] if step.len() <= 1 => accuracy::run(step),
        other => {
            eprintln!("error: no task `{}`\n\n{HELP}", other.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
