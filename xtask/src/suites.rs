//! The suites in a folder `shared` beside the checkout: programs with known answers. They are not
//! part of the project; where they are absent, the task says so.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::{must, output, program, show, target};

/// Passed and failed files of one suite, and the fewest that have to pass.
pub(crate) struct Outcome {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) floor: u64,
}

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

/// Runs `farcall test` over a folder.
pub(crate) fn farcall_test(path: &Path, library: Option<&Path>, floor: u64) -> Result<Outcome> {
    let json = target().join("suite.json");
    let mut run = program(target().join("release/farcall"), &["test"]);
    run.arg(path).arg("--json").arg(&json);
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
    let count = |key: &str| report[key].as_u64().with_context(|| format!("the report has no `{key}`"));
    Ok(Outcome { passed: count("passed")?, failed: count("failed")?, floor })
}
