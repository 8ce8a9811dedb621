//! `farcall run --profile`: the time of each step (thunk) of a run.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use comfy_table::{Cell, CellAlignment};
use farcall::explain::no_kernel;
use farcall::ir::literal::Literal;
use farcall::plan::Numbered;
use farcall::{Plan, Profile};
use serde_json::{Value, json};

use crate::args::{ProfileFormat, RunArgs};
use crate::evaluated::{evaluated, print_evaluated};
use crate::execute::Ready;
use crate::inputs::count;
use crate::show::{short_type, shortened};
use crate::stats::{Stats, bytes, duration, three_digits, warn_of_debug_build};
use crate::{file, results, terminal, trace};

/// Maximum number of rows in the table. The remaining steps are summed up in one row.
const MAX_TABLE_ROWS: usize = 40;
/// Maximum number of characters in a cell of the table.
const MAX_CELL_CHARS: usize = 72;
/// Maximum number of events in a trace.
const MAX_TRACE_EVENTS: usize = 500_000;

/// Minimum duration of a run that is slow enough for a warning.
const SLOW_RUN: Duration = Duration::from_secs(1);
/// Maximum number of steps that a warning names.
const NAMED_STEPS: usize = 3;

/// Runs of `farcall run`, recorded for `--profile` and `--trace` and reported after the last run.
pub(crate) struct RecordedRuns<'a> {
    args: &'a RunArgs,
    profile: Option<Profile>,
    /// Time that the runs spent in the reference evaluator.
    evaluated: Duration,
}

