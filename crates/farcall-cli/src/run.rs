//! `farcall run`: a program on given inputs.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use farcall_ir::literal::Literal;
use farcall_ir::module::Func;
use farcall_ir::{text, verify};

use crate::args::{RunArgs, Stage};
use crate::execute::Ready;
use crate::terminal::{self, BOLD, DIM, styled};
use crate::{inputs, load, npy, program, show};

/// Runs a program, shows its results, and writes them if asked to.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let mut times = Times::default();
    let module = times.take("read", || program::parse(&program::source(&args.program)?))?;
    if args.dump == Some(Stage::Text) {
        return dump(&text::print(&module));
    }
    times.take("verify", || verify::verify(&module))?;
    if args.dump == Some(Stage::Verified) {
        return dump(&text::print(&module));
    }
    let func = verify::entry(&module, args.entry.as_deref())?;
    let registry = times.take("load", || load::registry(&args.load, &[]))?;
    let denormals = args.denormals.into();
    let evaluator = args.evaluator && args.dump.is_none();
    let ready = times.take("compile", || Ready::new(&module, func, &registry, denormals, evaluator))?;
    if let (Some(Stage::Plan), Ready::Engine(executable)) = (args.dump, &ready) {
        return dump(&executable.plan().to_string());
    }
    let arguments = times.take("inputs", || inputs::arguments(func, &args.inputs, args.fill, args.seed))?;

    let mut results = Vec::new();
    let mut runs = Vec::new();
    for _ in 0..args.repeat {
        let start = Instant::now();
        results = ready.run(&arguments)?;
        runs.push(start.elapsed());
    }
    if let Some(folder) = &args.output_dir {
        times.take("write", || write(folder, &results))?;
    }
    if !args.quiet {
        print(func, &results)?;
    }
    if args.stats {
        print_stats(&times, runs, &ready)?;
    }
    Ok(())
}

fn dump(text: &str) -> Result<()> {
    let mut out = terminal::stdout();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write(folder: &Path, results: &[Literal]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (i, result) in results.iter().enumerate() {
        npy::write(&folder.join(format!("out{i}.npy")), result)?;
    }
    Ok(())
}

fn print(func: &Func, results: &[Literal]) -> Result<()> {
    let mut out = terminal::stdout();
    if results.is_empty() {
        writeln!(out, "@{} ran; it has no results", func.name)?;
    }
    for (i, result) in results.iter().enumerate() {
        let name = styled(BOLD, format!("out{i}"));
        let info = func.result_attrs.get(i).and_then(|a| a.get("jax.result_info")?.as_str());
        // JAX calls a lone result `result`, those of a tuple `result[0]`, …, which says nothing.
        let info = info.filter(|t| !t.is_empty() && *t != "result" && *t != format!("result[{i}]"));
        let summary = show::summary(result);
        let notes: Vec<String> = info.map(str::to_owned).into_iter().chain(summary).collect();
        let notes =
            if notes.is_empty() { String::new() } else { styled(DIM, format!("  {}", notes.join("; "))) };
        writeln!(out, "{name}  {}{notes}", show::short_type(&result.ty()))?;
        writeln!(out, "{}", show::values(result))?;
    }
    Ok(())
}

/// What each stage took, in order.
#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    fn take<T, E: Into<anyhow::Error>>(
        &mut self,
        stage: &'static str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T> {
        let start = Instant::now();
        let result = work().map_err(Into::into);
        self.0.push((stage, start.elapsed()));
        result
    }
}

fn print_stats(times: &Times, mut runs: Vec<Duration>, ready: &Ready<'_>) -> Result<()> {
    let mut out = terminal::stdout();
    let mut table = terminal::table(&["stage", "time"]);
    for (stage, time) in &times.0 {
        table.add_row([(*stage).to_owned(), duration(*time)]);
    }
    runs.sort();
    if let (Some(fastest), Some(slowest)) = (runs.first(), runs.last()) {
        if runs.len() == 1 {
            table.add_row(["run".to_owned(), duration(*fastest)]);
        } else {
            let median = duration(runs[runs.len() / 2]);
            let spread = format!("{} to {}", duration(*fastest), duration(*slowest));
            table.add_row([format!("run, median of {}", runs.len()), format!("{median} ({spread})")]);
        }
    }
    writeln!(out, "{table}")?;
    if let Ready::Engine(executable) = ready {
        let stats = executable.stats();
        let mut table = terminal::table(&["plan", ""]);
        table.add_row(["arena".to_owned(), bytes(stats.arena_bytes)]);
        table.add_row(["constants".to_owned(), bytes(stats.constant_bytes)]);
        for (kind, count) in &stats.thunks {
            table.add_row([format!("{kind} thunks"), count.to_string()]);
        }
        writeln!(out, "{table}")?;
    }
    Ok(())
}

/// `1.23 ms`: three digits and a unit.
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

/// `4.00 KiB`
fn bytes(n: usize) -> String {
    let value = n as f64;
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => scaled(value / 1024.0, "KiB"),
        1_048_576..1_073_741_824 => scaled(value / 1_048_576.0, "MiB"),
        _ => scaled(value / 1_073_741_824.0, "GiB"),
    }
}

fn scaled(value: f64, unit: &str) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
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
