//! The project's task runner: `cargo xtask demo`, `test`, `test-newest`, `jax-suite`, `jax-tests`,
//! `jax-users`, `jax-shardings`, `hlo-texts`, `valgrind`, `bench`, `accuracy`, `size`, `ptx`, `gpu`, `guide`.
//!
//! Each task has one module. All outputs of tasks are under `target/`, except for generated pages in `docs/`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a task runner talks to the terminal")]

mod accuracy;
mod bench;
mod demo;
mod gpu;
mod guide;
mod hlo_texts;
mod jax_shardings;
mod jax_suite;
mod jax_tests;
mod jax_users;
mod ptx;
mod python;
mod shell;
mod size;
mod suites;
mod test;
mod valgrind;

use std::process::ExitCode;

use test::Extent;

const HELP: &str = "\
Tasks of the farcall project

Usage: cargo xtask <TASK>

Tasks:
  demo           Build and run a transformer block exported from JAX, whose normalization is a custom
                 call to a Rust kernel. Needs no Python.
  test           Checks formatting and lints, and runs the Rust tests, the guide, the tests of C++ and
                 Python interop, and the suites in a folder `shared` beside the checkout, if it exists.
                 Prints the time of each step. Ends with `N passed, N failed`.
  test --quick   Like `test`, without the parts that need a Python package or the suites.
  test --all     Like `test`, plus checks that rarely fail: the oldest compiler (if installed), old
                 versions of jaxlib, and random tests with another seed and ten times as many iterations.
                 Required before a release.
  test-newest [MIRROR]
                 Runs the Python tests with a jaxlib that needs a newer Python than this machine has, in
                 a Debian system that debootstrap installs from MIRROR (default: this machine's package
                 sources). Then runs the tests of C++ handlers here, with the headers of that jaxlib.
                 Needs root.
  jax-suite --jax CHECKOUT [--seconds N] [--rounds N] [FILES]
                 Runs JAX's own tests (all files, or FILES) from CHECKOUT, which must be at the tag of the
                 version of JAX that farcall's tests use. Stores every compiled program, its inputs and
                 XLA's outputs in target/jax-suite. Then runs the programs in farcall, and groups the
                 differences. Each file gets 60 s in each of x32 and x64 mode, so all files take hours.
  jax-suite --compare [FILES]
                 Only runs the stored programs in farcall again. With JAX_SUITE_HANDLERS=built-in, LAPACK
                 calls run in farcall's own handlers instead of jaxlib's.
  jax-tests --jax CHECKOUT [FILES] [--x64] [--jobs N] [--cases N] [--devices N] [--again WHAT]
            [--package DIR] [--store DIR] [--test-seconds N] [--backend NAME] [--reference-only]
                 Runs JAX's own test files (all, or FILES such as api or 'lax_*') on XLA:CPU and on the
                 backend farcall, in worker processes with time limits. Results are kept in
                 target/jax-tests (or --store), apart for x32 and --x64, so an interrupted run
                 continues. Prints for each file how many of XLA:CPU's tests pass, and the times. Fails
                 if a test fails that xtask/jax_tests/expected.toml does not list, or a listed one
                 passes. Tests with a result do not run again: --again failed, --again all or --again
                 PATTERN forgets results of farcall. The package is built in release mode, or taken
                 from DIR. Use --jobs 1 to compare times (default: one job for each core).
  jax-tests [FILES] [--x64] ...
                 Only prints the summary of the stored results. With --failures, groups the failures by
                 error, most frequent first; with --error TEXT, lists those whose error or name contains
                 TEXT. With --show NAME, prints the error of a test and the command to run it by hand.
                 With --update, removes tests that pass from the list of expected failures; with --add
                 REASON, adds the unexpected failures (or those that --error selects).
  jax-users [NAMES] [--package DIR] [--pairs N] [--test-seconds N]
                 Runs small training and sampling programs, written with flax, optax, equinox, numpyro,
                 diffrax, blackjax and jax.numpy, on XLA:CPU and on the backend farcall alternately. Prints
                 their times from the first import to the last step. Fails if a program fails, or if its
                 numbers disagree by more than the tolerances that it states. NAMES are programs of
                 xtask/jax_users/programs or their libraries. The package is built in release mode, or
                 taken from DIR. With --pairs, each program runs N times on each backend (default 1), and
                 the times are medians. Downloads the libraries to target/venv.
  jax-shardings [--programs N] [--seed N] [--package DIR]
                 Runs N random programs with shardings (default 1,000) on 8 devices of XLA:CPU and of the
                 backend farcall, and compares the results. Fails if farcall fails or differs. The package is
                 built in release mode, or taken from DIR.
  hlo-texts --xla CHECKOUT
                 Extracts the HLO texts from the tests of a checkout of XLA, runs each in jaxlib and in
                 farcall on the same random inputs, and groups the differences. Texts, inputs and XLA's
                 results are stored in target/hlo-texts. The first run takes an hour. Fails if farcall
                 agrees on less than 99 % of the texts that jaxlib runs on one CPU device.
  hlo-texts --compare [TEXTS]
                 Only runs the stored texts (all, or TEXTS by name) in farcall again.
  valgrind       Runs the tests of both sides of the C interface under valgrind, which reports invalid
                 accesses and leaks. Ends with `N passed, N failed`.
  bench [--bar] [--filter TEXT] [PARTS]
                 Measures decoding, calls, compile times and run times, and compares them with
                 jaxlib in one session. The programs are the small ones of the corpus, if there is
                 a folder `shared` beside the checkout, and programs of realistic sizes. Creates
                 its own venv. Writes docs/benchmarks.md; without AVX-512, docs/benchmarks-avx2.md
                 or the like. The parts are decode, calls, kernels, handlers, corpus, elementwise,
                 products, indexing, sorting, random, convolutions, loops and models. Only the
                 named PARTS run again; the page takes the results of other parts from target/.
                 Until all parts have run, the page itself is written to target/. All parts take
                 about 15 minutes. With --filter, only programs with TEXT in their names run, and
                 their figures are printed. With --bar, it is an error if a handler written in
                 Python costs more than 5 µs a call.
  bench lapack [--filter TEXT] [--seconds N]
                 Compares farcall's LAPACK handlers with jaxlib's, which call the OpenBLAS in SciPy: all
                 routines and types, for n = 8 to 1,024 and for batches of 1,000 small matrices, with two
                 threads each, alternately in one process. Prints ratios with geometric means, and
                 writes target/bench/lapack.md. With --filter, only cases with TEXT in their names run,
                 such as 'potrf d 512'; the table takes the others from earlier runs. Takes about 20
                 minutes.
  bench sparse [--filter TEXT] [--seconds N] [--rows N]
                 Compares farcall's products of sparse matrices with SciPy's and JAX's, alternately in one
                 process, and with the bandwidth of the memory. Prints ratios, and writes
                 target/bench/sparse.md. Takes about five minutes.
  bench backends [--seconds N] [--sittings N]
                 Compares farcall as a backend of JAX with XLA's CPU backend: the time of calls, and of
                 1,000 training steps in a new process. Prints ratios, and writes
                 target/bench/backends.md. Takes about three minutes.
  bench devices [--sittings N]
                 Counts the bytes that a divided transformer block and its gradient move, in XLA and in
                 farcall, and measures a training step on 8 devices and on one. Writes
                 target/bench/devices.md. Takes about a minute.
  accuracy [STEP]
                 Compares the errors of elementary functions with XLA's. Tests every STEP-th number of
                 f32 (default 251; 1 tests all numbers and takes hours), all 16-bit floats, and samples
                 of f64. Writes docs/accuracy.md.
  size [--lines N] [FILES]
                 Builds the command `farcall` and the Python extension with symbols in target/size, and
                 prints their sections, and their code by instruction set, crate, module and function
                 (the largest N of each, default 30). Fails if the command or the extension module is too
                 large. With FILES, prints the same figures for these executables or shared libraries instead.
  ptx            Compiles the CUDA C++ of examples/cuda to the PTX beside it, with the compiler in NVIDIA's
                 Python wheels (downloaded to target/cuda; 140 MB). Needs no GPU.
  ptx --check    Compares the committed PTX with its sources, and assembles every file for sm_80, sm_90 and
                 sm_100.
  gpu            Runs the ops of examples/cuda on this machine's GPU, next to their handlers for the CPU and to
                 XLA, and writes target/gpu/results.md. Takes under eight minutes. Needs JAX with its CUDA
                 plugin, and CUDA's tools.
  gpu --pack DIR Builds everything that these checks need, into DIR: on a machine with a GPU, `DIR/run` runs
                 them without Rust and without a network. `DIR/run --help` describes its options.
  guide          Builds the guide in docs/guide as a book with mdbook, which it installs from crates.io
                 under target/ if needed.
  guide test [PAGES]
                 Compiles and runs the code blocks of all pages (or PAGES by name), and checks the links of
                 all Markdown files.
  guide links    Only checks the links.
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
        ["test"] => test::run(Extent::Usual),
        ["test", "--quick"] => test::run(Extent::Quick),
        ["test", "--all"] => test::run(Extent::All),
        ["test-newest", mirror @ ..] if mirror.len() <= 1 => test::newest(mirror),
        ["jax-suite", rest @ ..] => jax_suite::run(rest),
        ["jax-tests", rest @ ..] => jax_tests::run(rest),
        ["jax-users", rest @ ..] => jax_users::run(rest),
        ["jax-shardings", rest @ ..] => jax_shardings::run(rest),
        ["hlo-texts", rest @ ..] => hlo_texts::run(rest),
        ["valgrind"] => valgrind::run(),
        ["bench", part @ ("lapack" | "sparse" | "backends" | "devices"), options @ ..] => {
            bench::script(part, options)
        }
        ["bench", parts @ ..] => bench::run(parts),
        ["guide", args @ ..] => guide::run(args),
        ["accuracy", step @ ..] if step.len() <= 1 => accuracy::run(step),
        ["size", args @ ..] => size::run(args),
        ["ptx", args @ ..] => ptx::run(args),
        ["gpu", args @ ..] => gpu::run(args),
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
