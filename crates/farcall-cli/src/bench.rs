//! `farcall bench`: times a program, and compares it with the limits of the machine.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use comfy_table::{Cell, CellAlignment};
use farcall::custom_call::{RunContext, ThreadPool};
use farcall::ir::TensorType;
use farcall::ir::literal::Literal;
use farcall::plan::Cost;
use farcall::{Executable, Plan, Profile, RunOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::execute::Ready;
use crate::inputs::count;
use crate::program::{self, Program};
use crate::spec::Fill;
use crate::stats::{Stats, bytes, duration, three_digits, warn_of_debug_build};
use crate::terminal::{self, BOLD, styled};
use crate::{compile, inputs, load, machine, plan};

/// Minimum duration of one measurement. If a run is shorter, a measurement times several runs together.
const MIN_MEASUREMENT: Duration = Duration::from_micros(20);

/// Runs a program repeatedly, and reports its times.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    warn_of_debug_build()?;
    let mut stats = Stats::default();
    let (executable, inputs) = prepare(args, &mut stats)?;
    let source = Arc::clone(executable.plan().source());
    let pool = args.threads.map_or_else(ThreadPool::global, |n| Arc::new(ThreadPool::new(usize::from(n))));
    let run = RunContext::new().with_pool(Arc::clone(&pool));
    let times = Times::measure(args, || Ok(executable.run_with(&inputs, &run)?))
        .map_err(|e| Ready::explain(e, &source))?;
    let mut profile = Profile::new();
    executable.run_with(&inputs, RunOptions::new().context(&run).profile(&mut profile))?;
    let report = Report {
        program: args.program.display().to_string(),
        compile: stats,
        threads: pool.size(),
        times,
        work: work(executable.plan(), &profile),
        set: working_set(&executable),
        limits: Limits::measure(&executable, &pool),
        plan: executable.plan(),
    };
    if args.json {
        writeln!(terminal::stdout(), "{}", serde_json::to_string_pretty(&report.as_json())?)?;
        return Ok(());
    }
    report.print()
}

/// Compiles the program or loads the plan, and creates its inputs.
fn prepare(args: &BenchArgs, stats: &mut Stats) -> Result<(Executable, Vec<Literal>)> {
    // By default, arguments are random values of their types.
    let mut given = args.inputs.clone();
    given.fill = given.fill.or(Some(Fill::Rand));
    let code = match stats.take("read", || program::open(&args.program))? {
        Program::Code(code) => code,
        Program::Plan(plan) => {
            plan::refuse(&args.program, &args.how(), false)?;
            let plan = plan::filled(*plan, args.elided)?;
            let registry = stats.take("load", || load::registry(&args.load, &[]))?;
            let executable = stats.take("bind", || plan::executable(plan, &registry))?;
            let inputs = plan::arguments(&args.program, &executable, &given)?;
            return Ok((executable, inputs));
        }
    };
    let how = args.how();
    let front = compile::front(&code, &how, &given, stats)?.expect("nothing is dumped");
    let registry = stats.take("load", || load::registry(&args.load, &[]))?;
    let executable = compile::engine(&front, &how, &registry, stats)?.expect("nothing is dumped");
    let inputs = match front.arguments {
        Some(inputs) => inputs,
        None => inputs::arguments(front.func()?, &front.interface, &given)?,
    };
    Ok((executable, inputs))
}

/// Bytes of all inputs and results.
fn working_set(executable: &Executable) -> usize {
    let types = executable.inputs().iter().chain(executable.outputs());
    types.filter_map(TensorType::bytes).fold(0, usize::saturating_add)
}

/// Returns the total work of all thunks of a run.
fn work(plan: &Plan, profile: &Profile) -> Cost {
    let (mut sum, mut number) = (Cost::default(), 0);
    plan.walk(&mut |thunk| {
        let (work, calls) = (plan.work(thunk), profile.thunk(number).calls);
        sum.bytes = sum.bytes.saturating_add(work.bytes.saturating_mul(calls));
        sum.flops = sum.flops.saturating_add(work.flops.saturating_mul(calls));
        number += 1;
    });
    sum
}