impl<'a> RecordedRuns<'a> {
    /// Prepares to record the runs that the options request.
    ///
    /// # Errors
    /// If the trace cannot be written to its destination.
    pub(crate) fn new(args: &'a RunArgs) -> Result<RecordedRuns<'a>> {
        args.trace.iter().try_for_each(|path| file::require_place(path))?;
        let events = if args.trace.is_some() { MAX_TRACE_EVENTS } else { 0 };
        let wanted = args.profile.is_some() || args.trace.is_some();
        if wanted {
            warn_of_debug_build()?;
        }
        let profile = wanted.then(|| Profile::new().with_events(events));
        Ok(RecordedRuns { args, profile, evaluated: Duration::ZERO })
    }

    /// Runs `repeat` times and returns the results of the last run. If several runs are profiled, an extra
    /// run first warms up; the profile does not include the extra run.
    pub(crate) fn run(
        &mut self,
        ready: &Ready<'_>,
        inputs: &[Literal],
        stats: &mut Stats,
    ) -> Result<Vec<Literal>> {
        let Ready::Engine(executable) = ready else {
            return results::of(ready, inputs, self.args.repeat, stats);
        };
        if self.profile.is_some() && self.args.repeat > 1 {
            executable.run(inputs)?;
        }
        let before = executable.evaluator_time();
        let mut results = Vec::new();
        match &mut self.profile {
            Some(profile) => {
                for _ in 0..self.args.repeat {
                    let start = Instant::now();
                    results = executable.run_with(inputs, &mut *profile)?;
                    stats.runs.push(start.elapsed());
                }
            }
            None => results = results::of(ready, inputs, self.args.repeat, stats)?,
        }
        self.evaluated = executable.evaluator_time() - before;
        Ok(results)
    }

    /// Writes and prints the requested output after all runs. `print_results` shows the results.
    pub(crate) fn finish(
        &self,
        ready: &Ready<'_>,
        results: &[Literal],
        stats: &Stats,
        print_results: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.write(ready.plan())?;
        self.warn_of_evaluator(ready.plan(), stats)?;
        if self.is_json() {
            let types: Vec<Value> = results.iter().map(results::as_json).collect();
            let mut value = json!({ "results": types });
            self.add_json(&mut value, ready.plan());
            return results::print_json(value, self.args.stats.then_some(stats), ready);
        }
        if !self.args.quiet {
            print_results()?;
        }
        self.print(ready.plan())?;
        if self.args.stats {
            stats.print(ready.plan())?;
        }
        Ok(())
    }

    /// Warns about runs that are slow because operations have no kernel.
    fn warn_of_evaluator(&self, plan: Option<&Plan>, stats: &Stats) -> Result<()> {
        let runs: Duration = stats.runs.iter().sum();
        let each = runs / u32::try_from(stats.runs.len()).unwrap_or(u32::MAX).max(1);
        let (Some(plan), true) = (plan, each > SLOW_RUN && self.evaluated * 10 > runs) else { return Ok(()) };
        let steps = evaluated(plan);
        let named: Vec<String> = steps.iter().take(NAMED_STEPS).map(|(_, step)| step.clone()).collect();
        let more = if steps.len() > NAMED_STEPS { "; …" } else { "" };
        let percent = 100.0 * self.evaluated.as_secs_f64() / runs.as_secs_f64();
        writeln!(
            terminal::stderr(),
            "warning: {percent:.0} % of the time went to the reference evaluator, which is slow and runs {} without a kernel: \
             {}{more}",
            count(steps.len(), "operation"),
            named.join("; "),
        )?;
        Ok(())
    }

    /// Writes the trace, if one was requested.
    fn write(&self, plan: Option<&Plan>) -> Result<()> {
        let (Some(path), Some(profile), Some(plan)) = (&self.args.trace, &self.profile, plan) else {
            return Ok(());
        };
        file::write(path, |out| trace::write_to(path, out, plan, profile))?;
        if profile.dropped() > 0 {
            writeln!(
                terminal::stderr(),
                "warning: {} has the first {MAX_TRACE_EVENTS} events only; {} more are left out",
                path.display(),
                profile.dropped()
            )?;
        }
        Ok(())
    }

    /// Returns true if the output is JSON.
    fn is_json(&self) -> bool {
        self.args.json || self.args.profile == Some(ProfileFormat::Json)
    }

    /// Adds the profile to the JSON of the results.
    fn add_json(&self, value: &mut Value, plan: Option<&Plan>) {
        if let (Some(profile), Some(plan), Some(_)) = (&self.profile, plan, self.args.profile) {
            value["profile"] = as_json(plan, profile);
        }
    }

    /// Prints the profile, if one was requested.
    fn print(&self, plan: Option<&Plan>) -> Result<()> {
        match (&self.profile, plan, self.args.profile) {
            (Some(profile), Some(plan), Some(_)) => print(plan, profile),
            _ => Ok(()),
        }
    }
}

/// Returns the total time of the runs, and the total time of their thunks.
fn sums(profile: &Profile) -> (Duration, Duration) {
    let runs = profile.runs().iter().map(|run| run.length()).sum();
    (runs, profile.thunks().iter().map(|t| t.own).sum())
}

fn print(plan: &Plan, profile: &Profile) -> Result<()> {
    let mut out = terminal::stdout();
    let (runs, thunks) = sums(profile);
    let number = u32::try_from(profile.runs().len()).unwrap_or(u32::MAX).max(1);
    let share =
        |time: Duration| format!("{:.1} %", 100.0 * time.as_secs_f64() / runs.as_secs_f64().max(1e-12));
    let mut rows = plan.numbered();
    rows.retain(|row| profile.thunk(row.number).calls > 0);
    rows.sort_by_key(|row| std::cmp::Reverse(profile.thunk(row.number).own));

    let mut table = terminal::table(&[
        "step",
        "own time",
        "share",
        "calls",
        "total per call",
        "GB/s",
        "GFLOP/s",
        "operation",
        "results",
        "from",
    ]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for row in rows.iter().take(MAX_TABLE_ROWS) {
        let time = profile.thunk(row.number);
        let each = time.total / u32::try_from(time.calls).unwrap_or(u32::MAX);
        let work = plan.work(row.thunk);
        let billions = |amount: u64| match (amount, time.own) {
            (0, _) | (_, Duration::ZERO) => String::new(),
            _ => three_digits(amount as f64 * time.calls as f64 / 1e9 / time.own.as_secs_f64()),
        };
        let results: Vec<String> = row.thunk.results().iter().map(|b| short_type(&b.ty)).collect();
        table.add_row([
            right(row.number.to_string()),
            right(duration(time.own / number)),
            right(share(time.own)),
            right(per_run(time.calls, number)),
            right(duration(each)),
            right(billions(work.bytes)),
            right(billions(work.flops)),
            Cell::new(shortened(plan.operation(row.thunk), MAX_CELL_CHARS)),
            Cell::new(shortened(results.join(", "), MAX_CELL_CHARS)),
            Cell::new(shortened(plan.origin(row.thunk).short(), MAX_CELL_CHARS)),
        ]);
    }
    let mut last = |time: Duration, what: String| {
        let [none, one] = [Cell::new(""), right(duration(time / number))];
        let begin = [none.clone(), one, right(share(time))];
        let end = [Cell::new(what), none.clone(), none.clone()];
        table.add_row(begin.into_iter().chain(vec![none; 4]).chain(end));
    };
    if rows.len() > MAX_TABLE_ROWS {
        let others = rows.iter().skip(MAX_TABLE_ROWS).map(|row| profile.thunk(row.number).own).sum();
        last(others, format!("{} more steps", rows.len() - MAX_TABLE_ROWS));
    }
    last(runs.saturating_sub(thunks), "(between steps: inputs, results, measuring)".to_owned());
    let mut lengths: Vec<Duration> = profile.runs().iter().map(|run| run.length()).collect();
    lengths.sort();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    writeln!(
        out,
        "profile of {}, mean {}, median {}; arena {}",
        count(number as usize, "run"),
        duration(runs / number),
        duration(median),
        bytes(plan.arena_size())
    )?;
    writeln!(out, "{}", table.trim_fmt())?;
    print_evaluated(&mut out, plan)?;
    print_notes(&mut out, number, runs / number, median)
}

/// Prints what the reader should know about the measured times.
fn print_notes(out: &mut impl Write, number: u32, mean: Duration, median: Duration) -> Result<()> {
    if number > 1 && mean > median * 3 / 2 {
        writeln!(
            out,
            "Some runs took much longer than most, for example because the machine is shared. The times of steps are means \
             that include such runs."
        )?;
    }
    if number == 1 {
        writeln!(
            out,
            "This is the first run, with cold caches. With --repeat N, a run that is not counted comes first."
        )?;
    }
    Ok(())
}

/// Formats the number of calls in each run: `3`, or `2.5` if runs differ.
fn per_run(calls: u64, runs: u32) -> String {
    let runs = u64::from(runs);
    if calls.is_multiple_of(runs) {
        (calls / runs).to_string()
    } else {
        format!("{:.1}", calls as f64 / runs as f64)
    }
}

/// Converts the profile to JSON: times in seconds, summed over all runs.
fn as_json(plan: &Plan, profile: &Profile) -> Value {
    let (runs, thunks) = sums(profile);
    let types = |buffers: &[farcall::plan::TensorSlice]| -> Vec<String> {
        buffers.iter().map(|b| short_type(&b.ty)).collect()
    };
    let each = plan.numbered().into_iter().map(|Numbered { number, thunk, parent, .. }| {
        let (time, origin, work) = (profile.thunk(number), plan.origin(thunk), plan.work(thunk));
        json!({
            "thunk": number,
            "parent": parent,
            "kind": thunk.op.kind(),
            "detail": plan.detail(thunk),
            "no_kernel": no_kernel(plan, thunk).map(|reason| reason.to_string()),
            "value": origin.value,
            "line": origin.place.map(|(line, _)| line),
            "column": origin.place.map(|(_, column)| column),
            "location": origin.loc.as_deref(),
            "inputs": types(&thunk.inputs),
            "results": types(thunk.results()),
            "bytes": work.bytes,
            "flops": work.flops,
            "calls": time.calls,
            "own_seconds": time.own.as_secs_f64(),
            "total_seconds": time.total.as_secs_f64(),
            "share": time.own.as_secs_f64() / runs.as_secs_f64().max(1e-12),
        })
    });
    json!({
        "debug_build": cfg!(debug_assertions),
        "runs": profile.runs().iter().map(|run| run.length().as_secs_f64()).collect::<Vec<_>>(),
        "seconds": runs.as_secs_f64(),
        "seconds_between_thunks": runs.saturating_sub(thunks).as_secs_f64(),
        "thunks": each.collect::<Vec<_>>(),
    })
}
