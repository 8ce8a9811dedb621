//! Steps of a plan that the reference evaluator runs.

use std::io::Write;

use anyhow::Result;
use farcall::Plan;
use farcall::explain::no_kernel;
use farcall::plan::Numbered;

use crate::inputs::count;
use crate::show::short_types;

/// Prints the steps that the reference evaluator runs, and the reasons.
pub(crate) fn print_evaluated(out: &mut impl Write, plan: &Plan) -> Result<()> {
    let steps = evaluated(plan);
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} on the reference evaluator", count(steps.len(), "step"))?;
    for (number, step) in steps {
        writeln!(out, "  {number}  {step}")?;
    }
    Ok(())
}

/// Returns the steps that run on the reference evaluator. Each has its number and a description: operation,
/// types of the results, source location, and the reason why there is no kernel.
pub(crate) fn evaluated(plan: &Plan) -> Vec<(usize, String)> {
    let of = |row: &Numbered<'_>| {
        let reason = no_kernel(plan, row.thunk)?;
        let results = short_types(row.thunk.results());
        let from = plan.origin(row.thunk).short();
        let from = if from.is_empty() { from } else { format!(", {from}") };
        Some((row.number, format!("{} {}{from} ({reason})", plan.operation(row.thunk), results)))
    };
    plan.numbered().iter().filter_map(of).collect()
}