/// Time of a run in each measurement, sorted. If a measurement has several runs, their mean.
struct Times {
    all: Vec<Duration>,
    /// Number of runs that were timed together in each measurement.
    batch: u32,
}

impl Times {
    /// Warms up, then measures until the time is over or the number of measurements is reached.
    fn measure(args: &BenchArgs, mut run: impl FnMut() -> Result<Vec<Literal>>) -> Result<Times> {
        let bar = progress_bar(args);
        let begin = Instant::now();
        let mut warm = 0u32;
        while warm == 0 || begin.elapsed() < args.warm_up {
            run()?;
            warm = warm.saturating_add(1);
        }
        let each = begin.elapsed() / warm;
        let batch = (MIN_MEASUREMENT.as_nanos() / each.as_nanos().max(1)).clamp(1, 10_000) as u32;
        let begin = Instant::now();
        let mut all = Vec::new();
        let most = args.runs.map_or(usize::MAX, |n| n as usize);
        while all.len() < most && (all.is_empty() || args.runs.is_some() || begin.elapsed() < args.time) {
            let start = Instant::now();
            for _ in 0..batch {
                run()?;
            }
            all.push(start.elapsed() / batch);
            bar.set_position(match args.runs {
                Some(_) => all.len() as u64,
                None => begin.elapsed().as_millis() as u64,
            });
        }
        bar.finish_and_clear();
        all.sort();
        Ok(Times { all, batch })
    }

    /// Returns a quantile of the times: the time that a fraction `part` of the runs does not exceed.
    fn at(&self, part: f64) -> Duration {
        let last = self.all.len().saturating_sub(1);
        self.all.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
    }

    fn mean(&self) -> Duration {
        let sum: Duration = self.all.iter().sum();
        sum / u32::try_from(self.all.len()).unwrap_or(u32::MAX).max(1)
    }
}

fn progress_bar(args: &BenchArgs) -> ProgressBar {
    let length = args.runs.map_or(args.time.as_millis() as u64, u64::from);
    // The bar is hidden if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30.cyan/dim} {elapsed}") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// Measured limits of the machine.
struct Limits {
    /// Memory bandwidth in bytes per second, over as much memory as the inputs and results take.
    bandwidth: f64,
    /// Memory bandwidth in bytes per second, over as much memory as the steps read and write: inputs, results
    /// and the arena.
    of_steps: f64,
    /// Operations on `f32` per second.
    flops: f64,
}

impl Limits {
    fn measure(executable: &Executable, pool: &ThreadPool) -> Limits {
        let set = working_set(executable);
        let all = set.saturating_add(executable.plan().arena_size());
        let bandwidth = machine::triad_bandwidth(set, pool);
        Limits {
            bandwidth,
            of_steps: if all == set { bandwidth } else { machine::triad_bandwidth(all, pool) },
            flops: machine::peak_flops(pool),
        }
    }
}

struct Report<'a> {
    program: String,
    compile: Stats,
    threads: usize,
    times: Times,
    work: Cost,
    set: usize,
    limits: Limits,
    plan: &'a Plan,
}

