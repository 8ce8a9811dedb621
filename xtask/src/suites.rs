//! Test suites in a folder `shared` beside the checkout: programs with known answers. The suites are not part
//! of the project; if they are absent, `cargo xtask test` reports that they are not run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::{must, output, program, show, target};

/// Results of a suite.
pub(crate) struct Outcome {
    /// Number of programs that passed.
    pub(crate) passed: u64,
    /// Names of the programs that failed.
    pub(crate) failed: BTreeSet<String>,
}

/// Programs of the corpus that are known to fail: singular vectors that differ from the expected ones by 1.1
/// times the tolerance. The expected ones come from OpenBLAS and have larger rounding errors.
pub(crate) const CORPUS_FAILS: &[&str] = &["la_svd_f64"];

/// Programs of StableHLO's test data that are known to fail. Their expected values contain `f32` rounding
/// errors that cancellation exposes, or were summed in another order. (StableHLO disables these programs for
/// its own interpreter, as inaccurate or not supported.)
pub(crate) const STABLEHLO_FAILS: &[&str] = &[
    "cumprod_complex64_8_9.mlir",
    "fft_float32_14_15_16_17.mlir",
    "fft_float64_14_15_16_17.mlir",
    "pow_complex64_20_30_complex64_20_30.mlir",
    "triangular_solve_float32_2_8_8_float32_2_10_8.mlir",
];

/// Builds the corpus' C++ handlers as a library that registers itself.
pub(crate) fn corpus_handlers(shared: &Path, include: &Path) -> Result<PathBuf> {
    let dir = target().join("cc");
    std::fs::create_dir_all(&dir)?;
    let library = dir.join("libcorpus_handlers.so");
    let source = shared.join("corpus/handlers/handlers.cc");
    let mut cc = program("c++", &["-std=c++17", "-O2", "-shared", "-fPIC", "-DSELF_REGISTER"]);
    must(cc.arg("-I").arg(include).arg(source).arg("-o").arg(&library))?;
    Ok(library)
}

/// Runs `farcall test` over a folder, on one thread and on several threads. The number of threads must not
/// affect the results.
pub(crate) fn farcall_test(path: &Path, library: Option<&Path>) -> Result<Outcome> {
    let json = target().join("suite.json");
    let mut run = program(target().join("debug/farcall"), &["test"]);
    run.arg(path).args(["--threads", "1,7"]).arg("--json").arg(&json);
    if let Some(library) = library {
        run.arg("--load").arg(library);
    }
    println!("$ {}", show(&run));
    let (_, text) = output(&mut run)?;
    let tail: Vec<&str> = text.lines().rev().take(1).collect();
    println!("{}", tail.join("\n"));
    let report: serde_json::Value = serde_json::from_slice(
        &std::fs::read(&json).with_context(|| format!("no report from {}", show(&run)))?,
    )?;
    let passed = report["passed"].as_u64().context("the report has no `passed`")?;
    let tests = report["tests"].as_array().context("the report has no `tests`")?;
    let failed = tests.iter().filter(|test| test["status"] == "failed");
    let name = |test: &serde_json::Value| {
        let name = test["name"].as_str().unwrap_or_default();
        name.rsplit('/').next().unwrap_or(name).to_owned()
    };
    Ok(Outcome { passed, failed: failed.map(name).collect() })
}
