//! `farcall inspect --plan`: the compiled program, with the decisions of the compiler.

use std::io::Write;

use anyhow::Result;
use comfy_table::{Cell, CellAlignment, Color};
use farcall::Plan;
use farcall::explain::{Explanation, FusionBoundary, LiveRange, Member, no_kernel};
use farcall::plan::{Origin, TensorSlice, Thunk, ThunkOp};
use serde_json::{Value, json};

use crate::evaluated::print_evaluated;
use crate::inputs::count;
use crate::show::{short_type, short_types, shortened};
use crate::stats::bytes;
use crate::terminal::{self, color};

/// Maximum number of characters in a cell.
const MAX_CELL_CHARS: usize = 64;

/// Shows the steps of a plan, its fusions, unfused operations, fusion boundaries, and memory.
pub(crate) fn write(out: &mut impl Write, plan: &Plan, explanation: &Explanation) -> Result<()> {
    steps(out, plan, explanation)?;
    print_evaluated(out, plan)?;
    fusions(out, explanation)?;
    unfused(out, explanation)?;
    fusion_boundaries(out, explanation)?;
    memory(out, plan, explanation)
}

fn right(text: impl ToString) -> Cell {
    Cell::new(text.to_string()).set_alignment(CellAlignment::Right)
}

/// Returns the name of the component that runs a step.
fn runner(thunk: &Thunk) -> &'static str {
    match &thunk.op {
        ThunkOp::Reference(_) => "evaluator",
        ThunkOp::CustomCall(_) => "handler",
        op => op.kind(),
    }
}

/// Formats a position as line and column.
fn at(origin: &Origin) -> Option<String> {
    origin.place.map(|(line, column)| format!("{line}:{column}"))
}

/// Formats an operation with its position: `add f32[2,3], %y at 4:5`.
fn placed(member: &Member) -> String {
    let from = member.origin.short();
    if from.is_empty() { named(member) } else { format!("{}, {from}", named(member)) }
}

/// Formats an operation with its type: `add f32[2,3]`.
fn named(member: &Member) -> String {
    match &member.ty {
        Some(ty) => format!("{} {}", member.op, short_type(ty)),
        None => member.op.to_owned(),
    }
}