impl Report<'_> {
    /// Converts an amount per run to a rate per second, based on the median run.
    fn rate(&self, amount: f64) -> f64 {
        amount / self.times.at(0.5).as_secs_f64().max(1e-12)
    }

    fn print(&self) -> Result<()> {
        let mut out = terminal::stdout();
        let Report { times, limits, work, .. } = self;
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let threads = count(self.threads, "thread");
        let runs = match times.batch {
            1 => count(times.all.len(), "run"),
            n => format!("{} of {n} runs", count(times.all.len(), "measurement")),
        };
        writeln!(out, "{}  {threads}, {runs}", styled(BOLD, &self.program))?;

        let mut table = terminal::table(&["a run", ""]);
        let parts = [("min", 0.0), ("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];
        for (name, part) in parts {
            table.add_row([Cell::new(name), right(duration(times.at(part)))]);
        }
        table.add_row([Cell::new("mean"), right(duration(times.mean()))]);
        table.add_row([Cell::new("compile, once"), right(duration(self.compile.compiling()))]);
        writeln!(out, "{table}")?;

        let mut table = terminal::table(&["at the median", "", "measured limit", "share"]);
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        let (moved, computed) = (self.rate(self.set as f64), self.rate(work.flops as f64));
        table.add_row([
            Cell::new(format!("inputs and results, {}", bytes(self.set))),
            right(per_second(moved, "B")),
            right(format!("{} (triad)", per_second(limits.bandwidth, "B"))),
            right(percent(moved / limits.bandwidth)),
        ]);
        table.add_row([
            Cell::new(format!("operations, {}", number(work.flops as f64))),
            right(per_second(computed, "FLOP")),
            right(format!("{} (f32 FMA)", per_second(limits.flops, "FLOP"))),
            right(percent(computed / limits.flops)),
        ]);
        let (moved, rate) = (usize::try_from(work.bytes).unwrap_or(usize::MAX), self.rate(work.bytes as f64));
        table.add_row([
            Cell::new(format!("read and written by steps, {}", bytes(moved))),
            right(per_second(rate, "B")),
            right(format!("{} (triad)", per_second(limits.of_steps, "B"))),
            right(percent(rate / limits.of_steps)),
        ]);
        writeln!(out, "{}", table.trim_fmt())?;
        writeln!(
            out,
            "arena {}, constants {}",
            bytes(self.plan.arena_size()),
            bytes(self.plan.constant_bytes())
        )?;
        Ok(())
    }

    /// Converts the report to JSON: times in seconds, rates per second.
    fn as_json(&self) -> Value {
        let Report { times, limits, work, .. } = self;
        let seconds = |part: f64| times.at(part).as_secs_f64();
        json!({
            "program": self.program,
            "debug_build": cfg!(debug_assertions),
            "threads": self.threads,
            "measurements": times.all.len(),
            "runs_per_measurement": times.batch,
            "run_seconds": {
                "min": seconds(0.0), "median": seconds(0.5), "p90": seconds(0.9), "p99": seconds(0.99),
                "max": seconds(1.0), "mean": times.mean().as_secs_f64(),
            },
            "compile_seconds": self.compile.compiling().as_secs_f64(),
            "stages": self.compile.as_json(None)["stages"],
            "working_set_bytes": self.set,
            "bytes_per_second": self.rate(self.set as f64),
            "flops": work.flops,
            "flops_per_second": self.rate(work.flops as f64),
            "step_bytes": work.bytes,
            "limits": {
                "triad_bytes_per_second": limits.bandwidth,
                "step_triad_bytes_per_second": limits.of_steps,
                "fma_flops_per_second": limits.flops,
            },
            "arena_bytes": self.plan.arena_size(),
            "constant_bytes": self.plan.constant_bytes(),
        })
    }
}

/// Formats a number with three digits and a prefix: `12.3 G`.
fn number(value: f64) -> String {
    let (value, prefix) = match value {
        _ if value < 1e3 => (value, ""),
        _ if value < 1e6 => (value / 1e3, "k"),
        _ if value < 1e9 => (value / 1e6, "M"),
        _ if value < 1e12 => (value / 1e9, "G"),
        _ => (value / 1e12, "T"),
    };
    format!("{} {prefix}", three_digits(value)).trim_end().to_owned()
}

/// Formats a rate: `12.3 GB/s`.
fn per_second(value: f64, unit: &str) -> String {
    let number = number(value);
    let gap = if number.ends_with(char::is_alphabetic) { "" } else { " " };
    format!("{number}{gap}{unit}/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_runs_are_those_of_their_order() {
        let times = Times { all: (1..=101).map(Duration::from_micros).collect(), batch: 1 };
        let micros = |part| times.at(part).as_micros();
        assert_eq!((micros(0.0), micros(0.5), micros(0.9), micros(1.0)), (1, 51, 91, 101));
        assert_eq!(times.mean(), Duration::from_micros(51));
        assert_eq!(
            (per_second(12.34e9, "B"), per_second(7.0, "FLOP")),
            ("12.3 GB/s".into(), "7.00 FLOP/s".into())
        );
    }
}
