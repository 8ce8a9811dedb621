//! `cargo xtask valgrind`: the tests of both sides of the C interface under valgrind's memcheck.
//!
//! Each test and each test program counts as one check. A program fails if memcheck finds an invalid
//! access, or memory without any pointer to it when the program ends. Memory that is still reachable is not
//! an error: a host keeps libraries and type ids until the process ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::Venv;
use crate::shell::{cargo, must, output, show, target};
use crate::test::{JAX, number_before};

const MEMCHECK: [&str; 6] = [
    "valgrind",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    // Keeps the symbols of closed libraries, so that reports of later errors can name them.
    "--keep-debuginfo=yes",
    "--error-exitcode=99",
];

/// Test runs. Each has a package, the options that select the package's test programs, and the names of the
/// tests to run (all tests if there are none).
const RUNS: [(&[&str], &[&str]); 2] = [
    (&["--package", "farcall-ffi", "--lib", "--tests"], &[]),
    (&["--package", "farcall", "--features", "cxx-exceptions", "--test", "it"], &["host_"]),
];

pub(crate) fn run() -> Result<bool> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("valgrind is not installed: `apt-get install valgrind`, or your system's package of that name");
    }
    let include = match std::env::var_os("FARCALL_XLA_INCLUDE").filter(|dirs| !dirs.is_empty()) {
        Some(include) => include,
        None => {
            let dirs = JAX.iter().map(|version| Venv::with_jax(version)?.include());
            std::env::join_paths(dirs.collect::<Result<Vec<PathBuf>>>()?)?
        }
    };
    // Libraries that tests load. `cargo test` builds them only if it runs all tests of a package.
    must(&mut cargo(&["build", "--quiet", "--package", "farcall-ffi", "--examples"]))?;

    let logs = target().join("valgrind");
    if logs.is_dir() {
        std::fs::remove_dir_all(&logs)?;
    }
    std::fs::create_dir_all(&logs)?;
    let runner = MEMCHECK.map(str::to_owned).into_iter();
    let runner: Vec<String> = runner.chain([format!("--log-file={}/%p.log", logs.display())]).collect();
    let runner = format!("target.'cfg(all())'.runner = {runner:?}");

    let (mut passed, mut failed) = (0, 0);
    for (programs, filter) in RUNS {
        let mut tests = cargo(&["--config", &runner, "test", "--no-fail-fast"]);
        tests.args(programs).args(["--", "--test-threads=1"]).args(filter);
        // Valgrind would not see the child processes in which some tests otherwise run.
        tests.env("FARCALL_XLA_INCLUDE", &include).env("FARCALL_TESTS_IN_THIS_PROCESS", "1");
        println!("\n## {}", show(&tests));
        let (ok, text) = output(&mut tests)?;
        let closing: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("test result: ")).collect();
        passed += closing.iter().map(|line| number_before(line, " passed")).sum::<u64>();
        let failures = closing.iter().map(|line| number_before(line, " failed")).sum::<u64>();
        failed += failures;
        if closing.is_empty() || failures > 0 {
            println!("{text}");
        }
        if closing.is_empty() && !ok {
            bail!("{} did not run", show(&tests));
        }
    }
    let (clean, errors) = read_logs(&logs)?;
    println!("\n{} test programs, {errors} with errors of memcheck", clean + errors);
    println!("{} passed, {} failed", passed + clean, failed + errors);
    Ok(failed + errors == 0)
}

/// Counts the programs without and with errors, and prints the logs of the latter. A process that executed
/// another program leaves a log without a summary.
fn read_logs(logs: &Path) -> Result<(u64, u64)> {
    let (mut clean, mut errors) = (0, 0);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(logs)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let log = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        match log.lines().find(|line| line.contains("ERROR SUMMARY: ")) {
            None => {}
            Some(summary) if summary.contains("ERROR SUMMARY: 0 errors") => clean += 1,
            Some(_) => {
                errors += 1;
                println!("{log}");
            }
        }
    }
    if clean + errors == 0 {
        bail!("no test program ran under valgrind");
    }
    Ok((clean, errors))
}
