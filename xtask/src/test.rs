//! `cargo xtask test`: all checks, cheapest first.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::gpu;
use crate::guide;
use crate::ptx;
use crate::python::{self, Venv};
use crate::shell::{cargo, must, output, outputs, program, shared, show, target};
use crate::suites;

/// Numbers of passed and failed checks. Each step, each test and each file of a suite counts as one check.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
}

/// Extent of the checks of `cargo xtask test`. Each extent includes the checks of the previous one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Extent {
    /// Checks without the Python package and without the suites in `shared`.
    Quick,
    /// Also the checks that a change is likely to break.
    Usual,
    /// Also the checks that rarely fail: old compilers and versions of jaxlib, long random tests.
    All,
}

/// Versions of jaxlib whose headers the C interface is checked against. Handlers are built with the headers
/// of the first version. Only `cargo xtask test --all` uses the other versions.
pub(crate) const JAX: [&str; 2] = ["0.10.2", "0.8.1"];

/// Version of JAX whose programs contain callbacks as calls of jaxlib's `xla_python_cpu_callback`.
const OLD_JAX: &str = "0.4.30";

/// Oldest version of Rust that `farcall-ffi` and its dependencies support, as their `rust-version` states.
const OLDEST_RUST: &str = "1.89.0";

/// Filters for `cargo test`: the name of each random test contains one of these texts.
const RANDOM_TESTS: [&str; 5] = ["fuzz_", "random", "abi::", "programs::mutated", "damaged"];

