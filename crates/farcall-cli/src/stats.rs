//! Statistics of a run: the time of each stage, and the contents of the plan.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use farcall::Plan;
use serde_json::{Value, json};

use crate::terminal;

/// Time of each stage of a command.
#[derive(Default)]
pub(crate) struct Stats {
    /// Stages before the first run, in order.
    stages: Vec<(&'static str, Duration)>,
    /// Time of each run.
    pub(crate) runs: Vec<Duration>,
}

impl Stats {
    /// Runs a stage and records its time.
    pub(crate) fn take<T, E: Into<anyhow::Error>>(
        &mut self,
        stage: &'static str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T> {
        let start = Instant::now();
        let result = work().map_err(Into::into);
        self.stages.push((stage, start.elapsed()));
        result
    }

    /// Returns the time from the program's text or bytes to an executable, without reading files and loading
    /// libraries.
    pub(crate) fn compiling(&self) -> Duration {
        let compiles = |stage: &str| matches!(stage, "parse" | "verify" | "compile" | "bind");
        self.stages.iter().filter(|(stage, _)| compiles(stage)).map(|(_, time)| *time).sum()
    }

    /// Prints the statistics as tables.
    pub(crate) fn print(&self, plan: Option<&Plan>) -> Result<()> {
        let mut out = terminal::stdout();
        let mut table = terminal::table(&["stage", "time"]);
        for (stage, time) in &self.stages {
            table.add_row([(*stage).to_owned(), duration(*time)]);
        }
        match self.spread() {
            Some(run) if self.runs.len() > 1 => {
                let spread = format!(
                    "{} ({} to {})",
                    duration(run.median),
                    duration(run.fastest),
                    duration(run.slowest)
                );
                table.add_row([format!("run, median of {}", self.runs.len()), spread]);
            }
            Some(run) => {
                table.add_row(["run".to_owned(), duration(run.median)]);
            }
            None => {}
        }
        writeln!(out, "{table}")?;
        if let Some(plan) = plan {
            let mut table = terminal::table(&["plan", ""]);
            table.add_row(["arena".to_owned(), bytes(plan.arena_size())]);
            table.add_row(["constants".to_owned(), bytes(plan.constant_bytes())]);
            for (kind, count) in plan.thunk_counts() {
                table.add_row([format!("{kind} thunks"), count.to_string()]);
            }
            writeln!(out, "{table}")?;
        }
        Ok(())
    }

    /// Converts the statistics to JSON: times in seconds, memory in bytes.
    pub(crate) fn as_json(&self, plan: Option<&Plan>) -> Value {
        let stages: Vec<Value> = self
            .stages
            .iter()
            .map(|(name, time)| json!({ "stage": name, "seconds": time.as_secs_f64() }))
            .collect();
        let mut stats = json!({ "stages": stages, "runs": self.runs.len() });
        if let Some(run) = self.spread() {
            stats["run_seconds"] = json!({
                "median": run.median.as_secs_f64(),
                "fastest": run.fastest.as_secs_f64(),
                "slowest": run.slowest.as_secs_f64(),
            });
        }
        if let Some(plan) = plan {
            stats["arena_bytes"] = json!(plan.arena_size());
            stats["constant_bytes"] = json!(plan.constant_bytes());
            stats["thunks"] = json!(plan.thunk_counts());
        }
        stats
    }

    fn spread(&self) -> Option<Spread> {
        let mut runs = self.runs.clone();
        runs.sort();
        let (fastest, slowest) = (*runs.first()?, *runs.last()?);
        Some(Spread { fastest, median: runs[runs.len() / 2], slowest })
    }
}

/// Warns that the times of a debug build are not representative.
pub(crate) fn warn_of_debug_build() -> Result<()> {
    if cfg!(debug_assertions) {
        writeln!(
            terminal::stderr(),
            "warning: this is a debug build: its times are not representative of farcall's speed"
        )?;
    }
    Ok(())
}

/// Distribution of the times of several runs.
struct Spread {
    fastest: Duration,
    median: Duration,
    slowest: Duration,
}

/// Formats a time with three digits and a unit: `1.23 ms`.
pub(crate) fn duration(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "µs"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    scaled(value, unit)
}

/// Formats a size: `4.00 KiB`.
pub(crate) fn bytes(n: usize) -> String {
    let value = n as f64;
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => scaled(value / 1024.0, "KiB"),
        1_048_576..1_073_741_824 => scaled(value / 1_048_576.0, "MiB"),
        _ => scaled(value / 1_073_741_824.0, "GiB"),
    }
}

fn scaled(value: f64, unit: &str) -> String {
    format!("{} {unit}", three_digits(value))
}

/// Formats a number with three digits: `1.23`, `12.3`, `123`. Numbers below a hundredth are `0.00`.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(duration(Duration::from_nanos(1_234_567)), "1.23 ms");
        assert_eq!(duration(Duration::from_nanos(850)), "850 ns");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(12), "12 B");
    }
}
