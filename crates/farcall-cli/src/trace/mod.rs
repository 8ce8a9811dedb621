//! `farcall run --trace`: the events of runs in Chrome's trace event format, which Perfetto (ui.perfetto.dev)
//! and `chrome://tracing` open.
//!
//! The format is an object with `traceEvents`. Times are in microseconds. These kinds of events (`ph`) are
//! used here:
//!
//! - `X`, an event with a duration: a run or thunk on the thread of the run, or a task on the thread that
//!   executes it.
//! - `b` and `e`, begin and end of a concurrent activity: a call that completes after its thunk.
//! - `M`, the name of the process or of a thread.
//!
//! A file named `….html` is a self-contained page that shows the same events in a browser.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use farcall::plan::{TensorSlice, Thunk};
use farcall::profile::{Event, EventKind, Interval};
use farcall::{Plan, Profile};
use serde_json::{Value, json};

use crate::show::{short_type, short_types, shortened};

/// Number of the only process in the trace.
const PROCESS: u32 = 1;

/// The page, in which the trace replaces [`PLACE_OF_TRACE`].
const PAGE: &str = include_str!("page.html");
const PLACE_OF_TRACE: &str = "/*TRACE*/";

/// Writes a trace in the format that the file's name asks for.
pub(crate) fn write_to(path: &Path, out: &mut dyn Write, plan: &Plan, profile: &Profile) -> Result<()> {
    match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html")) {
        true => page(out, plan, profile),
        false => write(out, plan, profile),
    }
}

/// Writes the page.
fn page(out: &mut dyn Write, plan: &Plan, profile: &Profile) -> Result<()> {
    let steps = plan.numbered().into_iter().map(|row| {
        let (time, work) = (profile.thunk(row.number), plan.work(row.thunk));
        json!({
            "name": shortened(plan.operation(row.thunk), 60),
            "kind": row.thunk.op.kind(),
            "from": plan.origin(row.thunk).short(),
            "results": short_types(row.thunk.results()),
            "bytes": work.bytes,
            "flops": work.flops,
            "calls": time.calls,
            "own": micros(time.own),
        })
    });
    let mut events: Vec<Value> = Vec::new();
    profile.events(&mut |event| {
        // page.html uses the same numbers.
        let kind = match event.kind {
            EventKind::Thunk => 0,
            EventKind::Task(_) => 1,
            EventKind::Pending => 2,
            _ => return,
        };
        let (begin, length) = (micros(event.span.begin), micros(event.span.length()));
        events.push(json!([kind, event.thread, event.thunk, begin, length]));
    });
    let trace = json!({
        "name": program_name(plan),
        "threads": thread_names(profile),
        "runs": profile.runs().iter().map(|run| [micros(run.begin), micros(run.length())]).collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "events": events,
        "dropped": profile.dropped(),
    });
    let (before, after) = PAGE.split_once(PLACE_OF_TRACE).unwrap_or((PAGE, ""));
    // `<` is escaped, so that no tag in the trace ends the page's script early.
    let trace = trace.to_string().replace('<', "\\u003c");
    write!(out, "{before}{trace}{after}")?;
    Ok(())
}

fn program_name(plan: &Plan) -> &str {
    if plan.source().is_none() { "a program" } else { plan.source().name() }
}

/// Names of the threads; the first one is the thread of the runs.
fn thread_names(profile: &Profile) -> Vec<String> {
    let name = |(i, name): (usize, &String)| format!("{} {i}", if i == 0 { "run" } else { name });
    profile.threads().iter().enumerate().map(name).collect()
}

/// Writes a trace as JSON.
fn write(out: &mut dyn Write, plan: &Plan, profile: &Profile) -> Result<()> {
    let mut thunks: Vec<&Thunk> = Vec::new();
    plan.walk(&mut |thunk| thunks.push(thunk));
    let described: Vec<ThunkFields> = thunks.iter().map(|thunk| ThunkFields::new(plan, thunk)).collect();

    let name = program_name(plan);
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}",
        named("process_name", 0, json!({ "name": name }))
    )?;
    for (thread, name) in thread_names(profile).into_iter().enumerate() {
        write!(out, ",\n{}", named("thread_name", thread, json!({ "name": name })))?;
        write!(out, ",\n{}", named("thread_sort_index", thread, json!({ "sort_index": thread })))?;
    }
    for (i, run) in profile.runs().iter().enumerate() {
        let event = json!({
            "name": format!("run {i}"), "cat": "run", "ph": "X", "pid": PROCESS, "tid": 0,
            "ts": micros(run.begin), "dur": micros(run.length()),
        });
        write!(out, ",\n{event}")?;
    }
    let mut pending = 0;
    let mut written = Ok(());
    profile.events(&mut |event| {
        if written.is_ok()
            && let Some(described) = described.get(event.thunk)
        {
            written = one(out, described, event, &mut pending);
        }
    });
    written?;
    writeln!(out, "\n]}}")?;
    Ok(())
}

/// Creates an event that names a process or a thread.
fn named(what: &str, thread: usize, args: Value) -> Value {
    json!({ "name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": args })
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Fields that all events of a thunk have, as JSON.
struct ThunkFields {
    name: String,
    kind: &'static str,
    args: String,
}

impl ThunkFields {
    fn new(plan: &Plan, thunk: &Thunk) -> ThunkFields {
        let types =
            |buffers: &[TensorSlice]| -> Vec<String> { buffers.iter().map(|b| short_type(&b.ty)).collect() };
        let (origin, work) = (plan.origin(thunk), plan.work(thunk));
        let args = json!({
            "from": origin.short(),
            "operation": plan.operation(thunk),
            "inputs": types(&thunk.inputs),
            "results": types(thunk.results()),
            "bytes": work.bytes,
            "flops": work.flops,
        });
        let name = shortened(plan.operation(thunk), 60);
        ThunkFields { name: json!(name).to_string(), kind: thunk.op.kind(), args: args.to_string() }
    }
}

fn one(out: &mut dyn Write, thunk: &ThunkFields, event: &Event, pending: &mut u64) -> Result<()> {
    let ThunkFields { name, kind, args } = thunk;
    let Event { thread, span: Interval { begin, .. }, .. } = *event;
    let (at, length) = (micros(begin), micros(event.span.length()));
    let place = format!("\"pid\":{PROCESS},\"tid\":{thread}");
    match event.kind {
        EventKind::Thunk => write!(
            out,
            ",\n{{\"name\":{name},\"cat\":\"{kind}\",\"ph\":\"X\",{place},\"ts\":{at},\"dur\":{length},\"args\":{args}}}"
        )?,
        EventKind::Task(number) => write!(
            out,
            ",\n{{\"name\":{name},\"cat\":\"task\",\"ph\":\"X\",{place},\"ts\":{at},\"dur\":{length},\"args\":{{\"task\":{number}}}}}"
        )?,
        // Pending calls may overlap other events on their thread.
        EventKind::Pending => {
            *pending += 1;
            let shared = format!("\"name\":{name},\"cat\":\"pending\",\"id\":{pending},{place}");
            let end = micros(event.span.end);
            write!(out, ",\n{{{shared},\"ph\":\"b\",\"ts\":{at},\"args\":{args}}}")?;
            write!(out, ",\n{{{shared},\"ph\":\"e\",\"ts\":{end}}}")?;
        }
        _ => {}
    }
    Ok(())
}
