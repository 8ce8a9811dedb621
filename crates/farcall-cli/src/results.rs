//! Results of a run: computed, printed, and converted to JSON.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use farcall::ir::literal::Literal;
use serde_json::{Value, json};

use crate::execute::Ready;
use crate::npy;
use crate::show;
use crate::stats::Stats;
use crate::terminal::{self, BOLD, DIM, styled};

/// Runs `repeat` times and returns the results of the last run. The time of each run is added to `stats`.
pub(crate) fn of(
    ready: &Ready<'_>,
    arguments: &[Literal],
    repeat: u32,
    stats: &mut Stats,
) -> Result<Vec<Literal>> {
    let mut results = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        results = ready.run(arguments)?;
        stats.runs.push(start.elapsed());
    }
    Ok(results)
}

/// Writes the results to files in a folder: `out0.npy`, `out1.npy`, ….
pub(crate) fn write(folder: &Path, results: &[Literal]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (i, result) in results.iter().enumerate() {
        npy::write(&folder.join(format!("out{i}.npy")), result)?;
    }
    Ok(())
}

/// Prints a result with its name.
pub(crate) fn print(out: &mut impl Write, name: &str, info: Option<&str>, result: &Literal) -> Result<()> {
    let notes: Vec<String> = info.map(str::to_owned).into_iter().chain(show::summary(result)).collect();
    let notes = if notes.is_empty() { String::new() } else { styled(DIM, format!("  {}", notes.join("; "))) };
    writeln!(out, "{}  {}{notes}", styled(BOLD, name), show::short_type(&result.ty()))?;
    writeln!(out, "{}", show::values(result))?;
    Ok(())
}

/// Converts a result's type to JSON.
pub(crate) fn as_json(result: &Literal) -> Value {
    json!({ "dtype": result.dtype().name(), "shape": result.dims() })
}

/// Prints the output of a run as JSON, with statistics if requested.
pub(crate) fn print_json(mut value: Value, stats: Option<&Stats>, ready: &Ready<'_>) -> Result<()> {
    if let Some(stats) = stats {
        value["stats"] = stats.as_json(ready.plan());
    }
    writeln!(terminal::stdout(), "{}", serde_json::to_string_pretty(&value)?)?;
    Ok(())
}
