//! The page in `docs/` with the results of the benchmark.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

const METHOD: &str = "\
`cargo xtask bench` wrote this page. It can run all parts again, or some of them.

Both sides get the same text of each program, lowered by JAX, and the same inputs. Both are called from Python
with arguments that are ready: farcall with NumPy arrays, XLA with arrays on its device through
`execute_sharded`, which has the least overhead of the ways to call XLA from Python. Just before each run, the
arguments are copied on either side, so that the cache contains the same part of them. A run ends when all
results are available.

The two sides run alternately, one run each, after one run of each that is not counted. They run for about a
second per program (0.3 seconds in the corpus), and at least five times if the runs are not too long. Both use
all cores. Times are medians. A ratio is XLA's time divided by farcall's: above 1, farcall is faster. Means of
ratios are geometric.

The time to compile is the time from a program's text to an executable: the median of three compilations, or
of up to nine if they are fast. (farcall generates machine code for some loops in their first run, which is
not counted. That takes less than a millisecond.)

Memory is the memory of temporary values and new results, and in farcall also of constants.

Results are compared. The table notes a difference of more than 10⁻⁴ of the largest element. For `bf16` and
other narrow types, the limit is eight times the type's precision; for integers, any difference counts. Some
programs differ for a known reason: 10⁴ steps of Lorenz's equations amplify a difference in the last place,
10⁵ steps add up their rounding errors, and `ffi_context_probe` reports whether its host has scratch memory,
which XLA:CPU does not have.
";

/// Results of one program.
struct Row<'a> {
    name: &'a str,
    /// XLA's time divided by farcall's time, for a run and for compiling.
    ratios: Option<(f64, f64)>,
    json: &'a Value,
}

/// Returns the page for all results in the folder, and its name. Machines with vector extensions other than
/// AVX-512 have separate pages.
pub(super) fn page(results: &Path, texts: &[&str], families: &[&str]) -> Result<(String, String)> {
    let mut read = Vec::new();
    for family in families {
        let path = results.join(format!("{family}.json"));
        if path.exists() {
            let json: Value = serde_json::from_slice(&std::fs::read(&path)?)
                .with_context(|| format!("{} is damaged", path.display()))?;
            read.push((*family, json));
        }
    }
    let mut page = String::from("# Benchmarks\n\nfarcall and XLA:CPU (jaxlib), side by side.\n");
    page += &machine(&read);
    writeln!(page, "\n## Method\n\n{METHOD}")?;
    page += &summary(&read);
    for (family, json) in &read {
        page += &table(family, json);
    }
    for part in texts {
        let path = results.join(format!("{part}.txt"));
        if path.exists() {
            let text = std::fs::read_to_string(&path)?;
            let (when, text) = text.split_once('\n').unwrap_or_default();
            writeln!(page, "\n## {}\n\n{when}:\n\n```text\n{}\n```", title(part), text.trim_end())?;
        }
    }
    let name = match read.first().and_then(|(_, json)| json["vectors"].as_str()) {
        None | Some("avx512f") => "benchmarks.md".to_owned(),
        Some(vectors) => format!("benchmarks-{vectors}.md"),
    };
    Ok((name, page))
}

fn title(part: &str) -> &str {
    match part {
        "decode" => "Decoding a call frame",
        "calls" => "Calls",
        "kernels" => "Kernels of the gallery",
        "handlers" => "Handlers written in Python",
        other => other,
    }
}

fn rows(json: &Value) -> Vec<Row<'_>> {
    let rows = json["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let median = |row: &Value, what: &str, side: &str| row[what][side]["median"].as_f64();
    let ratio = |row: &Value, what: &str| Some(median(row, what, "xla")? / median(row, what, "farcall")?);
    rows.iter()
        .map(|row| Row {
            name: row["name"].as_str().unwrap_or_default(),
            ratios: ratio(row, "run").zip(ratio(row, "compile")),
            json: row,
        })
        .collect()
}

/// Describes the machine and the time. Parts may come from several sessions.
fn machine(read: &[(&str, Value)]) -> String {
    let mut page = String::new();
    let Some((_, first)) = read.first() else { return page };
    let text = |json: &Value, key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let versions = &first["versions"];
    let _ = write!(
        page,
        "\n## Machine\n\n- {} ({}), {} cores, widest vectors {}, caches {}\n- jaxlib {}, NumPy {}, Python {}\n",
        text(first, "processor"),
        text(first, "family"),
        first["cores"],
        text(first, "vectors"),
        text(first, "caches"),
        text(versions, "jaxlib"),
        text(versions, "numpy"),
        text(versions, "python"),
    );
    let cores = first["cores"].as_f64().unwrap_or(1.0);
    for (family, json) in read {
        let load = json["load"].as_f64().unwrap_or(0.0);
        let busy = if load > 0.5 * cores { ", a busy machine" } else { "" };
        let (when, commit) = (text(json, "when"), text(json, "commit"));
        let _ = writeln!(page, "- {family}: {when}, farcall {commit}, load {load:.1} when it began{busy}");
    }
    page
}

fn mean(ratios: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = ratios.clone().count();
    (n > 0).then(|| (ratios.map(f64::ln).sum::<f64>() / n as f64).exp())
}