fn steps(out: &mut impl Write, plan: &Plan, explanation: &Explanation) -> Result<()> {
    let rows = plan.numbered();
    writeln!(out, "\n{}", count(rows.len(), "step"))?;
    let mut table = terminal::table(&["step", "runs on", "operation", "results", "places", "from"]);
    for row in &rows {
        let places: Vec<String> = row.thunk.results().iter().map(|b| b.slice.to_string()).collect();
        let runs = Cell::new(format!("{}{}", "  ".repeat(row.depth.min(8)), runner(row.thunk)));
        let slow = matches!(row.thunk.op, ThunkOp::Reference(_));
        let members = explanation.steps.get(row.number).map_or(0, |step| step.members.len());
        let operation = match members {
            0 => plan.detail(row.thunk),
            n => format!("{}: {}", count(n, "operation"), plan.detail(row.thunk)),
        };
        table.add_row([
            right(row.number),
            if slow { color(runs, Color::Yellow) } else { runs },
            Cell::new(shortened(operation, MAX_CELL_CHARS)),
            Cell::new(shortened(short_types(row.thunk.results()), MAX_CELL_CHARS)),
            Cell::new(shortened(places.join(", "), MAX_CELL_CHARS)),
            Cell::new(shortened(plan.origin(row.thunk).short(), MAX_CELL_CHARS)),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

fn fusions(out: &mut impl Write, explanation: &Explanation) -> Result<()> {
    let fused = || explanation.steps.iter().enumerate().filter(|(_, step)| !step.members.is_empty());
    let number = fused().count();
    if number == 0 {
        writeln!(out, "\nno fusions")?;
        return Ok(());
    }
    writeln!(out, "\n{}", count(number, "fusion"))?;
    let mut table = terminal::table(&["step", "members", "results", "from"]);
    for (i, step) in fused() {
        for (j, member) in step.members.iter().enumerate() {
            table.add_row([
                right(if j == 0 { i.to_string() } else { String::new() }),
                Cell::new(member.op),
                Cell::new(member.ty.as_ref().map(short_type).unwrap_or_default()),
                Cell::new(shortened(member.origin.short(), MAX_CELL_CHARS)),
            ]);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

fn unfused(out: &mut impl Write, explanation: &Explanation) -> Result<()> {
    let number = explanation.unfused.len();
    if number == 0 {
        return Ok(());
    }
    writeln!(out, "\n{} outside of fusions", count(number, "elementwise operation"))?;
    let mut table = terminal::table(&["operation", "from", "why not", "beside"]);
    for unfused in &explanation.unfused {
        let beside = unfused.beside.as_ref().map(placed);
        table.add_row([
            named(&unfused.member),
            shortened(unfused.member.origin.short(), MAX_CELL_CHARS),
            unfused.reason.to_string(),
            shortened(beside.unwrap_or_default(), MAX_CELL_CHARS),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

fn fusion_boundaries(out: &mut impl Write, explanation: &Explanation) -> Result<()> {
    if explanation.fusion_boundaries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nfusion boundaries")?;
    let mut table = terminal::table(&["steps", "producer", "consumer", "reason"]);
    for FusionBoundary { from, to, reason } in &explanation.fusion_boundaries {
        table.add_row([
            right(format!("{} → {}", from.0, to.0)),
            Cell::new(shortened(placed(&from.1), MAX_CELL_CHARS)),
            Cell::new(shortened(placed(&to.1), MAX_CELL_CHARS)),
            Cell::new(reason),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Returns the bytes of memory that inputs, results, constants and arena occupy during a run, in this order.
fn needs(plan: &Plan) -> [usize; 4] {
    let inputs = plan.params().iter().filter_map(|param| param.ty.bytes()).sum();
    let results = plan.results().iter().map(|r| r.slice.size).sum();
    [inputs, results, plan.constant_bytes(), plan.arena_size()]
}

fn memory(out: &mut impl Write, plan: &Plan, explanation: &Explanation) -> Result<()> {
    let needs = needs(plan);
    let [inputs, results, constants, arena] = needs.map(bytes);
    writeln!(
        out,
        "\npeak memory {}: inputs {inputs}, results {results}, constants {constants}, arena {arena} (of which at most {} are in use \
         at once, in step {})",
        bytes(needs.iter().sum()),
        bytes(explanation.peak),
        explanation.peak_step,
    )?;
    if explanation.live_ranges.is_empty() {
        return Ok(());
    }
    let mut table = terminal::table(&["place", "size", "steps", "holds"]);
    for life in &explanation.live_ranges {
        let LiveRange { slice, value, scratch, first, last } = life;
        let step = |step: &Option<usize>, none: &str| step.map_or(none.to_owned(), |step| step.to_string());
        let what = value.as_ref().map(|member| {
            let what = if *scratch { format!("scratch of {}", member.op) } else { named(member) };
            let from = member.origin.short();
            if from.is_empty() { what } else { format!("{what}, {from}") }
        });
        table.add_row([
            Cell::new(slice),
            right(bytes(slice.size)),
            right(format!("{}–{}", step(first, "begin"), step(last, "end"))),
            Cell::new(shortened(what.unwrap_or_default(), MAX_CELL_CHARS)),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Converts the explanation to JSON.
pub(crate) fn json(plan: &Plan, explanation: &Explanation) -> Value {
    let steps = plan.numbered().into_iter().map(|row| {
        let members = explanation.steps.get(row.number).map_or(&[][..], |step| &step.members);
        let buffers = |buffers: &[TensorSlice]| -> Vec<Value> {
            buffers.iter().map(|b| json!({ "type": short_type(&b.ty), "place": place(&b.slice) })).collect()
        };
        json!({
            "step": row.number,
            "parent": row.parent,
            "runs_on": runner(row.thunk),
            "kind": row.thunk.op.kind(),
            "detail": plan.detail(row.thunk),
            "no_kernel": no_kernel(plan, row.thunk).map(|reason| reason.to_string()),
            "inputs": buffers(&row.thunk.inputs),
            "results": buffers(row.thunk.results()),
            "scratch": row.thunk.outputs.get(row.thunk.results().len()).map(|b| place(&b.slice)),
            "from": from(&plan.origin(row.thunk)),
            "members": members.iter().map(member_json).collect::<Vec<_>>(),
        })
    });
    let unfused = explanation.unfused.iter().map(|unfused| {
        json!({
            "operation": member_json(&unfused.member),
            "reason": unfused.reason.to_string(),
            "beside": unfused.beside.as_ref().map(member_json),
        })
    });
    let borders = explanation.fusion_boundaries.iter().map(|FusionBoundary { from, to, reason }| {
        json!({
            "from_step": from.0,
            "from": member_json(&from.1),
            "to_step": to.0,
            "to": member_json(&to.1),
            "reason": reason.to_string(),
        })
    });
    let needs = needs(plan);
    let [inputs, results, constants, arena] = needs;
    let live_ranges = explanation.live_ranges.iter().map(|life| {
        json!({
            "place": place(&life.slice),
            "first_step": life.first,
            "last_step": life.last,
            "value": life.value.as_ref().map(member_json),
            "scratch": life.scratch,
        })
    });
    json!({
        "steps": steps.collect::<Vec<_>>(),
        "unfused": unfused.collect::<Vec<_>>(),
        "fusion_boundaries": borders.collect::<Vec<_>>(),
        "buffers": live_ranges.collect::<Vec<_>>(),
        "peak_bytes": needs.iter().sum::<usize>(),
        "input_bytes": inputs,
        "result_bytes": results,
        "constant_bytes": constants,
        "arena_bytes": arena,
        "arena_peak_bytes": explanation.peak,
        "arena_peak_step": explanation.peak_step,
    })
}

fn place(slice: &farcall::plan::BufferSlice) -> Value {
    json!({ "in": slice.base.to_string(), "offset": slice.offset, "size": slice.size })
}

fn from(origin: &Origin) -> Value {
    json!({ "value": origin.value, "at": at(origin), "location": origin.loc.as_deref() })
}

fn member_json(member: &Member) -> Value {
    json!({ "op": member.op, "type": member.ty.as_ref().map(short_type), "from": from(&member.origin) })
}
