//! `farcall inspect --why`: what became of each block of a program, and why.

use std::io::Write;

use anyhow::{Result, ensure};
use comfy_table::{Cell, Color};
use farcall::ir::module::{Func, Module};
use farcall::plan::{BlockChoice, BlockDecision, Plan};
use farcall::{CompileOptions, Registry};
use serde_json::{Value, json};

use crate::execute::refused;
use crate::inputs::count;
use crate::inspect::place;
use crate::show::short;
use crate::terminal::{self, color};
use crate::{program, targets};

/// Compiles a verified program, to see what becomes of its blocks.
pub(crate) fn compiled(module: &Module, func: &Func, registry: &Registry) -> Result<Plan> {
    ensure!(
        !program::is_open(func),
        "the program leaves sizes open, on which its blocks depend: compile it for inputs (`farcall compile {} -i … -o \
         PLAN`), then inspect the plan",
        module.source.name()
    );
    Plan::compile(module, registry, &CompileOptions::new().entry(&func.name)).map_err(refused)
}

/// Shows the blocks of a plan, one a row.
pub(crate) fn write(out: &mut impl Write, plan: &Plan) -> Result<()> {
    if plan.blocks.is_empty() {
        writeln!(out, "\nno blocks")?;
        return Ok(());
    }
    writeln!(out, "\n{}", count(plan.blocks.len(), "block"))?;
    let mut table = terminal::table(&["block", "operands", "results", "at", "becomes", "why"]);
    for block in &plan.blocks {
        let (becomes, shade) = match &block.choice {
            BlockChoice::Call { target, .. } => (format!("call of {target}"), Color::Green),
            BlockChoice::DefaultBody { .. } => ("default body".to_owned(), Color::Yellow),
        };
        let types = |types: &[_]| types.iter().map(short).collect::<Vec<_>>().join("\n");
        table.add_row([
            Cell::new(&block.tag),
            Cell::new(types(&block.operands)),
            Cell::new(types(&block.results)),
            Cell::new(place(&plan.source, block.span, &block.place)),
            color(Cell::new(becomes), shade),
            Cell::new(reasons(block).join("\n")),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Who was asked and said what, a line each.
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

/// The same for programs that read it.
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
            "place": place(&plan.source, block.span, &block.place),
            "skipped": skipped.collect::<Vec<_>>(),
            "call": call,
            "default_body": reason,
        })
    };
    plan.blocks.iter().map(one).collect()
}
