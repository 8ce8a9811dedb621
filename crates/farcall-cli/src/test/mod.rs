//! `farcall test`: self-checking programs and corpus cases, each judged separately.
//!
//! ```text
//! collect (finds tests) ──▶ pool (workers: this program again, with --worker)
//!                                      │ task as a line of JSON ▼ ▲ outcome
//!                                      └─▶ judge (one task) ──▶ report
//! ```
//!
//! **Invariants.** A test that panics, crashes or hangs does not affect other tests. Every test that does not
//! pass has a reason.

mod collect;
mod judge;
mod pool;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::args::TestArgs;

/// A test.
#[derive(Clone, Debug)]
struct Test {
    /// Name in the report.
    name: String,
    task: Task,
    /// True if the test needs a process that ran no other test.
    alone: bool,
}

/// Task of a worker.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// All programs of a file.
    Programs {
        #[serde(with = "raw_path")]
        path: PathBuf,
    },
    /// A case of a corpus.
    Case {
        #[serde(with = "raw_path")]
        manifest: PathBuf,
        name: String,
    },
}

/// Serializes a path as bytes, because a path need not be UTF-8.
mod raw_path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_bytes().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(OsString::from_vec(Vec::deserialize(from)?).into())
    }
}

/// Outcome of a test.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
struct Outcome {
    status: Status,
    /// Complete reason if the test did not pass.
    reason: Option<String>,
    /// Reason without positions and numbers, by which similar failures are grouped.
    cause: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// Answer of a worker.
#[derive(Serialize, Deserialize, Debug)]
enum Reply {
    Done(Outcome),
    /// Error that affects all tests, such as a library that cannot be loaded.
    Fatal(String),
}

impl Outcome {
    fn passed() -> Outcome {
        Outcome { status: Status::Passed, reason: None, cause: None }
    }

    fn failed(reason: impl Into<String>, cause: impl Into<String>) -> Outcome {
        Outcome { status: Status::Failed, reason: Some(reason.into()), cause: Some(cause.into()) }
    }

    fn skipped(reason: impl Into<String>) -> Outcome {
        let reason = reason.into();
        Outcome { status: Status::Skipped, cause: Some(reason.clone()), reason: Some(reason) }
    }
}

/// Runs the tests. The exit code is 0 if none failed.
pub(crate) fn test(args: &TestArgs) -> Result<ExitCode> {
    if args.worker {
        judge::serve(args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let tests = collect::tests(&args.paths, &args.filter)?;
    if tests.is_empty() {
        bail!("nothing to test: no program or case matches");
    }
    let started = std::time::Instant::now();
    let results = pool::run(&tests, args)?;
    let failed = report::report(&tests, &results, started.elapsed(), args)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