fn summary(read: &[(&str, Value)]) -> String {
    let mut page = "\n## By family\n\n| family | programs | run, mean | worst | best | faster here | more memory here | compile, mean |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for (family, json) in read {
        let rows = rows(json);
        let runs = rows.iter().filter_map(|r| r.ratios).map(|(run, _)| run);
        let compiles = rows.iter().filter_map(|r| r.ratios).map(|(_, compile)| compile);
        let (Some(run), Some(compile)) = (mean(runs.clone()), mean(compiles)) else { continue };
        let (worst, best) = runs.clone().fold((f64::MAX, 0f64), |(a, b), r| (a.min(r), b.max(r)));
        let _ = writeln!(
            page,
            "| {family} | {} | {} | {} | {} | {} | {} | {compile:.0} |",
            runs.clone().count(),
            times(run),
            times(worst),
            times(best),
            runs.filter(|r| *r >= 1.0).count(),
            rows.iter().filter(|r| memory(r).is_some_and(|[ours, theirs]| ours > theirs)).count(),
        );
    }
    page
}

/// Formats a ratio with two significant digits.
fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.1 => format!("{ratio:.3}"),
        _ if ratio < 10.0 => format!("{ratio:.2}"),
        _ => format!("{ratio:.0}"),
    }
}

/// Formats the table of a family's programs, slowest relative to XLA first.
fn table(family: &str, json: &Value) -> String {
    let mut rows = rows(json);
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| row.ratios.map_or(f64::MAX, |(run, _)| run);
        key(a).total_cmp(&key(b))
    });
    let mut page = format!(
        "\n## {family}\n\n| program | run: farcall | XLA | ratio | compile: farcall | XLA | ratio | memory: farcall | XLA | |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let Some((run, compile)) = row.ratios else {
            let error = row.json["error"].as_str().unwrap_or("no figures").replace('|', "\\|");
            let _ = writeln!(page, "| {} | | | | | | | | | left out: {error} |", row.name);
            continue;
        };
        let time = |what: &str, side: &str| duration(row.json[what][side]["median"].as_f64().unwrap_or(0.0));
        let apart = row.json["difference"].as_f64().unwrap_or(f64::INFINITY);
        let agree = row.json["agree"].as_bool().unwrap_or(false);
        let [ours, theirs] = memory(&row).map_or([const { String::new() }; 2], |sides| sides.map(bytes));
        let note = if !agree { format!("results differ by {apart:.0e}") } else { String::new() };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {compile:.0} | {ours} | {theirs} | {note} |",
            row.name,
            time("run", "farcall"),
            time("run", "xla"),
            times(run),
            time("compile", "farcall"),
            time("compile", "xla"),
        );
    }
    page
}

/// Returns the memory that farcall and XLA need, in bytes.
fn memory(row: &Row<'_>) -> Option<[u64; 2]> {
    let side = |side: &str| row.json["memory"][side].as_u64();
    Some([side("farcall")?, side("xla")?])
}

/// Formats a size: `1.23 MiB`.
fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        n if n < 1024.0 => format!("{bytes} B"),
        n if n < 1024.0 * 1024.0 => format!("{:.1} KiB", n / 1024.0),
        n => format!("{:.1} MiB", n / 1024.0 / 1024.0),
    }
}

/// Formats a time: `1.23 ms`.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        _ if seconds < 1e-6 => (seconds * 1e9, "ns"),
        _ if seconds < 1e-3 => (seconds * 1e6, "µs"),
        _ if seconds < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_wins_losses_and_what_was_left_out() {
        let folder = std::env::temp_dir().join(format!("farcall-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let side = |ours: f64, theirs: f64| serde_json::json!({ "farcall": { "median": ours }, "xla": { "median": theirs } });
        let row = |name: &str, ours: f64| serde_json::json!({ "name": name, "run": side(ours, 1e-3), "compile": side(1e-4, 1e-2), "memory": { "farcall": 100, "xla": 3 << 20 }, "difference": 0.0, "agree": true });
        let wrong = serde_json::json!({ "name": "c", "error": "over 60 s" });
        let json = serde_json::json!({ "when": "now", "cores": 2, "load": 3.0, "vectors": "avx2", "rows": [row("a", 5e-4), row("b", 8e-3), wrong] });
        std::fs::write(folder.join("loops.json"), json.to_string()).unwrap();
        std::fs::write(folder.join("calls.txt"), "today, farcall abc\n   7 ns\n").unwrap();
        let (name, page) = page(&folder, &["decode", "calls"], &["models", "loops"]).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(name, "benchmarks-avx2.md");
        for line in [
            "| loops | 2 | 0.50 | 0.12 | 2.00 | 1 | 0 | 100 |",
            "| b | 8.00 ms | 1.00 ms | 0.12 | 100 µs | 10.0 ms | 100 | 100 B | 3.0 MiB |  |",
            "| c | | | | | | | | | left out: over 60 s |",
            "a busy machine",
            "## Calls\n\ntoday, farcall abc:\n\n```text\n   7 ns\n```\n",
        ] {
            assert!(page.contains(line), "the page lacks {line}:\n{page}");
        }
        assert!(page.find("| b |") < page.find("| a |"));
    }
}
