//! Programs for several devices: `farcall inspect --sharding`, and `farcall convert --partitioned`.

use std::io::Write;

use anyhow::{Context, Result};
use comfy_table::{Cell, CellAlignment};
use farcall::ir::module::{Func, Module};
use farcall::ir::{Source as Text, Span};
use farcall::partition::{Partitioned, ShardingSource, Tiling, partition_module};
use farcall::{CompileOptions, Registry};
use serde_json::json;

use crate::args::InspectArgs;
use crate::show::short;
use crate::terminal::{self, BOLD, styled};

/// Divides a program among the devices of its shardings.
pub(crate) fn partitioned(module: Module, entry: Option<&str>, registry: &Registry) -> Result<Partitioned> {
    let found = partition_module(module, entry, registry, &CompileOptions::new())?;
    found.context("the program states no sharding for several devices; see: farcall guide shardings")
}

/// Prints the sharding of each value and the collectives.
pub(crate) fn inspect(args: &InspectArgs, module: &Module, func: &Func, registry: &Registry) -> Result<()> {
    let partitioned = partitioned(module.clone(), Some(&func.name), registry)?;
    let Partitioned { grid, report, module: form, .. } = &partitioned;
    let text = &form.source;
    let mut out = terminal::stdout();
    let shown = |tilings: &[Tiling]| tilings.iter().map(|tiling| tiling.show(grid)).collect::<Vec<_>>();
    if args.json {
        let values = report.values.iter().map(|value| {
            json!({
                "definedBy": value.defined_by,
                "line": line(text, value.span),
                "type": value.ty.to_string(),
                "sharding": value.tiling.show(grid),
                "source": source(text, value.source),
            })
        });
        let movements = report.movements.iter().map(|movement| {
            json!({
                "collective": movement.collective,
                "bytes": movement.bytes,
                "for": movement.op,
                "line": line(text, movement.span),
            })
        });
        let json = json!({
            "devices": grid.devices(),
            "inputs": shown(&partitioned.inputs),
            "outputs": shown(&partitioned.outputs),
            "values": values.collect::<Vec<_>>(),
            "collectives": movements.collect::<Vec<_>>(),
            "bytes": report.bytes(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        return Ok(());
    }
    writeln!(out, "{} on {} devices", styled(BOLD, format!("@{}", func.name)), grid.devices())?;
    let mut table = terminal::table(&["line", "value", "type", "sharding", "from"]);
    for value in &report.values {
        table.add_row([
            Cell::new(line(text, value.span)).set_alignment(CellAlignment::Right),
            Cell::new(&value.defined_by),
            Cell::new(short(&farcall::ir::Type::Tensor(value.ty.clone()))),
            Cell::new(value.tiling.show(grid)),
            Cell::new(source(text, value.source)),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    for (target, bytes, span) in &report.whole_calls {
        writeln!(
            out,
            "\nline {}: `{target}` has no rule for several devices: its operands ({bytes} bytes) are gathered, and \
             each device computes everything. A signature, `sdy.sharding_rule` or `num_batch_dims` declares one",
            line(text, *span)
        )?;
    }
    if report.movements.is_empty() {
        writeln!(out, "\nNo collectives are added")?;
        return Ok(());
    }
    let mut table = terminal::table(&["line", "collective", "bytes", "for"]);
    for movement in &report.movements {
        table.add_row([
            Cell::new(line(text, movement.span)).set_alignment(CellAlignment::Right),
            Cell::new(movement.collective),
            Cell::new(movement.bytes).set_alignment(CellAlignment::Right),
            Cell::new(movement.op),
        ]);
    }
    writeln!(out, "\n{} bytes of results of collectives on each device; loops count once", report.bytes())?;
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Returns the line of a position as text; empty without a source text.
fn line(text: &Text, span: Span) -> String {
    if text.is_none() { String::new() } else { text.line_column(span.start).0.to_string() }
}

fn source(text: &Text, source: ShardingSource) -> String {
    match source {
        ShardingSource::Default => String::new(),
        ShardingSource::Stated => "stated".to_owned(),
        ShardingSource::ResultOf(i) => format!("result {i}"),
        ShardingSource::Operation(name, span) => match line(text, span) {
            line if line.is_empty() => name.to_owned(),
            line => format!("{name}, line {line}"),
        },
    }
}
