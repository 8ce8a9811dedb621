//! The report of a test run.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Outcome, Status, Task, Test};
use crate::args::TestArgs;
use crate::terminal::{self, BOLD, GREEN, RED, YELLOW, styled};

/// An outcome with the duration of the test.
pub(super) type Judged = (Outcome, Duration);

/// Prints the results. Returns true if a test failed.
pub(super) fn report(tests: &[Test], results: &[Judged], took: Duration, args: &TestArgs) -> Result<bool> {
    let number = |status| results.iter().filter(|(o, _)| o.status == status).count();
    let (passed, failed, skipped) = (number(Status::Passed), number(Status::Failed), number(Status::Skipped));
    let json_to_stdout = args.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&as_json(tests, results, [passed, failed, skipped], took))?;
        if json_to_stdout {
            writeln!(terminal::stdout(), "{text}")?;
        } else {
            std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !json_to_stdout {
        let mut out = terminal::stdout();
        for (test, (outcome, _)) in tests.iter().zip(results) {
            let word = match outcome.status {
                Status::Passed if !args.verbose => continue,
                Status::Passed => styled(GREEN, "PASS"),
                Status::Failed => styled(RED, "FAIL"),
                Status::Skipped => styled(YELLOW, "SKIP"),
            };
            writeln!(out, "{word} {}{}", styled(BOLD, &test.name), reason(outcome))?;
        }
        let causes = causes(results);
        if causes.len() < failed + skipped {
            writeln!(out, "\nReasons:")?;
            for (cause, n) in &causes {
                writeln!(out, "{n:6}  {cause}")?;
            }
        }
        if failed + skipped > 0 {
            writeln!(out)?;
        }
        let paint = |style, n: usize, what| {
            let text = format!("{n} {what}");
            if n > 0 { styled(style, text) } else { text }
        };
        writeln!(
            out,
            "{}, {}, {} in {:.1} s",
            paint(GREEN, passed, "passed"),
            paint(RED, failed, "failed"),
            paint(YELLOW, skipped, "skipped"),
            took.as_secs_f64()
        )?;
    }
    Ok(failed > 0)
}

/// Formats the reason that follows the test's name: on the same line if it is a single line, else indented
/// below.
fn reason(outcome: &Outcome) -> String {
    let Some(reason) = &outcome.reason else { return String::new() };
    if reason.contains('\n') {
        let lines: String = reason.lines().map(|l| format!("\n    {l}")).collect();
        lines.trim_end().to_owned()
    } else {
        format!(": {reason}")
    }
}

/// Returns each cause of failures and skips with its number of tests, most frequent first.
fn causes(results: &[Judged]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in results.iter().filter_map(|(o, _)| o.cause.as_deref()) {
        *counts.entry(cause).or_default() += 1;
    }
    let mut causes: Vec<_> = counts.into_iter().collect();
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    causes
}

fn as_json(
    tests: &[Test],
    results: &[Judged],
    [passed, failed, skipped]: [usize; 3],
    took: Duration,
) -> Value {
    let entry = |(test, (outcome, took)): (&Test, &Judged)| {
        let path = match &test.task {
            Task::Programs { path } => path,
            Task::Case { manifest, .. } => manifest,
        };
        json!({
            "name": test.name,
            "path": path.display().to_string(),
            "status": outcome.status,
            "reason": outcome.reason,
            "cause": outcome.cause,
            "seconds": took.as_secs_f64(),
        })
    };
    let causes = causes(results);
    json!({
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "seconds": took.as_secs_f64(),
        "causes": causes.iter().map(|(cause, n)| json!({"cause": cause, "tests": n})).collect::<Vec<_>>(),
        "tests": tests.iter().zip(results).map(entry).collect::<Vec<_>>(),
    })
}
