//! `farcall inspect --why`: the compiler's decision for each block (composite) of a program, with the reason.
//! Also compiles programs for `--plan`.

use std::io::Write;

use anyhow::Result;
use comfy_table::{Cell, Color};
use farcall::Registry;
use farcall::explain::Explanation;
use farcall::plan::{BlockChoice, BlockDecision, Plan, ValidPlan};
use serde_json::{Value, json};

use crate::args::{HowArgs, InspectArgs, NumericsArgs};
use crate::device_args::DeviceArgs;
use crate::inputs::count;
use crate::program::Code;
use crate::show::{place, short};
use crate::stats::Stats;
use crate::terminal::{self, color};
use crate::{compile, targets};

/// Compiles a program as `farcall run` does. A program with dynamic sizes is compiled for the given inputs.
pub(crate) fn compiled(
    code: &Code,
    args: &InspectArgs,
    registry: &Registry,
) -> Result<Option<(ValidPlan, Explanation)>> {
    let numerics = NumericsArgs { denormals: None, semantics: None };
    let (entry, passes) = (args.entry.clone(), args.passes.clone());
    let how = HowArgs { entry, passes, dump: None, elided: None, numerics, devices: DeviceArgs::default() };
    let mut stats = Stats::default();
    let Some(front) = compile::front(code, &how, &args.inputs, &mut stats)? else { return Ok(None) };
    front.check(&args.inputs)?;
    compile::explained(&front, &how, registry).map(Some)
}

/// Prints the blocks of a plan, one per row.
pub(crate) fn write(out: &mut impl Write, plan: &Plan) -> Result<()> {
    if plan.blocks().is_empty() {
        writeln!(out, "\nno blocks")?;
        return Ok(());
    }
    writeln!(out, "\n{}", count(plan.blocks().len(), "block"))?;
    let mut table = terminal::table(&["block", "operands", "results", "at", "becomes", "why"]);
    for block in plan.blocks() {
        let (becomes, shade) = match &block.choice {
            BlockChoice::Call { target, .. } => (format!("call of {target}"), Color::Green),
            BlockChoice::DefaultBody { .. } => ("default body".to_owned(), Color::Yellow),
        };
        let types = |types: &[_]| types.iter().map(short).collect::<Vec<_>>().join("\n");
        table.add_row([
            Cell::new(&block.tag),
            Cell::new(types(&block.operands)),
            Cell::new(types(&block.results)),
            Cell::new(place(plan.source(), block.span, &block.place)),
            color(Cell::new(becomes), shade),
            Cell::new(reasons(block).join("\n")),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Formats the decision for a block: each skipped lowering with the reason, then the choice.
fn reasons(block: &BlockDecision) -> Vec<String> {
    let skipped = block.skipped.iter().map(|skipped| {
        format!(
            "{} lowering of {}: skipped, {}",
            skipped.rank,
            targets::below(&skipped.origin),
            skipped.reason
        )
    });
    let choice = match &block.choice {
        BlockChoice::DefaultBody { reason } => vec![reason.clone()],
        BlockChoice::Call { rank, origin, target, library, api_version } => {
            let api =
                api_version.map_or("untyped".to_owned(), |(major, minor)| format!("typed {major}.{minor}"));
            vec![
                format!("{rank} lowering of {}", targets::below(origin)),
                format!("{target}: {api}, {}", targets::below(library)),
            ]
        }
    };
    skipped.chain(choice).collect()
}

/// Converts the decisions to JSON.
pub(crate) fn json(plan: &Plan) -> Vec<Value> {
    let types = |types: &[_]| types.iter().map(short).collect::<Vec<_>>();
    let one = |block: &BlockDecision| {
        let skipped = block.skipped.iter().map(|skipped| {
            json!({ "rank": skipped.rank.name(), "origin": skipped.origin, "reason": skipped.reason })
        });
        let (call, reason) = match &block.choice {
            BlockChoice::DefaultBody { reason } => (Value::Null, Some(reason)),
            BlockChoice::Call { rank, origin, target, library, api_version } => {
                let api_version = api_version.map(|(major, minor)| [major, minor]);
                let call = json!({
                    "rank": rank.name(),
                    "origin": origin,
                    "target": target,
                    "library": library,
                    "api_version": api_version,
                });
                (call, None)
            }
        };
        json!({
            "tag": block.tag,
            "version": block.version,
            "operands": types(&block.operands),
            "results": types(&block.results),
            "place": place(plan.source(), block.span, &block.place),
            "skipped": skipped.collect::<Vec<_>>(),
            "call": call,
            "default_body": reason,
        })
    };
    plan.blocks().iter().map(one).collect()
}