pub(crate) fn run(extent: Extent) -> Result<bool> {
    let started = Instant::now();
    let mut tally = Tally::default();
    tally.step("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    tally.step("lints", &mut cargo(&lints))?;
    let versions = match extent {
        Extent::Quick => &[][..],
        Extent::Usual => &JAX[..1],
        Extent::All => &JAX[..],
    };
    if extent < Extent::Usual {
        println!("\nnot run (--quick): C++ and Python interop, suites");
    }
    if extent < Extent::All {
        println!("\nnot run (only with --all): the oldest compiler, old jaxlibs, long random tests");
    } else {
        tally.oldest_compiler()?;
    }
    if extent >= Extent::Usual {
        let mut docs = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
        tally.step("documentation", docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    let venvs = versions.iter().map(|version| Venv::with_jax(version)).collect::<Result<Vec<Venv>>>()?;
    let includes = venvs.iter().map(Venv::include).collect::<Result<Vec<PathBuf>>>()?;
    let [mut build, mut tests] =
        ["--no-run", "--no-fail-fast"].map(|how| cargo(&["test", "--workspace", how]));
    if !includes.is_empty() {
        let includes = std::env::join_paths(&includes)?;
        for command in [&mut build, &mut tests] {
            command.env("FARCALL_XLA_INCLUDE", &includes);
        }
    }
    // The step `build` below also builds the libraries that tests load, so the tests need not.
    tests.env("FARCALL_BUILT", "1");
    // Without a successful build, the tests would run outdated binaries.
    if tally.step("build", &mut python::build())? && tally.step("build of the Rust tests", &mut build)? {
        tally.rust_tests("Rust tests", &mut tests)?;
        tally.links()?;
        if extent >= Extent::Usual {
            tally.ptx();
            tally.guide(&venvs[0])?;
            tally.python_interop(&venvs)?;
            tally.gpu_checks(&venvs[0])?;
            match shared() {
                None => println!("\nnot run: the suites; the folder `shared` beside the checkout is missing"),
                Some(shared) => tally.suites(&shared, &includes[0])?,
            }
        }
        if extent >= Extent::All {
            tally.long_random_tests(&venvs[0])?;
        }
    }

    for failure in &tally.failures {
        println!("failed: {failure}");
    }
    println!("\nfinished in {} s", started.elapsed().as_secs());
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(tally.failed == 0)
}

/// Runs the Python tests with a jaxlib that needs a newer Python than this machine has, then the tests of C++
/// handlers with the headers of that jaxlib.
pub(crate) fn newest(mirror: &[&str]) -> Result<bool> {
    let folder = target().join("trixie");
    let mut script = program("xtask/newest_jaxlib.sh", &[]);
    script.arg(target().join("debug")).arg(python::package()?).arg(&folder).args(mirror);
    must(&mut script)?;
    let found = std::fs::read_dir(folder.join("venv/lib"))?;
    let includes = found.filter_map(|entry| Some(entry.ok()?.path().join("site-packages/jaxlib/include")));
    let include = includes.into_iter().find(|dir| dir.is_dir()).context("the new jaxlib has no headers")?;
    if !include.join("xla/ffi/api/record_c_api.h").is_file() {
        bail!("the new jaxlib has no headers of the extensions for CUDA graphs, at {}", include.display());
    }
    let packages = ["farcall", "farcall-ffi", "farcall-cuda"].map(|name| format!("--package={name}"));
    let mut tests = cargo(&["test"]);
    tests.args(packages).args(["--features", "farcall/cxx-exceptions", "--test", "it", "--"]);
    tests.args(["host_", "abi_layout", "mirrors_match"]);
    must(tests.env("FARCALL_XLA_INCLUDE", include))?;
    Ok(true)
}

impl Tally {
    fn count(&mut self, what: &str, ok: bool) {
        if ok {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.failures.push(what.to_owned());
        }
    }

    /// Runs a command that passes or fails as a whole.
    fn step(&mut self, what: &str, command: &mut Command) -> Result<bool> {
        println!("\n## {what}: {}", show(command));
        let started = Instant::now();
        let ok = command.status()?.success();
        println!("{} s", started.elapsed().as_secs());
        self.count(what, ok);
        Ok(ok)
    }

    /// Checks the SDK and a library that uses the SDK with the oldest supported compiler, if it is installed.
    /// If it is not installed, the lint `incompatible_msrv` finds newer functions, but no newer syntax.
    fn oldest_compiler(&mut self) -> Result<()> {
        let rustup = |args: &[&str]| program("rustup", &[&["run", OLDEST_RUST], args].concat());
        if !rustup(&["cargo", "--version"]).output().is_ok_and(|out| out.status.success()) {
            println!("\nnot run: the SDK in Rust {OLDEST_RUST}, which is not installed");
            return Ok(());
        }
        let packages = ["--package", "farcall-ffi", "--package", "rms-norm-ops", "--all-features"];
        let check = ["cargo", "check", "--quiet", "--ignore-rust-version"];
        let mut check = rustup(&[&check[..], &packages].concat());
        check.env("CARGO_TARGET_DIR", target().join("oldest-rust"));
        self.step("the oldest compiler", &mut check)?;
        Ok(())
    }

    /// Runs `cargo test`. The summary line of each test binary gives the counts.
    fn rust_tests(&mut self, what: &str, command: &mut Command) -> Result<()> {
        println!("\n## {what}: {}", show(command));
        // Some tests let handlers panic, so the standard error is printed only if a test fails.
        let started = Instant::now();
        let (ok, text, errors) = outputs(command)?;
        println!("{} s", started.elapsed().as_secs());
        let before = self.failed;
        for line in text.lines() {
            if let Some(counts) = line.strip_prefix("test result: ") {
                self.passed += number_before(counts, " passed");
                self.failed += number_before(counts, " failed");
            } else if line.ends_with("... FAILED") {
                self.failures.push(line.to_owned());
            }
            if line.contains("NOT RUN") || line.contains("not run") {
                println!("{line}");
            }
        }
        if !ok {
            println!("{text}\n{errors}");
            if self.failed == before {
                self.count(&format!("{what} did not run to their end"), false);
            }
        }
        Ok(())
    }

    /// Runs `pytest`. Its summary line gives the counts.
    fn python_tests(&mut self, what: &str, command: &mut Command) -> Result<()> {
        println!("\n## {what}: {}", show(command));
        let started = Instant::now();
        let (ok, text) = output(command)?;
        println!("{} s", started.elapsed().as_secs());
        let closing = text.lines().last().unwrap_or_default();
        let slowest = text.lines().skip_while(|line| !line.contains(" slowest ")).skip(1);
        slowest
            .take_while(|line| line.contains("s call ") || line.contains("s setup "))
            .for_each(|line| println!("{line}"));
        println!("{closing}");
        let failed = number_before(closing, " failed") + number_before(closing, " error");
        self.passed += number_before(closing, " passed");
        self.failed += failed;
        if !ok {
            println!("{text}");
            self.failures.extend(text.lines().filter(|l| l.starts_with("FAILED")).map(str::to_owned));
            if failed == 0 {
                self.count(&format!("{what} did not run to their end"), false);
            }
        }
        Ok(())
    }

    /// Tests handlers written in Rust in each jaxlib, then the Python package. If `venvs` has all versions of
    /// jaxlib, also runs programs of an old JAX that contain callbacks.
    fn python_interop(&mut self, venvs: &[Venv]) -> Result<()> {
        let library = target().join("debug/libjax_ffi_ops.so");
        for (venv, version) in venvs.iter().zip(JAX) {
            let mut pytest = venv.pytest("crates/farcall-ffi/tests/python");
            pytest.env("FARCALL_JAX_FFI_LIB", &library);
            self.python_tests(&format!("handlers in jaxlib {version}"), &mut pytest)?;
        }
        let package = python::package()?;
        if venvs.len() == JAX.len() {
            let mut pytest = Venv::with_old_jax(OLD_JAX)?.pytest("python/tests/test_callbacks.py");
            self.python_tests(&format!("callbacks of jaxlib {OLD_JAX}"), pytest.env("PYTHONPATH", &package))?;
        }
        let mut pytest = venvs[0].pytest("python/tests");
        // Each file runs in one process, because its tests may share process-wide registrations.
        pytest.args(["--numprocesses", "auto", "--dist", "loadfile"]);
        pytest.env("PYTHONPATH", &package).env("FARCALL_JAX_FFI_LIB", &library);
        pytest.env("FARCALL_EXAMPLES", target().join("debug"));
        self.python_tests("the Python package, ops in JAX, jaxlib's LAPACK handlers", &mut pytest)?;
        let mut pytest = venvs[0].pytest("python/backend_tests");
        pytest.env("PYTHONPATH", package).env("FARCALL_EXAMPLES", target().join("debug"));
        self.python_tests("the engine as a backend of JAX", &mut pytest)
    }

    /// Runs the random tests with another seed and ten times as long.
    fn long_random_tests(&mut self, venv: &Venv) -> Result<()> {
        let longer = |command: &mut Command| {
            command.env("FARCALL_FUZZ_SEED", "2").env("FARCALL_FUZZ_FACTOR", "10");
        };
        let mut tests = cargo(&["test", "--workspace", "--no-fail-fast", "--tests", "--"]);
        longer(tests.args(RANDOM_TESTS).env("FARCALL_BUILT", "1"));
        self.rust_tests("long random tests", &mut tests)?;
        let mut pytest = venv.pytest("python/tests/test_random_programs.py");
        longer(&mut pytest);
        self.python_tests("random JAX programs", pytest.env("PYTHONPATH", python::package()?))
    }

    /// Checks the links of all Markdown files.
    fn links(&mut self) -> Result<()> {
        println!("\n## links");
        let broken = guide::broken_links()?;
        self.count("links", broken.is_empty());
        self.failures.extend(broken);
        Ok(())
    }

    /// Compares the committed PTX with its sources, and assembles it.
    fn ptx(&mut self) {
        println!("\n## PTX");
        let started = Instant::now();
        let ok = ptx::run(&["--check"]).unwrap_or_else(|error| {
            println!("{error:#}");
            false
        });
        println!("{} s", started.elapsed().as_secs());
        self.count("PTX", ok);
    }

    /// Runs the guide's code blocks, except doctests, which run with the Rust tests.
    fn guide(&mut self, venv: &Venv) -> Result<()> {
        println!("\n## the guide");
        let started = Instant::now();
        python::package()?;
        let outcome = guide::test(venv, &[])?;
        println!("{} s", started.elapsed().as_secs());
        self.passed += outcome.passed;
        self.failed += outcome.failures.len() as u64;
        self.failures.extend(outcome.failures);
        Ok(())
    }

    /// Runs the checks of `cargo xtask gpu` on JAX's CPU backend.
    fn gpu_checks(&mut self, venv: &Venv) -> Result<()> {
        println!("\n## the checks for a GPU, on the CPU");
        let started = Instant::now();
        let (passed, failures) = gpu::test(venv)?;
        println!("{passed} pass, {} do not; {} s", failures.len(), started.elapsed().as_secs());
        self.passed += passed;
        self.failed += failures.len() as u64;
        self.failures.extend(failures);
        Ok(())
    }

    /// Runs the test suites in the folder `shared`.
    fn suites(&mut self, shared: &Path, include: &Path) -> Result<()> {
        let library = suites::corpus_handlers(shared, include)?;
        let corpus = shared.join("corpus/cases");
        self.suite("corpus", suites::farcall_test(&corpus, Some(&library))?, suites::CORPUS_FAILS);
        let testdata = shared.join("stablehlo-suite/testdata");
        self.suite("StableHLO testdata", suites::farcall_test(&testdata, None)?, suites::STABLEHLO_FAILS);
        Ok(())
    }

    /// Counts the results of a suite with known failures. A check fails if a program fails that is not listed
    /// in `known`, or if a listed program passes.
    fn suite(&mut self, what: &str, outcome: suites::Outcome, known: &[&str]) {
        let suites::Outcome { passed, failed } = outcome;
        println!("{what}: {passed} pass, {} do not, {} are known to fail", failed.len(), known.len());
        self.passed += passed;
        for name in failed.iter().filter(|name| !known.contains(&name.as_str())) {
            self.count(&format!("{what}: {name}"), false);
        }
        for name in known.iter().filter(|name| !failed.contains(**name)) {
            self.count(&format!("{what}: {name} passes, but is listed as a known failure"), false);
        }
    }
}

/// Returns the number before a word: 12 for ` passed` in `ok. 12 passed; 0 failed`.
pub(crate) fn number_before(text: &str, word: &str) -> u64 {
    let head = text.split(word).next().unwrap_or_default();
    head.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
